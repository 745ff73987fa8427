//! Sampling of images at places that a grid names: nearest, linear, cubic.
//!
//! Places are computed in f32 from coordinates in [-1, 1], which no table can hold because they are data. Invariants: whatever a
//! coordinate is, only elements of the image are read; an element without weight has no part in an output.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use crate::num::saturated;
use crate::num::wrap;
use crate::ops::reduce::geometry::MAX_COUNT;
use crate::ops::spatial::{spatial, spatial_strides};
use crate::ops::spatial::{steps, vector};
use crate::run::checks::check_shape;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

const OP: &str = "grid_sample";
/// The largest extent whose places f32 tells apart.
const MAX_EXTENT: usize = 1 << 24;

/// How elements become samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GridMode {
    /// The nearest element, of two equally near ones the even one. Copied, so for every dtype.
    Nearest,
    /// The two neighbours along each axis: PyTorch's `bilinear`, also over three axes.
    #[default]
    Linear,
    /// Four neighbours along each axis, PyTorch's `bicubic`; two axes only.
    Cubic,
}

impl GridMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Nearest, Self::Linear, Self::Cubic];

    /// Floats, and the nearest element for every dtype.
    #[must_use]
    pub const fn accepts(self, dtype: DType) -> bool {
        dtype.is_float() || matches!(self, Self::Nearest)
    }
}

/// What lies outside an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GridPadding {
    /// Zeros.
    #[default]
    Zeros,
    /// The nearest element of the image.
    Border,
    /// The image's reflection: at the middles of its end elements with `align_corners`, else at their outer edges.
    Reflection,
}

impl GridPadding {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Zeros, Self::Border, Self::Reflection];
}

/// Options of [`Executor::grid_sample`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GridSampleOptions {
    /// How elements become samples.
    pub mode: GridMode,
    /// What lies outside an image.
    pub padding: GridPadding,
    /// Whether the coordinates -1 and 1 are the middles of the end elements, not their outer edges.
    pub align_corners: bool,
}

params! {
    /// Parameters of the grid samplers.
    pub(crate) struct GridSampleParams {
        outputs: u32,
        offset: u32,
        grid_offset: u32,
        out_offset: u32,
        channels: u32,
        plane: u32,
        axes: u32,
        align: u32,
        padding: u32,
        x_batch: u32,
        x_channel: u32,
        grid_batch: u32,
        grid_step: u32,
        reserved_0: u32,
        reserved_1: u32,
        reserved_2: u32,
        extent: [u32; 4],
        result: [u32; 4],
        steps: [u32; 4],
        grid_steps: [u32; 4],
    }
}

fn choice(mode: GridMode, dtype: DType) -> KernelChoice {
    let (name, part) = match mode {
        GridMode::Nearest => ("grid_sample_nearest", "grid_sample/nearest.wgsl"),
        GridMode::Linear => (OP, "grid_sample/linear.wgsl"),
        GridMode::Cubic => ("grid_sample_cubic", "grid_sample/cubic.wgsl"),
    };
    KernelChoice::new(name).name(dtype.name()).parts(&[
        prelude::FLOAT,
        prelude::load(dtype),
        prelude::store(dtype),
        prelude::cell(dtype),
        "grid_sample/params.wgsl",
        "grid_sample/out_element.wgsl",
        part,
        "grid_sample/body.wgsl",
    ])
}

/// Every mode in every dtype that it accepts.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    for mode in GridMode::ALL {
        let dtypes = DType::ALL.into_iter().filter(|&dtype| mode.accepts(dtype));
        all.extend(
            dtypes.map(|dtype| Candidate::new(choice(mode, dtype), GridSampleParams::FIELDS)),
        );
    }
    all
}

impl GridSampleOptions {
    /// The shape of `x` `[n, c, ..]` sampled at a grid `[n, .., axes]`, or why they do not fit each other.
    ///
    /// # Errors
    /// [`KernelError::Operands`] unless both have one batch, `x` has two or three spatial axes and the grid as many axes
    /// and coordinates; [`KernelError::Option`] for the cubic mode of three axes; [`KernelError::Operand`] for an image
    /// without elements where there are places, or an extent over 2²⁴.
    pub fn output_shape(&self, x: &Shape, grid: &Shape) -> Result<Shape, KernelError> {
        let operands = |rule| KernelError::operands(OP, rule, *x, *grid);
        let (&[batch, channels, ref extents @ ..], &[grid_batch, ref places @ .., coordinates]) =
            (x.dims(), grid.dims())
        else {
            return Err(operands(
                "the input must be [n, c, ..], the grid [n, .., axes]",
            ));
        };
        let axes = extents.len();
        if !(2..=3).contains(&axes) || places.len() != axes || coordinates != axes {
            return Err(operands(
                "two or three spatial axes need a grid of as many axes and coordinates",
            ));
        }
        if batch != grid_batch {
            return Err(operands("input and grid must have one batch"));
        }
        if axes == 3 && self.mode == GridMode::Cubic {
            return Err(KernelError::option(
                OP,
                "the number of spatial axes",
                "must be 2 for the cubic mode",
                3,
            ));
        }
        let dims = [&[batch, channels], places].concat();
        let shape = Shape::new(&dims).map_err(KernelError::shape(OP))?;
        let unfit = |&extent: &usize| extent == 0 || extent > MAX_EXTENT;
        if !shape.is_empty() && extents.iter().any(unfit) {
            return Err(KernelError::operand(
                OP,
                "x",
                "must have spatial extents from 1 to 2^24",
                *x,
            ));
        }
        Ok(shape)
    }
}

