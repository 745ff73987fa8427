//! Transposed convolutions as plain ones: of flipped filters, of filters of each phase, of a filter for each tap.

use super::axes::run_transposed;
use super::packed::{devices, ways_of};
use super::*;
use crate::layer::{Host, layer};
use ziggurat_kernels::{ConvTranspose2dOptions, ConvTransposeOptions, FusedOutput, Sink};

/// What kernels of each form say: the filters of phases, what looks for taps between inputs, and what adds taps.
const PHASES: &str = "fn steps_to(at: vec3<u32>) -> u32";
const GATHERED: &str = "fn tap_step(stride: u32, dilation: u32) -> u32 {\n    if";
const COLUMNS: &str = "fn along(line: u32";

/// A transposed convolution over two axes.
#[derive(Clone, Copy)]
struct Case {
    x: [usize; 4],
    /// Filters of a group, and extents of the kernel.
    w: [usize; 3],
    options: ConvTranspose2dOptions,
}

impl Case {
    fn new(
        x: [usize; 4],
        w: [usize; 3],
        change: impl FnOnce(ConvTranspose2dOptions) -> ConvTranspose2dOptions,
    ) -> Self {
        let options = change(ConvTranspose2dOptions::default());
        Self { x, w, options }
    }

    fn filters(&self) -> [usize; 4] {
        [self.x[1], self.w[0], self.w[1], self.w[2]]
    }

    /// Extents of an output.
    fn size(&self) -> [usize; 2] {
        let o = &self.options;
        [0, 1].map(|axis| {
            let whole = (self.x[2 + axis] - 1) * o.stride[axis]
                + (self.w[1 + axis] - 1) * o.dilation[axis]
                + 1
                + o.output_padding[axis];
            whole - o.padding_begin[axis] - o.padding_end[axis]
        })
    }

    fn all_filters(&self) -> usize {
        self.w[0] * self.options.groups
    }

    /// Those whose kernels contain a text.
    fn ways(&self, exec: &Executor, (x, w): (&View, &View), text: &str) -> Vec<Executor> {
        let [height, width] = self.size();
        let out = [self.x[0], self.all_filters(), height, width];
        ways_of(exec, &self.options.call(), (x, w), &out, text)
    }

    fn is_plain(&self) -> bool {
        self.options.stride == [1, 1]
    }
}

/// Of which each phase has as many taps as the others.
fn cases() -> Vec<Case> {
    vec![
        Case::new([2, 3, 4, 5], [5, 4, 4], |o| {
            o.stride([2, 2]).padding([1, 1])
        }),
        Case::new([1, 6, 3, 4], [4, 4, 2], |o| {
            o.stride([2, 2]).padding([1, 0]).output_padding([1, 1])
        }),
        Case::new([1, 4, 5, 2], [3, 2, 2], |o| o.stride([2, 2])),
        // Groups, and unlike axes.
        Case::new([2, 4, 3, 3], [3, 3, 4], |o| {
            o.stride([3, 2]).groups(2).output_padding([2, 0])
        }),
        // A dilation along an axis that has no stride.
        Case::new([1, 5, 6, 5], [4, 3, 4], |o| {
            o.stride([1, 2]).dilation([2, 1]).padding([3, 2])
        }),
        Case {
            options: ConvTranspose2dOptions {
                stride: [2, 2],
                padding_begin: [3, 0],
                padding_end: [0, 4],
                ..ConvTranspose2dOptions::default()
            },
            ..Case::new([1, 4, 4, 5], [3, 6, 4], |o| o)
        },
    ]
}

