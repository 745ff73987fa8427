//! Sums of products by any equation, contraction over named axes, products with scale and addend.

use ziggurat_tensor::{DType, GemmOptions, Tensor};

use super::{FLOATS, NUMBERS, refused, within};
use crate::fuzz_values::casts::cast;
use crate::fuzz_values::moves::places;
use crate::operands::{Expected, Random};
use crate::problems::{Given, Values, fuzz_few, given};

const F32: f64 = f32::EPSILON as f64;

/// A sum of products: its value, the sum of the sizes of its terms, and modulo 2⁶⁴.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    size: f64,
    whole: i64,
}

impl Sum {
    fn add(&mut self, factors: &[f64]) {
        let product: f64 = factors.iter().product();
        self.value += product;
        self.size += product.abs();
        let whole = factors.iter().map(|&x| x as i64).fold(1, i64::wrapping_mul);
        self.whole = self.whole.wrapping_add(whole);
    }

    /// In the dtype, after so many roundings.
    fn expected(self, roundings: usize, dtype: DType) -> Expected {
        if !dtype.is_float() {
            return Expected::exact(wrapped(self.whole, dtype));
        }
        let bound = (roundings as f64 + 2.0) * F32 * self.size + f64::from(f32::MIN_POSITIVE);
        Expected {
            value: self.value,
            bound,
        }
    }
}

fn wrapped(x: i64, dtype: DType) -> f64 {
    cast(DType::I32, dtype, f64::from(x as i32))
}

/// An operand's letters, `None` being an axis that the dots stand for.
struct Operand {
    text: String,
    labels: Vec<Label>,
    given: Given,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Letter(usize),
    /// The axis behind the dots, counted from the last one.
    Dot(usize),
}

const LETTERS: [char; 5] = ['a', 'b', 'i', 'j', 'Z'];

fn operand(
    device: &ziggurat_tensor::Device,
    dtype: DType,
    sizes: &[usize; 5],
    dots: &[usize],
    rng: &mut Random,
) -> Operand {
    let (mut text, mut labels, mut dims) = (String::new(), Vec::new(), Vec::new());
    let before = rng.below(3);
    let with_dots = !dots.is_empty() && rng.below(3) > 0;
    let mut ones = [(); 5].map(|()| rng.below(6) == 0);
    // A letter that is there twice has one extent.
    ones[0] = false;
    for at in 0..before + rng.below(3) {
        if at == before.min(1) && with_dots {
            let axes = rng.below(dots.len() + 1);
            text.push_str("...");
            for axis in (0..axes).rev() {
                labels.push(Label::Dot(axis));
                let dim = dots[dots.len() - 1 - axis];
                dims.push(if rng.below(4) == 0 { 1 } else { dim });
            }
        }
        let letter = rng.below(LETTERS.len());
        if labels
            .iter()
            .filter(|label| **label == Label::Letter(letter))
            .count()
            > 1
        {
            continue;
        }
        text.push(LETTERS[letter]);
        labels.push(Label::Letter(letter));
        dims.push(if ones[letter] { 1 } else { sizes[letter] });
    }
    let values = if rng.below(12) == 0 {
        Values::Special
    } else {
        Values::Plain
    };
    let mut given = given(device, dtype, &dims, values, rng);
    // Of what is special only NaN means the same in any order of the sums.
    if given.values.iter().any(|x| x.is_infinite()) {
        given = crate::problems::given(device, dtype, &dims, Values::Plain, rng);
    }
    Operand {
        text,
        labels,
        given,
    }
}

/// The labels that stay, and how the equation says so.
fn output(operands: &[Operand], dots: usize, rng: &mut Random) -> (String, Vec<Label>) {
    let count = |label: Label| {
        let all = operands.iter().flat_map(|operand| &operand.labels);
        all.filter(|other| **other == label).count()
    };
    let dotted: Vec<Label> = (0..dots)
        .rev()
        .map(Label::Dot)
        .filter(|&dot| count(dot) > 0)
        .collect();
    let has_dots = operands.iter().any(|operand| operand.text.contains('.'));
    let letters: Vec<usize> = (0..LETTERS.len())
        .filter(|&l| count(Label::Letter(l)) > 0)
        .collect();
    if rng.below(3) == 0 {
        // Those that occur once, in the order of the alphabet: capitals first.
        let mut once: Vec<usize> = letters
            .into_iter()
            .filter(|&l| count(Label::Letter(l)) == 1)
            .collect();
        once.sort_by_key(|&l| LETTERS[l]);
        let kept = once.into_iter().map(Label::Letter);
        return (String::new(), dotted.into_iter().chain(kept).collect());
    }
    let mut kept: Vec<usize> = letters.into_iter().filter(|_| rng.below(2) == 0).collect();
    (1..kept.len()).for_each(|i| kept.swap(i, rng.below(i + 1)));
    let place = rng.below(kept.len() + 1);
    let dots_stay = has_dots && rng.below(4) > 0;
    let (mut text, mut labels) = ("->".to_owned(), Vec::new());
    for at in 0..=kept.len() {
        if at == place && dots_stay {
            text.push_str("...");
            labels.extend(&dotted);
        }
        if let Some(&letter) = kept.get(at) {
            text.push(LETTERS[letter]);
            labels.push(Label::Letter(letter));
        }
    }
    (text, labels)
}

