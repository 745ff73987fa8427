//! Edges that need saying one by one; the algebra at large is checked against a model in `tests/`.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn contiguous(dims: &[usize]) -> Layout {
    Layout::contiguous(Shape::new(dims).unwrap())
}

fn row(len: usize) -> Layout {
    contiguous(&[len])
}

fn offsets(layout: &Layout) -> Vec<usize> {
    layout.offsets().collect()
}

#[test]
fn strides_of_an_empty_contiguous_layout_skip_the_zero() {
    assert_eq!(contiguous(&[2, 0, 3]).strides(), [3, 3, 1]);
    assert_eq!(contiguous(&[]).strides(), [0_isize; 0]);
}

#[test]
fn hand_made_layouts_have_to_stay_addressable() {
    let shape = Shape::new([2, 3]).unwrap();
    assert!(Layout::new(shape, &[-3, 1], 3).is_ok());
    assert_eq!(
        Layout::new(shape, &[-3, 1], 2),
        Err(ShapeError::AddressOutOfRange {
            dims: vec![2, 3],
            strides: vec![-3, 1],
            offset: 2,
        })
    );
    assert_eq!(
        Layout::new(shape, &[1], 0),
        Err(ShapeError::StrideCount {
            dims: vec![2, 3],
            got: 1,
        })
    );
    for strides in [[isize::MAX, isize::MAX], [isize::MIN, 1], [1, isize::MIN]] {
        assert!(Layout::new(shape, &strides, 0).is_err(), "{strides:?}");
    }
    let most = isize::MAX.unsigned_abs();
    assert!(Layout::new(Shape::scalar(), &[], most).is_ok());
    assert!(Layout::new(Shape::scalar(), &[], most + 1).is_err());
    assert!(Layout::new(Shape::new([2]).unwrap(), &[1], most).is_err());
}

#[test]
fn strides_without_meaning_are_never_trusted() {
    // A dimension of 1 and an empty layout may carry any stride through every view.
    let one = Layout::new(Shape::new([1, 2]).unwrap(), &[isize::MIN, 1], 5).unwrap();
    assert!(one.is_contiguous() && one.is_injective());
    assert_eq!(one.span(), Some((5, 6)));
    assert_eq!(offsets(&one.flip(&[0, 1]).unwrap()), [6, 5]);
    assert_eq!(offsets(&one.slice(0, 0, None, isize::MIN).unwrap()), [5, 6]);
    assert_eq!(offsets(&one.unsqueeze(0).unwrap()), [5, 6]);
    assert_eq!(
        offsets(&one.expand(Shape::new([2, 2]).unwrap()).unwrap()),
        [5, 6, 5, 6]
    );
    let flat = one.reshape(Shape::new([2, 1]).unwrap()).unwrap().unwrap();
    assert_eq!(offsets(&flat), [5, 6]);

    let none = Layout::new(Shape::new([0, 3]).unwrap(), &[isize::MAX, isize::MIN], 7).unwrap();
    assert!(none.is_contiguous() && none.is_injective());
    assert_eq!(none.span(), None);
    let view = none.flip(&[0, 1]).unwrap().select(1, -1).unwrap();
    assert_eq!((view.dims(), view.len()), (&[0][..], 0));
    assert_eq!(offsets(&none.slice(1, 2, None, -2).unwrap()), []);
    assert_eq!(offsets(&none.unsqueeze(1).unwrap()), []);
}

#[test]
fn slices_follow_python() {
    // From `list(range(5))[start:end:step]`.
    let cases: [(isize, Option<isize>, isize, &[usize]); 16] = [
        (0, None, 1, &[0, 1, 2, 3, 4]),
        (1, Some(4), 1, &[1, 2, 3]),
        (1, Some(4), 2, &[1, 3]),
        (-2, None, 1, &[3, 4]),
        (-99, Some(99), 3, &[0, 3]),
        (0, Some(-1), 1, &[0, 1, 2, 3]),
        (3, Some(1), 1, &[]),
        (5, None, 1, &[]),
        (4, None, -1, &[4, 3, 2, 1, 0]),
        (-1, None, -2, &[4, 2, 0]),
        (99, Some(0), -1, &[4, 3, 2, 1]),
        (-2, Some(-5), -1, &[3, 2, 1]),
        (-99, None, -1, &[]),
        (1, Some(3), -1, &[]),
        (1, None, isize::MAX, &[1]),
        (3, None, isize::MIN, &[3]),
    ];
    for (start, end, step, want) in cases {
        let view = row(5).slice(0, start, end, step).unwrap();
        assert_eq!(offsets(&view), want, "[{start}:{end:?}:{step}]");
    }
    for (start, end) in [
        (isize::MIN, isize::MIN),
        (isize::MAX, isize::MIN),
        (isize::MIN, isize::MAX),
    ] {
        for step in [1, -1, isize::MIN, isize::MAX] {
            let view = row(5).slice(0, start, Some(end), step).unwrap();
            assert!(view.len() <= 5, "[{start}:{end}:{step}]");
            assert!(row(0).slice(0, start, Some(end), step).unwrap().is_empty());
        }
    }
    assert_eq!(
        row(5).slice(-1, 0, None, 0),
        Err(ShapeError::ZeroStep { axis: 0 })
    );
}

#[test]
fn a_scalar_has_no_axis_to_cut() {
    let scalar = contiguous(&[]);
    let missing = ShapeError::AxisOutOfRange { axis: 0, rank: 0 };
    assert_eq!(scalar.slice(0, 0, None, 1), Err(missing.clone()));
    assert_eq!(scalar.narrow(0, 0, 1), Err(missing.clone()));
    assert_eq!(scalar.select(0, 0), Err(missing));
    // Where nothing is cut, PyTorch lets 0 and −1 pass.
    assert_eq!(scalar.squeeze(Some(-1)), Ok(scalar));
    assert_eq!(scalar.flip(&[0]), Ok(scalar));
    assert_eq!(scalar.transpose(0, -1), Ok(scalar));
    assert_eq!(scalar.permute(&[]), Ok(scalar));
    assert_eq!(scalar.unsqueeze(-1).unwrap().dims(), [1]);
}

