//! The layout algebra against a model that writes every element out.

#![allow(clippy::unwrap_used, reason = "tests")]

mod chain;
mod model;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ziggurat_core::{Layout, Shape, broadcast_shapes, coalesce};

use chain::{KINDS, Step, apply, dims, steps};
use model::{Model, indices};

/// The first way in which a layout differs from the model.
fn difference(layout: &Layout, model: &Model) -> Option<String> {
    if layout.dims() != model.dims {
        return Some(format!("dims {:?}, not {:?}", layout.dims(), model.dims));
    }
    if layout.len() != model.elements.len() || layout.is_empty() != model.elements.is_empty() {
        return Some(format!(
            "{} elements, not {}",
            layout.len(),
            model.elements.len()
        ));
    }
    let walked: Vec<usize> = layout.offsets().collect();
    if walked != model.elements {
        return Some(format!("walks {walked:?}, not {:?}", model.elements));
    }
    for index in indices(&model.dims) {
        if layout.index_of(&index) != Some(model.at(&index)) {
            return Some(format!("{:?} at {index:?}", layout.index_of(&index)));
        }
    }
    let facts = (layout.is_contiguous(), layout.is_injective(), layout.span());
    let wanted = (model.is_contiguous(), model.is_injective(), model.span());
    (facts != wanted).then(|| format!("contiguous, injective, span {facts:?}, not {wanted:?}"))
}

/// The element indices of one operand after coalescing, by counting.
fn coalesced_elements(dims: &[usize], strides: &[isize], offset: usize) -> Vec<usize> {
    indices(dims)
        .iter()
        .map(|index| {
            let moved: isize = index
                .iter()
                .zip(strides)
                .map(|(&i, s)| i as isize * s)
                .sum();
            offset.checked_add_signed(moved).unwrap()
        })
        .collect()
}

fn start(dims: &[usize]) -> (Layout, Model) {
    (
        Layout::contiguous(Shape::new(dims).unwrap()),
        Model::contiguous(dims),
    )
}

fn run(dims: &[usize], steps: &[Step]) -> (Layout, Model) {
    let (mut layout, mut model) = start(dims);
    for step in steps {
        apply(step, &mut layout, &mut model);
    }
    (layout, model)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chains_of_views_mean_what_the_model_says(dims in dims(), steps in steps()) {
        let (mut layout, mut model) = start(&dims);
        prop_assert_eq!(difference(&layout, &model), None);
        for step in &steps {
            let before = layout;
            let done = apply(step, &mut layout, &mut model);
            prop_assert_eq!(difference(&layout, &model), None, "{:?} of {:?}", done, before);
        }
    }

    #[test]
    fn a_view_can_be_made_again_from_its_parts(dims in dims(), steps in steps()) {
        let (layout, _) = run(&dims, &steps);
        let again = Layout::new(*layout.shape(), layout.strides(), layout.offset());
        prop_assert_eq!(again, Ok(layout));
    }

    #[test]
    fn coalescing_keeps_every_operands_walk(
        dims in dims(),
        chains in prop::collection::vec(steps(), 1..4),
    ) {
        let made: Vec<_> = chains.iter().map(|steps| run(&dims, steps)).collect();
        let shapes: Vec<Shape> = made.iter().map(|(layout, _)| *layout.shape()).collect();
        // Operands that do not broadcast are coalesced one by one.
        let groups = match broadcast_shapes(&shapes) {
            Ok(shape) if shape.len() <= 20_000 => vec![made
                .iter()
                .map(|(layout, model)| (layout.expand(shape).unwrap(), model.expand(shape.dims())))
                .collect()],
            _ => made.into_iter().map(|one| vec![one]).collect::<Vec<_>>(),
        };
        for group in groups {
            let layouts: Vec<Layout> = group.iter().map(|(layout, _)| *layout).collect();
            let merged = coalesce(&layouts);
            prop_assert!((1..=layouts[0].rank().max(1)).contains(&merged.rank()));
            prop_assert_eq!(merged.len(), layouts[0].len());
            prop_assert!(merged.len() == 1 || !merged.dims.contains(&1));
            for (operand, (_, model)) in group.iter().enumerate() {
                let strides = &merged.strides[operand];
                prop_assert_eq!(strides.len(), merged.rank());
                let walk = coalesced_elements(&merged.dims, strides, merged.offsets[operand]);
                prop_assert_eq!(&walk, &model.elements, "{:?}", merged);
            }
            // Nothing mergeable is left: each neighbouring pair breaks in some operand.
            for inner in 1..merged.rank() {
                prop_assert!(merged.strides.iter().any(|strides| {
                    strides[inner - 1] != strides[inner] * merged.dims[inner] as isize
                }), "{:?}", merged);
            }
        }
    }

    #[test]
    fn injective_is_never_claimed_of_an_overlap(
        dims in prop::collection::vec(0..4_usize, 0..4),
        strides in prop::collection::vec(-6..7_isize, 4),
    ) {
        let shape = Shape::new(&dims).unwrap();
        let layout = Layout::new(shape, &strides[..dims.len()], 100).unwrap();
        let elements = coalesced_elements(&dims, &strides, 100);
        let model = Model { dims, elements };
        prop_assert_eq!(layout.offsets().collect::<Vec<_>>(), model.elements.clone());
        prop_assert_eq!(layout.span(), model.span());
        prop_assert_eq!(layout.is_contiguous(), model.is_contiguous());
        prop_assert!(!layout.is_injective() || model.is_injective());
    }

    #[test]
    fn broadcasting_reads_missing_dimensions_as_one(a in dims(), b in dims()) {
        let joined = broadcast_shapes(&[Shape::new(&a).unwrap(), Shape::new(&b).unwrap()]);
        let rank = a.len().max(b.len());
        let from_end = |dims: &[usize], place: usize| dims.iter().rev().nth(place).copied().unwrap_or(1);
        let mut want = Vec::new();
        for place in (0..rank).rev() {
            let (x, y) = (from_end(&a, place), from_end(&b, place));
            if x != y && x != 1 && y != 1 {
                prop_assert!(joined.is_err());
                return Ok(());
            }
            want.push(if x == 1 { y } else { x });
        }
        prop_assert_eq!(joined.unwrap().dims().to_vec(), want);
    }
}

