//! Convolutions on matrix units, whose operands are packed first, and those of few channels: every one that a device has, on
//! the software device as on others.

use super::*;
use crate::layer::{Host, layer};

use ziggurat_kernels::device::{DeviceOptions, SoftwareWish};
use ziggurat_kernels::{Call, FusedOutput, Operands, Shape, Sink};

/// The adapter of the tests, and a software device with matrix units.
pub(super) fn devices() -> [Executor; 2] {
    let mut options = DeviceOptions::default();
    options.adapter.software = Some(SoftwareWish::Named("nvidia".to_owned()));
    [
        common::executor(),
        Executor::open_blocking(options).unwrap(),
    ]
}

/// A convolution over two axes, and what it reads.
#[derive(Clone, Copy)]
struct Case {
    x: [usize; 4],
    /// Filters, and extents of the kernel.
    w: [usize; 3],
    options: Conv2dOptions,
}

impl Case {
    fn new(x: [usize; 4], w: [usize; 3]) -> Self {
        Self {
            x,
            w,
            options: Conv2dOptions::default(),
        }
    }

    fn with(self, change: impl FnOnce(Conv2dOptions) -> Conv2dOptions) -> Self {
        Self {
            options: change(self.options),
            ..self
        }
    }

    fn filters(&self) -> [usize; 4] {
        let [filters, height, width] = self.w;
        [filters, self.x[1] / self.options.groups, height, width]
    }
}

/// Executors of the ways to compute it whose kernels contain a text.
pub(super) fn ways(
    exec: &Executor,
    x: &View,
    w: &View,
    options: &Conv2dOptions,
    text: &str,
) -> Vec<Executor> {
    let dims = options.output_shape(x.shape(), w.shape(), None).unwrap();
    ways_of(exec, &options.call(), (x, w), dims.dims(), text)
}

/// The same for any call of these operands.
pub(super) fn ways_of(
    exec: &Executor,
    call: &Call,
    (x, w): (&View, &View),
    dims: &[usize],
    text: &str,
) -> Vec<Executor> {
    let dims = Shape::new(dims).unwrap();
    let out = exec.alloc(&dims, x.dtype).unwrap();
    let operands = || Operands {
        others: [Some(w), None, None, None, None],
        ..Operands::one(x)
    };
    let listing = |exec: &Executor| {
        let plan = exec.plan(call, &operands(), Sink::new(&out)).unwrap();
        plan.listing().to_string()
    };
    // Behind the last way comes the default again.
    let default = listing(&exec.in_way(0));
    let others = (1..10).map(|way| (exec.in_way(way), listing(&exec.in_way(way))));
    let others = others.filter(|(_, kernels)| *kernels != default);
    let all = std::iter::once((exec.in_way(0), default.clone())).chain(others);
    let has = all.filter(|(_, kernels)| kernels.contains(text));
    has.map(|(exec, _)| exec).collect()
}

pub(super) const PACKED: &str = "fn pixels_to";
const VECTORS: &str = "unpack(a[(from_pixel.first";
pub(super) const SHARES: &str = "let of_filter = bias(";
const PLANES: &str = "return Origin(params.w_offset";
const ROWS: &str = "fn emit_row";

fn cases() -> Vec<Case> {
    let padded = |options: Conv2dOptions| options.padding([1, 1]);
    vec![
        Case::new([2, 5, 9, 12], [20, 3, 3]).with(padded),
        Case::new([1, 40, 7, 7], [70, 1, 1]),
        Case::new([3, 33, 6, 10], [16, 1, 1]).with(|o| o.stride([2, 3])),
        // Few channels: taps count as channels. Of one image they may lie side by side.
        Case::new([1, 3, 12, 11], [20, 3, 3]),
        Case::new([2, 3, 15, 14], [24, 7, 7]).with(|o| o.stride([2, 2]).padding([3, 3])),
        Case::new([2, 8, 11, 9], [36, 3, 2])
            .with(|o| o.groups(2).stride([2, 1]).dilation([1, 2]).padding([2, 1])),
        Case::new([1, 36, 10, 13], [18, 3, 5])
            .with(|o| o.dilation([2, 2]).padding([3, 4]).stride([1, 2])),
        // Of odd padding, and windows that stand in it wholly.
        Case {
            options: Conv2dOptions {
                padding_begin: [0, 4],
                padding_end: [3, 1],
                ..Conv2dOptions::default()
            },
            ..Case::new([2, 4, 5, 6], [17, 2, 2])
        },
        Case::new([5, 64, 4, 4], [130, 3, 3]).with(padded),
        // Many blocks of channels.
        Case::new([2, 516, 3, 5], [17, 3, 1]).with(|o| o.padding([1, 0])),
    ]
}

