//! Resampling of grids, and sampling at the places of a grid.

use crate::expect;
use ziggurat_kernels::{
    Coordinates, GridMode, GridPadding, GridSampleOptions, NearestMode, ResizeAxis, ResizeMode,
    ResizeOptions,
};
use ziggurat_tensor::{AspectRatio, DType, InterpolateMode, InterpolateOptions};

use super::{FLOATS, agrees, refused};
use crate::operands::Random;
use crate::problems::{Values, extents, fuzz, given, made};

fn options(rng: &mut Random) -> ResizeOptions {
    let mode = match rng.below(3) {
        0 => ResizeMode::Nearest(rng.pick(&[
            NearestMode::RoundPreferFloor,
            NearestMode::RoundPreferCeil,
            NearestMode::Floor,
            NearestMode::Ceil,
        ])),
        1 => ResizeMode::Linear,
        _ => ResizeMode::Cubic(rng.pick(&[-0.75, -0.5])),
    };
    ResizeOptions {
        mode,
        coordinates: rng.pick(&[
            Coordinates::HalfPixel,
            Coordinates::PytorchHalfPixel,
            Coordinates::HalfPixelSymmetric,
            Coordinates::Asymmetric,
            Coordinates::AlignCorners,
        ]),
        exclude_outside: rng.below(2) == 0,
        antialias: rng.below(2) == 0,
        extrapolation: 1.5,
    }
}

#[test]
fn resampling_agrees_with_the_reference() {
    fuzz(|device, rng| {
        let mut options = options(rng);
        let nearest = matches!(options.mode, ResizeMode::Nearest(_));
        let dtype = if nearest {
            rng.pick(&DType::ALL)
        } else {
            rng.pick(&FLOATS)
        };
        let rank = 1 + rng.below(4);
        let dims = extents(rank, rng);
        let x = given(device, dtype, &dims, Values::Plain, rng);
        let count = 1 + rng.below(rank.min(3));
        // Axes in any order, each once.
        let mut free: Vec<usize> = (0..rank).collect();
        let axes: Vec<usize> = (0..count)
            .map(|_| free.remove(rng.below(free.len())))
            .collect();
        if axes.iter().any(|&axis| dims[axis] == 0) {
            return;
        }
        let signed: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
        let (mut all, mut out) = (vec![ResizeAxis::default(); rank], dims.clone());
        let sizes: Vec<usize> = axes.iter().map(|_| 1 + rng.below(12)).collect();
        let result = match rng.below(3) {
            0 => {
                axes.iter()
                    .zip(&sizes)
                    .for_each(|(&axis, &size)| out[axis] = size);
                x.tensor
                    .resize_to(&signed, &sizes, AspectRatio::Stretch, &options)
            }
            1 => {
                // Scales that no rounding makes ambiguous.
                let scales: Vec<f64> = axes
                    .iter()
                    .map(|_| (1 + rng.below(40)) as f64 / 16.0)
                    .collect();
                for (&axis, &scale) in axes.iter().zip(&scales) {
                    out[axis] = (dims[axis] as f64 * scale).floor() as usize;
                    all[axis].scale = Some(scale);
                }
                x.tensor.resize_by(&signed, &scales, &options)
            }
            _ => {
                let mut edge = || (rng.below(21) as f64 - 4.0) / 13.0;
                let regions: Vec<[f64; 2]> = axes.iter().map(|_| [edge(), edge()]).collect();
                for ((&axis, &size), &region) in axes.iter().zip(&sizes).zip(&regions) {
                    out[axis] = size;
                    all[axis].region = region;
                }
                options.coordinates = Coordinates::TfCropAndResize;
                x.tensor
                    .crop_and_resize(&signed, &sizes, &regions, &options)
            }
        };
        let what = format!("{options:?} {dtype} {dims:?} to {out:?}, {all:?}");
        if out.contains(&0) {
            // Nothing is left: an empty tensor, or an error that says so.
            match result {
                Ok(tensor) => assert_eq!(tensor.dims(), out, "{what}"),
                error => refused(&what, error),
            }
            return;
        }
        let wanted = expect::resize(&x.values, &dims, &out, &all, &options, dtype);
        agrees(&what, result, &out, &wanted);
    });
}