/// A dilation and a stride along one axis, more padding than a kernel reaches, and phases of unlike taps.
fn without_phases() -> Vec<Case> {
    vec![
        Case::new([2, 7, 5, 4], [6, 3, 3], |o| {
            o.stride([2, 2]).padding([1, 1]).output_padding([1, 1])
        }),
        Case::new([1, 6, 4, 5], [6, 3, 2], |o| {
            o.stride([2, 3]).groups(2).dilation([2, 3]).padding([1, 0])
        }),
        Case::new([1, 4, 3, 4], [4, 5, 3], |o| {
            o.stride([2, 4]).dilation([1, 6]).output_padding([0, 2])
        }),
        Case::new([1, 3, 4, 4], [2, 4, 3], |o| {
            o.stride([2, 1]).dilation([3, 1])
        }),
        Case::new([1, 3, 6, 4], [2, 2, 2], |o| {
            o.stride([2, 2]).padding([3, 0])
        }),
        Case::new([1, 6, 3, 4], [4, 3, 3], |o| {
            o.stride([2, 2]).padding([1, 1]).output_padding([1, 1])
        }),
        Case::new([1, 3, 4, 6], [2, 1, 1], |o| o.stride([2, 3])),
    ]
}

/// Stride 1.
fn plain() -> Vec<Case> {
    vec![
        Case::new([2, 7, 5, 6], [6, 3, 2], |o| o.padding([2, 0])),
        Case::new([1, 4, 6, 5], [3, 2, 3], |o| o.groups(2).dilation([3, 1])),
        Case::new([2, 20, 8, 7], [17, 1, 1], |o| o),
        Case {
            options: ConvTranspose2dOptions {
                padding_begin: [0, 2],
                padding_end: [1, 0],
                ..ConvTranspose2dOptions::default()
            },
            ..Case::new([1, 24, 9, 8], [20, 4, 3], |o| o)
        },
    ]
}

/// Runs a case in any arrangement, in every way whose kernels contain a text.
fn in_any_arrangement(cases: Vec<Case>, text: &str, rng: &mut Random) {
    for exec in devices() {
        for case in &cases {
            for dtype in FLOATS {
                for (i, arrangement) in Arrangement::ALL.into_iter().enumerate() {
                    let x = random(&exec, dtype, &case.x, arrangement, rng);
                    let w = random(&exec, dtype, &case.filters(), arrangement, rng);
                    let bias = random(&exec, dtype, &[case.all_filters()], arrangement, rng);
                    let all = case.ways(&exec, (&x.view, &w.view), text);
                    // Taps of filters that lie at several distances are no filters of one matrix.
                    let least = usize::from(arrangement == Arrangement::Contiguous);
                    assert!(all.len() >= least, "{:?} {:?}", case.x, case.w);
                    for exec in &all {
                        let operands = (&x, &w, (i % 2 == 0).then_some(&bias));
                        run_transposed(exec, operands, &case.options, case.size(), i);
                    }
                }
            }
        }
    }
}

#[test]
fn phases_give_the_sums_in_any_arrangement() {
    in_any_arrangement(cases(), PHASES, &mut Random(71));
}

#[test]
fn taps_that_overlap_give_the_sums_in_any_arrangement() {
    let all = cases().into_iter().chain(without_phases());
    // Tiles are for 16 filters, or taps of filters, and 16 products.
    let wide = all.map(|case| Case {
        x: [case.x[0], 16 * case.options.groups, 5, 4],
        ..case
    });
    let filled = wide.filter(|case| case.w.iter().product::<usize>() >= 16);
    in_any_arrangement(filled.collect(), COLUMNS, &mut Random(76));
}

/// Without a stride a kernel of plain convolutions reads the filters from the end.
#[test]
fn stride_one_is_a_plain_convolution() {
    in_any_arrangement(plain(), "", &mut Random(77));
    let exec = common::executor();
    for case in plain() {
        let dense = Arrangement::Contiguous;
        let mut rng = Random(78);
        let x = random(&exec, DType::F32, &case.x, dense, &mut rng);
        let w = random(&exec, DType::F32, &case.filters(), dense, &mut rng);
        assert!(case.is_plain());
        let gathered = case.ways(&exec, (&x.view, &w.view), GATHERED);
        assert!(gathered.is_empty());
    }
    // What says so of a kernel that gathers is in one.
    let case = Case::new([1, 3, 4, 6], [2, 3, 3], |o| o.stride([2, 3]));
    let mut rng = Random(78);
    let x = random(
        &exec,
        DType::F32,
        &case.x,
        Arrangement::Contiguous,
        &mut rng,
    );
    let w = random(
        &exec,
        DType::F32,
        &case.filters(),
        Arrangement::Contiguous,
        &mut rng,
    );
    assert!(!case.ways(&exec, (&x.view, &w.view), GATHERED).is_empty());
}