/// Images whose channels lie side by side.
fn channels_last(exec: &Executor, dtype: DType, x: [usize; 4], rng: &mut Random) -> Operand {
    let [images, channels, height, width] = x;
    let dims = [images, height, width, channels];
    let mut last = random(exec, dtype, &dims, Arrangement::Contiguous, rng);
    let layout = last.view.layout.permute(&[0, 3, 1, 2]).unwrap();
    last.view = last.view.with_layout(layout).unwrap();
    let at = |i: usize| {
        let (plane, image) = (height * width, i / (height * width) / channels);
        (image * plane + i % plane) * channels + i / plane % channels
    };
    last.values = (0..last.values.len()).map(|i| last.values[at(i)]).collect();
    last
}

#[test]
fn operands_are_packed_in_any_arrangement() {
    let mut rng = Random(51);
    let mut in_vectors = 0;
    for (exec, units) in devices().into_iter().zip([false, true]) {
        for case in cases() {
            for dtype in FLOATS {
                let any = rng.pick(&Arrangement::ALL);
                let arrangements = [Arrangement::Contiguous, Arrangement::Transposed, any];
                let arrangements = arrangements.into_iter().map(Some).chain([None]);
                for (i, arrangement) in arrangements.enumerate() {
                    let x = match arrangement {
                        Some(arrangement) => random(&exec, dtype, &case.x, arrangement, &mut rng),
                        None => channels_last(&exec, dtype, case.x, &mut rng),
                    };
                    let arrangement = arrangement.unwrap_or(Arrangement::Contiguous);
                    let w = random(&exec, dtype, &case.filters(), arrangement, &mut rng);
                    let dims = [case.w[0]];
                    let bias = random(&exec, dtype, &dims, Arrangement::Sliced, &mut rng);
                    let all = ways(&exec, &x.view, &w.view, &case.options, PACKED);
                    let tiles = if dtype == DType::F32 { 1 } else { 2 };
                    assert!(all.len() == tiles || (all.is_empty() && !units));
                    in_vectors += ways(&exec, &x.view, &w.view, &case.options, VECTORS).len();
                    for exec in all {
                        run(
                            &exec,
                            &x,
                            &w,
                            (i == 0).then_some(&bias),
                            &case.options,
                            3 * i,
                        );
                    }
                }
            }
        }
    }
    // Three cases have channels of whole vectors that do not count as taps.
    assert_eq!(in_vectors % 15, 0);
    assert!(in_vectors > 0);
}

/// Several workgroups share the channels of each tile where there are few: whole vectors of positions and others.
#[test]
fn channels_of_few_tiles_are_shared() {
    let mut rng = Random(60);
    let padded = |options: Conv2dOptions| options.padding([1, 1]);
    let cases = [
        Case::new([1, 256, 6, 6], [70, 3, 3]).with(padded),
        Case::new([2, 256, 3, 5], [17, 3, 3]).with(padded),
        Case::new([2, 2048, 4, 4], [20, 1, 1]).with(|o| o.stride([2, 1])),
    ];
    for (exec, units) in devices().into_iter().zip([false, true]) {
        for case in cases {
            for dtype in FLOATS {
                let mut any =
                    |dims: &[usize], arrangement| random(&exec, dtype, dims, arrangement, &mut rng);
                let dense = Arrangement::Contiguous;
                let (w, strided) = (
                    any(&case.filters(), dense),
                    any(&case.x, Arrangement::Sliced),
                );
                let bias = any(&[case.w[0]], Arrangement::Sliced);
                let x = any(&case.x, dense);
                let last = channels_last(&exec, dtype, case.x, &mut rng);
                for (i, x) in [x, strided, last].iter().enumerate() {
                    let all = ways(&exec, &x.view, &w.view, &case.options, SHARES);
                    assert!(all.len() == 2 || (all.len() == 1 && !units));
                    for exec in all {
                        run(&exec, x, &w, (i < 2).then_some(&bias), &case.options, 3 * i);
                    }
                }
            }
        }
    }
}

