//! The kernels of pooling: which files, constants and parameters each has.

use ziggurat_core::DType;

use crate::limits::budget::{POWER_ITERATIONS, nested};
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

/// What the kernel makes of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    Max,
    MaxIndex,
    Average,
    Power,
}

impl Window {
    const ALL: [Self; 4] = [Self::Max, Self::MaxIndex, Self::Average, Self::Power];

    pub(super) const fn accepts(self, dtype: DType) -> bool {
        match self {
            Self::Max | Self::MaxIndex => !dtype.is_bool(),
            Self::Average | Self::Power => dtype.is_float(),
        }
    }

    pub(super) const fn output(self, input: DType) -> DType {
        match self {
            Self::MaxIndex => DType::I32,
            _ => input,
        }
    }

    /// Words of the state of a window.
    pub(super) const fn words(self) -> u32 {
        match self {
            Self::MaxIndex => 2,
            _ => 1,
        }
    }

    /// Iterations of the loops of an invocation for taps along depth, height and width.
    pub(super) fn iterations(self, [depth, height, width]: [u64; 3]) -> u64 {
        match self {
            Self::Power => nested(&[depth, height, width, POWER_ITERATIONS]),
            _ => nested(&[depth, height, width]),
        }
    }

    pub(super) const fn name(self, range: Range) -> &'static str {
        match (self, range) {
            (Self::Max, Range::Sliding) => "max_pool",
            (Self::MaxIndex, Range::Sliding) => "max_pool_indices",
            (Self::Average, Range::Sliding) => "avg_pool",
            (Self::Power, Range::Sliding) => "lp_pool",
            (Self::Max, Range::Adaptive) => "adaptive_max_pool",
            (Self::MaxIndex, Range::Adaptive) => "adaptive_max_pool_indices",
            (Self::Average | Self::Power, Range::Adaptive) => "adaptive_avg_pool",
        }
    }
}

/// Where windows lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    Sliding,
    Adaptive,
}

params! {
    /// Parameters of the pooling kernels.
    pub(crate) struct PoolParams {
        outputs: u32,
        channels: u32,
        plane: u32,
        offset: u32,
        out_offset: u32,
        identity: u32,
        include_pad: u32,
        divisor: u32,
        x_batch: u32,
        x_channel: u32,
        power: f32,
        resumed: u32,
        extent: [u32; 4],
        result: [u32; 4],
        kernel: [u32; 4],
        stride: [u32; 4],
        dilation: [u32; 4],
        pad: [u32; 4],
        pad_end: [u32; 4],
        steps: [u32; 4],
        first_tap: [u32; 4],
        end_tap: [u32; 4],
    }
}

/// Which of the dispatches over its windows a kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The only one.
    Whole,
    /// One that leaves states of windows for the next.
    Some,
    /// The last of several.
    Last,
}

impl Stage {
    const ALL: [Self; 3] = [Self::Whole, Self::Some, Self::Last];

    /// What tells its kernel's label from that of the whole.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Whole => &[],
            Self::Some => &["some"],
            Self::Last => &["last"],
        }
    }
}

/// How the rows of windows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// Element by element, with any strides.
    Elements,
    /// They are dense and of whole vectors, all within the input.
    Vectors,
}

/// The part with the window, and the files that it calls.
fn window_parts(choice: KernelChoice, window: Window, dtype: DType) -> KernelChoice {
    let keys = || {
        if dtype.is_float() {
            "reduce/key/float.wgsl"
        } else {
            "reduce/key/int.wgsl"
        }
    };
    match window {
        Window::Average => choice.part("pool/average.wgsl"),
        Window::Power => choice.parts(&[
            "functions/exp.wgsl",
            "functions/log.wgsl",
            "functions/pow.wgsl",
            "elementwise/binary/pow.wgsl",
            "pool/power.wgsl",
        ]),
        Window::Max => choice
            .parts(&[keys(), "pool/max.wgsl"])
            .constant("LEAST", 0),
        Window::MaxIndex => choice
            .parts(&[keys(), "pool/max_index.wgsl"])
            .constant("LEAST", 0),
    }
}

/// The kernel for small windows of planes that lie within the input: height and width of a window, and the steps between them.
pub(super) fn inner(window: Window, dtype: DType, [taps, steps]: [[u32; 2]; 2]) -> KernelChoice {
    let output = window.output(dtype);
    let choice = KernelChoice::new(window.name(Range::Sliding))
        .name(dtype.name())
        .name("inner")
        .parts(&[prelude::FLOAT, prelude::load(dtype), prelude::store(output)]);
    let choice = if prelude::is_packed(output) {
        choice
    } else {
        choice.part(prelude::cell(output))
    };
    let choice = window_parts(choice.part("pool/params.wgsl"), window, dtype);
    let [[height, width], [down, right]] = [taps, steps];
    choice
        .parts(&[
            "pool/window.wgsl",
            if prelude::is_packed(output) {
                "pool/window_vec4.wgsl"
            } else {
                "pool/window_element.wgsl"
            },
        ])
        .constant("TAPS_HEIGHT", height)
        .constant("TAPS_WIDTH", width)
        .constant("STEP_HEIGHT", down)
        .constant("STEP_WIDTH", right)
}

/// Outputs that an invocation of [`inner`] computes.
pub(super) const fn per_invocation(output: DType) -> u32 {
    if prelude::is_packed(output) { 4 } else { 1 }
}

pub(super) fn choice(
    window: Window,
    range: Range,
    stage: Stage,
    row: Row,
    dtype: DType,
) -> KernelChoice {
    let output = window.output(dtype);
    let choice = KernelChoice::new(window.name(range)).name(dtype.name());
    let choice = (stage.names().iter().copied())
        .fold(choice, KernelChoice::name)
        .parts(&[prelude::FLOAT, prelude::load(dtype), prelude::store(output)]);
    let choice = match stage {
        Stage::Whole => choice.parts(&[
            prelude::cell(output),
            "pool/out_element.wgsl",
            "pool/no_state.wgsl",
        ]),
        Stage::Some => choice.part("pool/out_state.wgsl"),
        Stage::Last => choice.parts(&[
            prelude::cell(output),
            "pool/out_element.wgsl",
            "pool/state.wgsl",
        ]),
    };
    let choice = match row {
        Row::Elements => choice.part("pool/row_element.wgsl"),
        Row::Vectors => choice.name("vec4").part("pool/row_vec4.wgsl"),
    };
    let choice = choice.parts(&[
        "pool/params.wgsl",
        match range {
            Range::Sliding => "pool/sliding.wgsl",
            Range::Adaptive => "pool/adaptive.wgsl",
        },
    ]);
    window_parts(choice, window, dtype).part("pool/body.wgsl")
}

/// Every pooling for every dtype it accepts, over both kinds of windows.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    for window in Window::ALL {
        for dtype in DType::ALL
            .into_iter()
            .filter(|&dtype| window.accepts(dtype))
        {
            if window != Window::Power {
                all.push(inner(window, dtype, [[3, 2], [2, 1]]));
            }
            let of = |range, stage, row| choice(window, range, stage, row, dtype);
            for stage in Stage::ALL {
                all.push(of(Range::Sliding, stage, Row::Elements));
                if window != Window::Power {
                    all.push(of(Range::Adaptive, stage, Row::Elements));
                }
            }
            if window != Window::Power {
                all.push(of(Range::Adaptive, Stage::Whole, Row::Vectors));
            }
        }
    }
    all.into_iter()
        .map(|choice| Candidate::new(choice, PoolParams::FIELDS))
        .collect()
}