/// A fixed stream of chains for tests that count what the chains reach.
fn stream(count: usize) -> Vec<(Vec<usize>, Vec<Step>)> {
    let mut runner = TestRunner::deterministic();
    let strategy = (dims(), steps());
    (0..count)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current())
        .collect()
}

#[test]
fn chains_reach_every_view_and_every_kind_of_layout() {
    let mut done = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for (dims, steps) in stream(1000) {
        let (mut layout, mut model) = start(&dims);
        for step in &steps {
            let name = apply(step, &mut layout, &mut model);
            if name.is_none() && KINDS.get(step.kind) == Some(&"reshape") {
                seen.insert("reshape needs a copy");
            }
            done.extend(name);
        }
        let strides = meaningful_strides(&layout);
        seen.insert(if model.elements.is_empty() {
            "empty"
        } else {
            "not empty"
        });
        seen.insert(if layout.is_contiguous() {
            "contiguous"
        } else {
            "not contiguous"
        });
        seen.insert(if layout.is_injective() {
            "injective"
        } else {
            "overlapping"
        });
        if strides.iter().any(|&stride| stride < 0) {
            seen.insert("negative stride");
        }
        if strides.contains(&0) {
            seen.insert("zero stride");
        }
        if layout.offset() > 0 {
            seen.insert("offset");
        }
        if layout.rank() == 0 {
            seen.insert("scalar");
        }
        if layout.rank() > 5 {
            seen.insert("high rank");
        }
    }
    let mut all: BTreeSet<&str> = KINDS.into_iter().collect();
    all.insert("unsqueeze");
    assert_eq!(done, all);
    assert_eq!(seen.len(), 12, "{seen:?}");
}

fn meaningful_strides(layout: &Layout) -> Vec<isize> {
    let axes = layout.dims().iter().zip(layout.strides());
    axes.filter(|&(&dim, _)| dim > 1)
        .map(|(_, &stride)| stride)
        .collect()
}

/// How many of the streamed chains notice `wrong`, which spoils a layout after the chain.
fn noticed(wrong: impl Fn(&Layout) -> Option<Layout>) -> (usize, usize) {
    let (mut spoilt, mut caught) = (0, 0);
    for (dims, steps) in stream(500) {
        let (layout, model) = run(&dims, &steps);
        if let Some(wrong) = wrong(&layout) {
            spoilt += 1;
            caught += usize::from(difference(&wrong, &model).is_some());
        }
    }
    (spoilt, caught)
}

#[test]
fn the_comparison_notices_a_moved_offset() {
    let (spoilt, caught) = noticed(|layout| {
        (!layout.is_empty())
            .then(|| Layout::new(*layout.shape(), layout.strides(), layout.offset() + 1).unwrap())
    });
    assert!(spoilt > 100);
    assert_eq!(caught, spoilt);
}

#[test]
fn the_comparison_notices_any_changed_stride() {
    let (spoilt, caught) = noticed(|layout| {
        let axis = layout.dims().iter().position(|&dim| dim > 1)?;
        let mut strides = layout.strides().to_vec();
        strides[axis] += 1;
        (!layout.is_empty())
            .then(|| Layout::new(*layout.shape(), &strides, layout.offset()).unwrap())
    });
    assert!(spoilt > 100);
    assert_eq!(caught, spoilt);
}

#[test]
fn the_comparison_notices_a_forgotten_flip_and_a_forgotten_permutation() {
    let (spoilt, caught) = noticed(|layout| {
        let axis = layout
            .dims()
            .iter()
            .zip(layout.strides())
            .position(|(&d, &s)| d > 1 && s != 0)?;
        (!layout.is_empty()).then(|| layout.flip(&[axis as isize]).unwrap())
    });
    assert!(spoilt > 100);
    assert_eq!(caught, spoilt);

    let (spoilt, caught) = noticed(|layout| {
        let swapped = layout.transpose(0, -1).ok()?;
        (swapped.dims() != layout.dims()).then_some(swapped)
    });
    assert!(spoilt > 100);
    assert_eq!(caught, spoilt);
}

#[test]
fn the_model_of_injectivity_and_contiguity_can_say_no() {
    let model = |elements: &[usize]| Model {
        dims: vec![elements.len()],
        elements: elements.to_vec(),
    };
    assert!(model(&[3, 4, 5]).is_contiguous() && model(&[3, 4, 5]).is_injective());
    assert!(!model(&[3, 5, 4]).is_contiguous() && model(&[3, 5, 4]).is_injective());
    assert!(!model(&[3, 4, 3]).is_injective());
    assert!(model(&[0, 1, 2, 3]).is_strided_as(&[2, 2]));
    assert!(!model(&[0, 1, 2, 4]).is_strided_as(&[2, 2]));
    assert!(!model(&[0, 1, 4, 5]).is_strided_as(&[4]));
}
