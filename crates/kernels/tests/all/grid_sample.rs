//! Sampling at the places of a grid against the reference and PyTorch: modes, paddings, dtypes, arrangements, far places, and
//! what is refused.

use crate::common;
use crate::operands;
use crate::operands::{
    Arrangement, Expected, Operand, Random, check, given, output, random, shape, worst,
};
use ziggurat_kernels::reference::grid_sample::{grid_sample, place};
use ziggurat_kernels::{DType, Executor, GridMode, GridPadding, GridSampleOptions, KernelError};

const NAN: f64 = f64::NAN;

fn all_options() -> Vec<GridSampleOptions> {
    let mut all = Vec::new();
    for mode in GridMode::ALL {
        for padding in GridPadding::ALL {
            for align_corners in [false, true] {
                all.push(GridSampleOptions {
                    mode,
                    padding,
                    align_corners,
                });
            }
        }
    }
    all
}

/// What `x` `[n, c, ..]` should be at the places of `grid`.
fn expected(x: &Operand, grid: &Operand, options: &GridSampleOptions) -> Vec<Expected> {
    let dims = x.view.dims();
    let extents = &dims[2..];
    let (image, places) = (
        extents.iter().product::<usize>(),
        grid.values.len() / dims[0],
    );
    let largest = *extents.iter().max().unwrap() as f64;
    let mut all = Vec::new();
    for n in 0..dims[0] {
        let places = &grid.values[n * places..][..places];
        for c in 0..dims[1] {
            let values = &x.values[(n * dims[1] + c) * image..][..image];
            for term in grid_sample(values, extents, places, options) {
                all.push(if options.mode == GridMode::Nearest {
                    Expected::exact(term.value).rounded(x.view.dtype)
                } else {
                    // A place is off by some units in the last place of the extent, and the slope between neighbours is at
                    // most what they differ by.
                    Expected::sum(term.value, 8.0 * largest, 64, x.view.dtype)
                });
            }
        }
    }
    all
}

fn run(exec: &Executor, x: &Operand, grid: &Operand, options: &GridSampleOptions, front: usize) {
    let dims = options
        .output_shape(x.view.shape(), grid.view.shape())
        .unwrap();
    let out = output(exec, x.view.dtype, dims.dims(), front);
    let _done = exec
        .grid_sample(&x.view, &grid.view, options, &out.view)
        .unwrap();
    check(
        &format!(
            "{} {:?} {:?} {options:?}",
            x.view.dtype, x.view.layout, grid.view.layout
        ),
        &out.read(exec),
        &expected(x, grid, options),
    );
}

/// Coordinates from -2 to 2, none of them so close to the middle between two elements that rounding decides.
fn coordinate(rng: &mut Random, extents: &[usize]) -> f64 {
    loop {
        let x = rng.value(DType::F32);
        let undecided = |&extent: &usize| {
            [false, true].iter().any(|&align_corners| {
                let options = GridSampleOptions {
                    align_corners,
                    ..GridSampleOptions::default()
                };
                let at = place(x, extent, &options);
                ((at - 0.5).round() + 0.5 - at).abs() < 1e-3
            })
        };
        if !extents.iter().any(undecided) {
            return x;
        }
    }
}

fn run_random(exec: &Executor, rng: &mut Random, dtype: DType, options: &GridSampleOptions) {
    let axes = 2 + rng.below(2);
    if !options.mode.accepts(dtype) || (axes == 3 && options.mode == GridMode::Cubic) {
        return;
    }
    let (batch, channels) = (1 + rng.below(2), 1 + rng.below(3));
    let mut dims = vec![batch, channels];
    let mut places = vec![batch];
    for _ in 0..axes {
        dims.push(1 + rng.below(6));
        places.push(1 + rng.below(5));
    }
    places.push(axes);
    let x = random(exec, dtype, &dims, rng.pick(&Arrangement::ALL), rng);
    let arrangement = rng.pick(&Arrangement::ALL);
    let grid = operands::operand(exec, DType::F32, &places, arrangement, || {
        coordinate(rng, &dims[2..])
    });
    run(exec, &x, &grid, options, rng.below(5));
}

#[test]
fn random_places_agree_with_the_reference() {
    let exec = common::executor();
    let mut rng = Random(1);
    for options in all_options() {
        for dtype in DType::ALL {
            for _ in 0..3 {
                run_random(&exec, &mut rng, dtype, &options);
            }
        }
    }
}

