//! Losses against their formulas in f64.

use crate::common;
use ziggurat_tensor::{CrossEntropyOptions, DType, Device, Error, Reduction, Tensor};

const X: [f32; 6] = [0.3, -1.2, 2.5, 0.0, 1.7, -0.4];

fn tensor(device: &Device, values: &[f32], dims: &[usize]) -> Tensor {
    Tensor::from_slice(device, values, dims).unwrap()
}

fn check(what: &str, got: Result<Tensor, Error>, expected: &[f64]) {
    let got = got.unwrap().to_vec_blocking::<f32>().unwrap();
    assert_eq!(got.len(), expected.len(), "{what}");
    for (&got, &expected) in got.iter().zip(expected) {
        let near = (f64::from(got) - expected).abs() <= 2e-6 * expected.abs().max(1e-3);
        let same = f64::from(got) == expected || (got.is_nan() && expected.is_nan());
        assert!(near || same, "{what}: {got}, should be {expected}");
    }
}

fn reductions(what: &str, loss: impl Fn(Reduction) -> Result<Tensor, Error>, each: &[f64]) {
    let sum: f64 = each.iter().sum();
    check(what, loss(Reduction::None), each);
    check(what, loss(Reduction::Sum), &[sum]);
    check(what, loss(Reduction::Mean), &[sum / each.len() as f64]);
}

#[test]
fn losses_of_differences_meet_their_formulas() {
    let device = common::device();
    let t: [f32; 6] = [0.0, 1.0, -1.0, 0.0, 1.5, 3.0];
    let (x, target) = (tensor(&device, &X, &[2, 3]), tensor(&device, &t, &[2, 3]));
    let each = |f: fn(f64) -> f64| -> Vec<f64> {
        X.iter()
            .zip(&t)
            .map(|(&x, &t)| f((f64::from(x) - f64::from(t)).abs()))
            .collect()
    };
    reductions("mse", |r| x.mse_loss(&target, r), &each(|d| d * d));
    reductions("l1", |r| x.l1_loss(&target, r), &each(|d| d));
    reductions(
        "smooth l1",
        |r| x.smooth_l1_loss(&target, 0.5, r),
        &each(|d| if d < 0.5 { d * d } else { d - 0.25 }),
    );
    reductions(
        "smooth l1 of 0",
        |r| x.smooth_l1_loss(&target, 0.0, r),
        &each(|d| d),
    );
    reductions(
        "huber",
        |r| x.huber_loss(&target, 2.0, r),
        &each(|d| {
            if d < 2.0 {
                d * d / 2.0
            } else {
                2.0 * (d - 1.0)
            }
        }),
    );
    let half = x
        .to_dtype(DType::F16)
        .unwrap()
        .mse_loss(&target, Reduction::Mean)
        .unwrap();
    assert_eq!(half.dtype(), DType::F16);
}

#[test]
fn binary_losses_and_divergences_meet_their_formulas() {
    let device = common::device();
    let (p, t) = ([0.1f32, 0.9, 0.5, 0.25], [0.0f32, 1.0, 0.25, 1.0]);
    let pairs = || {
        p.iter()
            .zip(&t)
            .map(|(&p, &t)| (f64::from(p), f64::from(t)))
    };
    let (x, target) = (tensor(&device, &p, &[4]), tensor(&device, &t, &[4]));
    let bce: Vec<f64> = pairs()
        .map(|(p, t)| -(t * p.ln() + (1.0 - t) * (-p).ln_1p()))
        .collect();
    reductions("bce", |r| x.binary_cross_entropy(&target, r), &bce);
    let certain = tensor(&device, &[0.0, 1.0], &[2]);
    let wrong = tensor(&device, &[1.0, 0.0], &[2]);
    check(
        "certain",
        certain.binary_cross_entropy(&wrong, Reduction::None),
        &[100.0, 100.0],
    );
    let logits: Vec<f64> = pairs()
        .map(|(x, t)| (1.0 - t) * x + (-x).exp().ln_1p())
        .collect();
    reductions(
        "logits",
        |r| x.binary_cross_entropy_with_logits(&target, r),
        &logits,
    );
    let large = tensor(&device, &[20.0, -1000.0], &[2]);
    let ones = tensor(&device, &[1.0, 1.0], &[2]);
    check(
        "large logits",
        large.binary_cross_entropy_with_logits(&ones, Reduction::None),
        &[(-20f64).exp(), 1000.0],
    );
    let kl: Vec<f64> = pairs()
        .map(|(x, t)| if t == 0.0 { 0.0 } else { t * (t.ln() - x) })
        .collect();
    reductions("kl", |r| x.kl_div(&target, false, r), &kl);
    let kl: Vec<f64> = pairs().map(|(x, t)| t.exp() * (t - x)).collect();
    reductions("kl of logs", |r| x.kl_div(&target, true, r), &kl);
}