/// Of much work phases are the default, and matrix units multiply where there are some.
#[test]
fn much_work_is_done_by_phases() {
    let mut rng = Random(72);
    let case = Case::new([2, 128, 16, 16], [32, 4, 4], |o| {
        o.stride([2, 2]).padding([1, 1])
    });
    for (exec, units) in devices().into_iter().zip([false, true]) {
        let dense = Arrangement::Contiguous;
        let x = random(&exec, DType::F16, &case.x, dense, &mut rng);
        let w = random(&exec, DType::F16, &case.filters(), dense, &mut rng);
        let bias = random(&exec, DType::F16, &[32], dense, &mut rng);
        let [height, width] = case.size();
        let (call, out) = (case.options.call(), [2, 32, height, width]);
        let packed = ways_of(&exec, &call, (&x.view, &w.view), &out, "fn pixels_to");
        assert!(packed.len() == 1 || (packed.is_empty() && !units));
        let default = case.ways(&exec, (&x.view, &w.view), PHASES).swap_remove(0);
        run_transposed(
            &default,
            (&x, &w, Some(&bias)),
            &case.options,
            case.size(),
            0,
        );
    }
}

/// Of unlike phases taps are the default, with an expression behind them.
#[test]
fn much_work_of_unlike_phases_is_done_by_taps() {
    let mut rng = Random(79);
    let case = Case::new([2, 64, 16, 16], [36, 3, 3], |o| {
        o.stride([2, 2]).padding([1, 1]).output_padding([1, 1])
    });
    for exec in devices() {
        for dtype in FLOATS {
            let dense = Arrangement::Contiguous;
            let x = random(&exec, dtype, &case.x, dense, &mut rng);
            let w = random(&exec, dtype, &case.filters(), dense, &mut rng);
            let bias = random(&exec, dtype, &[36], dense, &mut rng);
            let operands = (&x, &w, Some(&bias));
            let default = case.ways(&exec, (&x.view, &w.view), COLUMNS).swap_remove(0);
            run_transposed(&default, operands, &case.options, case.size(), 0);
            run_transposed(&exec, operands, &case.options, case.size(), 0);
        }
    }
}

#[test]
fn what_has_no_phases_takes_another_kernel() {
    let mut rng = Random(73);
    let exec = common::executor();
    for case in without_phases() {
        let dense = Arrangement::Contiguous;
        let x = random(&exec, DType::F32, &case.x, dense, &mut rng);
        let w = random(&exec, DType::F32, &case.filters(), dense, &mut rng);
        assert!(case.ways(&exec, (&x.view, &w.view), PHASES).is_empty());
        run_transposed(&exec, (&x, &w, None), &case.options, case.size(), 0);
    }
}