#[test]
fn small_workgroups_and_default_limits_give_the_same() {
    let mut rng = Random(2);
    for exec in [common::narrow_executor(), common::plain_executor()] {
        for options in all_options() {
            run_random(&exec, &mut rng, DType::F32, &options);
        }
        // With 8 invocations 700 x 800 outputs are more than one row of workgroups.
        let x = random(
            &exec,
            DType::F16,
            &[1, 1, 4, 3],
            Arrangement::Contiguous,
            &mut rng,
        );
        let grid = operands::operand(
            &exec,
            DType::F32,
            &[1, 700, 800, 2],
            Arrangement::Contiguous,
            || coordinate(&mut rng, &[4, 3]),
        );
        run(&exec, &x, &grid, &GridSampleOptions::default(), 0);
    }
}

/// `torch.nn.functional.grid_sample(x, nan_to_num(grid, -1), mode, padding_mode, align_corners)` of PyTorch 2.15 for
/// the `x` and `grid` of the test below.
#[rustfmt::skip]
const PLANE: [(GridMode, GridPadding, bool, [f64; 6]); 18] = [
    (GridMode::Nearest, GridPadding::Zeros, false, [1.0, -1.0, 0.0, 0.0, 0.0, 0.25]),
    (GridMode::Nearest, GridPadding::Zeros, true, [1.0, -1.0, 6.0, 0.0, 0.0, 4.0]),
    (GridMode::Nearest, GridPadding::Border, false, [1.0, -1.0, 6.0, 0.25, 0.5, 0.25]),
    (GridMode::Nearest, GridPadding::Border, true, [1.0, -1.0, 6.0, 0.25, 3.0, 4.0]),
    (GridMode::Nearest, GridPadding::Reflection, false, [1.0, -1.0, 6.0, 6.0, 0.5, 0.25]),
    (GridMode::Nearest, GridPadding::Reflection, true, [1.0, -1.0, 6.0, 6.0, -1.0, 4.0]),
    (GridMode::Linear, GridPadding::Zeros, false, [0.56, 0.0274997, 0.0, 0.0, 0.0, 0.8750002]),
    (GridMode::Linear, GridPadding::Zeros, true, [1.1949999, 0.3074994, 2.6950009, 0.0, 0.8750001, 2.5]),
    (GridMode::Linear, GridPadding::Border, false, [1.0, 0.0274997, 4.3500004, 0.25, 1.5000002, 1.7500004]),
    (GridMode::Linear, GridPadding::Border, true, [1.1949999, 0.3074994, 4.9000001, 0.25, 2.1875005, 2.5]),
    (GridMode::Linear, GridPadding::Reflection, false, [1.0, 0.0274997, 3.9350007, 4.7300019, 2.1800001, 1.7500004]),
    (GridMode::Linear, GridPadding::Reflection, true, [1.1949999, 0.3074994, 2.605001, 2.5400016, 1.6399994, 2.5]),
    (GridMode::Cubic, GridPadding::Zeros, false, [0.6748696, -0.9809327, -0.299504, 0.0, -0.2034726, 0.5628128]),
    (GridMode::Cubic, GridPadding::Zeros, true, [1.3825246, -0.6823865, 3.5764191, 0.0, 1.218819, 2.8870001]),
    (GridMode::Cubic, GridPadding::Border, false, [1.0586261, -0.9439859, 4.9065013, 0.2499999, 1.8299996, 1.5781568]),
    (GridMode::Cubic, GridPadding::Border, true, [1.1908673, -0.6907944, 5.9795585, 0.2246872, 2.9375789, 2.869]),
    (GridMode::Cubic, GridPadding::Reflection, false, [1.140851, -0.9439859, 4.5289817, 5.2860303, 2.5621989, 1.2353134]),
    (GridMode::Cubic, GridPadding::Reflection, true, [1.1229601, -0.6492813, 3.3773942, 3.0668569, 2.2019994, 2.598999]),
];