#[test]
fn equations_agree_with_the_sum_over_all_places() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&NUMBERS);
        let sizes = [(); 5].map(|()| rng.pick(&[1, 2, 2, 3, 3, 4, 5, 0, 7]));
        let dots: Vec<usize> = (0..rng.below(3)).map(|_| rng.pick(&[1, 2, 3, 4])).collect();
        let count = 1 + rng.below(4);
        let mut promoted = dtype;
        let operands: Vec<Operand> = (0..count)
            .map(|_| {
                // At times of another dtype, which is held exactly by the common one.
                let own = match dtype {
                    DType::F32 => rng.pick(&[DType::F32, DType::F32, DType::F16, DType::BF16]),
                    DType::I32 => rng.pick(&[DType::I32, DType::I32, DType::U8, DType::I8]),
                    other => other,
                };
                operand(device, own, &sizes, &dots, rng)
            })
            .collect();
        let dtypes: Vec<DType> = operands.iter().map(|o| o.given.tensor.dtype()).collect();
        if dtypes.iter().all(|own| own == &dtypes[0]) {
            promoted = dtypes[0];
        } else if !dtype.is_float() && !dtypes.contains(&DType::I32) {
            promoted = DType::I32;
        }
        let (behind, kept) = output(&operands, dots.len(), rng);
        let texts: Vec<&str> = operands.iter().map(|operand| &operand.text[..]).collect();
        let equation = texts.join(",") + &behind;
        // Every label and its extent: 1 gives way.
        let mut labels: Vec<(Label, usize)> = Vec::new();
        for operand in &operands {
            for (&label, &dim) in operand.labels.iter().zip(operand.given.dims()) {
                match labels.iter_mut().find(|(known, _)| *known == label) {
                    Some((_, size)) if *size == 1 => *size = dim,
                    Some(_) => {}
                    None => labels.push((label, dim)),
                }
            }
        }
        let size_of = |label: Label| {
            labels
                .iter()
                .find(|(known, _)| *known == label)
                .map_or(1, |l| l.1)
        };
        let (summed, all): (Vec<_>, Vec<_>) = (
            labels
                .iter()
                .filter(|(label, _)| !kept.contains(label))
                .collect(),
            labels.iter().map(|(_, size)| *size).collect(),
        );
        let out: Vec<usize> = kept.iter().map(|&label| size_of(label)).collect();
        if all.iter().product::<usize>() > 40_000 {
            return;
        }
        let at = |labels_of: &[Label], dims: &[usize], place: &[usize]| {
            labels_of.iter().zip(dims).fold(0, |at, (label, &dim)| {
                let i = labels.iter().position(|(known, _)| known == label).unwrap();
                at * dim + if dim == 1 { 0 } else { place[i] }
            })
        };
        let mut sums = vec![Sum::default(); out.iter().product()];
        for place in places(&all) {
            let factors: Vec<f64> = (operands.iter())
                .map(|o| o.given.values[at(&o.labels, o.given.dims(), &place)])
                .collect();
            sums[at(&kept, &out, &place)].add(&factors);
        }
        let terms: usize = summed.iter().map(|(_, size)| *size).product();
        let wanted: Vec<Expected> = (sums.iter())
            .map(|sum| sum.expected(terms + 2 * count, promoted))
            .collect();
        let tensors: Vec<&Tensor> = operands.iter().map(|o| &o.given.tensor).collect();
        let shapes: Vec<&[usize]> = operands.iter().map(|o| o.given.dims()).collect();
        let what = format!("einsum {equation} {dtypes:?} {shapes:?}");
        let tensor = within(&what, Tensor::einsum(&equation, &tensors), &out, &wanted);
        assert_eq!(tensor.dtype(), promoted, "{what}");
    });
}

