//! Convolutions of few channels per group, depthwise among them: each invocation computes four rows of four outputs of one
//! channel.

use ziggurat_core::{DType, Layout};

use super::geometry::{Direction, Geometry};
use crate::limits::ability::Ability;
use crate::limits::budget::nested;
use crate::ops::spatial::spatial_strides;
use crate::source::choice::KernelChoice;

/// How the kernel of few channels lies over a convolution: what the compiler unrolls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rows {
    /// Rows are read and written four elements at a time.
    pub(super) vec4: bool,
    /// Height and width.
    pub(super) kernel: [usize; 2],
    pub(super) stride: [usize; 2],
    /// Padding in front of a row.
    pub(super) pad: usize,
}

impl Rows {
    /// Of a convolution with so few channels per group that tiles would be mostly empty.
    pub(super) fn new(g: &Geometry, x: &Layout, ability: &Ability) -> Option<Self> {
        const LONGEST: usize = 7;
        let [_, kernel @ ..] = g.kernel;
        let [_, stride @ ..] = g.stride;
        let fits = g.direction == Direction::Forward
            && !g.is_volume()
            && g.channels > 0
            && g.dilation == [1; 3]
            && kernel.iter().all(|&taps| taps <= LONGEST)
            && stride.iter().all(|&step| step <= 2);
        let &[x_batch, x_channel, ..] = x.strides() else {
            return None;
        };
        let [_, row, step] = spatial_strides(x);
        let vec4 = step == 1
            && [x_batch, x_channel, row].iter().all(|step| step % 4 == 0)
            && x.offset().is_multiple_of(4)
            && g.input[2].is_multiple_of(4)
            && g.output[2].is_multiple_of(4);
        let rows = Self {
            vec4,
            kernel,
            stride,
            pad: g.pads[2],
        };
        (fits && rows.iterations(g) <= ability.loop_budget).then_some(rows)
    }

    /// How far the first tap of a multiple of four outputs lies behind a multiple of four elements.
    const fn shift(self) -> usize {
        if self.vec4 { (4 - self.pad % 4) % 4 } else { 0 }
    }

    /// The rest of a kernel.
    pub(super) fn choice(self, choice: KernelChoice) -> KernelChoice {
        let choice = if self.vec4 {
            choice
                .name("rows_vec4")
                .parts(&["conv/rows_vec4.wgsl", "conv/rows_out_vec4.wgsl"])
        } else {
            choice
                .name("rows")
                .parts(&["conv/rows_word.wgsl", "conv/rows_out_elements.wgsl"])
        };
        let ([kernel_y, kernel_x], [stride_y, stride_x]) = (self.kernel, self.stride);
        let constants = [
            ("KERNEL_Y", kernel_y),
            ("KERNEL_X", kernel_x),
            ("STRIDE_Y", stride_y),
            ("STRIDE_X", stride_x),
            ("SHIFT", self.shift()),
        ];
        let choice = choice.part("conv/rows.wgsl").without_division_checks();
        constants.into_iter().fold(choice, |choice, (name, value)| {
            choice.constant(name, value as f64)
        })
    }

    /// Invocations.
    pub(super) fn count(g: &Geometry) -> u64 {
        let planes = (g.batch as u64) * (g.groups as u64) * (g.filters as u64);
        planes * (g.output[1] as u64).div_ceil(4) * (g.output[2] as u64).div_ceil(4)
    }

    pub(super) fn iterations(self, g: &Geometry) -> u64 {
        let [height, width] = self.kernel.map(|taps| taps as u64);
        let rows = 3 * self.stride[0] as u64 + height;
        let each = nested(&[rows, 4, width]).saturating_add(rows * 5 + height * width + 1);
        (g.channels as u64).saturating_mul(each).saturating_add(5)
    }

    /// Invocations that keep a device busy.
    const MANY: u64 = 1 << 14;

    /// Whether it takes less time than four filters of one position per invocation.
    pub(super) fn pays(g: &Geometry) -> bool {
        // Channels that an invocation of sixteen outputs adds up in a short time.
        const FEW_CHANNELS: usize = 16;
        // Groups of one filter have an invocation for each output then: on an H200 1,152 of 7 × 7 take 5 µs instead of 8.
        let idle = g.groups > 1 && g.filters == 1 && Self::count(g) < Self::MANY / 2;
        (g.channels <= FEW_CHANNELS && !idle) || Self::count(g) >= Self::MANY
    }

    /// Whether it takes less time than tiles, whose depth the products of so few channels do not fill: on an H200 64 filters of
    /// 32 × 3 × 32 × 32 take 12 µs instead of 17, 320 of 4 × 64 × 64 10 instead of 14.
    pub(super) fn pays_over_tiles(self, g: &Geometry, dtype: DType) -> bool {
        const DEPTH: usize = 36;
        // Of f32 tiles read what a stride leaves out as fast.
        let steps = dtype.bytes() < 4 || self.stride == [1; 2];
        let tiny = g.taps() > 1 && g.depth() <= DEPTH;
        self.vec4 && steps && tiny && Self::count(g) >= 2 * Self::MANY
    }
}
