//! Transposed convolutions as convolutions of more filters, whose results are interleaved ("sub-pixel convolutions", Shi et al.
//! 2016, <https://arxiv.org/abs/1609.05158>).
//!
//! Along an axis of stride s, output o with o + pad = s·q + r adds up taps r, r + s, .. over inputs q, q − 1, ..: for each phase r a
//! convolution of stride 1 with a filter of kernel / s taps. Where that is no whole number, some phases would have a tap of 0, which
//! makes an infinite input NaN: such a convolution has no phases here. All phases are filters of one convolution, which takes whatever
//! kernel is the best one for it; none of its products is with what lies between two inputs.

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_pipeline::Grid;

use super::super::geometry::{Direction, Geometry};
use super::super::plan::{self, front};
use super::super::{Seen, steps_of};
use super::products;
use crate::limits::ability::Ability;
use crate::num::{saturated, wrap};
use crate::ops::reduce::geometry::MAX_COUNT;
use crate::ops::spatial::{spatial_strides, steps as strides, vector};
use crate::run::error::KernelError;
use crate::run::plan::{Between, Bound, Planner};
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{ParamField, Params, params};
use crate::source::prelude;

params! {
    /// Parameters of what comes before and behind.
    pub(crate) struct SubPixelParams {
        filters: u32,
        channels: u32,
        rows: u32,
        row: u32,
        phases: u32,
        taps: u32,
        biases: u32,
        planes: u32,
        plane: u32,
        w_offset: u32,
        bias_offset: u32,
        bias_step: u32,
        out_offset: u32,
        w_group: u32,
        w_filter: u32,
        w_channel: u32,
        window: [u32; 4],
        stride: [u32; 4],
        w_steps: [u32; 4],
        extent: [u32; 4],
        result: [u32; 4],
        cut: [u32; 4],
    }
}

/// Outputs between two inputs.
fn phases(g: &Geometry) -> usize {
    g.stride.iter().product()
}

/// The convolution of all phases; none if a stride and a dilation meet along an axis, phases differ in their taps, or more is cut
/// off than a filter reaches.
fn inner(g: &Geometry, dtype: DType) -> Option<Geometry> {
    const MOST_PHASES: usize = 64;
    if g.direction != Direction::Transposed || g.channels == 0 {
        return None;
    }
    let phases = g
        .stride
        .iter()
        .try_fold(1_usize, |n, &stride| n.checked_mul(stride))?;
    let mut inner = Geometry {
        direction: Direction::Forward,
        filters: g.filters.checked_mul(phases)?,
        stride: [1; 3],
        ..*g
    };
    for axis in 0..3 {
        let [input, kernel, output] = [g.input, g.kernel, g.output].map(|of| of[axis]);
        let [stride, dilation, pad] = [g.stride, g.dilation, g.pads].map(|of| of[axis]);
        if (stride > 1 && dilation > 1) || !kernel.is_multiple_of(stride) {
            return None;
        }
        let window = kernel / stride;
        let reach = (window - 1).checked_mul(dilation)?;
        let first = pad / stride;
        let last = output.checked_add(pad)?.checked_sub(1)? / stride;
        inner.kernel[axis] = window;
        inner.output[axis] = last - first + 1;
        inner.pads[axis] = reach.checked_sub(first)?;
        let read = inner.output[axis].checked_add(reach)?;
        let there = inner.pads[axis].checked_add(input)?;
        inner.padding_end[axis] = read.abs_diff(there);
    }
    // Matrix units write f16 and bf16 four positions at a time then: on an H200 128 channels of 32 × 28 × 28 take 87 µs instead of 131.
    if dtype.bytes() == 2 && !inner.is_pointwise() && !inner.plane().is_multiple_of(4) {
        let width = inner.output[2].next_multiple_of(4);
        inner.padding_end[2] = inner.padding_end[2].saturating_add(width - inner.output[2]);
        inner.output[2] = width;
    }
    (phases <= MOST_PHASES).then_some(inner)
}

/// Elements of a filter of a phase, as far as they are stored.
fn row(inner: &Geometry) -> usize {
    inner.depth().next_multiple_of(4)
}

/// Where the bias of all phases begins behind their filters, and elements of both.
fn lengths(inner: &Geometry, bias: bool) -> [u64; 2] {
    let filters = (inner.groups as u64).saturating_mul(inner.filters as u64);
    let weights = filters.saturating_mul(row(inner) as u64);
    [
        weights,
        weights.saturating_add(if bias { filters } else { 0 }),
    ]
}