fn log_softmax(row: &[f64]) -> Vec<f64> {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = row.iter().map(|x| (x - most).exp()).sum();
    row.iter().map(|x| x - most - sum.ln()).collect()
}

#[test]
fn cross_entropy_of_classes_ignores_smooths_and_marks_wrong_indices() {
    let device = common::device();
    let x = tensor(&device, &X, &[2, 3]);
    let rows: Vec<Vec<f64>> = X
        .chunks(3)
        .map(|row| log_softmax(&row.iter().map(|&x| f64::from(x)).collect::<Vec<_>>()))
        .collect();
    let classes = Tensor::from_slice(&device, &[2i32, 0], [2]).unwrap();
    let options = CrossEntropyOptions::default();
    let with = |reduction| CrossEntropyOptions {
        reduction,
        ..options
    };
    let each = [-rows[0][2], -rows[1][0]];
    reductions("classes", |r| x.cross_entropy(&classes, &with(r)), &each);
    let bytes = classes.to_dtype(DType::U8).unwrap();
    reductions("u8 classes", |r| x.cross_entropy(&bytes, &with(r)), &each);
    // The same through log-probabilities.
    let flat: Vec<f32> = rows.iter().flatten().map(|&x| x as f32).collect();
    let logs = tensor(&device, &flat, &[2, 3]);
    reductions("nll", |r| logs.nll_loss(&classes, &with(r)), &each);
    let smooth = CrossEntropyOptions {
        label_smoothing: 0.3,
        reduction: Reduction::None,
        ..options
    };
    let mean = |row: &[f64]| row.iter().sum::<f64>() / 3.0;
    let smoothed = [
        -0.7 * rows[0][2] - 0.3 * mean(&rows[0]),
        -0.7 * rows[1][0] - 0.3 * mean(&rows[1]),
    ];
    check("smoothed", x.cross_entropy(&classes, &smooth), &smoothed);
    let ignored = Tensor::from_slice(&device, &[-100i32, 0], [2]).unwrap();
    check(
        "ignored",
        x.cross_entropy(&ignored, &with(Reduction::None)),
        &[0.0, each[1]],
    );
    check(
        "mean of the rest",
        x.cross_entropy(&ignored, &options),
        &[each[1]],
    );
    let all = Tensor::full(&device, [2], -100, DType::I32).unwrap();
    check("nothing", x.cross_entropy(&all, &options), &[f64::NAN]);
    let wrong = Tensor::from_slice(&device, &[3i32, 0], [2]).unwrap();
    check(
        "wrong",
        x.cross_entropy(&wrong, &with(Reduction::None)),
        &[f64::NAN, each[1]],
    );
    // An impossible class that is not the target's does no harm.
    let masked = tensor(&device, &[0.0, f32::NEG_INFINITY, 0.0], &[1, 3]);
    let first = Tensor::from_slice(&device, &[0i32], [1]).unwrap();
    check(
        "masked",
        masked.cross_entropy(&first, &options),
        &[2f64.ln()],
    );
}

