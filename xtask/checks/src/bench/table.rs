//! Rows as tables for documents: one per suite, with the fastest peer's time next to ours.
//!
//! In a document they stand between two marks; the text around them stays.

use std::fmt::Write as _;

use crate::bench::record::Record;

/// Between these lines of a document the tables are.
const BEGIN: &str = "<!-- tables of the bench: begin -->";
const END: &str = "<!-- tables of the bench: end -->";

/// The document with other tables; the tables alone where it has no place for them.
pub(crate) fn within(document: &str, tables: &str) -> String {
    let parts = document.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    parts.map_or_else(
        || tables.to_owned(),
        |(before, after)| format!("{before}{BEGIN}\n{tables}\n{END}{after}"),
    )
}

/// The tables in Markdown. A ratio above 1 says that ours is faster.
pub(crate) fn markdown(rows: &[Record], peers: &[Record]) -> String {
    let mut text = String::new();
    let mut suite = None;
    for row in rows.iter().filter(|row| row.ms.is_some()) {
        if suite != Some(&row.suite) {
            suite = Some(&row.suite);
            let name = row.suite.as_deref().unwrap_or("rows");
            text.push_str(&format!(
                "\n### {name}\n\n\
                 | op | dtype | shape | ms | GPU ms | rate | of the roof | peer's ms | peer / ours |\n\
                 | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            ));
        }
        let peer = fastest(row, peers);
        let ratio = peer.zip(row.ms).map(|(peer, ours)| peer / ours);
        let number = |value: Option<f64>, digits: usize| {
            value.map_or_else(String::new, |value| format!("{value:.digits$}"))
        };
        let op = match &row.mode {
            Some(mode) => format!("{}, {mode}", row.op),
            None => row.op.clone(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {op} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.dtype,
            row.shape,
            number(row.ms, 4),
            number(row.gpu_ms, 4),
            rate(row),
            number(row.roofline, 2),
            number(peer, 4),
            number(ratio, 2)
        );
    }
    text
}

/// The shortest time of the peers that compute in the same precision.
pub(crate) fn fastest(row: &Record, peers: &[Record]) -> Option<f64> {
    let same = peers
        .iter()
        .filter(|peer| peer.key() == row.key() && !peer.peer.contains("tf32"));
    same.filter_map(|peer| peer.ms).min_by(f64::total_cmp)
}

/// What counts for a row: operations where there are many per byte, else bytes.
fn rate(row: &Record) -> String {
    match (row.gflops, row.gbps) {
        (Some(gflops), Some(gbps)) if gflops > 8.0 * gbps => {
            format!("{:.1} TFLOP/s", gflops / 1e3)
        }
        (_, Some(gbps)) => format!("{gbps:.0} GB/s"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_keeps_what_is_around_its_tables() {
        let old = format!("a\n{BEGIN}\nold\n{END}\nb");
        assert_eq!(within(&old, "new"), format!("a\n{BEGIN}\nnew\n{END}\nb"));
        assert_eq!(within("no place", "new"), "new");
        assert_eq!(within(BEGIN, "new"), "new");
    }

    #[test]
    fn suites_have_tables_and_rows_their_fastest_peer() {
        let row = |suite: &str, op: &str| Record {
            suite: Some(suite.into()),
            gbps: Some(100.0),
            ..Record::timed(op, "f32", "8", Some(2.0))
        };
        let peer = |name: &str, ms: f64| Record {
            peer: name.into(),
            ..Record::timed("add", "f32", "8", Some(ms))
        };
        let rows = [row("elementwise", "add"), row("reduce", "sum")];
        let peers = [peer("torch-tf32", 0.5), peer("a", 3.0), peer("b", 1.0)];
        let text = markdown(&rows, &peers);
        assert!(text.contains("### elementwise") && text.contains("### reduce"));
        assert!(text.contains("| add | f32 | 8 | 2.0000 |  | 100 GB/s |  | 1.0000 | 0.50 |"));
        assert!(text.contains("| sum | f32 | 8 | 2.0000 |  | 100 GB/s |  |  |  |"));
    }
}
