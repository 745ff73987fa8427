//! Cross-correlation ("convolution" in neural networks) and its transpose over one to three spatial axes, NC.. by OI..
//!
//! Many filters per group: the tiled matrix kernel with the image gathered on the fly (implicit GEMM; the matrix is
//! never stored), or read as it lies where the kernel has one element. Few filters, depthwise among them: a direct kernel.
//! Where tiles are few, several workgroups share the channels of each. Large convolutions are packed for matrix units first, where
//! there are some. A transposed convolution is written as a plain one where its stride is 1 or there is much work; else it gathers
//! by another rule for where a tap reads, so no output is written twice.
//! Invariant: padding is zeros and is never read from memory. Whether an infinite weight over padding gives NaN
//! (inf · 0) is not promised: the tiled kernel multiplies, the direct one skips.

use ziggurat_core::{DType, Layout};
use ziggurat_pipeline::Grid;

use crate::fused::Operand;
use crate::limits::ability::{Ability, MATRIX_UNITS, no_matrix_units};
use crate::limits::budget::parts;
use crate::num::{saturated, wrap};
use crate::ops::reduce::geometry::MAX_COUNT;
use crate::ops::reduce::only_memory;
use crate::ops::ways::Ways;
use crate::run::call::{Call, CallKind, Operands, Sink};
use crate::run::checks::check_shape;
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Bound, Planned, Planner};
use crate::run::view::View;

pub(crate) mod bands;
mod fold;
pub(crate) mod geometry;
mod options;
mod packed;
mod parts;
mod plan;
mod rows;
mod shares;
mod transposed;

use geometry::{Direction, Geometry};
pub use options::{Conv1dOptions, Conv2dOptions, Conv3dOptions, ConvOptions};
pub use options::{
    ConvTranspose1dOptions, ConvTranspose2dOptions, ConvTranspose3dOptions, ConvTransposeOptions,
};
use plan::{
    ConvParams, FilterRows, Method, Writes, choice, front, iterations, params, plane_step, ways,
};
pub(crate) use plan::{variants, writing_fused};
use rows::Rows;
use shares::in_shares;

/// The operands of a call.
#[derive(Clone, Copy)]
struct Images<'a> {
    x: &'a View,
    w: &'a View,
    bias: Option<&'a View>,
}

/// What kernels know of the operands: their dtype, and how they lie.
#[derive(Clone, Copy)]
struct Seen<'a> {
    dtype: DType,
    x: &'a Layout,
    w: &'a Layout,
    /// From the filters of a group to those of the next.
    w_group: u32,
    /// From one element of the bias to the next, if there is one.
    bias_step: Option<u32>,
}

impl<'a> Images<'a> {
    fn seen(self, g: &Geometry) -> Seen<'a> {
        let of_group = match g.direction {
            Direction::Forward => g.filters,
            Direction::Transposed => g.channels,
        };
        let step = |bias: &View| bias.layout.strides().first().map_or(0, |&step| wrap(step));
        Seen {
            dtype: self.x.dtype,
            x: &self.x.layout,
            w: &self.w.layout,
            w_group: wrap(front(&self.w.layout).0).wrapping_mul(saturated(of_group as u64)),
            bias_step: self.bias.map(step),
        }
    }

    fn of(op: &'static str, ends: &Ends<'a>) -> Result<Self, KernelError> {
        let Operand::Memory(x) = ends.a else {
            return Err(only_memory(op));
        };
        let (w, [_, bias, ..]) = (ends.other(op, 0, "w")?, ends.others);
        Ok(Self { x, w, bias })
    }

    /// The same for a call.
    fn operands(self) -> Operands<'a> {
        Operands {
            first: self.x.into(),
            others: [Some(self.w), self.bias, None, None, None],
        }
    }
}

