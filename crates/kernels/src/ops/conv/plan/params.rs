//! The parameters of the convolution kernels.

use super::super::Seen;
use super::super::geometry::{Direction, Geometry};
use super::front;
use crate::limits::budget::Part;
use crate::num::{saturated, wrap};
use crate::ops::spatial::{spatial_strides, steps, vector};
use crate::source::params::params;

params! {
    /// Parameters of the convolution kernels.
    pub(crate) struct ConvParams {
        batch: u32,
        groups: u32,
        channels: u32,
        filters: u32,
        tiles_m: u32,
        tiles_n: u32,
        k: u32,
        plane: u32,
        x_offset: u32,
        w_offset: u32,
        bias_offset: u32,
        bias_step: u32,
        out_offset: u32,
        x_batch: u32,
        x_channel: u32,
        w_group: u32,
        w_filter: u32,
        w_channel: u32,
        x_group: u32,
        resumed: u32,
        extent: [u32; 4],
        result: [u32; 4],
        kernel: [u32; 4],
        stride: [u32; 4],
        dilation: [u32; 4],
        pad: [u32; 4],
        x_steps: [u32; 4],
        w_steps: [u32; 4],
    }
}

/// What the geometry and the operands' strides say; offsets come with the bindings.
pub(in crate::ops::conv) fn params(g: &Geometry, seen: Seen<'_>) -> ConvParams {
    let Seen { x, w, .. } = seen;
    let n = |value: usize| saturated(value as u64);
    let ((x_batch, x_channel), (w_first, w_second)) = (front(x), front(w));
    let times = |stride: isize, by: usize| wrap(stride).wrapping_mul(n(by));
    let (w_filter, w_channel) = match g.direction {
        Direction::Forward => (w_first, w_second),
        Direction::Transposed => (w_second, w_first),
    };
    ConvParams {
        batch: n(g.batch),
        groups: n(g.groups),
        channels: n(g.channels),
        filters: n(g.filters),
        k: n(g.depth()),
        plane: n(g.plane()),
        x_batch: wrap(x_batch),
        x_channel: wrap(x_channel),
        x_group: times(x_channel, g.channels),
        w_group: seen.w_group,
        w_filter: wrap(w_filter),
        w_channel: wrap(w_channel),
        extent: vector(g.input),
        result: vector(g.output),
        kernel: vector(g.kernel),
        stride: vector(g.stride),
        dilation: vector(g.dilation),
        pad: vector(g.pads),
        x_steps: steps(spatial_strides(x)),
        w_steps: steps(spatial_strides(w)),
        ..ConvParams::default()
    }
}

impl ConvParams {
    /// Those of a dispatch that adds up some of the channels and taps (of the axes).
    pub(in crate::ops::conv) fn of_part(self, part: &Part<4>) -> Self {
        let [channel, taps @ ..] = part.from.map(saturated);
        let [channels, kernel @ ..] = part.len.map(saturated);
        let mut some = Self {
            channels,
            k: saturated(part.len.iter().product()),
            x_offset: self
                .x_offset
                .wrapping_add(channel.wrapping_mul(self.x_channel)),
            w_offset: self
                .w_offset
                .wrapping_add(channel.wrapping_mul(self.w_channel)),
            resumed: u32::from(part.resumed),
            ..self
        };
        let axes = some.kernel.iter_mut().zip(&mut some.pad);
        let axes = axes.zip(self.w_steps.iter().zip(&self.dilation));
        for (((len, pad), (step, dilation)), (first, count)) in axes.zip(taps.iter().zip(kernel)) {
            *len = count;
            *pad = pad.wrapping_sub(first.wrapping_mul(*dilation));
            some.w_offset = some.w_offset.wrapping_add(first.wrapping_mul(*step));
        }
        some
    }
}
