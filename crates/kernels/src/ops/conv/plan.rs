//! Which kernel computes a convolution, what it is told, and how long its loops are: pure functions of the geometry and of
//! how operands lie in memory.

use ziggurat_core::{DType, Layout};

use super::fold;
use super::geometry::{Direction, Geometry};
use super::packed::{self, PackedParams, Packing};
use crate::limits::ability::Ability;
use crate::limits::budget::{Part, nested};
use crate::num::saturated;
use crate::num::wrap;
use crate::ops::spatial::{spatial_strides, steps, vector};
use crate::ops::tile::{Tile, TileKind};
use crate::ops::ways::Ways;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{ParamField, Params, params};
use crate::source::prelude;
use crate::tune::{Class, Named, WayName, bucket};

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

/// The kernel of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Method {
    /// Four filters of one position per invocation.
    Direct,
    /// Tiles of (filters, positions of all images), gathered.
    Tiled(Tile),
    /// Tiles of (filters, positions of one image), read as they lie, four at a time if they may.
    Pointwise { tile: Tile, vec4: bool },
    /// Tiles on matrix units, of operands that are packed for them first.
    Packed(Packing),
    /// Four rows of four outputs of one channel per invocation.
    Rows(Rows),
}

/// How the kernel of few channels lies over a convolution: what the compiler unrolls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rows {
    /// Rows are read and written four elements at a time.
    vec4: bool,
    /// Height and width.
    kernel: [usize; 2],
    stride: [usize; 2],
    /// Padding in front of a row.
    pad: usize,
}