/// Elements of the results of all phases.
fn results(inner: &Geometry) -> u64 {
    let planes = [inner.batch, inner.groups, inner.filters, inner.plane()];
    planes
        .into_iter()
        .fold(1, |n, extent| n.saturating_mul(extent as u64))
}

/// Whether a device can run it.
pub(super) fn fits(g: &Geometry, seen: Seen<'_>, ability: &Ability) -> bool {
    inner(g, seen.dtype).is_some_and(|inner| {
        let [_, elements] = lengths(&inner, seen.bias_step.is_some());
        let most = elements.max(results(&inner));
        let bytes = most.saturating_mul(seen.dtype.bytes() as u64);
        most <= MAX_COUNT
            && bytes.saturating_add(16) <= ability.binding_bytes
            && phases(g) as u64 <= ability.loop_budget
    })
}

/// Whether it takes less time than a kernel that looks for taps between inputs.
pub(super) fn pays(g: &Geometry) -> bool {
    const DEPTH: usize = 128;
    // Worth two more dispatches.
    const PRODUCTS: u64 = 1 << 22;
    g.depth() >= DEPTH && products(g) >= PRODUCTS
}

/// The convolution of all phases, and how its filters lie.
fn inner_and_filters(g: &Geometry, dtype: DType) -> Option<(Geometry, Layout)> {
    let inner = inner(g, dtype)?;
    let [depth, height, width] = inner.kernel;
    let filters = inner.groups.checked_mul(inner.filters)?;
    let shape = Shape::new([filters, inner.channels, depth, height, width]).ok()?;
    let strides = [row(&inner), inner.taps(), height * width, width, 1];
    let strides = strides.map(|stride| isize::try_from(stride).unwrap_or(isize::MAX));
    Some((inner, Layout::new(shape, &strides, 0).ok()?))
}

/// The operands of the convolution of all phases.
fn of_phases<'a>(inner: &Geometry, seen: Seen<'a>, w: &'a Layout) -> Seen<'a> {
    Seen {
        w,
        bias_step: seen.bias_step.map(|_| 1),
        w_group: wrap(front(w).0).wrapping_mul(saturated(inner.filters as u64)),
        ..seen
    }
}

/// Adds the dispatches.
pub(super) fn steps(p: &mut Planner<'_>, g: &Geometry, seen: Seen<'_>) -> Result<(), KernelError> {
    let Some((inner, w)) = inner_and_filters(g, seen.dtype) else {
        return Err(KernelError::internal(
            p.op,
            "a transposed convolution has phases that it cannot have",
        ));
    };
    let of_phases = of_phases(&inner, seen, &w);
    let (op, dtype, phases) = (p.op, seen.dtype, phases(g));
    let [from_bias, elements] = lengths(&inner, seen.bias_step.is_some());
    let shape = |len: u64| {
        Shape::new([usize::try_from(len).unwrap_or(usize::MAX)]).map_err(KernelError::shape(op))
    };
    let filters = p.scratch(shape(elements)?, dtype)?;
    let (given, bias) = (p.needed(0)?, p.other(1)?);
    let whole = SubPixelParams {
        biases: saturated(elements - from_bias),
        w_offset: given.offset,
        bias_offset: bias.map_or(0, |bias| bias.offset),
        bias_step: seen.bias_step.unwrap_or(0),
        ..params(g, &inner, seen)
    };
    let bindings = [given, filters].into_iter().chain(bias);
    let grid = |invocations: u64| Grid::elements(invocations, 1);
    let choice = filters_of_phases(dtype, bias.is_some());
    let vectors = from_bias / phases as u64 / 4 + (elements - from_bias).div_ceil(4);
    p.step(choice, bindings, &whole, grid(vectors));

    let filters = filters.read();
    let bias = bias.map(|_| Bound {
        offset: saturated(from_bias),
        ..filters
    });
    let of_all = p.scratch(shape(results(&inner))?, dtype)?;
    let method = plan::ways(&inner, of_phases, &p.exec.ability()).default;
    let between = Between {
        others: [Some(filters), bias],
        out: Some(of_all),
    };
    p.with(between, |p| steps_of(p, &inner, of_phases, method))?;
    let (out, vec4) = (p.out()?, g.output[2].is_multiple_of(4));
    let params = SubPixelParams {
        out_offset: out.offset,
        ..whole
    };
    let outputs = u64::from(whole.planes).saturating_mul(g.plane() as u64);
    let invocations = outputs / if vec4 { 4 } else { 1 };
    let choice = interleave(g.is_volume() || inner.is_volume(), dtype, vec4);
    p.last(choice, [of_all.read(), out], &params, grid(invocations));
    Ok(())
}