#[test]
fn cross_entropy_keeps_the_digits_of_large_logits_and_marks_infinite_ones() {
    let device = common::device();
    let inf = f32::INFINITY;
    let x = [
        [1.0e6, 1.0e6, 0.0],
        [-3.0e6, -3.0e6 + 2.0, -inf],
        [0.0, 3.0e38, -3.0e38],
        [1.0, inf, 0.0],
        [1.0, -inf, -inf],
        [-inf, -inf, -inf],
        [1.0, f32::NAN, 0.0],
        [-inf, 0.0, 0.0],
    ];
    let x = tensor(&device, x.as_flattened(), &[8, 3]);
    let classes = Tensor::from_slice(&device, &[0i32, 0, 2, 0, 0, 0, 0, 0], [8]).unwrap();
    let options = CrossEntropyOptions {
        reduction: Reduction::None,
        ..CrossEntropyOptions::default()
    };
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let expected = [
        2f64.ln(),
        (1.0 + 2f64.exp()).ln(),
        inf,
        nan,
        0.0,
        nan,
        nan,
        inf,
    ];
    check("large", x.cross_entropy(&classes, &options), &expected);

    let inf = f32::INFINITY;
    let x = [
        [65504.0, -65504.0, 0.0],
        [0.0, 65504.0, -65504.0],
        [1.0, inf, 0.0],
        [inf, 0.0, 0.0],
        [-inf, inf, 0.0],
        [1.0, -inf, -inf],
        [-inf, -inf, -inf],
        [1.0, f32::NAN, 0.0],
        [-inf, 0.0, 0.0],
    ];
    let x = tensor(&device, x.as_flattened(), &[9, 3])
        .to_dtype(DType::F16)
        .unwrap();
    let classes = Tensor::from_slice(&device, &[0i32; 9], [9]).unwrap();
    let expected = [0.0, 65504.0, nan, nan, nan, 0.0, nan, nan, f64::INFINITY];
    let loss = x.cross_entropy(&classes, &options);
    let loss = loss.and_then(|loss| loss.to_dtype(DType::F32));
    check("of f16", loss, &expected);
}

#[test]
fn cross_entropy_takes_probabilities_and_any_rank() {
    let device = common::device();
    let x = tensor(&device, &X, &[2, 3]);
    let t = [0.2f32, 0.3, 0.5, 1.0, 0.0, 0.0];
    let target = tensor(&device, &t, &[2, 3]);
    let each: Vec<f64> = X
        .chunks(3)
        .zip(t.chunks(3))
        .map(|(x, t)| {
            let logs = log_softmax(&x.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
            -logs
                .iter()
                .zip(t)
                .map(|(l, &t)| l * f64::from(t))
                .sum::<f64>()
        })
        .collect();
    let with = |reduction| CrossEntropyOptions {
        reduction,
        ..CrossEntropyOptions::default()
    };
    reductions(
        "probabilities",
        |r| x.cross_entropy(&target, &with(r)),
        &each,
    );
    // Classes along axis 1 of three: the same rows, seen through a permutation.
    let cube = tensor(&device, &X, &[1, 2, 3]).permute([0, 2, 1]).unwrap();
    let classes = Tensor::from_slice(&device, &[2i32, 0], [1, 2]).unwrap();
    let flat = Tensor::from_slice(&device, &[2i32, 0], [2]).unwrap();
    let (a, b) = (
        cube.cross_entropy(&classes, &with(Reduction::None))
            .unwrap(),
        x.cross_entropy(&flat, &with(Reduction::None)).unwrap(),
    );
    assert_eq!(a.dims(), [1, 2]);
    assert_eq!(
        a.to_vec_blocking::<f32>().unwrap(),
        b.to_vec_blocking::<f32>().unwrap()
    );
    let one = tensor(&device, &X[..3], &[3]);
    let class = Tensor::from_value(&device, 2i32).unwrap();
    check(
        "rank 1",
        one.cross_entropy(&class, &with(Reduction::Mean)),
        &[f64::from(b.to_vec_blocking::<f32>().unwrap()[0])],
    );
}

#[test]
fn losses_refuse_what_has_no_meaning() {
    let device = common::device();
    let x = tensor(&device, &X, &[2, 3]);
    let error = x
        .mse_loss(&tensor(&device, &X, &[6]), Reduction::Mean)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "mse_loss: input and target must have one shape: they are [2, 3] and [6]"
    );
    assert!(
        x.huber_loss(&x, 0.0, Reduction::Mean)
            .unwrap_err()
            .is_argument()
    );
    assert!(
        x.smooth_l1_loss(&x, f64::NAN, Reduction::Mean)
            .unwrap_err()
            .is_argument()
    );
    let options = CrossEntropyOptions::default();
    let three = Tensor::zeros(&device, [3], DType::I32).unwrap();
    let error = x.cross_entropy(&three, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cross_entropy: class indices must have the input's shape without its class axis: the input is [2, 3], they are [3]"
    );
    let flags = Tensor::zeros(&device, [2], DType::Bool).unwrap();
    assert!(x.cross_entropy(&flags, &options).unwrap_err().is_dtype());
    assert!(x.nll_loss(&x, &options).unwrap_err().is_dtype());
    let smooth = CrossEntropyOptions {
        label_smoothing: 1.5,
        ..options
    };
    assert!(x.cross_entropy(&three, &smooth).unwrap_err().is_argument());
    assert!(x.nll_loss(&three, &smooth).unwrap_err().is_argument());
    assert!(
        Tensor::from_value(&device, 1.0f32)
            .unwrap()
            .cross_entropy(&three, &options)
            .unwrap_err()
            .is_shape()
    );
}