/// What is not finite reaches the outputs that read it, and no others.
#[test]
fn what_is_not_finite_reaches_what_reads_it() {
    for exec in devices() {
        let all = cases().into_iter().chain(without_phases());
        for case in all.chain(plain()) {
            for dtype in FLOATS {
                let len = |dims: [usize; 4]| dims.into_iter().product::<usize>();
                let mut values: Vec<f64> = (0..len(case.x)).map(|i| (i % 5) as f64 + 1.0).collect();
                let last = values.len() - 1;
                (values[0], values[last]) = (f64::INFINITY, f64::NAN);
                let weights: Vec<f64> = (0..len(case.filters()))
                    .map(|i| (i % 3) as f64 + 1.0)
                    .collect();
                let x = given(&exec, dtype, &case.x, &values);
                let w = given(&exec, dtype, &case.filters(), &weights);
                let (operands, size) = ((&values[..], &case.x[..]), case.size());
                let filters = case.filters();
                let terms =
                    conv_transpose(operands, (&weights, &filters), None, &case.options, size);
                let all = case.ways(&exec, (&x.view, &w.view), "");
                for exec in all {
                    let dims = [case.x[0], case.all_filters(), size[0], size[1]];
                    let out = output(&exec, dtype, &dims, 0);
                    let _done = exec
                        .conv_transpose(&x.view, &w.view, None, &case.options, &out.view)
                        .unwrap();
                    for (i, (got, term)) in out.read(&exec).into_iter().zip(&terms).enumerate() {
                        assert_eq!(got.is_nan(), term.value.is_nan(), "{dtype} {i}");
                        assert_eq!(got.is_infinite(), term.value.is_infinite(), "{dtype} {i}");
                    }
                }
            }
        }
    }
}

/// Three axes, with a stride along each.
#[test]
fn volumes_have_phases_and_taps() {
    let mut rng = Random(74);
    let options = ConvTransposeOptions::<3> {
        stride: [2, 1, 2],
        padding_begin: [1, 0, 1],
        padding_end: [0, 1, 1],
        ..ConvTransposeOptions::default()
    };
    for exec in devices() {
        for (dtype, kernel, size) in [
            (DType::F32, [4, 2, 4], [7, 4, 8]),
            (DType::F16, [2, 2, 2], [5, 4, 6]),
        ] {
            let dense = Arrangement::Contiguous;
            let x = random(&exec, dtype, &[2, 16, 3, 4, 4], dense, &mut rng);
            let [depth, height, width] = kernel;
            let w = random(
                &exec,
                dtype,
                &[16, 5, depth, height, width],
                dense,
                &mut rng,
            );
            let out = [2, 5, size[0], size[1], size[2]];
            for text in [PHASES, COLUMNS] {
                let all = ways_of(&exec, &options.call(), (&x.view, &w.view), &out, text);
                assert_eq!(all.len(), 1);
                run_transposed(&all[0], (&x, &w, None), &options, size, 0);
            }
        }
    }
}

#[test]
fn expressions_are_written_by_the_last_step() {
    let mut rng = Random(75);
    let exec = common::executor();
    for (case, text) in [
        (
            Case::new([2, 3, 4, 6], [5, 4, 4], |o| {
                o.stride([2, 2]).padding([1, 1])
            }),
            PHASES,
        ),
        (
            Case::new([1, 3, 4, 5], [4, 2, 2], |o| o.stride([2, 2])),
            PHASES,
        ),
        (
            Case::new([1, 16, 4, 4], [4, 3, 3], |o| o.stride([2, 2])),
            COLUMNS,
        ),
        (
            Case::new([1, 16, 4, 5], [4, 3, 4], |o| o.stride([2, 3])),
            COLUMNS,
        ),
    ] {
        for (dtype, to) in FLOATS.into_iter().zip([DType::F16, DType::F16, DType::F32]) {
            let mut any =
                |dims: &[usize]| random(&exec, dtype, dims, Arrangement::Contiguous, &mut rng).view;
            let [height, width] = case.size();
            let dims = [case.x[0], case.w[0], height, width];
            let (x, w, bias) = (any(&case.x), any(&case.filters()), any(&[case.w[0]]));
            let (scale, residual) = (any(&[case.w[0], 1, 1]), any(&dims));
            let all = case.ways(&exec, (&x, &w), text);
            let [exec] = &all[..] else { panic!("one way") };
            for bias in [None, Some(&bias)] {
                let fused = |value: &FusedOutput<'_>, out: &View| {
                    let sink = Sink::new(out).through(value);
                    exec.conv_transpose(&x, &w, bias, &case.options, sink)
                };
                let host = Host {
                    dtype,
                    dims: &dims,
                    fused: &fused,
                    plain: &|out| exec.conv_transpose(&x, &w, bias, &case.options, out),
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
}