/// Kernels of one element over images that lie in vectors along their positions, or along their channels.
#[test]
fn images_are_read_as_they_lie_where_a_convolution_is_a_product() {
    let mut rng = Random(59);
    let options = Conv2dOptions::default();
    for (exec, units) in devices().into_iter().zip([false, true]) {
        for (x, filters) in [
            ([2, 40, 6, 10], 24),
            ([3, 64, 8, 9], 70),
            ([1, 132, 4, 35], 130),
        ] {
            let channels = x[1];
            let last = channels_last(&exec, DType::F16, x, &mut rng);
            let mut any =
                |dims: &[usize]| random(&exec, DType::F16, dims, Arrangement::Contiguous, &mut rng);
            let w = any(&[filters, channels, 1, 1]);
            let bias = any(&[filters]);
            let first = any(&x);
            for x in [&first, &last] {
                let all = ways(&exec, &x.view, &w.view, &options, PLANES);
                assert!(
                    all.len() == 3 || (all.is_empty() && !units),
                    "{}",
                    all.len()
                );
                for exec in all {
                    run(&exec, x, &w, None, &options, 0);
                    run(&exec, x, &w, Some(&bias), &options, 3);
                }
            }
        }
    }
}

#[test]
fn expressions_are_written_by_every_packed_kernel() {
    let mut rng = Random(55);
    let exec = common::matrix_executor();
    let mut kernels = 0;
    for (x, w, text) in [
        ([2, 20, 5, 7], [18, 3, 3], PACKED),
        ([1, 20, 6, 6], [20, 3, 3], PACKED),
        ([2, 20, 6, 6], [18, 1, 1], PLANES),
    ] {
        let case = Case::new(x, w);
        for (dtype, to) in FLOATS.into_iter().zip([DType::F16, DType::F16, DType::F32]) {
            let mut any =
                |dims: &[usize]| random(&exec, dtype, dims, Arrangement::Contiguous, &mut rng).view;
            let dims = [x[0], w[0], x[2] + 1 - w[1], x[3] + 1 - w[2]];
            let (x, w, bias) = (any(&case.x), any(&case.filters()), any(&[w[0]]));
            let (scale, residual) = (any(&[case.w[0], 1, 1]), any(&dims));
            let all = ways(&exec, &x, &w, &case.options, text);
            let bias = [None, Some(&bias)];
            for (exec, bias) in all.iter().flat_map(|exec| bias.map(|bias| (exec, bias))) {
                kernels += 1;
                let fused = |value: &FusedOutput<'_>, out: &View| {
                    exec.conv(&x, &w, bias, &case.options, Sink::new(out).through(value))
                };
                let host = Host {
                    dtype,
                    dims: &dims,
                    fused: &fused,
                    plain: &|out| exec.conv(&x, &w, bias, &case.options, out),
                };
                for further in [false, true] {
                    let values = layer(exec, &host, (&scale, &residual), to, further);
                    for (i, [fused, stored]) in values.iter().enumerate() {
                        assert!(fused == stored, "{dtype} to {to}: {dims:?} value {i}");
                    }
                }
            }
        }
    }
    // One tile of f32 and two of each other dtype, with and without a bias, for either plane; three that pack nothing.
    assert_eq!(kernels, 26);
}

