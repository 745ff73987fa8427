//! Losses of classes in every form.

use super::*;

/// The losses of rows of classes, and each one's share in the mean.
struct Host<'a> {
    classes: usize,
    inner: usize,
    weight: Option<&'a [f64]>,
    smoothing: f64,
}

impl Host<'_> {
    fn logs(&self, x: &[f64], row: usize) -> Vec<f64> {
        let at = |c: usize| (row / self.inner * self.classes + c) * self.inner + row % self.inner;
        (0..self.classes).map(|c| x[at(c)]).collect()
    }

    fn weight(&self, class: usize) -> f64 {
        self.weight.map_or(1.0, |weight| weight[class])
    }

    fn of_class(&self, logs: &[f64], class: f64) -> (f64, f64) {
        if class == -100.0 {
            return (0.0, 0.0);
        }
        if !(0.0..self.classes as f64).contains(&class) {
            return (NAN, NAN);
        }
        let class = class as usize;
        let weighted = |c: usize| -logs[c] * self.weight(c);
        let all: f64 = (0..self.classes).map(weighted).sum();
        let spread = if self.smoothing == 0.0 {
            0.0
        } else {
            all * self.smoothing / self.classes as f64
        };
        (
            (1.0 - self.smoothing) * weighted(class) + spread,
            self.weight(class),
        )
    }

    fn of_shares(&self, logs: &[f64], shares: &[f64]) -> (f64, f64) {
        let share =
            |c: usize| shares[c] * (1.0 - self.smoothing) + self.smoothing / self.classes as f64;
        let each = |c: usize| {
            if share(c) == 0.0 {
                0.0
            } else {
                -share(c) * logs[c] * self.weight(c)
            }
        };
        ((0..self.classes).map(each).sum(), 1.0)
    }
}

fn log_softmax(row: &[f64]) -> Vec<f64> {
    let most = row.iter().copied().fold(-INF, f64::max);
    let sum: f64 = row.iter().map(|x| (x - most).exp()).sum();
    row.iter().map(|x| x - most - sum.ln()).collect()
}

fn check_losses(
    exec: &Executor,
    what: &str,
    dtype: DType,
    each: &[(f64, f64)],
    dims: &[usize],
    run: impl Fn(Reduction, &View) -> Result<(), KernelError>,
) {
    let sum: f64 = each.iter().map(|(loss, _)| loss).sum();
    let shares: f64 = each.iter().map(|(_, share)| share).sum();
    let size: f64 = each.iter().map(|(loss, _)| loss.abs() + 4.0).sum();
    for (reduction, dims, expected) in [
        (
            Reduction::None,
            dims,
            each.iter()
                .map(|(loss, _)| near(*loss, 16.0, dtype))
                .collect::<Vec<_>>(),
        ),
        (Reduction::Sum, &[], vec![near(sum, size, dtype)]),
        (
            Reduction::Mean,
            &[1],
            vec![near(sum / shares, size / shares.abs().max(1.0), dtype)],
        ),
    ] {
        let out = output(exec, dtype, dims, 1);
        run(reduction, &out.view).unwrap();
        check(&format!("{what} {reduction:?}"), &out.read(exec), &expected);
    }
}

