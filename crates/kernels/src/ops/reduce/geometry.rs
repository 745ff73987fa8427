//! A tensor seen as outputs × reduced elements: the plan that reductions and softmax share.
//!
//! Kept and reduced axes are merged separately, so that most tensors have one stride each. Kept axes keep
//! their row-major order, because it is the output's; reduced axes may be reordered where the op does not care.
//! Invariant: every index that a kernel derives from it is an element of the layout.

use ziggurat_core::{Layout, normalize_axes};

use super::axes::{Axis, merge, merge_unordered, product};
use super::lanes::{Lanes, Side};
use crate::num::{pack, saturated, wrap};
use crate::run::error::KernelError;
use crate::source::params::params;

params! {
    /// Parameters of every kernel over outputs × reduced elements.
    pub(crate) struct ReduceParams {
        outputs: u32,
        len: u32,
        chunks: u32,
        chunk_len: u32,
        offset: u32,
        out_offset: u32,
        identity: u32,
        count: u32,
        dims: [[u32; 4]; 2],
        strides: [[u32; 4]; 2],
    }
}

/// Kernels count outputs, elements and invocations in `u32`; half of it leaves room for folded grids and unrolled
/// loops.
pub(crate) const MAX_COUNT: u64 = 1 << 31;

/// Whether the order in which an output's elements are visited matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Any order gives the result.
    Free,
    /// Positions are results: row-major over the reduced axes.
    RowMajor,
}

/// Outputs × reduced elements of one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReduceGeometry {
    pub(crate) kept: Vec<Axis<1>>,
    pub(crate) reduced: Vec<Axis<1>>,
    pub(crate) outputs: u64,
    pub(crate) len: u64,
    /// From the layout's first element to the first one visited.
    pub(crate) shift: isize,
}

impl ReduceGeometry {
    /// The geometry that reduces `axes` (distinct, any order) of `layout`.
    pub(crate) fn new(
        op: &'static str,
        layout: &Layout,
        axes: &[usize],
        order: Order,
    ) -> Result<Self, KernelError> {
        let signed: Vec<isize> = axes
            .iter()
            .map(|&axis| isize::try_from(axis).unwrap_or(isize::MAX))
            .collect();
        if !axes.is_empty() {
            normalize_axes(&signed, layout.rank()).map_err(KernelError::shape(op))?;
        }
        let (mut kept, mut reduced) = (Vec::new(), Vec::new());
        for (axis, (&dim, &stride)) in layout.dims().iter().zip(layout.strides()).enumerate() {
            let side = if axes.contains(&axis) {
                &mut reduced
            } else {
                &mut kept
            };
            side.push(Axis {
                dim: dim as u64,
                strides: [stride],
            });
        }
        let (outputs, len) = (product(&kept), product(&reduced));
        for count in [outputs, len] {
            if count > MAX_COUNT {
                return Err(KernelError::IndexTooLarge {
                    op,
                    elements: count,
                    limit: MAX_COUNT,
                });
            }
        }
        let (reduced, shift) = match order {
            Order::Free => merge_unordered(&reduced),
            Order::RowMajor => (merge(&reduced), 0),
        };
        Ok(Self {
            kept: merge(&kept),
            reduced,
            outputs,
            len,
            shift,
        })
    }

    /// The geometry of the rows of a dense `outputs × len` matrix.
    pub(crate) fn rows(outputs: u64, len: u64) -> Self {
        let stride = isize::try_from(len).unwrap_or(isize::MAX);
        Self {
            kept: merge(&[Axis {
                dim: outputs,
                strides: [stride],
            }]),
            reduced: merge(&[Axis {
                dim: len,
                strides: [1],
            }]),
            outputs,
            len,
            shift: 0,
        }
    }