#[test]
fn refusals_name_what_was_given() {
    let layout = contiguous(&[2, 3]);
    assert_eq!(
        layout.permute(&[0]),
        Err(ShapeError::PermutationLen {
            expected: 2,
            got: 1
        })
    );
    assert_eq!(
        layout.permute(&[1, -1]),
        Err(ShapeError::DuplicateAxis { axis: 1 })
    );
    assert_eq!(
        layout.transpose(0, 2),
        Err(ShapeError::AxisOutOfRange { axis: 2, rank: 2 })
    );
    assert_eq!(
        layout.select(1, -4),
        Err(ShapeError::IndexOutOfRange {
            index: -4,
            axis: 1,
            len: 3
        })
    );
    assert!(layout.select(1, 3).is_err());
    assert_eq!(
        layout.narrow(-1, 2, 2),
        Err(ShapeError::NarrowOutOfRange {
            axis: 1,
            start: 2,
            len: 2,
            dim: 3
        })
    );
    assert!(layout.narrow(0, usize::MAX, 2).is_err());
    assert_eq!(
        layout
            .expand(Shape::new([3]).unwrap())
            .unwrap_err()
            .to_string(),
        "cannot expand [2, 3] to [3]"
    );
    assert_eq!(
        layout
            .reshape(Shape::new([4]).unwrap())
            .unwrap_err()
            .to_string(),
        "cannot reshape [2, 3] (6 elements) to [4]"
    );
    assert_eq!(
        contiguous(&[1; 8]).unsqueeze(0),
        Err(ShapeError::RankTooHigh { rank: 9, max: 8 })
    );
    assert!(layout.unsqueeze(3).is_err() && layout.unsqueeze(-4).is_err());
}

#[test]
fn narrow_to_the_end_keeps_the_offset_in_the_span() {
    let view = row(3).narrow(0, 3, 0).unwrap();
    assert!(view.is_empty());
    assert_eq!(view.offset(), 0);
}

#[test]
fn reshape_cuts_runs_and_ignores_dimensions_of_one() {
    let steps = Layout::new(Shape::new([4, 1]).unwrap(), &[2, 99], 1).unwrap();
    let cut = steps
        .reshape(Shape::new([2, 1, 2]).unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(offsets(&cut), [1, 3, 5, 7]);

    let repeated = contiguous(&[1])
        .expand(Shape::new([2, 3]).unwrap())
        .unwrap();
    let regrouped = repeated
        .reshape(Shape::new([3, 2]).unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(offsets(&regrouped), [0; 6]);

    let padded = contiguous(&[2, 4]).narrow(1, 0, 3).unwrap();
    assert_eq!(padded.reshape(Shape::new([6]).unwrap()), Ok(None));
    let empty = contiguous(&[0, 4]).transpose(0, 1).unwrap();
    assert!(
        empty
            .reshape(Shape::new([7, 0]).unwrap())
            .unwrap()
            .is_some()
    );
}

#[test]
fn injective_tells_steps_from_overlaps() {
    let of = |dims: &[usize], strides: &[isize]| {
        Layout::new(Shape::new(dims).unwrap(), strides, 100).unwrap()
    };
    assert!(of(&[2, 3], &[3, 1]).is_injective());
    assert!(of(&[2, 3], &[-1, 2]).is_injective());
    assert!(!of(&[2, 3], &[2, 1]).is_injective(), "2 + 0 is 0 + 2");
    assert!(!of(&[2, 3], &[0, 1]).is_injective());
    assert!(of(&[1, 3], &[0, 1]).is_injective());
    // Conservative: interleaved by hand, no two alike, called overlapping all the same.
    assert!(!of(&[2, 3], &[3, 2]).is_injective());
}

#[test]
fn index_of_refuses_what_is_outside() {
    let layout = contiguous(&[2, 3]).flip(&[0]).unwrap();
    assert_eq!(layout.index_of(&[0, 2]), Some(5));
    assert_eq!(layout.index_of(&[1, 0]), Some(0));
    for index in [&[2, 0][..], &[0, 3], &[0], &[0, 0, 0], &[usize::MAX, 0]] {
        assert_eq!(layout.index_of(index), None, "{index:?}");
    }
    assert_eq!(contiguous(&[]).index_of(&[]), Some(0));
}

#[test]
fn the_largest_layouts_do_not_overflow() {
    let most = isize::MAX.unsigned_abs();
    let layout = row(most);
    assert_eq!(layout.span(), Some((0, most - 1)));
    assert_eq!(layout.flip(&[0]).unwrap().offsets().next(), Some(most - 1));
    let ends = layout.slice(0, 0, None, isize::MAX - 1).unwrap();
    assert_eq!(offsets(&ends), [0, most - 1]);
    let repeated = row(1).expand(Shape::new([most]).unwrap()).unwrap();
    assert_eq!(repeated.span(), Some((0, 0)));
    assert_eq!(repeated.offsets().len(), most);
}

#[test]
fn equality_ignores_how_it_was_made() {
    let made = contiguous(&[2, 3, 4]).select(2, 0).unwrap();
    let given = Layout::new(Shape::new([2, 3]).unwrap(), &[12, 4], 0).unwrap();
    assert_eq!(made, given);
    assert_eq!(
        format!("{given:?}"),
        "Layout { shape: [2, 3], strides: [12, 4], offset: 0 }"
    );
}