#[test]
fn interpolation_agrees_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let mode = rng.pick(&[
            InterpolateMode::Nearest,
            InterpolateMode::NearestExact,
            InterpolateMode::Linear,
            InterpolateMode::Cubic,
        ]);
        let weighted = matches!(mode, InterpolateMode::Linear | InterpolateMode::Cubic);
        let axes = 1 + rng.below(3);
        let mut size = || -> Vec<usize> { (0..axes).map(|_| 1 + rng.below(11)).collect() };
        let (from, to) = (size(), size());
        let images = [rng.below(3), 1 + rng.below(3)];
        let (dims, out) = ([&images, &from[..]].concat(), [&images, &to[..]].concat());
        let x = given(device, dtype, &dims, Values::Plain, rng);
        let options = InterpolateOptions {
            mode,
            align_corners: weighted && rng.below(2) == 0,
            antialias: weighted && rng.below(2) == 0,
        };
        let corners = if options.align_corners {
            Coordinates::AlignCorners
        } else {
            Coordinates::HalfPixel
        };
        let (mode, coordinates) = match mode {
            InterpolateMode::Nearest => (
                ResizeMode::Nearest(NearestMode::Floor),
                Coordinates::Asymmetric,
            ),
            InterpolateMode::NearestExact => (
                ResizeMode::Nearest(NearestMode::RoundPreferCeil),
                Coordinates::HalfPixel,
            ),
            InterpolateMode::Linear => (ResizeMode::Linear, corners),
            _ => {
                let a = if options.antialias { -0.5 } else { -0.75 };
                (ResizeMode::Cubic(a), corners)
            }
        };
        let kernel = ResizeOptions {
            mode,
            coordinates,
            antialias: options.antialias,
            ..ResizeOptions::default()
        };
        let all = vec![ResizeAxis::default(); dims.len()];
        let wanted = expect::resize(&x.values, &dims, &out, &all, &kernel, dtype);
        let what = format!("{options:?} {dtype} {dims:?} to {to:?}");
        agrees(&what, x.tensor.interpolate(&to, &options), &out, &wanted);
    });
}

#[test]
fn samples_at_places_agree_with_the_reference() {
    fuzz(|device, rng| {
        let mode = rng.pick(&GridMode::ALL);
        let options = GridSampleOptions {
            mode,
            padding: rng.pick(&GridPadding::ALL),
            align_corners: rng.below(2) == 0,
        };
        let nearest = mode == GridMode::Nearest;
        let dtype = if nearest {
            rng.pick(&DType::ALL)
        } else {
            rng.pick(&FLOATS)
        };
        let axes = if mode == GridMode::Cubic {
            2
        } else {
            2 + rng.below(2)
        };
        let mut size =
            |low: usize| -> Vec<usize> { (0..axes).map(|_| low + rng.below(9)).collect() };
        let (from, to) = (size(1), size(0));
        let (batch, channels) = (rng.below(3), 1 + rng.below(3));
        let dims = [&[batch, channels], &from[..]].concat();
        let x = given(device, dtype, &dims, Values::Plain, rng);
        let places = [&[batch], &to[..], &[axes]].concat();
        // The nearest element is looked for where f32 is exact and nothing lies half way.
        let grid = made(device, DType::F32, &places, rng, |rng| {
            if nearest {
                (rng.below(40) as f64 - 20.0) / 16.0 + 1.0 / 64.0
            } else {
                rng.value(DType::F32) * 1.5
            }
        });
        let out = [&[batch, channels], &to[..]].concat();
        let wanted = expect::grid_sample((&x.values, &dims), &grid.values, &options, dtype);
        let what = format!("{options:?} {dtype} {dims:?} at {places:?}");
        let result = x.tensor.grid_sample(&grid.tensor, &options);
        agrees(&what, result, &out, &wanted);
    });
}
