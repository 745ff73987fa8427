//! Cliffs of growth curves: sizes whose time per byte, or per operation, is far above that of the size before.

use std::collections::BTreeMap;

use crate::bench::record::Record;

/// A step up by more than this is a cliff.
const CLIFF: f64 = 1.5;

/// Size, time per unit of work, shape.
type Point<'a> = (usize, f64, &'a str);

/// One line per cliff.
pub(crate) fn find(rows: &[Record]) -> Vec<String> {
    let mut curves: BTreeMap<(&str, &str), Vec<Point<'_>>> = BTreeMap::new();
    for row in rows {
        if let (Some(size), Some(ms), Some(work)) = (row.size, row.ms, row.flops.or(row.bytes)) {
            let curve = curves.entry((&row.op, &row.dtype)).or_default();
            curve.push((size, ms / work, &row.shape));
        }
    }
    let mut lines = Vec::new();
    for ((op, dtype), mut curve) in curves {
        curve.sort_by_key(|&(size, ..)| size);
        for pair in curve.windows(2) {
            if let [(_, before, from), (_, after, to)] = pair
                && *after > CLIFF * before
            {
                let ratio = after / before;
                lines.push(format!(
                    "{op} {dtype}: {ratio:.2} times from {from} to {to}"
                ));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_up_is_a_cliff_and_a_step_down_is_none() {
        let row = |size: usize, ms: f64| Record {
            size: Some(size),
            bytes: Some(crate::bench::case::amount(size)),
            ..Record::timed("grow", "f32", &size.to_string(), Some(ms))
        };
        let rows = [row(64, 1.0), row(512, 2.0), row(128, 1.0), row(256, 4.0)];
        assert_eq!(find(&rows), ["grow f32: 2.00 times from 128 to 256"]);
        assert!(find(&rows[..2]).is_empty());
    }
}