#[test]
fn few_channels_are_read_by_rows() {
    let mut rng = Random(52);
    let padded = |options: Conv2dOptions| options.padding([1, 1]);
    let cases = [
        Case::new([2, 6, 9, 12], [6, 3, 3]).with(|o| padded(o).groups(6)),
        Case::new([1, 4, 16, 16], [8, 5, 7]).with(|o| o.padding([2, 3]).groups(2).stride([2, 2])),
        Case::new([2, 3, 7, 8], [5, 2, 1]).with(|o| o.stride([1, 2])),
        Case::new([1, 2, 6, 11], [2, 3, 4]).with(|o| padded(o).groups(2)),
        Case::new([1, 1, 5, 4], [1, 1, 1]),
    ];
    let exec = common::executor();
    for case in cases {
        for dtype in FLOATS {
            for (i, arrangement) in Arrangement::ALL.into_iter().enumerate() {
                let x = random(&exec, dtype, &case.x, arrangement, &mut rng);
                let w = random(&exec, dtype, &case.filters(), arrangement, &mut rng);
                let dims = [case.w[0]];
                let bias = random(&exec, dtype, &dims, Arrangement::Contiguous, &mut rng);
                let all = ways(&exec, &x.view, &w.view, &case.options, ROWS);
                assert!(!all.is_empty());
                run(
                    &all[0],
                    &x,
                    &w,
                    (i % 2 == 0).then_some(&bias),
                    &case.options,
                    i,
                );
            }
        }
    }
}

/// Three axes, with a stride along the depth.
#[test]
fn volumes_are_packed() {
    let mut rng = Random(53);
    let of_dtypes = |exec: Executor| FLOATS.map(|dtype| (exec.clone(), dtype));
    for (exec, dtype) in devices().into_iter().flat_map(of_dtypes) {
        let of = |dims: &[usize], rng: &mut Random| {
            random(&exec, dtype, dims, Arrangement::Contiguous, rng)
        };
        let x = of(&[2, 20, 5, 6, 4], &mut rng);
        let w = of(&[17, 20, 3, 2, 3], &mut rng);
        let options = ConvOptions::<3> {
            stride: [2, 1, 1],
            padding_begin: [1, 1, 1],
            padding_end: [1, 0, 1],
            ..ConvOptions::default()
        };
        for way in 0..3 {
            axes::run_forward(&exec.in_way(way), (&x, &w, None), &options, [3, 6, 4], 0);
        }
    }
}

/// Padding and channels that fill a block are no operands: what is not finite reaches the outputs that read it, and no others.
#[test]
fn what_is_not_finite_reaches_what_reads_it() {
    let len = |dims: [usize; 4]| dims.iter().product::<usize>();
    // Many channels are shared by workgroups.
    for (exec, channels) in devices()
        .into_iter()
        .flat_map(|exec| [(exec.clone(), 5), (exec, 256)])
    {
        let case = Case::new([2, channels, 8, 8], [20, 3, 3]).with(|o| o.padding([1, 1]));
        for dtype in FLOATS {
            let mut values: Vec<f64> = (0..len(case.x))
                .map(|i| ((i * 7) % 5) as f64 - 2.0)
                .collect();
            let at = |n: usize, c: usize, y: usize, x: usize| ((n * channels + c) * 8 + y) * 8 + x;
            values[at(0, channels - 1, 0, 7)] = f64::NAN;
            values[at(1, 2, 5, 0)] = f64::INFINITY;
            let x = given(&exec, dtype, &case.x, &values);
            let weights: Vec<f64> = (0..len(case.filters()))
                .map(|i| (i % 3) as f64 + 1.0)
                .collect();
            let w = given(&exec, dtype, &case.filters(), &weights);
            for exec in ways(&exec, &x.view, &w.view, &case.options, PACKED) {
                let out = output(&exec, dtype, &[2, 20, 8, 8], 0);
                let _done = exec
                    .conv(&x.view, &w.view, None, &case.options, &out.view)
                    .unwrap();
                for (i, got) in out.read(&exec).into_iter().enumerate() {
                    let (n, y, x) = (i / 1280, i / 8 % 8, i % 8);
                    let near = |a: usize, b: usize| a.abs_diff(b) <= 1;
                    assert_eq!(
                        got.is_nan(),
                        n == 0 && near(y, 0) && near(x, 7),
                        "{dtype} {i}"
                    );
                    assert_eq!(
                        got.is_infinite(),
                        n == 1 && near(y, 5) && near(x, 0),
                        "{dtype} {i}"
                    );
                }
            }
        }
    }
}
