//! Views of views: a layout over the row-major index space of a shape, carried over to memory that is walked otherwise.
//!
//! Every axis of a view runs along at most one axis below it, in steps; so does that of a view of a view, and its strides
//! are products. A pure function of layouts.

use ziggurat_core::{Layout, MAX_RANK};

/// Where the elements that `outer` names lie, `outer` counting the elements of `inner` in row-major order. `None` where no
/// strides express it.
pub(super) fn compose(inner: &Layout, outer: &Layout) -> Option<Layout> {
    if inner.is_contiguous() {
        let offset = outer.offset().checked_add(inner.offset())?;
        return Layout::new(*outer.shape(), outer.strides(), offset).ok();
    }
    let plain = outer.is_contiguous() && outer.offset() == 0 && outer.len() == inner.len();
    if plain && let Ok(Some(layout)) = inner.reshape(*outer.shape()) {
        return Some(layout);
    }
    let axes = Axes::of(inner);
    // Lowest and highest position reached along each axis of `inner`.
    let mut low = axes.position(outer.offset());
    let mut high = low;
    let mut offset = isize::try_from(inner.offset()).ok()?;
    for (position, stride) in low.iter().zip(inner.strides()) {
        offset += position * stride;
    }
    let mut strides = [0; MAX_RANK];
    let steps = outer.dims().iter().zip(outer.strides());
    for (slot, (&extent, &stride)) in strides.iter_mut().zip(steps) {
        if extent < 2 || stride == 0 {
            continue;
        }
        let (axis, step) = axes.along(stride)?;
        *slot = step * inner.strides().get(axis)?;
        let reach = step * extent.cast_signed().checked_sub(1)?;
        let end = if step < 0 { &mut low } else { &mut high };
        *end.get_mut(axis)? += reach;
    }
    let inside = low
        .iter()
        .zip(&high)
        .zip(inner.dims())
        .all(|((&low, &high), &extent)| low >= 0 && high < extent.cast_signed());
    if !inside && !outer.is_empty() {
        return None;
    }
    let strides = strides.get(..outer.rank())?;
    Layout::new(*outer.shape(), strides, usize::try_from(offset).ok()?).ok()
}

/// The axes of a row-major index space: extent and elements per step.
struct Axes([(isize, isize); MAX_RANK]);

impl Axes {
    fn of(layout: &Layout) -> Self {
        let mut axes = [(1, 1); MAX_RANK];
        let mut step = 1;
        let extents = layout.dims().iter().enumerate().rev();
        for (axis, &extent) in extents {
            if let Some(slot) = axes.get_mut(axis) {
                *slot = (extent.cast_signed(), step);
            }
            step *= extent.cast_signed();
        }
        Self(axes)
    }

    /// The index of an element.
    fn position(&self, element: usize) -> [isize; MAX_RANK] {
        self.0.map(|(extent, step)| {
            if extent > 1 && step > 0 {
                element.cast_signed() / step % extent
            } else {
                0
            }
        })
    }

    /// The axis that a stride runs along, and its steps there.
    fn along(&self, stride: isize) -> Option<(usize, isize)> {
        let mut axes = self.0.iter().enumerate();
        axes.find(|(_, (extent, step))| *extent > 1 && stride % step == 0)
            .map(|(axis, (_, step))| (axis, stride / step))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use proptest::prelude::*;
    use ziggurat_core::Shape;

    fn contiguous(dims: &[usize]) -> Layout {
        Layout::contiguous(Shape::new(dims).unwrap())
    }

    /// One view step chosen by numbers, or the layout as it is where the choice does not fit.
    fn step(layout: Layout, kind: u8, a: usize, b: isize) -> Layout {
        let rank = layout.rank();
        let axis = (a % rank.max(1)) as isize;
        let changed = match kind {
            0 if rank > 1 => layout.transpose(axis, b % rank as isize),
            1 if rank > 0 => layout.slice(axis, b, None, if b % 2 == 0 { 1 } else { -2 }),
            2 if rank > 0 => layout.flip(&[axis]),
            3 => layout.unsqueeze(0),
            4 => layout.squeeze(None),
            5 if rank > 0 => layout.narrow(axis, 0, layout.dims()[axis as usize].div_ceil(2)),
            6 if rank > 0 => layout.unsqueeze(0).and_then(|layout| {
                let dims = [&[3], &layout.dims()[1..]].concat();
                layout.expand(Shape::new(dims)?)
            }),
            7 => {
                return layout
                    .reshape(Shape::new([layout.len()]).unwrap())
                    .unwrap()
                    .unwrap_or(layout);
            }
            _ => Ok(layout),
        };
        changed.unwrap_or(layout)
    }

    fn walked(layout: Layout, steps: &[(u8, usize, isize)]) -> Layout {
        steps
            .iter()
            .fold(layout, |layout, &(kind, a, b)| step(layout, kind, a, b))
    }

    fn any_steps() -> impl Strategy<Value = Vec<(u8, usize, isize)>> {
        prop::collection::vec((0u8..8, 0usize..4, -3isize..4), 0..5)
    }

    proptest! {
        #[test]
        fn a_view_of_a_view_names_the_same_elements(
            dims in prop::collection::vec(1usize..5, 0..4),
            below in any_steps(),
            above in any_steps(),
        ) {
            let inner = walked(contiguous(&dims), &below);
            prop_assume!(inner.rank() < 5);
            let outer = walked(Layout::contiguous(*inner.shape()), &above);
            if let Some(both) = compose(&inner, &outer) {
                let memory: Vec<usize> = inner.offsets().collect();
                let expected: Vec<usize> = outer.offsets().map(|at| memory[at]).collect();
                prop_assert_eq!(both.offsets().collect::<Vec<_>>(), expected);
                prop_assert_eq!(both.shape(), outer.shape());
            }
        }
    }

    #[test]
    fn common_views_of_a_transposed_matrix_need_no_copy() {
        let inner = contiguous(&[3, 4]).transpose(0, 1).unwrap();
        let space = Layout::contiguous(*inner.shape());
        let views = [
            space.transpose(0, 1).unwrap(),
            space.slice(0, 1, Some(3), 1).unwrap(),
            space.slice(1, -1, None, -1).unwrap(),
            space.flip(&[0, 1]).unwrap(),
            space.unsqueeze(1).unwrap(),
            space.select(0, 2).unwrap(),
            space
                .unsqueeze(0)
                .unwrap()
                .expand(Shape::new([5, 4, 3]).unwrap())
                .unwrap(),
            space
                .reshape(Shape::new([2, 2, 3]).unwrap())
                .unwrap()
                .unwrap(),
        ];
        for view in &views {
            assert!(compose(&inner, view).is_some(), "{view:?}");
        }
        let joined = space.reshape(Shape::new([12]).unwrap()).unwrap().unwrap();
        assert_eq!(compose(&inner, &joined), None);
    }
}
