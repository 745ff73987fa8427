//! Variables changed in place, while clones and views of them, values read before and pending expressions are held: each keeps
//! what it had.

use crate::expect;
use ziggurat_kernels::reference::{binary, round_to, unary};
use ziggurat_kernels::{Binary, Unary};
use ziggurat_tensor::{AxisRange, DType, Error, Tensor};

use super::{NUMBERS, moved, read};
use crate::operands::Random;
use crate::problems::{Given, Values, fuzz_few, given};

type OfTwo = fn(&mut Tensor, &Tensor) -> Result<(), Error>;
type OfNumber = fn(&mut Tensor, i32) -> Result<(), Error>;
type OfOne = fn(&mut Tensor) -> Result<(), Error>;

/// All of them exact but for the rounding to the dtype.
const OF_TWO: [(Binary, OfTwo, OfNumber); 5] = [
    (Binary::Add, |x, y| x.add_(y), |x, n| x.add_(n)),
    (Binary::Sub, |x, y| x.sub_(y), |x, n| x.sub_(n)),
    (Binary::Mul, |x, y| x.mul_(y), |x, n| x.mul_(n)),
    (Binary::Maximum, |x, y| x.maximum_(y), |x, n| x.maximum_(n)),
    (Binary::Minimum, |x, y| x.minimum_(y), |x, n| x.minimum_(n)),
];

const OF_ONE: [(Unary, OfOne); 4] = [
    (Unary::Neg, |x| x.neg_()),
    (Unary::Abs, |x| x.abs_()),
    (Unary::Relu, |x| x.relu_()),
    (Unary::Square, |x| x.square_()),
];

/// A view of a square matrix, and what it shows.
fn seen(of: &Given, n: usize, rng: &mut Random) -> Given {
    let (tensor, at): (_, Box<dyn Fn(usize, usize) -> usize>) = match rng.below(4) {
        0 => (of.tensor.t(), Box::new(|i, j| j * n + i)),
        1 => (of.tensor.flip([0]), Box::new(|i, j| (n - 1 - i) * n + j)),
        2 => {
            let row = of.tensor.narrow(0, n - 1, 1);
            (
                row.and_then(|row| row.expand([n as isize, -1])),
                Box::new(|_, j| (n - 1) * n + j),
            )
        }
        _ => (Ok(of.tensor.clone()), Box::new(|i, j| i * n + j)),
    };
    Given {
        tensor: tensor.unwrap(),
        values: (0..n * n).map(|k| of.values[at(k / n, k % n)]).collect(),
    }
}

/// One step on a variable that is taken out of the others.
fn step(x: &mut Given, others: &[Given], n: usize, dtype: DType, rng: &mut Random) -> String {
    let same = |value: f64| round_to(dtype, value);
    match rng.below(6) {
        0..=2 => {
            let (op, two, number) = rng.pick(&OF_TWO);
            let of = |x: f64, y: f64| same(binary(op, dtype, x, y));
            if others.is_empty() || rng.below(4) == 0 {
                let y = rng.below(3) as i32;
                number(&mut x.tensor, y).unwrap();
                x.values.iter_mut().for_each(|x| *x = of(*x, f64::from(y)));
                return format!("{op:?} {y}");
            }
            let y = &others[rng.below(others.len())];
            two(&mut x.tensor, &y.tensor).unwrap();
            x.values
                .iter_mut()
                .zip(&y.values)
                .for_each(|(x, &y)| *x = of(*x, y));
            format!("{op:?}")
        }
        3 => {
            let (op, one) = rng.pick(&OF_ONE);
            one(&mut x.tensor).unwrap();
            x.values
                .iter_mut()
                .for_each(|x| *x = same(unary(op, dtype, *x)));
            format!("{op:?}")
        }
        4 => {
            let (value, start) = (rng.below(9), rng.below(n + 1));
            let part = Tensor::full(x.tensor.device(), [], value as i32, dtype).unwrap();
            let ranges = [AxisRange::from(start as isize..n as isize)];
            x.tensor = x.tensor.slice_assign(&ranges, &part).unwrap();
            x.values[start * n..].fill(value as f64);
            format!("assign {value} from row {start}")
        }
        _ => {
            let value = rng.below(9);
            x.tensor.fill_(value as i32).unwrap();
            x.values.fill(value as f64);
            format!("fill {value}")
        }
    }
}

#[test]
fn variables_change_and_what_was_made_of_them_stays() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&NUMBERS);
        let n = 1 + rng.below(6);
        let mut all: Vec<Given> = (0..2)
            .map(|_| given(device, dtype, &[n, n], Values::Plain, rng))
            .collect();
        let mut steps = format!("{dtype} {n}");
        for _ in 0..1 + rng.below(20) {
            let which = rng.below(all.len());
            match rng.below(8) {
                0..=1 => {
                    let view = seen(&all[which], n, rng);
                    all.push(view);
                    steps += ", view";
                }
                2 => {
                    all[which].tensor.eval_blocking().unwrap();
                    steps += ", eval";
                }
                3 if all.len() > 1 => {
                    // Whoever holds memory alone from now on may write over it.
                    let _dropped = all.swap_remove(which);
                    steps += ", drop";
                }
                4 if rng.below(3) == 0 => {
                    let got = read(&all[which].tensor);
                    let wanted = expect::exact(&all[which].values);
                    crate::fuzz_values::check(&format!("read early {steps}"), &got, &wanted);
                }
                _ => {
                    let mut x = all.swap_remove(which);
                    steps += ", ";
                    steps += &step(&mut x, &all, n, dtype, rng);
                    all.push(x);
                }
            }
        }
        for (at, given) in all.into_iter().enumerate() {
            // The sign of a zero depends on the ops: equal is enough.
            let plain = |x: &f64| x + 0.0;
            let values: Vec<f64> = given.values.iter().map(plain).collect();
            let tensor = given.tensor.add(0).unwrap();
            moved(
                &format!("variable {at} of {steps}"),
                Ok(tensor),
                &[n, n],
                &values,
            );
        }
    });
}
