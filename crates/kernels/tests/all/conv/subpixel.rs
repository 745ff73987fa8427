//! Transposed convolutions as convolutions of more filters, whose results are interleaved.

use super::axes::run_transposed;
use super::packed::{devices, ways_of};
use super::*;
use crate::layer::{Host, layer};
use ziggurat_kernels::{ConvTranspose2dOptions, ConvTransposeOptions, FusedOutput, Sink};

const FILTERS: &str = "fn steps_to(at: vec3<u32>) -> u32";

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

    fn ways(&self, exec: &Executor, x: &View, w: &View) -> Vec<Executor> {
        let [height, width] = self.size();
        let out = [self.x[0], self.all_filters(), height, width];
        ways_of(exec, &self.options.call(), (x, w), &out, FILTERS)
    }
}

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
        Case::new([2, 7, 5, 6], [6, 3, 2], |o| o.padding([2, 0])),
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

/// A dilation and a stride along one axis, more padding than a kernel reaches, and phases of unlike taps are left to other kernels.
fn without_phases() -> Vec<Case> {
    vec![
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

#[test]
fn phases_give_the_sums_in_any_arrangement() {
    let mut rng = Random(71);
    for exec in devices() {
        for case in cases() {
            for dtype in FLOATS {
                for (i, arrangement) in Arrangement::ALL.into_iter().enumerate() {
                    let x = random(&exec, dtype, &case.x, arrangement, &mut rng);
                    let w = random(&exec, dtype, &case.filters(), arrangement, &mut rng);
                    let bias = random(&exec, dtype, &[case.all_filters()], arrangement, &mut rng);
                    let all = case.ways(&exec, &x.view, &w.view);
                    assert_eq!(all.len(), 1, "{:?} {:?}", case.x, case.w);
                    let operands = (&x, &w, (i % 2 == 0).then_some(&bias));
                    run_transposed(&all[0], operands, &case.options, case.size(), i);
                }
            }
        }
    }
}

/// Of much work they are the default, and matrix units multiply where there are some.
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
        let default = case.ways(&exec, &x.view, &w.view).swap_remove(0);
        run_transposed(
            &default,
            (&x, &w, Some(&bias)),
            &case.options,
            case.size(),
            0,
        );
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
        assert!(case.ways(&exec, &x.view, &w.view).is_empty());
        run_transposed(&exec, (&x, &w, None), &case.options, case.size(), 0);
    }
}

/// What is not finite reaches the outputs that read it, and no others.
#[test]
fn what_is_not_finite_reaches_what_reads_it() {
    for exec in devices() {
        for case in cases().into_iter().chain(without_phases()) {
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
                let mut all = case.ways(&exec, &x.view, &w.view);
                all.push(exec.clone());
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
fn volumes_have_phases() {
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
            let x = random(&exec, dtype, &[2, 4, 3, 4, 4], dense, &mut rng);
            let [depth, height, width] = kernel;
            let w = random(&exec, dtype, &[4, 5, depth, height, width], dense, &mut rng);
            let out = [2, 5, size[0], size[1], size[2]];
            let all = ways_of(&exec, &options.call(), (&x.view, &w.view), &out, FILTERS);
            assert_eq!(all.len(), 1);
            run_transposed(&all[0], (&x, &w, None), &options, size, 0);
        }
    }
}

#[test]
fn expressions_are_written_where_phases_are_interleaved() {
    let mut rng = Random(75);
    let exec = common::executor();
    for case in [
        Case::new([2, 3, 4, 6], [5, 4, 4], |o| {
            o.stride([2, 2]).padding([1, 1])
        }),
        Case::new([1, 3, 4, 5], [4, 2, 2], |o| o.stride([2, 2])),
        Case::new([1, 3, 4, 4], [4, 3, 3], |o| o.padding([1, 1])),
    ] {
        for (dtype, to) in FLOATS.into_iter().zip([DType::F16, DType::F16, DType::F32]) {
            let mut any =
                |dims: &[usize]| random(&exec, dtype, dims, Arrangement::Contiguous, &mut rng).view;
            let [height, width] = case.size();
            let dims = [case.x[0], case.w[0], height, width];
            let (x, w, bias) = (any(&case.x), any(&case.filters()), any(&[case.w[0]]));
            let (scale, residual) = (any(&[case.w[0], 1, 1]), any(&dims));
            let all = case.ways(&exec, &x, &w);
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