#[test]
fn contraction_over_axes_agrees_with_the_sum_over_all_places() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&NUMBERS);
        let mut sizes =
            |n: usize| -> Vec<usize> { (0..n).map(|_| rng.pick(&[1, 2, 3, 4, 5, 0, 9])).collect() };
        let (shared, left, right) = (sizes(2), sizes(2), sizes(2));
        let (pairs, own, others) = (rng.below(3), rng.below(3), rng.below(3));
        let (shared, left, right) = (&shared[..pairs], &left[..own], &right[..others]);
        // Axes of each side in any order: those that are summed have their number, the others count on.
        let mut side = |kept: &[usize]| {
            let mut order: Vec<usize> = (0..pairs + kept.len()).collect();
            (1..order.len()).for_each(|i| order.swap(i, rng.below(i + 1)));
            let dim = |&which: &usize| {
                if which < pairs {
                    shared[which]
                } else {
                    kept[which - pairs]
                }
            };
            let dims: Vec<usize> = order.iter().map(dim).collect();
            let axes: Vec<isize> = (0..pairs)
                .map(|which| order.iter().position(|&other| other == which).unwrap() as isize)
                .collect();
            (order, axes, given(device, dtype, &dims, Values::Plain, rng))
        };
        let ((a_order, a_axes, a), (b_order, b_axes, b)) = (side(left), side(right));
        let kept = |order: &[usize]| -> Vec<usize> {
            order
                .iter()
                .copied()
                .filter(|&which| which >= pairs)
                .collect()
        };
        let (a_kept, b_kept) = (kept(&a_order), kept(&b_order));
        let out: Vec<usize> = (a_kept.iter().map(|&w| left[w - pairs]))
            .chain(b_kept.iter().map(|&w| right[w - pairs]))
            .collect();
        let value =
            |given: &Given, order: &[usize], kept: &[usize], own: &[usize], summed: &[usize]| {
                let at = order
                    .iter()
                    .zip(given.dims())
                    .fold(0, |at, (&which, &dim)| {
                        let i = if which < pairs {
                            summed[which]
                        } else {
                            own[kept.iter().position(|&other| other == which).unwrap()]
                        };
                        at * dim + i
                    });
                given.values[at]
            };
        let inner = places(shared);
        let wanted: Vec<Expected> = (places(&out).iter())
            .map(|place| {
                let (own, others) = place.split_at(a_kept.len());
                let mut sum = Sum::default();
                for summed in &inner {
                    let x = value(&a, &a_order, &a_kept, own, summed);
                    sum.add(&[x, value(&b, &b_order, &b_kept, others, summed)]);
                }
                sum.expected(inner.len(), dtype)
            })
            .collect();
        let what = format!(
            "tensordot {dtype} {:?} {:?} over {a_axes:?} {b_axes:?}",
            a.dims(),
            b.dims()
        );
        let _tensor = within(
            &what,
            a.tensor.tensordot(&b.tensor, &a_axes, &b_axes),
            &out,
            &wanted,
        );
    });
}