/// `torch.nn.functional.cross_entropy(x, target, weight, ignore_index=-100, label_smoothing, reduction)` of PyTorch 2.15 with
/// reductions none, mean and sum, for x, targets and weights of the test below.
#[test]
fn class_weights_count_as_in_pytorch() {
    let device = common::device();
    let x = tensor(
        &device,
        &[0.5, -1.0, 2.0, 1.5, 0.25, -0.5, -2.0, 3.0, 0.0],
        &[3, 3],
    );
    let weight = tensor(&device, &[0.5, 2.0, 1.25], &[3]);
    let classes = Tensor::from_slice(&device, &[2i32, 0, 1], [3]).unwrap();
    let ignored = Tensor::from_slice(&device, &[2i32, -100, 1], [3]).unwrap();
    let shares = [0.2, 0.3, 0.5, 1.0, 0.0, 0.0, 0.1, 0.8, 0.1];
    let shares = tensor(&device, &shares, &[3, 3]);
    for (what, target, label_smoothing, each, mean) in [
        (
            "classes",
            &classes,
            0.0,
            [0.301_639_17, 0.175_975_93, 0.109_970_43],
            0.156_689_48,
        ),
        (
            "ignored",
            &ignored,
            0.0,
            [0.301_639_17, 0.0, 0.109_970_43],
            0.126_649_11,
        ),
        (
            "smoothed",
            &classes,
            0.2,
            [0.751_639_13, 0.562_102_08, 0.518_389_34],
            0.488_568_19,
        ),
        (
            "smoothed, ignored",
            &ignored,
            0.2,
            [0.751_639_13, 0.0, 0.518_389_34],
            0.390_777_98,
        ),
        (
            "shares",
            &shares,
            0.0,
            [2.269_737_48, 0.175_975_93, 0.722_598_79],
            1.056_104_18,
        ),
        (
            "shares, smoothed",
            &shares,
            0.2,
            [2.326_117_99, 0.562_102_08, 1.008_491_99],
            1.298_904_06,
        ),
    ] {
        let with = |reduction| CrossEntropyOptions {
            weight: Some(&weight),
            label_smoothing,
            reduction,
            ..CrossEntropyOptions::default()
        };
        let loss = |reduction| x.cross_entropy(target, &with(reduction));
        check(what, loss(Reduction::None), &each);
        check(what, loss(Reduction::Mean), &[mean]);
        check(what, loss(Reduction::Sum), &[each.iter().sum()]);
    }
    let logs = x.log_softmax(1).unwrap();
    let options = CrossEntropyOptions {
        weight: Some(&weight),
        ..CrossEntropyOptions::default()
    };
    check("nll", logs.nll_loss(&classes, &options), &[0.156_689_48]);
    let short = tensor(&device, &[1.0, 2.0], &[2]);
    let options = CrossEntropyOptions {
        weight: Some(&short),
        ..CrossEntropyOptions::default()
    };
    let error = x.cross_entropy(&classes, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cross_entropy: there must be a weight per class: 3 classes, the weights are [2]"
    );
}