#[test]
fn losses_of_classes_meet_their_formulas_in_every_form() {
    let exec = common::executor();
    let mut rng = Random(23);
    for dtype in FLOATS {
        let shapes: &[(&[usize], usize)] = match dtype {
            DType::F32 => &[(&[5], 0), (&[4, 3], 1), (&[2, 70, 3, 2], 1), (&[0, 3], 1)],
            DType::F16 => &[(&[300, 7], 1)],
            _ => &[(&[3, 4, 2], 1)],
        };
        for &(dims, axis) in shapes {
            let how = rng.pick(&Arrangement::ALL);
            let x = random(&exec, dtype, dims, how, &mut rng);
            let classes = dims[axis];
            let mut each_dims = dims.to_vec();
            each_dims.remove(axis);
            let rows: usize = each_dims.iter().product();
            let ints = rng.pick(&[DType::I32, DType::U8, DType::I8, DType::U32]);
            let target = operand(
                &exec,
                ints,
                &each_dims,
                rng.pick(&Arrangement::ALL),
                || match rng.below(9) {
                    0 if ints.is_signed() => -100.0,
                    _ => rng.below(classes) as f64,
                },
            );
            let shares = operand(&exec, DType::F32, dims, how, || rng.below(4) as f64 / 4.0);
            let weight = operand(&exec, DType::F16, &[classes], Arrangement::Flipped, || {
                rng.below(4) as f64 / 2.0
            });
            for (weighted, smoothing) in [(false, 0.0), (true, 0.0), (false, 0.25), (true, 0.25)] {
                let host = Host {
                    classes,
                    inner: dims[(axis + 1).min(dims.len())..].iter().product(),
                    weight: weighted.then_some(&weight.values[..]),
                    smoothing,
                };
                let options = |reduction| CrossEntropyOptions {
                    weight: weighted.then_some(&weight.view),
                    reduction,
                    label_smoothing: smoothing,
                    ..CrossEntropyOptions::default()
                };
                let what =
                    format!("{dtype} {dims:?} {how:?} {ints} weighted {weighted} {smoothing}");
                let logs = |row: usize| log_softmax(&host.logs(&x.values, row));
                let each: Vec<(f64, f64)> = (0..rows)
                    .map(|i| host.of_class(&logs(i), target.values[i]))
                    .collect();
                check_losses(&exec, &what, dtype, &each, &each_dims, |reduction, out| {
                    exec.cross_entropy(&x.view, &target.view, &options(reduction), out)
                        .map(drop)
                });
                let each: Vec<(f64, f64)> = (0..rows)
                    .map(|i| host.of_shares(&logs(i), &host.logs(&shares.values, i)))
                    .collect();
                check_losses(
                    &exec,
                    &format!("shares {what}"),
                    dtype,
                    &each,
                    &each_dims,
                    |reduction, out| {
                        exec.cross_entropy(&x.view, &shares.view, &options(reduction), out)
                            .map(drop)
                    },
                );
                if smoothing == 0.0 {
                    let each: Vec<(f64, f64)> = (0..rows)
                        .map(|i| host.of_class(&host.logs(&x.values, i), target.values[i]))
                        .collect();
                    check_losses(
                        &exec,
                        &format!("nll {what}"),
                        dtype,
                        &each,
                        &each_dims,
                        |reduction, out| {
                            exec.nll_loss(&x.view, &target.view, &options(reduction), out)
                                .map(drop)
                        },
                    );
                }
            }
        }
    }
}

#[test]
fn unknown_classes_are_nan_and_impossible_ones_do_no_harm() {
    let exec = common::executor();
    let x = given(
        &exec,
        DType::F32,
        &[4, 2],
        &[0.0, -INF, 1.0, 2.0, 3.0, 4.0, 0.0, -INF],
    );
    let target = given(&exec, DType::I32, &[4], &[0.0, 2.0, -1.0, 1.0]);
    let options = CrossEntropyOptions {
        reduction: Reduction::None,
        ..CrossEntropyOptions::default()
    };
    let out = output(&exec, DType::F32, &[4], 0);
    let _done = exec
        .cross_entropy(&x.view, &target.view, &options, &out.view)
        .unwrap();
    let got = out.read(&exec);
    assert!(got[1].is_nan() && got[2].is_nan(), "{got:?}");
    assert_eq!([got[0], got[3]], [0.0, INF]);
    // Beyond i32 an index is still none, and not the ignored one.
    let far = given(
        &exec,
        DType::U32,
        &[4],
        &[0.0, 4_294_967_196.0, 2.0, 4_294_967_295.0],
    );
    let _done = exec
        .cross_entropy(&x.view, &far.view, &options, &out.view)
        .unwrap();
    let got = out.read(&exec);
    assert!(
        got[0] == 0.0 && got[1..].iter().all(|loss| loss.is_nan()),
        "{got:?}"
    );
    let certain = given(&exec, DType::F32, &[1, 2], &[1.0, 0.0]);
    let x = given(&exec, DType::F32, &[1, 2], &[0.0, -INF]);
    let out = output(&exec, DType::F32, &[1], 0);
    let _done = exec
        .cross_entropy(&x.view, &certain.view, &options, &out.view)
        .unwrap();
    assert_eq!(out.read(&exec), [0.0]);
}