impl Rows {
    /// Of a convolution with so few channels per group that tiles would be mostly empty.
    fn new(g: &Geometry, x: &Layout, ability: &Ability) -> Option<Self> {
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
    fn choice(self, choice: KernelChoice) -> KernelChoice {
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

    fn iterations(self, g: &Geometry) -> u64 {
        let [height, width] = self.kernel.map(|taps| taps as u64);
        let rows = 3 * self.stride[0] as u64 + height;
        let each = nested(&[rows, 4, width]).saturating_add(rows * 5 + height * width + 1);
        (g.channels as u64).saturating_mul(each).saturating_add(5)
    }
}

impl Method {
    /// The tile, if it computes tiles.
    pub(super) const fn tile(self) -> Option<Tile> {
        match self {
            Self::Direct | Self::Packed(_) | Self::Rows(_) => None,
            Self::Tiled(tile) | Self::Pointwise { tile, .. } => Some(tile),
        }
    }
}

/// What the kernel of a convolution leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writes {
    Results,
    /// Sums that other dispatches go on with, without an epilogue.
    Sums,
}

/// Fewest filters per group, and products per output, for which tiles are not mostly empty.
const MIN_FILTERS: usize = 16;
const MIN_DEPTH: usize = 16;
/// Channels that an invocation of sixteen outputs adds up in a short time, and invocations that keep a device busy anyway.
const FEW_CHANNELS: usize = 16;
const MANY_ROWS: u64 = 1 << 14;
/// Turns that a greatest common divisor takes.
const GCD_ITERATIONS: u64 = 50;
/// Smallest plane for which tiles of one image are not mostly empty.
const MIN_PLANE: usize = 64;

/// The ways to compute a convolution on a device.
pub(super) fn ways(g: &Geometry, x: &Layout, dtype: DType, ability: &Ability) -> Ways<Method> {
    let vec4 = pointwise_vec4(g, x);
    let method = |tile| match vec4 {
        Some(vec4) => Method::Pointwise { tile, vec4 },
        None => Method::Tiled(tile),
    };
    let positions = g.batch.saturating_mul(g.plane());
    let filled = g.filters >= MIN_FILTERS && g.depth() >= MIN_DEPTH && positions >= MIN_FILTERS;
    let packed: Vec<Packing> = Packing::all(g, x, dtype, ability).collect();
    let rows = Rows::new(g, x, ability).map(Method::Rows);
    let default = match packed.first() {
        Some(&packing) if packing.pays(g) => Method::Packed(packing),
        _ if filled && Tile::DEFAULT.fits(ability) => method(Tile::DEFAULT),
        _ => rows
            .filter(|_| g.channels <= FEW_CHANNELS || Rows::count(g) >= MANY_ROWS)
            .unwrap_or(Method::Direct),
    };
    let tiles = Tile::ALL.into_iter().filter(|tile| tile.fits(ability));
    let packed = packed.into_iter().map(Method::Packed);
    let few = rows.into_iter().chain([Method::Direct]);
    let all = packed.chain(tiles.map(method)).chain(few);
    Ways::new(default, all.filter(|way| *way != default))
}

impl Named for Method {
    fn name(&self) -> WayName {
        match self {
            Self::Direct => WayName::new("direct", [0; 3]),
            Self::Tiled(tile) => tile.name("tiled"),
            Self::Pointwise { tile, .. } => tile.name("pointwise"),
            Self::Packed(packing) => packing.tile.name("packed"),
            Self::Rows(_) => WayName::new("rows", [0; 3]),
        }
    }
}

/// Convolutions that the same kernel is the fastest for: images count by their power of two.
pub(super) fn class(g: &Geometry, x: &Layout, dtype: DType, bias: bool) -> Class {
    let n = |extent: usize| extent as u64;
    let pointwise = pointwise_vec4(g, x).map_or(0, |vec4| 1 + u64::from(vec4));
    let sorts = [g.direction as u64, dtype as u64, bias.into(), pointwise];
    let channels = [bucket(n(g.batch)), n(g.groups), n(g.channels), n(g.filters)];
    let axes = [g.input, g.kernel, g.output, g.stride, g.dilation, g.pads];
    let axes: Vec<u64> = axes.into_iter().flatten().map(n).collect();
    Class::new("conv", [&sorts[..], &channels, &axes].concat())
}

/// Whether a convolution is a plain product of each image's plane, and then whether it may read four positions at a time.
fn pointwise_vec4(g: &Geometry, x: &Layout) -> Option<bool> {
    if !g.is_pointwise() || (g.batch > 1 && g.plane() < MIN_PLANE) {
        return None;
    }
    let step = plane_step(g, x)?;
    let &[x_batch, x_channel, ..] = x.strides() else {
        return None;
    };
    let vec4 = |step: isize| step % 4 == 0;
    Some(
        step == 1
            && g.plane().is_multiple_of(4)
            && x.offset().is_multiple_of(4)
            && vec4(x_batch)
            && vec4(x_channel),
    )
}

/// The one stride at which the elements of a plane lie, if there is one.
pub(super) fn plane_step(g: &Geometry, x: &Layout) -> Option<isize> {
    let mut step = None;
    let mut walked = 1;
    let axes = g.input.iter().zip(spatial_strides(x));
    for (&extent, stride) in axes.rev().filter(|(extent, _)| **extent != 1) {
        let first = *step.get_or_insert(stride);
        if stride != first * walked {
            return None;
        }
        walked *= isize::try_from(extent).ok()?;
    }
    Some(step.unwrap_or(1))
}

pub(super) fn choice(
    direction: Direction,
    dtype: DType,
    method: Method,
    volume: bool,
    dense_rows: bool,
    bias: bool,
    writes: Writes,
) -> KernelChoice {
    let vec4 = matches!(
        method,
        Method::Pointwise { vec4: true, .. } | Method::Rows(Rows { vec4: true, .. })
    );
    let mut choice = KernelChoice::new(direction.op(if volume { 3 } else { 2 }))
        .name(dtype.name())
        .name(if bias { "bias" } else { "no_bias" })
        .part(prelude::FLOAT)
        .load(dtype)
        .store(dtype);
    choice = match writes {
        Writes::Results if vec4 => choice.vec4(),
        Writes::Results => choice.cell(dtype),
        Writes::Sums => choice.name("sums"),
    };
    choice = choice.params("conv/params.wgsl").parts(&[
        "conv/common.wgsl",
        "conv/filter.wgsl",
        if bias {
            "conv/bias.wgsl"
        } else {
            "conv/no_bias.wgsl"
        },
        match writes {
            Writes::Results if vec4 => "conv/out_vec4.wgsl",
            Writes::Results => "conv/out_element.wgsl",
            Writes::Sums => "conv/out_sum.wgsl",
        },
    ]);
    if !vec4 {
        choice = choice.part("conv/image.wgsl");
    }
    if !matches!(method, Method::Pointwise { .. } | Method::Rows(_)) {
        choice = choice.part(taps_of(direction));
    }
    choice = choice
        .constant("VOLUME", u32::from(volume))
        .without_zeroed_memory();
    let (name, parts, tile): (_, &[_], _) = match method {
        Method::Direct => {
            return choice
                .name("direct")
                .parts(&["conv/taps.wgsl", "conv/direct.wgsl"]);
        }
        Method::Rows(rows) => return rows.choice(choice),
        Method::Packed(packing) => return packed::product(volume, dtype, packing, bias),
        Method::Tiled(tile) => ("tiled", &["conv/gather.wgsl"], tile),
        Method::Pointwise { tile, vec4: true } => (
            "pointwise_vec4",
            &["conv/pointwise.wgsl", "conv/pointwise_vec4.wgsl"],
            tile,
        ),
        Method::Pointwise { tile, vec4: false } => (
            "pointwise",
            &["conv/pointwise.wgsl", "conv/pointwise_word.wgsl"],
            tile,
        ),
    };
    let wide: &[_] = match tile.kind {
        TileKind::Wide => &[
            "matmul/raster.wgsl",
            "matmul/every_tile.wgsl",
            "matmul/block.wgsl",
            "conv/block_rows.wgsl",
            "matmul/block_b.wgsl",
        ],
        TileKind::Vector | TileKind::Cooperative | TileKind::Split => &[],
    };
    let choice = choice
        .name(name)
        .parts(parts)
        .part("conv/filter_rows.wgsl")
        .parts(wide)
        .part(tile.body())
        .constant("A_ALONG_DEPTH", 1)
        .constant("B_ALONG_DEPTH", 0)
        .constant("DENSE_ROWS", u32::from(dense_rows));
    let sizes = tile.constants();
    sizes.fold(choice, |choice, (name, value)| choice.constant(name, value))
}

/// Iterations of the loops of an invocation for a part of the channels and of the taps along each axis.
pub(super) fn iterations(
    g: &Geometry,
    method: Method,
    [channels, depth, height, width]: [u64; 4],
) -> u64 {
    if let Method::Rows(rows) = method {
        return rows.iterations(g);
    }
    if let Some(tile) = method.tile() {
        return tile.iterations(channels * depth * height * width);
    }
    let [depth, height, width] = [(depth, 0), (height, 1), (width, 2)].map(|(taps, axis)| {
        let step = g.tap_step(axis);
        (taps.div_ceil(step), taps.min(step))
    });
    // Which taps an output has is found first.
    let search = match g.direction {
        Direction::Forward => 0,
        Direction::Transposed => 3 * GCD_ITERATIONS + depth.1 + height.1 + width.1,
    };
    search + nested(&[channels, depth.0, height.0, width.0])
}

pub(super) const fn taps_of(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "conv/forward.wgsl",
        Direction::Transposed => "conv/transposed.wgsl",
    }
}