impl Executor {
    /// Cross-correlation of `x` `[n, c, ..]` with the filters `w` `[m, c / groups, ..]`, plus `bias` `[m]`, into
    /// `out` `[n, m, ..]`, over 1 to 3 spatial axes. Computed in f32.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless all have the same float dtype; [`KernelError::Operand`],
    /// [`KernelError::Operands`] and [`KernelError::Option`] where shapes or options do not fit;
    /// [`KernelError::Output`]; [`KernelError::CannotFuse`] if one kernel cannot write an expression over the result.
    pub fn conv<'a, const N: usize>(
        &self,
        x: &'a View,
        w: &'a View,
        bias: Option<&'a View>,
        options: &ConvOptions<N>,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        let operands = Images { x, w, bias }.operands();
        self.run(&options.call(), &operands, out.into())
    }

    /// The transpose of [`Self::conv`] (its gradient in x): `x` `[n, c, ..]`, `w` `[c, m / groups, ..]`, `bias` `[m]`, into
    /// `out` `[n, m, ..]` with `(S - 1) · stride + dilation · (K - 1) + 1 + output_padding - pads` elements per axis.
    ///
    /// # Errors
    /// Like [`Self::conv`].
    pub fn conv_transpose<'a, const N: usize>(
        &self,
        x: &'a View,
        w: &'a View,
        bias: Option<&'a View>,
        options: &ConvTransposeOptions<N>,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        let operands = Images { x, w, bias }.operands();
        self.run(&options.call(), &operands, out.into())
    }
}

/// Plans [`Call::Conv`].
pub(crate) fn plan_forward(
    p: &mut Planner<'_>,
    axes: usize,
    options: &ConvOptions<3>,
) -> Result<Planned, KernelError> {
    let images = Images::of(p.op, p.ends)?;
    check_dtypes(p.op, images, p.ends.computed())?;
    let Images { x, w, bias } = images;
    let g = Geometry::forward(axes, x.shape(), w.shape(), bias.map(View::shape), options)?;
    plan_correlation(p, images, (&g, axes), steps)
}

/// Plans [`Call::ConvTranspose`].
pub(crate) fn plan_transposed(
    p: &mut Planner<'_>,
    axes: usize,
    options: &ConvTransposeOptions<3>,
) -> Result<Planned, KernelError> {
    let images = Images::of(p.op, p.ends)?;
    check_dtypes(p.op, images, p.ends.computed())?;
    let Images { x, w, bias } = images;
    let g = Geometry::transposed(axes, x.shape(), w.shape(), bias.map(View::shape), options)?;
    plan_correlation(p, images, (&g, axes), transposed::steps)
}

fn plan_correlation(
    p: &mut Planner<'_>,
    images: Images<'_>,
    (g, axes): (&Geometry, usize),
    steps: fn(&mut Planner<'_>, &Geometry) -> Result<(), KernelError>,
) -> Result<Planned, KernelError> {
    let (op, out) = (p.op, p.ends.out);
    let expected = g.output_shape(axes)?;
    check_shape(op, out, &expected)?;
    for count in [expected.len() as u64, g.depth() as u64] {
        if count > MAX_COUNT {
            return Err(KernelError::IndexTooLarge {
                op,
                elements: count,
                limit: MAX_COUNT,
            });
        }
    }
    if expected.is_empty() {
        return Ok(Planned::Nothing);
    }
    let all = [images.x, images.w, out];
    if p.exec.exceeds_binding(&all) {
        if p.ends.epilogue.is_some() {
            p.exec.refuse_over_binding(all.into_iter())?;
        }
        return Ok(Planned::Parts);
    }
    steps(p, g)?;
    Ok(Planned::Steps)
}

/// Runs [`Call::Conv`] or [`Call::ConvTranspose`] on parts of operands that one binding cannot hold.
pub(crate) fn run_parts(exec: &Executor, ends: &Ends<'_>, call: &Call) -> Result<(), KernelError> {
    let op = call.name();
    let images = Images::of(op, ends)?;
    let Images { x, w, bias } = images;
    let (shapes, bias_shape) = ((x.shape(), w.shape()), bias.map(View::shape));
    let (g, axes) = match call.kind() {
        CallKind::Conv { axes, options } => (
            Geometry::forward(*axes, shapes.0, shapes.1, bias_shape, options)?,
            *axes,
        ),
        CallKind::ConvTranspose { axes, options } => (
            Geometry::transposed(*axes, shapes.0, shapes.1, bias_shape, options)?,
            *axes,
        ),
        _ => {
            return Err(KernelError::internal(
                op,
                "another call was taken for a convolution",
            ));
        }
    };
    let each = &mut |images: Images<'_>, out: &View| {
        exec.run(call, &images.operands(), out.into()).map(drop)
    };
    if exec.conv_split(op, (g.direction, g.groups), images, ends.out, each)? {
        return Ok(());
    }
    let inputs: Vec<&View> = [Some(x), Some(w), bias].into_iter().flatten().collect();
    exec.with_dense_out(op, ends.out, &inputs, |out| {
        if exec.conv_bands(op, images, &g, axes, out)? {
            return Ok(());
        }
        exec.convolve(op, images, &g, out)
    })
}

