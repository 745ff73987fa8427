//! Text of a tensor's values, laid out as NumPy lays out arrays.
//!
//! Everything here works on values that are already on the host, so the rules are tested without a device: columns
//! aligned on the decimal point, the fewest digits that tell neighbouring values of the dtype apart (at most eight after
//! the point), scientific notation when magnitudes differ too much, and `...` in the middle of large arrays.
//!
//! Invariant: a large array is described by its *corner*: along each axis longer than [`EDGE`] · 2 only the first and
//! last [`EDGE`] entries are present. Nothing but the corner has to be read from the device.

mod number;

use std::fmt;

use ziggurat_core::DType;

/// Entries shown at each end of a summarised axis.
pub(crate) const EDGE: usize = 3;
/// Arrays with more elements than this are summarised.
pub(crate) const THRESHOLD: usize = 1000;
const LINE_WIDTH: usize = 75;

/// A tensor's values as text, ready to be printed; see [`Tensor::display`](crate::Tensor::display).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    text: String,
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Whether an array of these extents is shown by its corner only.
pub(crate) fn is_summarised(dims: &[usize]) -> bool {
    dims.iter().product::<usize>() > THRESHOLD
}

/// The pieces `(start, len)` of one axis that the corner holds.
pub(crate) fn corner_pieces(extent: usize, summarised: bool) -> Vec<(usize, usize)> {
    if summarised && extent > 2 * EDGE {
        vec![(0, EDGE), (extent - EDGE, EDGE)]
    } else {
        vec![(0, extent)]
    }
}

/// Lays out the corner `values` (row-major) of an array with extents `dims`.
pub(crate) fn print(dims: &[usize], dtype: DType, values: &[f64]) -> Printed {
    if dims.contains(&0) {
        return Printed {
            text: "[]".to_owned(),
        };
    }
    let summarised = is_summarised(dims);
    let axes: Vec<Axis> = dims
        .iter()
        .map(|&extent| Axis {
            shown: corner_pieces(extent, summarised)
                .iter()
                .map(|piece| piece.1)
                .sum(),
            elided: summarised && extent > 2 * EDGE,
        })
        .collect();
    let words = number::words(dtype, values);
    let mut text = String::new();
    block(&axes, 0, &mut words.iter(), &mut text);
    Printed { text }
}

struct Axis {
    shown: usize,
    elided: bool,
}

/// Appends the sub-array at `depth`, taking its words from `words` in row-major order.
fn block(axes: &[Axis], depth: usize, words: &mut std::slice::Iter<'_, String>, text: &mut String) {
    let Some(axis) = axes.get(depth) else {
        text.push_str(words.next().map_or("", |word| word.trim()));
        return;
    };
    text.push('[');
    let indent = " ".repeat(depth + 1);
    if depth + 1 == axes.len() {
        row(axis, &indent, words, text);
    } else {
        let gap = "\n".repeat(axes.len() - 1 - depth);
        for entry in 0..axis.shown {
            if entry > 0 {
                text.push_str(&gap);
                text.push_str(&indent);
            }
            if axis.elided && entry == EDGE {
                text.push_str("...");
                text.push_str(&gap);
                text.push_str(&indent);
            }
            block(axes, depth + 1, words, text);
        }
    }
    text.push(']');
}

/// Appends the words of one innermost row, broken into lines of at most [`LINE_WIDTH`] characters.
fn row(axis: &Axis, indent: &str, words: &mut std::slice::Iter<'_, String>, text: &mut String) {
    let mut column = indent.len();
    let mut first = true;
    let mut push = |word: &str, text: &mut String| {
        let width = word.chars().count();
        if !first && column + 1 + width >= LINE_WIDTH {
            text.push('\n');
            text.push_str(indent);
            column = indent.len();
        } else if !first {
            text.push(' ');
            column += 1;
        }
        first = false;
        text.push_str(word);
        column += width;
    };
    for entry in 0..axis.shown {
        if axis.elided && entry == EDGE {
            push("...", text);
        }
        if let Some(word) = words.next() {
            push(word, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(dims: &[usize], dtype: DType, values: &[f64]) -> String {
        print(dims, dtype, values).to_string()
    }

    fn corner(dims: &[usize]) -> Vec<f64> {
        let summarised = is_summarised(dims);
        let mut indices = vec![Vec::new()];
        for &extent in dims {
            let along: Vec<usize> = corner_pieces(extent, summarised)
                .iter()
                .flat_map(|&(start, len)| start..start + len)
                .collect();
            indices = indices
                .iter()
                .flat_map(|index: &Vec<usize>| {
                    along
                        .iter()
                        .map(move |&i| [index.as_slice(), &[i]].concat())
                })
                .collect();
        }
        let flat = |index: &Vec<usize>| {
            index
                .iter()
                .zip(dims)
                .fold(0, |flat, (i, extent)| flat * extent + i)
        };
        indices.iter().map(|index| flat(index) as f64).collect()
    }

    #[test]
    fn prints_rank_0_without_brackets() {
        assert_eq!(text(&[], DType::F32, &[2.5]), "2.5");
        assert_eq!(text(&[], DType::I32, &[-3.0]), "-3");
        assert_eq!(text(&[], DType::Bool, &[1.0]), "True");
    }

    #[test]
    fn prints_empty_arrays_as_brackets() {
        assert_eq!(text(&[0], DType::F32, &[]), "[]");
        assert_eq!(text(&[2, 0, 3], DType::F32, &[]), "[]");
    }

    #[test]
    fn aligns_columns_on_the_decimal_point() {
        assert_eq!(
            text(&[3], DType::F32, &[1.0, 2.5, -10.25]),
            "[  1.     2.5  -10.25]"
        );
        assert_eq!(
            text(&[2, 2], DType::I32, &[1.0, -20.0, 3.0, 4.0]),
            "[[  1 -20]\n [  3   4]]"
        );
        assert_eq!(text(&[2], DType::Bool, &[1.0, 0.0]), "[ True False]");
    }

    #[test]
    fn separates_matrices_by_an_empty_line() {
        let values: Vec<f64> = (0..8).map(f64::from).collect();
        let wanted = "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]";
        assert_eq!(text(&[2, 2, 2], DType::U8, &values), wanted);
    }

    #[test]
    fn shows_the_corners_of_a_large_array() {
        assert_eq!(
            text(&[1001], DType::I32, &corner(&[1001])),
            "[   0    1    2 ...  998  999 1000]"
        );
        let wanted = "[[   0    1    2 ...   37   38   39]\n [  40   41   42 ...   77   78   79]\n [  80   81   82 ...  117  118  119]\n ...\n \
                      [1480 1481 1482 ... 1517 1518 1519]\n [1520 1521 1522 ... 1557 1558 1559]\n [1560 1561 1562 ... 1597 1598 1599]]";
        assert_eq!(text(&[40, 40], DType::I32, &corner(&[40, 40])), wanted);
    }

    #[test]
    fn breaks_long_rows_into_lines() {
        let values: Vec<f64> = (0..30).map(|i| f64::from(i) + 100.0).collect();
        let printed = text(&[30], DType::I32, &values);
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.len() <= LINE_WIDTH));
        assert!(lines[1].starts_with(" 118"));
    }
}
