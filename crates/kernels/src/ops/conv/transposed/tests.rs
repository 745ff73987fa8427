//! Every way to compute the convolution of all taps, on a device with matrix units.

#![allow(clippy::unwrap_used, reason = "tests")]
use super::super::ConvTransposeOptions;
use super::*;
use crate::run::ends::Ends;
use crate::run::executor::Executor;
use crate::run::view::View;
use ziggurat_core::{DType, Layout, Shape, decode, encode};
use ziggurat_pipeline::device::{DeviceOptions, SoftwareWish};

const OP: &str = "conv_transpose2d";

/// Small whole numbers, of which no dtype rounds sums of some hundred products.
fn whole(exec: &Executor, dtype: DType, dims: &[usize]) -> View {
    let shape = Shape::new(dims).unwrap();
    let values: Vec<f64> = (0..shape.len())
        .map(|i| (i * 37 % 11 % 3) as f64 - 1.0)
        .collect();
    let bytes = encode(dtype, &values);
    exec.upload_bytes(dtype, &bytes, &shape).unwrap()
}

/// What a way of planning gives.
fn results(
    exec: &Executor,
    (x, w, g): (&View, &View, &Geometry),
    plan: impl Fn(&mut Planner<'_>, Seen<'_>) -> Result<(), KernelError>,
) -> Vec<f64> {
    let images = Images { x, w, bias: None };
    let out = exec.alloc(&g.output_shape(2).unwrap(), x.dtype).unwrap();
    let ends = Ends {
        others: images.operands().others,
        ..Ends::plain(x, &out)
    };
    exec.run_planned(OP, &ends, |p| plan(p, images.seen(g)))
        .unwrap();
    let bytes = exec.download(&out).unwrap().wait().unwrap();
    decode(x.dtype, &bytes)
}

#[test]
fn every_way_gives_exact_sums() {
    let mut options = DeviceOptions::default();
    options.adapter.software = Some(SoftwareWish::Named("nvidia".to_owned()));
    let exec = Executor::open_blocking(options).unwrap();
    let stride_two = ConvTransposeOptions::<3> {
        stride: [1, 2, 2],
        ..ConvTransposeOptions::default()
    };
    let mut names = Vec::new();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for (channels, last) in [(64, false), (64, true), (36, false), (36, true)] {
            let x = if last {
                let x = whole(&exec, dtype, &[1, 8, 8, channels]);
                let layout = x.layout.permute(&[0, 3, 1, 2]).unwrap();
                x.with_layout(layout).unwrap()
            } else {
                whole(&exec, dtype, &[1, channels, 8, 8])
            };
            let w = whole(&exec, dtype, &[channels, 8, 3, 3]);
            let g = Geometry::transposed(2, x.shape(), w.shape(), None, &stride_two).unwrap();
            let operands = (&x, &w, &g);
            let want = results(&exec, operands, |p, seen| {
                steps_of(p, &g, seen, Method::Direct)
            });
            for way in 0.. {
                let nth = |inner: &Geometry, seen: Seen<'_>, ability: &Ability| {
                    let ways = plan::ways(inner, seen, ability);
                    let mut tiled = ways.all().filter(|&way| columns::has_tiles(way));
                    tiled.nth(way)
                };
                let found = std::cell::Cell::new(None);
                let got = results(&exec, operands, |p, seen| {
                    let any = columns::steps_by(p, &g, seen, |inner, seen, ability| {
                        found.set(nth(inner, seen, ability));
                        found.get()
                    });
                    // Behind the last way.
                    found.get().map_or(Ok(()), |_| any)
                });
                let Some(method) = found.get() else { break };
                names.push(method);
                assert_eq!(got, want, "{dtype} {channels} {last} {method:?}");
            }
        }
    }
    let of_planes = names
        .iter()
        .filter(|method| matches!(method, Method::Planes(_)));
    assert_eq!(of_planes.count(), 12);
    assert!(
        names
            .iter()
            .any(|method| matches!(method, Method::Packed(_)))
    );
}

/// What a tuner found to be the fastest on an H200.
#[test]
fn columns_come_first_where_their_sums_are_few() {
    let [f32, f16, bf16] = [DType::F32, DType::F16, DType::BF16];
    let [columns, phases] = [Method::Columns, Method::SubPixel];
    for (dtype, x, w, expected) in [
        (f32, [8, 64, 32, 32], [64, 3, 4, 4], columns),
        (f16, [8, 64, 32, 32], [64, 3, 4, 4], columns),
        (bf16, [1, 64, 28, 28], [64, 64, 4, 4], columns),
        (bf16, [8, 64, 28, 28], [64, 64, 4, 4], phases),
        (f32, [1, 128, 14, 14], [128, 64, 2, 2], columns),
        (f16, [1, 128, 14, 14], [128, 64, 2, 2], phases),
    ] {
        let pads = [w[2] / 2 - 1; 2];
        let options = ConvTransposeOptions::<2> {
            stride: [2; 2],
            padding_begin: pads,
            padding_end: pads,
            ..ConvTransposeOptions::default()
        };
        let [x, w] = [x, w].map(|dims| Layout::contiguous(Shape::new(dims).unwrap()));
        let g = options.geometry(x.shape(), w.shape(), None).unwrap();
        let seen = Seen {
            dtype,
            x: &x,
            w: &w,
            w_group: 0,
            bias_step: None,
        };
        let found = ways(&g, seen, &Ability::LARGE).default;
        assert_eq!(found, expected, "{dtype} {x:?} {w:?}");
    }
}