/// The same over three axes.
#[rustfmt::skip]
const VOLUME: [(GridMode, GridPadding, bool, [f64; 4]); 12] = [
    (GridMode::Nearest, GridPadding::Zeros, false, [7.0, -5.0, 0.0, 0.0]),
    (GridMode::Nearest, GridPadding::Zeros, true, [7.0, -5.0, 4.5, 0.0]),
    (GridMode::Nearest, GridPadding::Border, false, [7.0, -5.0, 4.5, 4.0]),
    (GridMode::Nearest, GridPadding::Border, true, [7.0, -5.0, 4.5, 4.0]),
    (GridMode::Nearest, GridPadding::Reflection, false, [7.0, -5.0, 4.5, 3.0]),
    (GridMode::Nearest, GridPadding::Reflection, true, [7.0, -5.0, 4.5, 3.0]),
    (GridMode::Linear, GridPadding::Zeros, false, [2.3660002, -3.0014994, 0.0, 0.0]),
    (GridMode::Linear, GridPadding::Zeros, true, [3.8199995, -4.3274994, 2.3205001, 0.0]),
    (GridMode::Linear, GridPadding::Border, false, [5.2000008, -3.3349993, 4.9499998, 4.0]),
    (GridMode::Linear, GridPadding::Border, true, [3.8199995, -4.3274994, 5.1000004, 4.0]),
    (GridMode::Linear, GridPadding::Reflection, false, [5.2000008, -3.3349993, 4.3499999, 2.3999999]),
    (GridMode::Linear, GridPadding::Reflection, true, [3.8199995, -4.3274994, 0.7050006, 0.5625004]),
];

fn as_pytorch<const N: usize>(
    exec: &Executor,
    x: &Operand,
    grid: &Operand,
    cases: &[(GridMode, GridPadding, bool, [f64; N])],
) -> usize {
    let mut apart = 0;
    for &(mode, padding, align_corners, ref values) in cases {
        let options = GridSampleOptions {
            mode,
            padding,
            align_corners,
        };
        let dims = options
            .output_shape(x.view.shape(), grid.view.shape())
            .unwrap();
        let out = output(exec, DType::F32, dims.dims(), 0);
        let _done = exec
            .grid_sample(&x.view, &grid.view, &options, &out.view)
            .unwrap();
        let got = out.read(exec);
        let within = |values: &[f64]| -> Vec<Expected> {
            let bound = 1e-5;
            values
                .iter()
                .map(|&value| Expected { value, bound })
                .collect()
        };
        check(&format!("{options:?}"), &got, &within(values));
        // The cases tell the options apart.
        apart += cases
            .iter()
            .filter(|case| worst(&got, &within(&case.3)).unwrap().0 > 1.0)
            .count();
    }
    apart
}

#[test]
fn all_options_give_what_pytorch_gives() {
    let exec = common::executor();
    let values = [
        1.0, -2.0, 3.0, 0.5, 4.0, 2.5, -1.0, 6.0, 0.25, 7.0, -3.0, 2.0,
    ];
    let x = given(&exec, DType::F32, &[1, 1, 3, 4], &values);
    let places = [
        -0.9, -0.8, 0.1, 0.3, 1.3, -0.2, -2.7, 1.9, 0.55, -1.6, NAN, 0.4,
    ];
    let grid = given(&exec, DType::F32, &[1, 2, 3, 2], &places);
    assert_eq!(as_pytorch(&exec, &x, &grid, &PLANE), 18 * 17);
    let values = [
        1.0, -2.0, 1.5, 4.0, -5.0, 3.0, 7.0, -8.0, 4.5, 10.0, -11.0, 6.0,
    ];
    let x = given(&exec, DType::F32, &[1, 1, 2, 2, 3], &values);
    let places = [
        -0.9, -0.8, 0.2, 0.1, 0.3, -0.6, 1.3, -0.2, 1.7, -2.7, 1.9, -1.2,
    ];
    let grid = given(&exec, DType::F32, &[1, 1, 1, 4, 3], &places);
    assert!(as_pytorch(&exec, &x, &grid, &VOLUME) >= 12 * 9);
}

#[test]
fn wild_places_read_only_the_image() {
    let exec = common::executor();
    let wild = [
        f64::INFINITY,
        f64::NEG_INFINITY,
        NAN,
        1e30,
        -1e30,
        3e9,
        -3e9,
        0.0,
    ];
    let mut places = Vec::new();
    for x in wild {
        for y in wild {
            places.extend([x, y]);
        }
    }
    let grid = given(&exec, DType::F32, &[1, 8, 8, 2], &places);
    for (height, width) in [(1, 1), (3, 2)] {
        let x = given(
            &exec,
            DType::F32,
            &[1, 1, height, width],
            &vec![5.0; height * width],
        );
        for options in all_options() {
            let out = output(&exec, DType::F32, &[1, 1, 8, 8], 0);
            let _done = exec
                .grid_sample(&x.view, &grid.view, &options, &out.view)
                .unwrap();
            for y in out.read(&exec) {
                let fits = match options.padding {
                    GridPadding::Zeros => y.abs() <= 7.1,
                    _ => (y - 5.0).abs() < 1e-5,
                };
                assert!(fits, "{options:?}: {y}");
            }
        }
    }
}

