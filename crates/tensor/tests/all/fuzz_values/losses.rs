//! Losses against their formulas in f64: each with what f32 may lose in it, then their sum or mean.

use ziggurat_tensor::{CrossEntropyOptions, DType, Error, Reduction, Tensor};

use super::{FLOATS, agrees};
use crate::operands::{Expected, Random, epsilon};
use crate::problems::{Values, extents, fuzz, given, made};

const F32: f64 = f32::EPSILON as f64;

/// A loss and how far it may be off, before it is rounded to the dtype.
#[derive(Clone, Copy, Debug)]
struct Loss {
    value: f64,
    bound: f64,
}

impl Loss {
    /// A formula of few operations, whose terms are of this size.
    fn of(value: f64, size: f64) -> Self {
        Self {
            value,
            bound: 8.0 * F32 * size + f64::from(f32::MIN_POSITIVE),
        }
    }
}

fn rounded(value: f64, bound: f64, dtype: DType) -> Expected {
    let least = if dtype == DType::F16 {
        2f64.powi(-24)
    } else {
        0.0
    };
    let bound = bound + epsilon(dtype) * value.abs() + least;
    Expected { value, bound }.rounded(dtype)
}

/// Losses as they are, or their sum over `share`: their number for a mean.
fn reduced(losses: &[Loss], reduction: Reduction, share: f64, dtype: DType) -> Vec<Expected> {
    let one = |loss: &Loss| rounded(loss.value, loss.bound, dtype);
    let sum: f64 = losses.iter().map(|loss| loss.value).sum();
    let sizes: f64 = losses.iter().map(|loss| loss.value.abs()).sum();
    let bounds: f64 = losses.iter().map(|loss| loss.bound).sum();
    let bound = bounds + (losses.len() as f64 + 4.0) * F32 * sizes;
    match reduction {
        Reduction::None => losses.iter().map(one).collect(),
        Reduction::Sum => vec![rounded(sum, bound, dtype)],
        Reduction::Mean => vec![rounded(sum / share, bound / share, dtype)],
    }
}

fn reduction(rng: &mut Random) -> Reduction {
    rng.pick(&[Reduction::None, Reduction::Sum, Reduction::Mean])
}

/// Infinite where f16 has no such number; that of a near one is left to the other dtypes.
fn is_near_the_end(wanted: &[Expected], dtype: DType) -> bool {
    dtype == DType::F16 && wanted.iter().any(|e| e.value.abs() > 60_000.0)
}