impl Executor {
    /// `x` `[n, c, ..]` at the places that `grid` `[n, .., axes]` (f32) names, into `out` `[n, c, ..]` with the extents of
    /// the grid. A place has a coordinate per spatial axis, that of the last axis first, from -1 at one end of the image to
    /// 1 at the other; NaN counts as -1. Floats are computed in f32.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] where [`GridMode::accepts`] says no, the dtypes differ or the grid is not f32; those of
    /// [`GridSampleOptions::output_shape`]; [`KernelError::Output`]; [`KernelError::IndexTooLarge`].
    pub fn grid_sample(
        &self,
        x: &View,
        grid: &View,
        options: &GridSampleOptions,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let dtype = |operand, rule, got| KernelError::dtype(OP, operand, rule, got);
        if !options.mode.accepts(x.dtype) {
            return Err(dtype("x", "only floats can be weighted", x.dtype));
        }
        if grid.dtype != DType::F32 {
            return Err(dtype("grid", "it must be f32", grid.dtype));
        }
        if out.dtype != x.dtype {
            return Err(dtype("out", "it must have the dtype of x", out.dtype));
        }
        let expected = options.output_shape(x.shape(), grid.shape())?;
        check_shape(OP, out, &expected)?;
        if out.len() as u64 > MAX_COUNT {
            return Err(KernelError::IndexTooLarge {
                op: OP,
                elements: out.len() as u64,
                limit: MAX_COUNT,
            });
        }
        if out.is_empty() {
            return Ok(self.completion());
        }
        let joints = || vec![[Some(0); 3], [Some(1), None, Some(1)]];
        let each = |[x, grid, out]: &[View; 3]| self.grid_sample(x, grid, options, out);
        self.whole_or_split(OP, [x, grid, out], joints, each, |out| {
            self.sample_grid(x, grid, options, out)
        })
    }

    fn sample_grid(
        &self,
        x: &View,
        grid: &View,
        options: &GridSampleOptions,
        out: &View,
    ) -> Result<(), KernelError> {
        let (read, places, write) = (
            self.bind_read(OP, x)?,
            self.bind_read(OP, grid)?,
            self.bind_write(OP, out)?,
        );
        let stride = |view: &View, axis: usize| view.layout.strides().get(axis).copied();
        let step = |view: &View, axis: usize| wrap(stride(view, axis).unwrap_or(0));
        let result = spatial(out.dims(), 1);
        // The grid has its places behind one axis and before another.
        let mut places_steps = [0; 3];
        let inner = grid.layout.strides().iter().skip(1).rev().skip(1);
        for (slot, &stride) in places_steps.iter_mut().rev().zip(inner) {
            *slot = stride;
        }
        let params = GridSampleParams {
            outputs: saturated(out.len() as u64),
            offset: read.offset,
            grid_offset: places.offset,
            out_offset: write.offset,
            channels: saturated(x.dims().get(1).map_or(1, |&dim| dim as u64)),
            plane: saturated(result.iter().map(|&dim| dim as u64).product()),
            axes: saturated(x.rank().saturating_sub(2) as u64),
            align: u32::from(options.align_corners),
            padding: options.padding as u32,
            x_batch: step(x, 0),
            x_channel: step(x, 1),
            grid_batch: step(grid, 0),
            grid_step: step(grid, grid.rank().saturating_sub(1)),
            extent: vector(spatial(x.dims(), 1)),
            result: vector(result),
            steps: steps(spatial_strides(&x.layout)),
            grid_steps: steps(places_steps),
            ..GridSampleParams::default()
        };
        self.launch(
            &choice(options.mode, x.dtype),
            &[read.arg, places.arg, write.arg],
            &params,
            Grid::elements(out.len() as u64, 1),
        )
    }
}