#[test]
fn elements_without_weight_have_no_part_and_others_do() {
    let exec = common::executor();
    let x = given(&exec, DType::F32, &[1, 1, 1, 3], &[1.0, f64::INFINITY, NAN]);
    let places = [-1.0, 0.0, 0.0, 0.0, 0.5, 0.0];
    let grid = given(&exec, DType::F32, &[1, 1, 3, 2], &places);
    for mode in GridMode::ALL {
        let options = GridSampleOptions {
            mode,
            align_corners: true,
            ..GridSampleOptions::default()
        };
        let out = output(&exec, DType::F32, &[1, 1, 1, 3], 0);
        let _done = exec
            .grid_sample(&x.view, &grid.view, &options, &out.view)
            .unwrap();
        let y = out.read(&exec);
        assert_eq!(y[..2], [1.0, f64::INFINITY], "{mode:?}");
        assert!(
            y[2].is_nan() || (mode == GridMode::Nearest && y[2].is_infinite()),
            "{mode:?} {y:?}"
        );
    }
}

#[test]
fn empty_operands_are_fine_and_wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let f = |dims: &[usize]| view(DType::F32, dims);
    let plain = GridSampleOptions::default();
    for (x, grid, out) in [
        ([0, 2, 3, 3], [0, 4, 4, 2], [0, 2, 4, 4]),
        ([1, 0, 3, 3], [1, 4, 4, 2], [1, 0, 4, 4]),
        ([1, 2, 3, 3], [1, 0, 4, 2], [1, 2, 0, 4]),
        ([1, 2, 0, 3], [1, 0, 4, 2], [1, 2, 0, 4]),
    ] {
        let _done = exec
            .grid_sample(&f(&x), &f(&grid), &plain, &f(&out))
            .unwrap();
    }
    let error = |x: &_, grid: &_, options: &_, out: &_| {
        exec.grid_sample(x, grid, options, out).unwrap_err()
    };
    let (x, grid, out) = (f(&[1, 2, 3, 3]), f(&[1, 4, 5, 2]), f(&[1, 2, 4, 5]));
    assert_eq!(
        error(&x, &f(&[1, 4, 5, 3]), &plain, &out).to_string(),
        "grid_sample: two or three spatial axes need a grid of as many axes and coordinates: \
         left is [1, 2, 3, 3], right is [1, 4, 5, 3]"
    );
    for (x, grid) in [
        (f(&[2, 2, 3, 3]), &grid),
        (f(&[1, 2, 3]), &grid),
        (f(&[]), &grid),
        (f(&[1, 2, 3, 3]), &f(&[])),
    ] {
        assert!(matches!(
            error(&x, grid, &plain, &out),
            KernelError::Operands { .. }
        ));
    }
    let cubic = GridSampleOptions {
        mode: GridMode::Cubic,
        ..plain
    };
    let (cube, cube_grid) = (f(&[1, 1, 2, 2, 2]), f(&[1, 1, 1, 1, 3]));
    assert!(matches!(
        error(&cube, &cube_grid, &cubic, &f(&[1, 1, 1, 1, 1])),
        KernelError::Option { .. }
    ));
    assert!(matches!(
        error(&f(&[1, 2, 0, 3]), &grid, &plain, &out),
        KernelError::Operand { .. }
    ));
    assert!(matches!(
        error(&x, &grid, &plain, &f(&[1, 2, 5, 4])),
        KernelError::Output { .. }
    ));
    let int = |dims: &[usize]| view(DType::I32, dims);
    for (x, grid, out) in [
        (&int(&[1, 2, 3, 3]), &grid, &int(&[1, 2, 4, 5])),
        (&x, &view(DType::F16, &[1, 4, 5, 2]), &out),
        (&x, &grid, &view(DType::F16, &[1, 2, 4, 5])),
    ] {
        assert!(matches!(
            error(x, grid, &plain, out),
            KernelError::Dtype { .. }
        ));
    }
}