#[test]
fn losses_of_pairs_agree_with_their_formulas() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let dims = extents(rng.below(4), rng);
        let kind = rng.below(8);
        let shares = |rng: &mut Random| (rng.below(63) + 1) as f64 / 64.0;
        let any = |rng: &mut Random| rng.value(DType::F32);
        // Probabilities, not seen through a negation.
        let probable = matches!(kind, 4..=6);
        let x = if kind == 4 {
            made(device, dtype, &dims, rng, shares)
        } else {
            given(device, dtype, &dims, Values::Plain, rng)
        };
        let t = if probable {
            made(device, dtype, &dims, rng, |rng| {
                (rng.below(65) as f64) / 64.0
            })
        } else {
            made(device, dtype, &dims, rng, any)
        };
        let negative = |values: &[f64]| values.iter().any(|&x| x < 0.0);
        if (kind == 4 && negative(&x.values)) || (probable && negative(&t.values)) {
            return;
        }
        let reduction = reduction(rng);
        let (a, b) = (&x.tensor, &t.tensor);
        let width = rng.pick(&[0.25, 0.5, 1.0, 2.0]);
        let log_sum = |x: f64| (-x.abs()).exp().ln_1p() + (-x).max(0.0);
        type Formula = Box<dyn Fn(f64, f64) -> Loss>;
        let (name, result, formula): (_, Result<Tensor, Error>, Formula) = match kind {
            0 => (
                "mse",
                a.mse_loss(b, reduction),
                Box::new(|x, t| Loss::of((x - t) * (x - t), (x - t) * (x - t))),
            ),
            1 => (
                "l1",
                a.l1_loss(b, reduction),
                Box::new(|x, t| Loss::of((x - t).abs(), (x - t).abs())),
            ),
            2 => (
                "smooth l1",
                a.smooth_l1_loss(b, width, reduction),
                Box::new(move |x, t| {
                    let d = (x - t).abs();
                    let value = if d < width {
                        0.5 * d * d / width
                    } else {
                        d - 0.5 * width
                    };
                    Loss::of(value, d + width)
                }),
            ),
            3 => (
                "huber",
                a.huber_loss(b, width, reduction),
                Box::new(move |x, t| {
                    let d = (x - t).abs();
                    let value = if d < width {
                        0.5 * d * d
                    } else {
                        width * (d - 0.5 * width)
                    };
                    Loss::of(value, width * (d + width))
                }),
            ),
            4 => (
                "binary cross entropy",
                a.binary_cross_entropy(b, reduction),
                Box::new(|x, t| {
                    let (yes, no) = (x.ln().max(-100.0), (-x).ln_1p().max(-100.0));
                    let size = t * yes.abs() + (1.0 - t) * no.abs();
                    Loss::of(-(t * yes + (1.0 - t) * no), size)
                }),
            ),
            5 => (
                "binary cross entropy with logits",
                a.binary_cross_entropy_with_logits(b, reduction),
                Box::new(move |x, t| Loss::of((1.0 - t) * x + log_sum(x), x.abs() + 1.0)),
            ),
            6 => (
                "kl",
                a.kl_div(b, false, reduction),
                Box::new(|x, t| {
                    if t == 0.0 {
                        return Loss::of(0.0, 0.0);
                    }
                    Loss::of(t * (t.ln() - x), t * (t.ln().abs() + x.abs()))
                }),
            ),
            _ => (
                "kl of logarithms",
                a.kl_div(b, true, reduction),
                Box::new(|x, t| {
                    Loss::of(
                        t.exp() * (t - x),
                        t.exp() * (1.0 + t.abs()) * (t.abs() + x.abs()),
                    )
                }),
            ),
        };
        let losses: Vec<Loss> = (x.values.iter().zip(&t.values))
            .map(|(&x, &t)| formula(x, t))
            .collect();
        let out = if reduction == Reduction::None {
            &dims[..]
        } else {
            &[]
        };
        let wanted = reduced(&losses, reduction, losses.len() as f64, dtype);
        let what = format!("{name} {reduction:?} {width} {dtype} {dims:?}");
        if !is_near_the_end(&wanted, dtype) {
            agrees(&what, result, out, &wanted);
        }
    });
}

/// What cross entropy is over.
struct Classes {
    outer: usize,
    count: usize,
    inner: usize,
}

impl Classes {
    fn places(&self) -> usize {
        self.outer * self.inner
    }

    /// Where the classes of a place stand.
    fn row(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let first = place / self.inner * self.count * self.inner + place % self.inner;
        (0..self.count).map(move |class| first + class * self.inner)
    }
}

/// Logarithms of the shares of each class, and how far they may be off: see shaders/softmax/body.wgsl.
fn logarithms(x: &[f64], classes: &Classes) -> (Vec<f64>, f64) {
    let mut logs = vec![0.0; x.len()];
    let greatest = x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    for place in 0..classes.places() {
        let most = classes
            .row(place)
            .map(|at| x[at])
            .fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = classes.row(place).map(|at| (x[at] - most).exp()).sum();
        for at in classes.row(place) {
            logs[at] = x[at] - most - sum.ln();
        }
    }
    let n = classes.count as f64;
    (logs, (12.0 + 2.0 * n.sqrt() + 4.0 * greatest) * F32)
}