/// The strides of the first two axes.
pub(super) fn front(layout: &Layout) -> (isize, isize) {
    match *layout.strides() {
        [first, second, ..] => (first, second),
        _ => (0, 0),
    }
}

/// What the geometry and the operands' strides say; offsets come with the bindings.
pub(super) fn params(g: &Geometry, x: &Layout, w: &Layout) -> ConvParams {
    let n = |value: usize| saturated(value as u64);
    let ((x_batch, x_channel), (w_first, w_second)) = (front(x), front(w));
    let times = |stride: isize, by: usize| wrap(stride).wrapping_mul(n(by));
    let (w_group, w_filter, w_channel) = match g.direction {
        Direction::Forward => (times(w_first, g.filters), w_first, w_second),
        Direction::Transposed => (times(w_first, g.channels), w_second, w_first),
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
        w_group,
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
    pub(super) fn of_part(self, part: &Part<4>) -> Self {
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

const POINTWISE: Method = Method::Pointwise {
    tile: Tile::DEFAULT,
    vec4: false,
};
const POINTWISE_VEC4: Method = Method::Pointwise {
    tile: Tile::DEFAULT,
    vec4: true,
};

/// Every kernel, with and without bias, for every float dtype; both directions and volumes where they matter.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    let rows = [false, true].map(|vec4| {
        Method::Rows(Rows {
            vec4,
            kernel: [3; 2],
            stride: [1; 2],
            pad: 1,
        })
    });
    let methods = [
        (Direction::Forward, Method::Direct),
        (Direction::Forward, Method::Tiled(Tile::DEFAULT)),
        (Direction::Forward, POINTWISE_VEC4),
        (Direction::Forward, POINTWISE),
        (Direction::Transposed, Method::Direct),
        (Direction::Transposed, Method::Tiled(Tile::DEFAULT)),
    ];
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for (direction, method) in methods {
            for bias in [false, true] {
                for volume in [false, true] {
                    let dense = !volume;
                    let write =
                        |writes| choice(direction, dtype, method, volume, dense, bias, writes);
                    all.push(write(Writes::Results));
                    if volume && method != POINTWISE_VEC4 {
                        all.push(write(Writes::Sums));
                    }
                }
            }
        }
        for (method, bias) in rows
            .into_iter()
            .flat_map(|rows| [(rows, false), (rows, true)])
        {
            let forward = Direction::Forward;
            all.push(choice(
                forward,
                dtype,
                method,
                false,
                true,
                bias,
                Writes::Results,
            ));
        }
        all.extend([Writes::Results, Writes::Sums].map(|writes| fold::choice(dtype, writes)));
        let [_, others @ ..] = Tile::ALL;
        for tile in others {
            let methods = [Method::Tiled(tile), Method::Pointwise { tile, vec4: true }];
            let forward = Direction::Forward;
            all.extend(
                methods.map(|method| {
                    choice(forward, dtype, method, false, true, true, Writes::Results)
                }),
            );
        }
    }
    all.into_iter()
        .map(|choice| Candidate::new(choice, ConvParams::FIELDS))
        .chain(packed::variants())
        .collect()
}