    /// That of the columns of dense `len × outputs` matrices.
    pub(crate) fn columns(matrices: u64, outputs: u64, len: u64) -> Self {
        let stride = |n: u64| isize::try_from(n).unwrap_or(isize::MAX);
        let axis = |dim, stride| Axis {
            dim,
            strides: [stride],
        };
        let row = stride(outputs);
        let matrix = stride(outputs.saturating_mul(len));
        Self {
            kept: merge(&[axis(matrices, matrix), axis(outputs, 1)]),
            reduced: merge(&[axis(len, row)]),
            outputs: matrices.saturating_mul(outputs),
            len,
            shift: 0,
        }
    }

    /// Which side has the neighbours in memory.
    pub(crate) fn side(&self) -> Side {
        let step = |axes: &[Axis<1>]| axes.last().map(|axis| axis.strides[0].unsigned_abs());
        match (step(&self.kept), step(&self.reduced)) {
            (_, None) => Side::Kept,
            (None, Some(_)) => Side::Reduced,
            (Some(kept), Some(reduced)) if kept != 0 && kept < reduced => Side::Kept,
            (Some(_), Some(0)) => Side::Kept,
            (Some(_), Some(_)) => Side::Reduced,
        }
    }

    /// Whether each output's elements lie in memory in whole vectors of four, the first of which begins at a multiple of four
    /// elements from the layout's first one: then any four of a row, from a multiple of four on, can be read at once.
    pub(crate) fn has_vec4(&self) -> bool {
        let Some((inner, outer)) = self.reduced.split_last() else {
            return false;
        };
        let in_step = |axis: &Axis<1>| axis.strides[0] % 4 == 0;
        inner.strides == [1]
            && inner.dim.is_multiple_of(4)
            && self.shift % 4 == 0
            && self.kept.iter().chain(outer).all(in_step)
            && self.side() == Side::Reduced
    }

    /// Whether the elements of four neighbouring outputs, from a multiple of four on, lie side by side in memory, the first at a
    /// multiple of four elements from the layout's first one.
    pub(crate) fn has_vec4_columns(&self) -> bool {
        let Some((inner, outer)) = self.kept.split_last() else {
            return false;
        };
        let in_step = |axis: &Axis<1>| axis.strides[0] % 4 == 0;
        inner.strides == [1]
            && inner.dim.is_multiple_of(4)
            && self.shift % 4 == 0
            && outer.iter().chain(&self.reduced).all(in_step)
            && self.side() == Side::Kept
    }

    /// The override constants of a kernel for this geometry.
    pub(crate) fn constants(&self, lanes: &Lanes) -> Vec<(&'static str, f64)> {
        let mut constants = lanes.constants().to_vec();
        constants.push(("KEPT", self.kept.len() as f64));
        constants.push(("REDUCED", self.reduced.len() as f64));
        constants
    }

