//! Random chains of views, applied to a layout and to the model at once.
//!
//! A step is a few raw numbers; what it does is decided by the layout it meets (which axes there
//! are), so that every chain is valid and shrinks well.

use proptest::prelude::*;
use ziggurat_core::{Layout, MAX_RANK, Shape};

use crate::model::Model;

/// More elements than this are not expanded to: the model writes every one out.
const MOST: usize = 4096;

/// The operations of a chain, in the order of [`Step::kind`].
pub(crate) const KINDS: [&str; 9] = [
    "permute",
    "transpose",
    "slice",
    "narrow",
    "select",
    "flip",
    "expand",
    "reshape",
    "squeeze",
];

/// One step: the operation and raw numbers for it.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) kind: usize,
    pub(crate) raw: [u8; 4],
    pub(crate) order: Vec<u8>,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (
        0..KINDS.len() + 1,
        any::<[u8; 4]>(),
        prop::collection::vec(any::<u8>(), MAX_RANK),
    )
        .prop_map(|(kind, raw, order)| Step { kind, raw, order });
    prop::collection::vec(step, 0..=8)
}

pub(crate) fn dims() -> impl Strategy<Value = Vec<usize>> {
    let dim = prop_oneof![1 => Just(0_usize), 4 => Just(1), 12 => 2..6_usize];
    prop::collection::vec(dim, 0..=5).prop_filter("too many elements", |dims| {
        dims.iter().filter(|&&dim| dim != 0).product::<usize>() <= 600
    })
}

/// What Python gives for `range(len)[start:end:step]`, walking it one by one.
fn python_slice(len: usize, start: isize, end: Option<isize>, step: isize) -> Vec<usize> {
    let len = len as isize;
    let bound = |position: isize| {
        let position = if position < 0 {
            position + len
        } else {
            position
        };
        if step > 0 {
            position.max(0).min(len)
        } else {
            position.max(-1).min(len - 1)
        }
    };
    let mut at = bound(start);
    let end = end.map_or(if step > 0 { len } else { -1 }, bound);
    let mut picked = Vec::new();
    while (step > 0 && at < end) || (step < 0 && at > end) {
        picked.push(at as usize);
        at += step;
    }
    picked
}

/// An axis below `rank`, spelt from the front or from the back.
fn spelt(axis: usize, rank: usize, raw: u8) -> isize {
    if raw.is_multiple_of(2) {
        axis as isize
    } else {
        axis as isize - rank as isize
    }
}

/// Dimensions with the product `len`, dealt by `raw`.
fn factors(len: usize, raw: &[u8]) -> Vec<usize> {
    let mut left = len;
    let mut dims = Vec::new();
    for &raw in &raw[..usize::from(raw[0]) % 5] {
        let divisors: Vec<usize> = (1..=left.max(1))
            .filter(|d| left.is_multiple_of(*d))
            .collect();
        let dim = divisors[usize::from(raw) % divisors.len()];
        dims.push(dim);
        left /= dim;
    }
    dims.push(left);
    dims
}

/// Applies one step to both; the name of what was done, `None` if it met nothing to do.
pub(crate) fn apply(step: &Step, layout: &mut Layout, model: &mut Model) -> Option<&'static str> {
    let rank = model.dims.len();
    let [a, b, c, d] = step.raw.map(usize::from);
    let axis = if rank == 0 { 0 } else { a % rank };
    let named = spelt(axis, rank, step.raw[3]);
    let dim = model.dims.get(axis).copied();
    let name = KINDS.get(step.kind).copied().unwrap_or("unsqueeze");
    match name {
        "permute" => {
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.sort_by_key(|&axis| step.order[axis]);
            let spelt: Vec<isize> = axes
                .iter()
                .map(|&axis| spelt(axis, rank, step.order[axis]))
                .collect();
            *layout = layout.permute(&spelt).unwrap();
            *model = model.permute(&axes);
        }
        "transpose" => {
            dim?;
            let other = b % rank;
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.swap(axis, other);
            *layout = layout
                .transpose(named, spelt(other, rank, step.raw[2]))
                .unwrap();
            *model = model.permute(&axes);
        }
        "slice" => {
            let dim = dim?;
            // From beyond the front to beyond the back.
            let reach = 2 * dim as isize + 3;
            let start = b as isize % reach - dim as isize - 1;
            let end = c as isize % (reach + 1) - dim as isize - 1;
            let end = (end <= dim as isize + 1).then_some(end);
            let stride = [1, -1, 2, -2, 3, -3, 7, -7][d % 8];
            *layout = layout.slice(named, start, end, stride).unwrap();
            *model = model.pick(axis, &python_slice(dim, start, end, stride));
        }
        "narrow" => {
            let dim = dim?;
            let start = b % (dim + 1);
            let len = c % (dim - start + 1);
            *layout = layout.narrow(named, start, len).unwrap();
            *model = model.pick(axis, &(start..start + len).collect::<Vec<_>>());
        }
        "select" => {
            let dim = dim.filter(|&dim| dim > 0)?;
            let index = b % dim;
            *layout = layout
                .select(named, spelt(index, dim, step.raw[2]))
                .unwrap();
            *model = model.pick(axis, &[index]).without(axis);
        }
        "flip" => {
            let axes: Vec<usize> = (0..rank).filter(|axis| a >> axis & 1 == 1).collect();
            let spelt: Vec<isize> = axes
                .iter()
                .map(|&axis| spelt(axis, rank, step.order[axis]))
                .collect();
            *layout = layout.flip(&spelt).unwrap();
            for axis in axes {
                let reversed: Vec<usize> = (0..model.dims[axis]).rev().collect();
                *model = model.pick(axis, &reversed);
            }
        }
        "expand" => {
            let mut wanted: Vec<usize> = model.dims.clone();
            for (axis, dim) in wanted.iter_mut().enumerate() {
                if *dim == 1 && a >> axis & 1 == 1 {
                    *dim = usize::from(step.order[axis]) % 4;
                }
            }
            if b.is_multiple_of(3) && rank < MAX_RANK {
                wanted.insert(0, c % 4);
            }
            if wanted.iter().product::<usize>() > MOST {
                return None;
            }
            *layout = layout.expand(Shape::new(&wanted).unwrap()).unwrap();
            *model = model.expand(&wanted);
        }
        "reshape" => {
            let wanted = factors(model.elements.len(), &step.order);
            let view = layout.reshape(Shape::new(&wanted).unwrap()).unwrap();
            assert_eq!(
                view.is_some(),
                model.is_strided_as(&wanted),
                "{layout:?} as {wanted:?}"
            );
            *layout = view?;
            *model = model.renamed(wanted);
        }
        "squeeze" => {
            let only = (!b.is_multiple_of(3)).then_some(axis);
            *layout = layout.squeeze(only.map(|_| named)).unwrap();
            for axis in (0..rank).rev() {
                if model.dims[axis] == 1 && only.is_none_or(|only| only == axis) {
                    *model = model.without(axis);
                }
            }
        }
        _ => {
            if rank == MAX_RANK {
                return None;
            }
            let at = b % (rank + 1);
            *layout = layout.unsqueeze(spelt(at, rank + 1, step.raw[3])).unwrap();
            let mut wanted = model.dims.clone();
            wanted.insert(at, 1);
            *model = model.renamed(wanted);
        }
    }
    Some(name)
}