#[test]
fn products_with_scale_and_addend_agree_with_their_formula() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&NUMBERS);
        let [m, k, n] = [(); 3].map(|()| rng.pick(&[0, 1, 2, 3, 5, 8, 16, 17, 33]));
        let batched = rng.below(3) == 0;
        let batch = if batched {
            vec![1 + rng.below(3)]
        } else {
            vec![]
        };
        let turns = [(); 2].map(|()| !batched && rng.below(2) == 0);
        let mut side = |rows: usize, columns: usize, turned: bool| {
            let own = if turned {
                [columns, rows]
            } else {
                [rows, columns]
            };
            given(
                device,
                dtype,
                &[&batch[..], &own].concat(),
                Values::Plain,
                rng,
            )
        };
        let (a, b) = (side(m, k, turns[0]), side(k, n, turns[1]));
        let scales: &[f64] = if dtype.is_float() {
            &[0.0, 1.0, -2.0, 0.3]
        } else {
            &[0.0, 1.0, 2.0, 3.0]
        };
        let (alpha, beta) = (rng.pick(scales), rng.pick(scales));
        let out = [&batch[..], &[m, n]].concat();
        let own = match rng.below(4) {
            0 => vec![n],
            1 => vec![m, 1],
            2 => vec![],
            _ => out.clone(),
        };
        let c = given(device, dtype, &own, Values::Special, rng);
        let element =
            |values: &[f64], [rows, columns]: [usize; 2], turned: bool, at: [usize; 3]| {
                let [batch, row, column] = at;
                let inside = if turned {
                    column * rows + row
                } else {
                    row * columns + column
                };
                values[batch * rows * columns + inside]
            };
        let wanted: Vec<Expected> = (0..out.iter().product())
            .map(|at: usize| {
                let (batch, row, column) = (at / (m * n), at / n % m, at % n);
                let mut sum = Sum::default();
                for inner in 0..k {
                    let x = element(&a.values, [m, k], turns[0], [batch, row, inner]);
                    sum.add(&[
                        x,
                        element(&b.values, [k, n], turns[1], [batch, inner, column]),
                    ]);
                }
                let addend = match own.len() {
                    0 => c.values[0],
                    1 => c.values[column],
                    2 if own[1] == 1 => c.values[row],
                    _ => c.values[at],
                };
                if !dtype.is_float() {
                    let scaled = |factor: f64, x: i64| (factor as i64).wrapping_mul(x);
                    let total = scaled(alpha, sum.whole).wrapping_add(scaled(beta, addend as i64));
                    return Expected::exact(wrapped(total, dtype));
                }
                let addend = if beta == 0.0 { 0.0 } else { beta * addend };
                let value = alpha * sum.value + addend;
                let size = alpha.abs() * sum.size;
                let bound = F32 * ((k as f64 + 4.0) * size + 3.0 * addend.abs());
                let bound = if bound.is_finite() { bound } else { 0.0 };
                Expected {
                    value,
                    bound: bound + f64::from(f32::MIN_POSITIVE),
                }
            })
            .collect();
        let what = format!(
            "{dtype} {alpha} {:?} {:?} + {beta} {own:?}, turned {turns:?}",
            a.dims(),
            b.dims()
        );
        let (name, result) = if batched {
            (
                "baddbmm",
                c.tensor.baddbmm(&a.tensor, &b.tensor, beta, alpha),
            )
        } else if turns == [false; 2] && rng.below(2) == 0 {
            ("addmm", c.tensor.addmm(&a.tensor, &b.tensor, beta, alpha))
        } else {
            let options = GemmOptions {
                alpha,
                beta,
                trans_a: turns[0],
                trans_b: turns[1],
            };
            ("gemm", a.tensor.gemm(&b.tensor, Some(&c.tensor), &options))
        };
        let _tensor = within(&format!("{name} {what}"), result, &out, &wanted);
    });
}

#[test]
fn products_of_vectors_agree_with_their_formula() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&NUMBERS);
        let [m, k] = [(); 2].map(|()| rng.pick(&[0, 1, 2, 3, 17, 64, 300]));
        let a = given(device, dtype, &[m, k], Values::Plain, rng);
        let v = given(device, dtype, &[k], Values::Plain, rng);
        let w = given(device, dtype, &[k], Values::Plain, rng);
        let dot = |x: &[f64], y: &[f64]| {
            let mut sum = Sum::default();
            x.iter().zip(y).for_each(|(&x, &y)| sum.add(&[x, y]));
            sum.expected(k, dtype)
        };
        let what = format!("{dtype} {m} {k}");
        let rows: Vec<Expected> = (0..m)
            .map(|row| dot(&a.values[row * k..][..k], &v.values))
            .collect();
        let _tensor = within(&format!("mv {what}"), a.tensor.mv(&v.tensor), &[m], &rows);
        let one = [dot(&w.values, &v.values)];
        let _tensor = within(&format!("dot {what}"), w.tensor.dot(&v.tensor), &[], &one);
        let other = given(device, dtype, &[m], Values::Plain, rng);
        let mut products = Vec::new();
        for &x in &other.values {
            for &y in &v.values {
                let mut sum = Sum::default();
                sum.add(&[x, y]);
                products.push(sum.expected(0, dtype));
            }
        }
        let result = other.tensor.outer(&v.tensor);
        let _tensor = within(&format!("outer {what}"), result, &[m, k], &products);
        if rng.below(8) == 0 {
            let float = given(device, rng.pick(&FLOATS), &[k + 1], Values::Plain, rng);
            refused(
                &format!("dot of other lengths {what}"),
                w.tensor.dot(&float.tensor),
            );
        }
    });
}