    /// The parameters of a kernel for this geometry; `offset` is the layout's first element in the binding.
    pub(crate) fn params(
        &self,
        lanes: &Lanes,
        offset: u32,
        out_offset: u32,
        identity: u32,
        count: u64,
    ) -> ReduceParams {
        let axes = || self.kept.iter().chain(&self.reduced);
        ReduceParams {
            outputs: saturated(self.outputs),
            len: saturated(self.len),
            chunks: lanes.chunks,
            chunk_len: lanes.chunk_len,
            offset: offset.wrapping_add(wrap(self.shift)),
            out_offset,
            identity,
            count: saturated(count),
            dims: pack(axes().map(|axis| saturated(axis.dim))),
            strides: pack(axes().map(|axis| wrap(axis.strides[0]))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use ziggurat_core::Shape;

    fn layout(dims: &[usize]) -> Layout {
        Layout::contiguous(Shape::new(dims).unwrap())
    }

    fn geometry(layout: &Layout, axes: &[usize]) -> ReduceGeometry {
        ReduceGeometry::new("sum", layout, axes, Order::Free).unwrap()
    }

    #[test]
    fn rows_reduce_along_memory_and_columns_across_it() {
        let l = layout(&[4, 5]);
        assert_eq!(geometry(&l, &[1]), ReduceGeometry::rows(4, 5));
        assert_eq!(geometry(&l, &[1]).side(), Side::Reduced);
        assert_eq!(geometry(&l, &[0]).side(), Side::Kept);
        assert_eq!(geometry(&l, &[]).side(), Side::Kept);
        assert_eq!(geometry(&l, &[0, 1]).side(), Side::Reduced);
        let broadcast = layout(&[4, 1]).expand(Shape::new([4, 9]).unwrap()).unwrap();
        assert_eq!(geometry(&broadcast, &[1]).side(), Side::Kept);
        assert_eq!(geometry(&layout(&[]), &[]).side(), Side::Kept);
    }

    #[test]
    fn rows_of_whole_vectors_are_read_in_vectors() {
        let whole = |layout: &Layout, axes: &[usize]| geometry(layout, axes).has_vec4();
        assert!(whole(&layout(&[3, 8]), &[1]) && whole(&layout(&[3, 8]), &[0, 1]));
        assert!(whole(&layout(&[2, 3, 4]), &[0, 2]));
        assert!(!whole(&layout(&[3, 8]), &[0]), "columns are not rows");
        assert!(!whole(&layout(&[3, 6]), &[1]) && !whole(&layout(&[3, 8]), &[]));
        assert!(
            !whole(&layout(&[4, 2, 6]), &[0, 2]),
            "12 elements, but the rest is 6"
        );
        let transposed = layout(&[8, 4]).transpose(0, 1).unwrap();
        assert!(!whole(&transposed, &[1]) && whole(&transposed, &[0]));
        let narrow = layout(&[5, 12]).narrow(1, 1, 8).unwrap();
        assert!(
            whole(&narrow, &[1]),
            "where it begins is not the geometry's to say"
        );
        assert!(!whole(&layout(&[5, 10]).narrow(1, 0, 8).unwrap(), &[1]));
    }

    #[test]
    fn columns_of_whole_vectors_are_read_in_vectors() {
        let whole = |layout: &Layout, axes: &[usize]| geometry(layout, axes).has_vec4_columns();
        assert!(whole(&layout(&[3, 8]), &[0]) && whole(&layout(&[5, 3, 8]), &[0, 1]));
        assert!(whole(&layout(&[2, 3, 4]), &[1]));
        assert!(!whole(&layout(&[3, 8]), &[1]) && !whole(&layout(&[3, 6]), &[0]));
        assert!(!whole(&layout(&[8, 3]), &[0]) && !whole(&layout(&[8]), &[0]));
        assert!(whole(&layout(&[8]), &[]), "nothing is reduced");
    }

    #[test]
    fn all_axes_of_a_flipped_transposed_tensor_walk_as_one() {
        let l = layout(&[4, 5]).transpose(0, 1).unwrap().flip(&[0]).unwrap();
        let w = geometry(&l, &[0, 1]);
        assert_eq!((w.reduced.len(), w.shift, w.outputs, w.len), (1, -4, 1, 20));
        let ordered = ReduceGeometry::new("argmax", &l, &[0, 1], Order::RowMajor).unwrap();
        assert_eq!((ordered.reduced.len(), ordered.shift), (2, 0));
    }

    #[test]
    fn empty_extents_count() {
        let w = geometry(&layout(&[3, 0]), &[1]);
        assert_eq!((w.outputs, w.len), (3, 0));
        let w = geometry(&layout(&[3, 0]), &[0]);
        assert_eq!((w.outputs, w.len), (0, 3));
    }

    #[test]
    fn wrong_axes_and_too_many_elements_are_errors() {
        let l = layout(&[4, 5]);
        assert!(matches!(
            ReduceGeometry::new("sum", &l, &[2], Order::Free),
            Err(KernelError::Shape { .. })
        ));
        assert!(matches!(
            ReduceGeometry::new("sum", &l, &[1, 1], Order::Free),
            Err(KernelError::Shape { .. })
        ));
        let huge = layout(&[1])
            .expand(Shape::new([1usize << 32]).unwrap())
            .unwrap();
        assert!(matches!(
            ReduceGeometry::new("sum", &huge, &[0], Order::Free),
            Err(KernelError::IndexTooLarge {
                elements: 0x1_0000_0000,
                ..
            })
        ));
    }
}