/// What the geometry and the strides of the filters say.
fn params(g: &Geometry, inner: &Geometry, seen: Seen<'_>) -> SubPixelParams {
    let n = |value: usize| saturated(value as u64);
    let (w_channel, w_filter) = front(seen.w);
    let mut cut = g.pads;
    for (cut, stride) in cut.iter_mut().zip(g.stride) {
        *cut %= stride;
    }
    SubPixelParams {
        filters: n(g.filters),
        channels: n(g.channels),
        rows: n(g.groups.saturating_mul(g.filters)),
        row: n(row(inner)),
        phases: n(phases(g)),
        taps: n(inner.taps()),
        planes: n(g.batch.saturating_mul(g.groups).saturating_mul(g.filters)),
        plane: n(inner.plane()),
        w_group: seen.w_group,
        w_filter: wrap(w_filter),
        w_channel: wrap(w_channel),
        window: vector(inner.kernel),
        stride: vector(g.stride),
        w_steps: strides(spatial_strides(seen.w)),
        extent: vector(inner.output),
        result: vector(g.output),
        cut: vector(cut),
        ..SubPixelParams::default()
    }
}

fn base(volume: bool, dtype: DType, name: &'static str) -> KernelChoice {
    KernelChoice::new(Direction::Transposed.op(if volume { 3 } else { 2 }))
        .constant("VOLUME", u32::from(volume))
        .name(dtype.name())
        .name(name)
        .part(prelude::FLOAT)
        .load(dtype)
        .store(dtype)
        // Extents and strides are divided by; a dispatch without results is not recorded.
        .without_division_checks()
}

/// What reorders filters.
fn filters_of_phases(dtype: DType, bias: bool) -> KernelChoice {
    base(false, dtype, "filters")
        .name(if bias { "bias" } else { "no_bias" })
        .vec4()
        .params("conv/subpixel/params.wgsl")
        .parts(&[
            "conv/common.wgsl",
            "conv/filter.wgsl",
            if bias {
                "conv/bias.wgsl"
            } else {
                "conv/no_bias.wgsl"
            },
            "conv/subpixel/filters.wgsl",
        ])
}

/// What interleaves phases.
fn interleave(volume: bool, dtype: DType, vec4: bool) -> KernelChoice {
    let choice = base(volume, dtype, "interleave");
    let (choice, row) = if vec4 {
        let row = "conv/subpixel/row_vec4.wgsl";
        (choice.name("vec4").vec4(), row)
    } else {
        let row = "conv/subpixel/row_element.wgsl";
        (choice.name("elements").cell(dtype), row)
    };
    choice
        .params("conv/subpixel/params.wgsl")
        .parts(&["conv/common.wgsl", "conv/image.wgsl"])
        .parts(&[row, "conv/subpixel/interleave.wgsl"])
}

/// Every kernel, for the catalogue.
pub(in crate::ops::conv) fn variants() -> Vec<Candidate> {
    let floats = || DType::ALL.into_iter().filter(|dtype| dtype.is_float());
    let filters =
        floats().flat_map(|dtype| [false, true].map(|bias| filters_of_phases(dtype, bias)));
    let forms = [(false, false), (false, true), (true, false), (true, true)];
    let interleaved =
        floats().flat_map(|dtype| forms.map(|(volume, vec4)| interleave(volume, dtype, vec4)));
    let all = filters.chain(interleaved);
    all.map(|choice| Candidate::new(choice, SubPixelParams::FIELDS))
        .collect()
}

/// Kernels that write through an epilogue over results of a dtype, and their bindings.
pub(in crate::ops::conv) fn writing_fused()
-> Vec<(DType, KernelChoice, &'static [ParamField], usize)> {
    let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
    let forms = floats.flat_map(|dtype| [false, true].map(|vec4| (dtype, vec4)));
    forms
        .map(|(dtype, vec4)| {
            let choice = interleave(false, dtype, vec4);
            (dtype, choice, SubPixelParams::FIELDS, 2)
        })
        .collect()
}