impl Executor {
    /// Convolves operands of a geometry as they are.
    fn convolve(
        &self,
        op: &'static str,
        images: Images<'_>,
        g: &Geometry,
        out: &View,
    ) -> Result<(), KernelError> {
        let ends = Ends {
            others: images.operands().others,
            ..Ends::plain(images.x, out)
        };
        self.run_planned(op, &ends, |p| steps(p, g))
    }
}

/// Adds the dispatches of a convolution, in the way that was chosen.
fn steps(p: &mut Planner<'_>, g: &Geometry) -> Result<(), KernelError> {
    let seen = Images::of(p.op, p.ends)?.seen(g);
    let method = chosen(p, g, seen, |ability| ways(g, seen, ability));
    steps_of(p, g, seen, method)
}

/// The way that is taken of all that there are.
fn chosen(
    p: &Planner<'_>,
    g: &Geometry,
    seen: Seen<'_>,
    all: impl Fn(&Ability) -> Ways<Method> + Copy,
) -> Method {
    let class = || plan::class(g, seen.x, seen.dtype, seen.bias_step.is_some());
    p.way(class, |ability| all(ability).default, all)
}

/// Sums in memory, and how many shares of each there are.
type Sums = (Bound, u32);

/// Adds the dispatches of a method.
fn steps_of(
    p: &mut Planner<'_>,
    g: &Geometry,
    seen: Seen<'_>,
    method: Method,
) -> Result<(), KernelError> {
    match results_or_sums(p, g, seen, method, Writes::Results)? {
        Some(sums) => shares::add(p, g, sums, seen.dtype),
        None => Ok(()),
    }
}

/// Adds the dispatches of a method which leave the results as sums in f32, that other dispatches go on with.
fn sums_of(
    p: &mut Planner<'_>,
    g: &Geometry,
    seen: Seen<'_>,
    method: Method,
) -> Result<Sums, KernelError> {
    let op = p.op;
    results_or_sums(p, g, seen, method, Writes::Shares)?.ok_or(KernelError::internal(
        op,
        "a convolution left results where it was asked for sums",
    ))
}

