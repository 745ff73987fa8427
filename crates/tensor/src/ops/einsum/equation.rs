//! The text of an einsum, and what its letters mean for given shapes: pure, without memory.

use std::collections::BTreeMap;

use ziggurat_core::Shape;

use super::EINSUM as OP;
use crate::Error;

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

impl Equation {
    /// Reads an equation for operands of these shapes.
    pub(super) fn read(given: &str, shapes: &[Shape]) -> Result<Self, Error> {
        let wrong = |rule: &str| Error::argument(OP, format!("{rule}: {given:?}"));
        let text: String = given.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text.as_str(), None),
        };
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != shapes.len() {
            let rule = "the number of operands must be that of the equation";
            return Err(Error::argument(
                OP,
                format!("{rule}: {} given", shapes.len()),
            ));
        }
        let mut inputs = Vec::with_capacity(terms.len());
        for (term, shape) in terms.iter().zip(shapes) {
            let (front, back) = split(term).map_err(wrong)?;
            let between = ellipsis_axes((front, back), shape)?;
            inputs.push(labels((front, back), between));
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
                let output = labels(split(right).map_err(wrong)?, ellipsis);
                for (at, label) in output.iter().enumerate() {
                    if !seen.contains_key(label) {
                        return Err(wrong("every letter of the result must be in an operand"));
                    }
                    if output.iter().skip(at + 1).any(|other| other == label) {
                        return Err(wrong("no letter may be in the result twice"));
                    }
                }
                output
            }
        };
        Ok(Self { inputs, output })
    }
}

/// What stands before an ellipsis, and behind it if there is one.
type Parts<'a> = (&'a str, Option<&'a str>);

fn split(term: &str) -> Result<Parts<'_>, &'static str> {
    let (front, back) = match term.split_once("...") {
        Some((front, back)) => (front, Some(back)),
        None => (term, None),
    };
    let mut letters = front.chars().chain(back.unwrap_or_default().chars());
    if letters.all(|c| c.is_ascii_alphabetic()) {
        return Ok((front, back));
    }
    Err("an operand must be letters with at most one `...`")
}

/// How many axes of an operand its ellipsis stands for.
fn ellipsis_axes((front, back): Parts<'_>, shape: &Shape) -> Result<usize, Error> {
    let named = front.len() + back.unwrap_or_default().len();
    let rank = shape.dims().len();
    let wrong = |rule: &str| Error::shape(OP, format!("an operand {rule}: one is {shape}"));
    if back.is_none() && rank != named {
        return Err(wrong(
            "must have an axis for each of its letters and no other",
        ));
    }
    rank.checked_sub(named)
        .ok_or_else(|| wrong("must have an axis for each of its letters"))
}

/// The labels of a term whose ellipsis has `ellipsis` axes.
fn labels((front, back): Parts<'_>, ellipsis: usize) -> Vec<Label> {
    let open = (0..if back.is_some() { ellipsis } else { 0 })
        .rev()
        .map(|from_end| Label::Ellipsis(std::cmp::Reverse(from_end)));
    front
        .chars()
        .map(Label::Letter)
        .chain(open)
        .chain(back.unwrap_or_default().chars().map(Label::Letter))
        .collect()
}

/// Extents of one label must agree where they are not 1; within one operand they must be equal.
fn check_extents(inputs: &[Vec<Label>], shapes: &[Shape]) -> Result<(), Error> {
    let mut all: BTreeMap<Label, (usize, &Shape)> = BTreeMap::new();
    for (labels, shape) in inputs.iter().zip(shapes) {
        let mut own: BTreeMap<Label, usize> = BTreeMap::new();
        for (&label, &dim) in labels.iter().zip(shape.dims()) {
            match own.insert(label, dim) {
                Some(before) if before != dim => {
                    let rule = "an operand must have equal extents where a letter is repeated";
                    return Err(Error::shape(OP, format!("{rule}: one is {shape}")));
                }
                _ => {}
            }
        }
        for (label, dim) in own {
            let known = all.entry(label).or_insert((dim, shape));
            if known.0 == 1 {
                *known = (dim, shape);
            } else if dim != 1 && dim != known.0 {
                let rule = match label {
                    Label::Letter(_) => "extents of one letter differ",
                    Label::Ellipsis(_) => "extents of an axis of the ellipsis differ",
                };
                let given = format!("left is {}, right is {shape}", known.1);
                return Err(Error::shape(OP, format!("{rule}: {given}")));
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
        let shapes: Vec<Shape> = shapes
            .iter()
            .map(|dims| Shape::new(dims).unwrap())
            .collect();
        let e = Equation::read(equation, &shapes)?;
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
