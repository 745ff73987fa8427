//! Depth, height and width: what convolutions, pooling and resampling share.

use ziggurat_core::Layout;

use crate::num::{saturated, wrap};

/// Values of the last spatial axes, `fill` for those in front.
pub(crate) fn spread<const N: usize, T: Copy>(values: [T; N], fill: T) -> [T; 3] {
    let mut all = [fill; 3];
    let from = all.iter_mut().rev();
    for (slot, &value) in from.zip(values.iter().rev()) {
        *slot = value;
    }
    all
}

/// The extents or strides behind the first two, as depth, height, width.
pub(crate) fn spatial<T: Copy>(values: &[T], fill: T) -> [T; 3] {
    let mut all = [fill; 3];
    for (slot, &value) in all.iter_mut().rev().zip(values.iter().skip(2).rev()) {
        *slot = value;
    }
    all
}

/// The strides of the spatial axes, 0 for those that a layout does not have.
pub(crate) fn spatial_strides(layout: &Layout) -> [isize; 3] {
    spatial(layout.strides(), 0)
}

/// Spatial values as a vector of the shader.
pub(crate) fn vector(values: [usize; 3]) -> [u32; 4] {
    let mut all = [0; 4];
    for (slot, value) in all.iter_mut().zip(values) {
        *slot = saturated(value as u64);
    }
    all
}

pub(crate) fn steps(values: [isize; 3]) -> [u32; 4] {
    let mut all = [0; 4];
    for (slot, value) in all.iter_mut().zip(values) {
        *slot = wrap(value);
    }
    all
}