/// Kernels that write through an epilogue over sums of a dtype, for the corpus of those, their parameters and bindings.
pub(crate) fn writing_fused() -> Vec<(DType, KernelChoice, &'static [ParamField], usize)> {
    let rows = |vec4| {
        Method::Rows(Rows {
            vec4,
            kernel: [3; 2],
            stride: [2; 2],
            pad: 1,
        })
    };
    let forward = [
        rows(true),
        rows(false),
        Method::Direct,
        Method::Tiled(Tile::DEFAULT),
        POINTWISE_VEC4,
        POINTWISE,
    ];
    let mut all = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for (i, method) in forward.into_iter().enumerate() {
            let bias = (i % 2 == 0) == (dtype == DType::F32);
            let direction = Direction::Forward;
            let choice = choice(direction, dtype, method, false, true, bias, Writes::Results);
            all.push((dtype, choice, ConvParams::FIELDS, 3 + usize::from(bias)));
        }
        let choice = choice(
            Direction::Transposed,
            dtype,
            Method::Tiled(Tile::DEFAULT),
            true,
            false,
            true,
            Writes::Results,
        );
        all.push((dtype, choice, ConvParams::FIELDS, 4));
    }
    let packed = packed::writing_fused().into_iter();
    all.extend(packed.map(|(dtype, choice, own)| (dtype, choice, PackedParams::FIELDS, own)));
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::super::Conv2dOptions;
    use super::*;
    use ziggurat_core::Shape;

    fn method(x: [usize; 4], w: [usize; 4], groups: usize, most: u32) -> Method {
        let options = Conv2dOptions {
            groups,
            ..Conv2dOptions::default()
        };
        let g = options
            .geometry(&Shape::new(x).unwrap(), &Shape::new(w).unwrap(), None)
            .unwrap();
        let ability = Ability {
            invocations: most,
            ..Ability::WEBGPU
        };
        let layout = Layout::contiguous(Shape::new(x).unwrap());
        ways(&g, &layout, DType::F32, &ability).default
    }

    #[test]
    fn many_filters_take_the_tiled_kernel_and_few_the_direct_one() {
        assert_eq!(
            method([1, 16, 28, 28], [32, 16, 3, 3], 1, 256),
            Method::Tiled(Tile::DEFAULT)
        );
        assert_eq!(
            method([1, 16, 28, 28], [32, 16, 3, 3], 1, 128),
            Method::Direct
        );
        let rows = |vec4, kernel| {
            Method::Rows(Rows {
                vec4,
                kernel,
                stride: [1; 2],
                pad: 0,
            })
        };
        let few = |x, w, groups| method(x, w, groups, 256);
        assert_eq!(few([1, 32, 28, 30], [32, 1, 3, 3], 32), rows(false, [3; 2]));
        assert_eq!(few([1, 1, 28, 28], [32, 1, 3, 5], 1), rows(true, [3, 5]));
        assert_eq!(few([1, 16, 3, 3], [32, 16, 3, 3], 1), rows(false, [3; 2]));
        assert_eq!(few([1, 17, 3, 3], [32, 17, 3, 3], 1), Method::Direct);
        assert_eq!(few([1, 1, 28, 28], [32, 1, 9, 9], 1), Method::Direct);
    }

    #[test]
    fn matrix_units_are_used_where_they_pay() {
        let options = Conv2dOptions::default().padding([1, 1]);
        let first = |x: [usize; 4], w: [usize; 4], dtype, ability: &Ability| {
            let [x, w] = [x, w].map(|dims| Shape::new(dims).unwrap());
            let g = options.geometry(&x, &w, None).unwrap();
            let name = ways(&g, &Layout::contiguous(x), dtype, ability)
                .default
                .name();
            [Tile::COOPERATIVE, Tile::COOPERATIVE_64]
                .into_iter()
                .find(|tile| tile.name("packed").bits() == name.bits())
        };
        let large = &Ability::LARGE;
        let (x, w) = ([32, 256, 28, 28], [256, 256, 3, 3]);
        assert_eq!(first(x, w, DType::F16, large), Some(Tile::COOPERATIVE));
        let small = Some(Tile::COOPERATIVE_64);
        assert_eq!(
            first([32, 64, 56, 56], [64, 64, 3, 3], DType::F16, large),
            small
        );
        assert_eq!(
            first([1, 512, 14, 14], [512, 512, 3, 3], DType::F16, large),
            small
        );
        assert_eq!(first(x, w, DType::F16, &Ability::WEBGPU), None);
        // Little work, and channels that fill little of a block.
        assert_eq!(
            first([1, 64, 7, 7], [64, 64, 3, 3], DType::F16, large),
            None
        );
        assert_eq!(
            first([32, 4, 56, 56], [64, 4, 3, 1], DType::F16, large),
            None
        );
    }

    #[test]
    fn kernels_of_one_element_over_large_planes_are_plain_products() {
        let vec4 = POINTWISE_VEC4;
        assert_eq!(method([2, 16, 28, 28], [32, 16, 1, 1], 1, 256), vec4);
        assert_eq!(method([1, 16, 4, 5], [32, 16, 1, 1], 1, 256), vec4);
        assert_eq!(method([2, 16, 27, 27], [32, 16, 1, 1], 1, 256), POINTWISE);
        // Small planes of many images fill tiles only together.
        assert_eq!(
            method([9, 16, 4, 5], [32, 16, 1, 1], 1, 256),
            Method::Tiled(Tile::DEFAULT)
        );
        assert_eq!(
            method([1, 17, 28, 28], [8, 17, 1, 1], 1, 256),
            Method::Direct
        );
    }

    #[test]
    fn transposed_rows_of_a_plane_take_the_general_kernel() {
        let options = Conv2dOptions::default();
        let layout = Layout::contiguous(Shape::new([1, 16, 12, 16]).unwrap())
            .transpose(2, 3)
            .unwrap();
        let w = Shape::new([32, 16, 1, 1]).unwrap();
        let g = options.geometry(layout.shape(), &w, None).unwrap();
        assert_eq!(
            ways(&g, &layout, DType::F32, &Ability::WEBGPU).default,
            Method::Tiled(Tile::DEFAULT)
        );
    }
}
