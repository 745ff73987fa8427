//! Hand-written cases; the algebra at large is checked against a model in `tests/`.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn contiguous(dims: &[usize]) -> Layout {
    Layout::contiguous(Shape::new(dims).unwrap())
}

#[test]
fn placeholder() {
    assert_eq!(contiguous(&[2, 3]).strides(), [3, 1]);
}