#[test]
fn losses_of_classes_agree_with_their_formulas() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let rank = 1 + rng.below(3);
        let axis = usize::from(rank > 1);
        let mut dims = extents(rank, rng);
        dims[axis] = dims[axis].max(1);
        let classes = Classes {
            outer: dims[..axis].iter().product(),
            count: dims[axis],
            inner: dims[axis + 1..].iter().product(),
        };
        let x = given(device, dtype, &dims, Values::Plain, rng);
        let weight = made(device, DType::F32, &[classes.count], rng, |rng| {
            rng.value(DType::F32).abs() + 0.125
        });
        let weighted = rng.below(2) == 0 && weight.values.iter().all(|&w| w > 0.0);
        let weight_of = |class: usize| if weighted { weight.values[class] } else { 1.0 };
        let nll = rng.below(3) == 0;
        let ignored = rng.pick(&[-100, 0]);
        let smoothing = if nll { 0.0 } else { rng.pick(&[0.0, 0.25]) };
        let reduction = reduction(rng);
        let options = CrossEntropyOptions {
            weight: weighted.then_some(&weight.tensor),
            reduction,
            ignore_index: ignored,
            label_smoothing: smoothing,
        };
        let (logs, off) = if nll {
            (x.values.clone(), 0.0)
        } else {
            logarithms(&x.values, &classes)
        };
        let mut kept = dims.clone();
        kept.remove(axis);
        let what =
            format!("nll={nll} {dtype} {dims:?} weighted={weighted} {smoothing} {reduction:?}");
        let out = if reduction == Reduction::None {
            &kept[..]
        } else {
            &[]
        };
        if !nll && rng.below(3) == 0 {
            // Probabilities in place of classes.
            let t = made(device, DType::F32, &dims, rng, |rng| {
                rng.below(9) as f64 / 8.0
            });
            if t.values.iter().any(|&t| t < 0.0) {
                return;
            }
            let loss = |place: usize| {
                let (mut value, mut bound) = (0.0, 0.0);
                for (class, at) in classes.row(place).enumerate() {
                    let share = t.values[at] * (1.0 - smoothing) + smoothing / classes.count as f64;
                    if share != 0.0 {
                        let factor = share * weight_of(class);
                        value -= factor * logs[at];
                        let rounding = (classes.count as f64 + 6.0) * F32;
                        bound += factor * (off + rounding * logs[at].abs());
                    }
                }
                Loss { value, bound }
            };
            let losses: Vec<Loss> = (0..classes.places()).map(loss).collect();
            let result = x.tensor.cross_entropy(&t.tensor, &options);
            let wanted = reduced(&losses, reduction, losses.len() as f64, dtype);
            if !is_near_the_end(&wanted, dtype) {
                agrees(&format!("probabilities {what}"), result, out, &wanted);
            }
            return;
        }
        // At times a class that is ignored, or that there is not.
        let wrong = rng.below(8) == 0;
        let count = classes.count;
        let integers: Vec<i32> = (0..classes.places())
            .map(|_| match rng.below(8) {
                0 => ignored,
                1 if wrong => count as i32,
                _ => rng.below(count) as i32,
            })
            .collect();
        let target = Tensor::from_slice(device, &integers, &kept[..]).unwrap();
        let mut share = 0.0;
        let loss = |place: usize| {
            let class = integers[place];
            if class == ignored {
                return Loss {
                    value: 0.0,
                    bound: 0.0,
                };
            }
            if class as usize >= count {
                let value = f64::NAN;
                return Loss { value, bound: 0.0 };
            }
            share += weight_of(class as usize);
            let (mut value, mut bound) = (0.0, 0.0);
            for (other, at) in classes.row(place).enumerate() {
                let own = f64::from(u8::from(other == class as usize)) * (1.0 - smoothing);
                let factor = (own + smoothing / count as f64) * weight_of(other);
                value -= factor * logs[at];
                bound += factor * (off + (count as f64 + 6.0) * F32 * logs[at].abs());
            }
            Loss { value, bound }
        };
        let losses: Vec<Loss> = (0..classes.places()).map(loss).collect();
        let result = if nll {
            x.tensor.nll_loss(&target, &options)
        } else {
            x.tensor.cross_entropy(&target, &options)
        };
        let wanted = reduced(&losses, reduction, share, dtype);
        if !is_near_the_end(&wanted, dtype) {
            agrees(
                &format!("classes {what} ignored={ignored}"),
                result,
                out,
                &wanted,
            );
        }
    });
}
