//! The text of an einsum, and what its letters mean for given shapes: pure, without tensors.

use std::collections::BTreeMap;

use crate::Error;

const OP: &str = "einsum";

/// A letter, or an axis of the ellipsis counted from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    /// Sorts so that the first axis of the ellipsis comes first.
    Ellipsis(std::cmp::Reverse<usize>),
    Letter(char),
}

/// One label per axis of every operand, and those of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Equation {
    pub(super) inputs: Vec<Vec<Label>>,
    pub(super) output: Vec<Label>,
}

fn wrong(detail: impl Into<String>) -> Error {
    Error::argument(OP, detail)
}

impl Equation {
    /// Reads an equation for operands of these shapes.
    pub(super) fn read(text: &str, shapes: &[&[usize]]) -> Result<Self, Error> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text.as_str(), None),
        };
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != shapes.len() {
            return Err(wrong(format!(
                "the equation must name every operand: {text:?} names {}, {} given",
                terms.len(),
                shapes.len()
            )));
        }
        let mut inputs = Vec::with_capacity(terms.len());
        for (term, shape) in terms.iter().zip(shapes) {
            inputs.push(labels(term, Some(shape.len()), 0)?);
        }
        check_extents(&inputs, shapes)?;
        let mut seen: BTreeMap<Label, usize> = BTreeMap::new();
        for &label in inputs.iter().flatten() {
            *seen.entry(label).or_default() += 1;
        }
        let ellipsis = seen
            .keys()
            .filter(|label| matches!(label, Label::Ellipsis(_)))
            .count();
        let output = match right {
            None => seen
                .into_iter()
                .filter(|(label, count)| matches!(label, Label::Ellipsis(_)) || *count == 1)
                .map(|(label, _)| label)
                .collect(),
            Some(right) => {
                let output = labels(right, None, ellipsis)?;
                for (at, label) in output.iter().enumerate() {
                    if !seen.contains_key(label) {
                        return Err(wrong(format!(
                            "every letter of the result must be in an operand: {text:?}"
                        )));
                    }
                    if output.iter().skip(at + 1).any(|other| other == label) {
                        return Err(wrong(format!(
                            "no letter may be in the result twice: {text:?}"
                        )));
                    }
                }
                output
            }
        };
        Ok(Self { inputs, output })
    }
}

/// The labels of one operand of `rank` axes, or of a result whose ellipsis has `ellipsis` axes.
fn labels(term: &str, rank: Option<usize>, ellipsis: usize) -> Result<Vec<Label>, Error> {
    let (front, back) = match term.split_once("...") {
        Some((front, back)) => (front, Some(back)),
        None => (term, None),
    };
    let letters = || front.chars().chain(back.unwrap_or_default().chars());
    if let Some(odd) = letters().find(|c| !c.is_ascii_alphabetic()) {
        return Err(wrong(format!(
            "an operand must be letters with at most one `...`: {odd:?} in {term:?}"
        )));
    }
    let named = letters().count();
    let between = match (rank, back) {
        (Some(rank), None) if rank != named => {
            return Err(Error::shape(
                OP,
                format!("{term:?} must name every axis: the operand has {rank}"),
            ));
        }
        (_, None) => 0,
        (None, Some(_)) => ellipsis,
        (Some(rank), Some(_)) => rank.checked_sub(named).ok_or_else(|| {
            Error::shape(
                OP,
                format!("{term:?} names more axes than the operand has: {rank}"),
            )
        })?,
    };
    let open = (0..between)
        .rev()
        .map(|from_end| Label::Ellipsis(std::cmp::Reverse(from_end)));
    Ok(front
        .chars()
        .map(Label::Letter)
        .chain(open)
        .chain(back.unwrap_or_default().chars().map(Label::Letter))
        .collect())
}

/// Extents of one label must agree where they are not 1; within one operand they must be equal.
fn check_extents(inputs: &[Vec<Label>], shapes: &[&[usize]]) -> Result<(), Error> {
    let differ = |label: Label, a: usize, b: usize| {
        let name = match label {
            Label::Letter(letter) => format!("axis {letter:?}"),
            Label::Ellipsis(_) => "an axis of the ellipsis".to_owned(),
        };
        Err(Error::shape(
            OP,
            format!("extents of {name} differ: {a} and {b}, operands {shapes:?}"),
        ))
    };
    let mut all: BTreeMap<Label, usize> = BTreeMap::new();
    for (labels, shape) in inputs.iter().zip(shapes) {
        let mut own: BTreeMap<Label, usize> = BTreeMap::new();
        for (&label, &dim) in labels.iter().zip(*shape) {
            match own.insert(label, dim) {
                Some(before) if before != dim => return differ(label, before, dim),
                _ => {}
            }
        }
        for (label, dim) in own {
            let known = all.entry(label).or_insert(dim);
            if *known == 1 {
                *known = dim;
            } else if dim != 1 && dim != *known {
                return differ(label, *known, dim);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn text(labels: &[Label]) -> String {
        labels
            .iter()
            .map(|label| match label {
                Label::Letter(letter) => *letter,
                Label::Ellipsis(std::cmp::Reverse(i)) => char::from(b'0' + *i as u8),
            })
            .collect()
    }

    fn read(equation: &str, shapes: &[&[usize]]) -> Result<(Vec<String>, String), Error> {
        let e = Equation::read(equation, shapes)?;
        Ok((
            e.inputs.iter().map(|labels| text(labels)).collect(),
            text(&e.output),
        ))
    }

    #[test]
    fn letters_and_ellipses_become_labels() {
        let (inputs, output) = read("ij, jk -> ik", &[&[2, 3], &[3, 4]]).unwrap();
        assert_eq!(
            (inputs, output.as_str()),
            (vec!["ij".into(), "jk".into()], "ik")
        );
        let (inputs, output) = read("...ij,j...->i...", &[&[7, 5, 2, 3], &[3, 5]]).unwrap();
        assert_eq!(
            (inputs, output.as_str()),
            (vec!["10ij".into(), "j0".into()], "i10")
        );
    }

    #[test]
    fn without_an_arrow_single_letters_stay_in_order_behind_the_ellipsis() {
        assert_eq!(read("ba", &[&[2, 3]]).unwrap().1, "ab");
        assert_eq!(read("ji,ik", &[&[2, 3], &[3, 4]]).unwrap().1, "jk");
        assert_eq!(read("b...a", &[&[2, 9, 8, 3]]).unwrap().1, "10ab");
        assert_eq!(read("ii", &[&[2, 2]]).unwrap().1, "");
    }

    #[test]
    fn equations_that_do_not_fit_are_errors() {
        for (equation, shapes) in [
            ("ij,jk->ik", &[&[2, 3][..]][..]),
            ("ij->ik", &[&[2, 3]]),
            ("ij->ii", &[&[2, 3]]),
            ("ij->...i", &[&[2, 3, 4]]),
            ("i1->i", &[&[2, 3]]),
            ("i..j->i", &[&[2, 3]]),
            ("...i...->i", &[&[2, 3]]),
            ("ijk->i", &[&[2, 3]]),
            ("ijk...->i", &[&[2, 3]]),
            ("ii->i", &[&[2, 3]]),
            ("ii->i", &[&[2, 1]]),
            ("i,i->", &[&[2], &[3]]),
        ] {
            assert!(read(equation, shapes).is_err(), "{equation}");
        }
        assert!(read("i,i->i", &[&[1], &[3]]).is_ok());
    }
}
