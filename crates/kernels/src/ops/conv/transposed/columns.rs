//! Transposed convolutions as plain ones with a filter of one element for each tap, whose sums are added where taps overlap
//! ("col2im", Chellapilla et al. 2006, <https://inria.hal.science/inria-00112631>).
//!
//! Every tap multiplies every input once, whatever the stride, and each output adds up the taps that it has. The sums are f32, a
//! result is rounded once.

use ziggurat_core::{DType, Layout, Shape};

use super::super::fold;
use super::super::geometry::{Direction, Geometry};
use super::super::plan::{self, ConvParams, Method};
use super::super::{Seen, shares, sums_of};
use super::products;
use crate::limits::ability::Ability;
use crate::num::saturated;
use crate::ops::reduce::geometry::MAX_COUNT;
use crate::run::error::KernelError;
use crate::run::plan::{Between, Planner};
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{ParamField, Params};
use crate::source::prelude;

/// The convolution of all taps.
fn inner(g: &Geometry) -> Option<Geometry> {
    if g.direction != Direction::Transposed || g.channels == 0 {
        return None;
    }
    Some(Geometry {
        direction: Direction::Forward,
        filters: g.filters.checked_mul(g.taps())?,
        kernel: [1; 3],
        output: g.input,
        stride: [1; 3],
        dilation: [1; 3],
        pads: [0; 3],
        padding_end: [0; 3],
        ..*g
    })
}

/// Its filters, if filters and taps lie at one distance.
fn filters_of_taps(g: &Geometry, w: &Layout) -> Option<Layout> {
    let of_group = w.narrow(0, 0, g.channels).ok()?;
    let mut dims = [1; 5];
    dims[0] = g.channels;
    dims[1] = g.filters.checked_mul(g.taps())?;
    let shape = dims.get(..w.rank())?;
    let rows = of_group.reshape(Shape::new(shape).ok()?);
    rows.ok()??.transpose(0, 1).ok()
}

/// The operands of the convolution of all taps.
fn of_taps<'a>(seen: Seen<'a>, w: &'a Layout) -> Seen<'a> {
    Seen {
        w,
        bias_step: None,
        ..seen
    }
}

/// Whether a device can run it.
pub(super) fn fits(g: &Geometry, seen: Seen<'_>, ability: &Ability) -> bool {
    // Of memory between steps; more is left to operands.
    const MOST_BYTES: u64 = 1 << 30;
    let Some((inner, w)) = inner(g).zip(filters_of_taps(g, seen.w)) else {
        return false;
    };
    let Some(method) = tiles(&inner, of_taps(seen, &w), ability) else {
        return false;
    };
    let shares = match method {
        Method::Shared(shared) => shared.shares,
        Method::Packed(packing) => packing.shares,
        _ => 1,
    };
    let sums = shares::sums(&inner, shares);
    let taps = g.kernel.map(|taps| taps as u64);
    let additions = fold::additions(g, [1, taps[0], taps[1], taps[2]]);
    let additions = additions.saturating_mul(u64::from(shares));
    let most = ability.binding_bytes.min(MOST_BYTES);
    sums <= MAX_COUNT
        && sums.saturating_mul(4).saturating_add(16) <= most
        && additions <= ability.loop_budget
}

/// The way to compute the convolution of all taps; none if that has no tiles.
fn tiles(inner: &Geometry, seen: Seen<'_>, ability: &Ability) -> Option<Method> {
    let method = plan::ways(inner, seen, ability).default;
    has_tiles(method).then_some(method)
}

/// Others do not leave sums.
pub(super) const fn has_tiles(method: Method) -> bool {
    !matches!(method, Method::Direct | Method::Rows(_))
}

/// Whether it takes less time than a kernel that looks for taps between inputs.
pub(super) fn pays(g: &Geometry) -> bool {
    const CHANNELS: usize = 16;
    // Worth another dispatch: 16 channels of 16 × 16 take 18 µs instead of 30 on an H200.
    const PRODUCTS: u64 = 1 << 20;
    g.channels >= CHANNELS && products(g) >= PRODUCTS
}

/// Whether it takes less time than a convolution of all phases, where both pay: its sums go through memory, several for each output
/// where taps overlap. On an H200 64 channels of 28 × 28 with 4 × 4 taps and stride 2 take 14 µs instead of 34; of 8 images, with more
/// sums than that, both take about as long.
pub(super) fn first(g: &Geometry, dtype: DType) -> bool {
    const SUMS: u64 = 1 << 22;
    let sums = inner(g).map(|inner| shares::sums(&inner, 1));
    // Phases of one tap are planes, which f16 multiplies as they lie.
    let planes = dtype == DType::F16 && g.kernel == g.stride;
    sums.is_some_and(|sums| sums <= SUMS) && !planes
}