/// Adds the dispatches of a method: they leave what is wanted, or sums where there are shares or parts of each result.
fn results_or_sums(
    p: &mut Planner<'_>,
    whole: &Geometry,
    seen: Seen<'_>,
    mut method: Method,
    wanted: Writes,
) -> Result<Option<Sums>, KernelError> {
    match method {
        Method::Packed(_) | Method::Planes(_) if !MATRIX_UNITS => {
            return Err(no_matrix_units(p.op));
        }
        Method::Packed(packing) => return packed::steps(p, whole, packing, seen, wanted),
        Method::Planes(planes) => return packed::planes::steps(p, whole, planes, seen, wanted),
        _ => {}
    }
    let shares = match method {
        Method::Shared(shared) => shared.shares,
        _ => 1,
    };
    if let Method::Shared(shared) = method {
        method = shared.method();
    }
    let g = &in_shares(whole, shares);
    let seen = shares::seen(g, seen, shares);
    let taps = g.kernel.map(|taps| taps as u64);
    let extents = [g.channels as u64, taps[0], taps[1], taps[2]];
    let parts = parts(extents, p.exec.ability().loop_budget, |len| {
        iterations(g, method, len)
    });
    let writes = match (parts.len(), shares) {
        (0 | 1, 1) => wanted,
        (0 | 1, _) => Writes::Shares,
        _ => Writes::Sums,
    };
    if writes == Writes::Sums
        && let Method::Pointwise { vec4, .. } = &mut method
    {
        *vec4 = false;
    }
    let (image, filters, bound_bias) = (p.first()?, p.other(0)?, p.other(1)?);
    let write = match writes {
        Writes::Results => p.out()?,
        _ => shares::scratch(p, whole, shares)?,
    };
    let mut params = ConvParams {
        x_offset: image.offset,
        w_offset: filters.map_or(0, |bound| bound.offset),
        bias_offset: bound_bias.map_or(0, |bound| bound.offset),
        bias_step: seen.bias_step.unwrap_or(0),
        out_offset: write.offset,
        ..params(g, seen)
    };
    if let Method::Pointwise { .. } = method {
        params.x_steps[2] = plane_step(g, seen.x).map_or(0, wrap);
    }
    // A tile's batch is the group, and for a pointwise kernel the image too.
    let (columns, batches) = match method {
        Method::Pointwise { .. } => (g.plane(), g.batch as u64 * g.groups as u64),
        _ => (g.batch.saturating_mul(g.plane()), g.groups as u64),
    };
    let grid = if let Some(tile) = method.tile() {
        let counts = tile.count(g.filters as u64, columns as u64);
        [params.tiles_m, params.tiles_n] = counts.map(saturated);
        let tiles = counts.iter().product::<u64>() * batches;
        Grid::elements(tiles * u64::from(tile.invocations()), 1)
    } else if let Method::Rows(_) = method {
        Grid::elements(Rows::count(g), 1)
    } else {
        let positions = g.batch as u64 * g.plane() as u64 * g.groups as u64;
        Grid::elements(positions * (g.filters as u64).div_ceil(4), 1)
    };
    let bindings = [Some(image), filters, Some(write), bound_bias];
    let bindings = || bindings.into_iter().flatten();
    let rows = FilterRows::of(g, seen.w);
    let choice = |rows| choice(g, seen, method, rows, writes);
    match writes {
        Writes::Results => {
            p.last(choice(rows), bindings(), &params, grid);
            return Ok(None);
        }
        Writes::Sums => {
            for part in &parts {
                let whole_taps = part.len.iter().skip(1).eq(&taps);
                let rows = if whole_taps {
                    rows
                } else {
                    FilterRows::Strided
                };
                p.step(choice(rows), bindings(), &params.of_part(part), grid);
            }
        }
        _ => p.step(choice(rows), bindings(), &params, grid),
    }
    Ok(Some((write, shares)))
}

/// All operands must have the same float dtype.
fn check_dtypes(
    op: &'static str,
    Images { x, w, bias }: Images<'_>,
    made: DType,
) -> Result<(), KernelError> {
    if !x.dtype.is_float() {
        return Err(KernelError::dtype(op, "x", "it must be a float", x.dtype));
    }
    let bias = bias.map(|bias| bias.dtype);
    for (operand, dtype) in [("w", Some(w.dtype)), ("bias", bias), ("out", Some(made))] {
        if let Some(got) = dtype.filter(|&dtype| dtype != x.dtype) {
            return Err(KernelError::dtype(
                op,
                operand,
                "it must have the dtype of x",
                got,
            ));
        }
    }
    Ok(())
}