/// Adds the dispatches.
pub(super) fn steps(p: &mut Planner<'_>, g: &Geometry, seen: Seen<'_>) -> Result<(), KernelError> {
    steps_by(p, g, seen, tiles)
}

/// Adds the dispatches, in a way to compute the convolution of all taps.
pub(super) fn steps_by(
    p: &mut Planner<'_>,
    g: &Geometry,
    seen: Seen<'_>,
    way: impl FnOnce(&Geometry, Seen<'_>, &Ability) -> Option<Method>,
) -> Result<(), KernelError> {
    let planned = inner(g).zip(filters_of_taps(g, seen.w));
    let method = planned.as_ref().and_then(|(inner, w)| {
        let ability = p.exec.ability();
        way(inner, of_taps(seen, w), &ability)
    });
    let (Some((inner, w)), Some(method)) = (planned, method) else {
        return Err(KernelError::internal(
            p.op,
            "the taps of a transposed convolution have tiles that they cannot have",
        ));
    };
    let between = Between {
        others: [p.other(0)?, None],
        out: None,
    };
    let (sums, layers) = p.with(between, |p| sums_of(p, &inner, of_taps(seen, &w), method))?;

    let (bias, out) = (p.other(1)?, p.out()?);
    let n = |value: usize| saturated(value as u64);
    let (filters, plane) = (n(g.groups.saturating_mul(g.filters)), n(inner.plane()));
    let [_, height, width] = g.kernel.map(n);
    let tap = plane;
    let filter = n(g.taps()).wrapping_mul(tap);
    let layer = filters.wrapping_mul(filter);
    let params = ConvParams {
        groups: layers,
        channels: filters,
        x_offset: 0,
        bias_offset: bias.map_or(0, |bias| bias.offset),
        bias_step: seen.bias_step.unwrap_or(0),
        out_offset: out.offset,
        x_batch: layers.wrapping_mul(layer),
        x_channel: layer,
        x_group: filter,
        x_steps: [0, 0, 1, 0],
        w_steps: [
            height.wrapping_mul(width).wrapping_mul(tap),
            width.wrapping_mul(tap),
            tap,
            0,
        ],
        ..plan::params(g, seen)
    };
    let vec4 = g.output[2].is_multiple_of(4);
    let grid = fold::grid((g.batch as u64).saturating_mul(u64::from(filters)), g);
    let choice = add(g.is_volume(), seen.dtype, bias.is_some(), vec4);
    let bindings = [sums.read(), out].into_iter().chain(bias);
    p.last(choice, bindings, &params, grid);
    Ok(())
}

/// What adds the sums of taps that overlap.
fn add(volume: bool, dtype: DType, bias: bool, vec4: bool) -> KernelChoice {
    let choice = KernelChoice::new(Direction::Transposed.op(if volume { 3 } else { 2 }))
        .constant("VOLUME", u32::from(volume))
        .name(dtype.name())
        .name("columns")
        .name(if bias { "bias" } else { "no_bias" })
        .part(prelude::FLOAT)
        .load(dtype)
        .store(dtype)
        // Extents and strides are divided by; a dispatch without results is not recorded.
        .without_division_checks();
    let (choice, out) = if vec4 {
        (choice.name("vec4").vec4(), "conv/columns/out_vec4.wgsl")
    } else {
        (choice.cell(dtype), "conv/columns/out_element.wgsl")
    };
    let choice = choice
        .params("conv/params.wgsl")
        .parts(&["conv/common.wgsl", "conv/columns/sums.wgsl"])
        .part(if bias {
            "conv/columns/bias.wgsl"
        } else {
            "conv/no_bias.wgsl"
        })
        .part(out);
    fold::body(choice, vec4)
}

const FORMS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

fn floats() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|dtype| dtype.is_float())
}

/// Every kernel, for the catalogue.
pub(in crate::ops::conv) fn variants() -> Vec<Candidate> {
    let all =
        floats().flat_map(|dtype| FORMS.map(|(bias, vec4)| add(bias != vec4, dtype, bias, vec4)));
    all.map(|choice| Candidate::new(choice, ConvParams::FIELDS))
        .collect()
}

/// Kernels that write through an epilogue over results of a dtype, and their bindings.
pub(in crate::ops::conv) fn writing_fused()
-> Vec<(DType, KernelChoice, &'static [ParamField], usize)> {
    let forms = floats().flat_map(|dtype| FORMS.map(|(bias, vec4)| (dtype, bias, vec4)));
    forms
        .map(|(dtype, bias, vec4)| {
            let choice = add(false, dtype, bias, vec4);
            (dtype, choice, ConvParams::FIELDS, 2 + usize::from(bias))
        })
        .collect()
}
