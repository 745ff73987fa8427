//! Elementwise calls on tensors: any two dtypes, shapes that broadcast, numbers beside tensors, the ends of the integers; and
//! the functions with parameters.

use crate::expect;
use ziggurat_kernels::{Binary, Composite};
use ziggurat_tensor::{Closeness, DType, Device, Error, GateHalf, Tensor};

use super::{FLOATS, agrees, moved, refused};
use crate::fuzz_values::casts::cast;
use crate::fuzz_values::moves::places;
use crate::operands::{Expected, Random};
use crate::problems::{Given, Values, axis_of, fuzz_few, given, in_memory, made, modest};

/// The dtype of two tensors together: the table in the documentation of the semantics.
fn promoted(a: DType, b: DType) -> DType {
    use DType::{BF16, Bool, F16, I8, I32, U8, U32};
    match (a, b) {
        _ if a == b => a,
        (Bool, other) | (other, Bool) => other,
        (F16, BF16) | (BF16, F16) => DType::F32,
        _ if a == DType::F32 || b == DType::F32 => DType::F32,
        _ if a.is_float() => a,
        _ if b.is_float() => b,
        (U8, U32) | (U32, U8) => U32,
        (I8 | U8 | I32 | U32, _) => I32,
        _ => unreachable!("all pairs are above"),
    }
}

/// The value in a 32-bit integer or narrower dtype, modulo 2ⁿ.
fn wrapped(dtype: DType, x: i128) -> f64 {
    cast(DType::I32, dtype, f64::from(x as i32))
}

/// `xʸ` modulo 2³², or what is left of a reciprocal.
fn power(x: i128, y: i128) -> i128 {
    if y < 0 {
        return match x {
            1 => 1,
            -1 if y % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut result, mut square, mut rest) = (1i128, x, y);
    while rest > 0 {
        if rest % 2 == 1 {
            result = i128::from((result * square) as i32);
        }
        square = i128::from((square as i32 as i128 * square as i32 as i128) as i32);
        rest /= 2;
    }
    result
}

/// Integer arithmetic as the semantics have it.
fn whole(op: Binary, x: i128, y: i128) -> i128 {
    let floor = |x: i128, y: i128| x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0);
    match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Maximum => x.max(y),
        Binary::Minimum => x.min(y),
        Binary::Div if y == 0 => x,
        Binary::Div => x / y,
        Binary::FloorDivide if y == 0 => x,
        Binary::FloorDivide => floor(x, y),
        Binary::Remainder | Binary::Fmod if y == 0 => 0,
        Binary::Remainder => x - floor(x, y) * y,
        Binary::Fmod => x % y,
        Binary::Pow => power(x, y),
        Binary::ShiftLeft => {
            if (0..32).contains(&y) {
                x << y
            } else {
                0
            }
        }
        Binary::ShiftRight => x >> if (0..32).contains(&y) { y } else { 64 },
        Binary::BitwiseAnd => x & y,
        Binary::BitwiseOr => x | y,
        Binary::BitwiseXor => x ^ y,
        _ => unreachable!("not of integers"),
    }
}

#[test]
fn the_integer_reference_knows_the_edges() {
    let of = |op, x: i128, y: i128| wrapped(DType::I32, whole(op, x, y));
    let least = i128::from(i32::MIN);
    assert_eq!(of(Binary::FloorDivide, -7, 2), -4.0);
    assert_eq!(of(Binary::FloorDivide, 7, -2), -4.0);
    assert_eq!(of(Binary::FloorDivide, -7, -2), 3.0);
    assert_eq!(
        [of(Binary::Remainder, -7, 2), of(Binary::Remainder, 7, -2)],
        [1.0, -1.0]
    );
    assert_eq!(of(Binary::Div, least, -1), least as f64);
    assert_eq!(
        [of(Binary::Pow, 3, 20), of(Binary::Pow, -2, 31)],
        [-808_182_895.0, least as f64]
    );
    assert_eq!(
        [of(Binary::Pow, -1, -3), of(Binary::Pow, 2, -1)],
        [-1.0, 0.0]
    );
}

type Method = fn(&Tensor, &Tensor) -> Result<Tensor, Error>;

const METHODS: [(Binary, Method); 17] = [
    (Binary::Add, |a, b| a.add(b)),
    (Binary::Sub, |a, b| a.sub(b)),
    (Binary::Mul, |a, b| a.mul(b)),
    (Binary::Maximum, |a, b| a.maximum(b)),
    (Binary::Minimum, |a, b| a.minimum(b)),
    (Binary::Div, |a, b| a.div(b)),
    (Binary::Div, |a, b| a.div_trunc(b)),
    (Binary::FloorDivide, |a, b| a.floor_divide(b)),
    (Binary::Remainder, |a, b| a.remainder(b)),
    (Binary::Fmod, |a, b| a.fmod(b)),
    (Binary::Pow, |a, b| a.pow(b)),
    (Binary::ShiftLeft, |a, b| a.shift_left(b)),
    (Binary::ShiftRight, |a, b| a.shift_right(b)),
    (Binary::BitwiseAnd, |a, b| a.bitwise_and(b)),
    (Binary::BitwiseOr, |a, b| a.bitwise_or(b)),
    (Binary::BitwiseXor, |a, b| a.bitwise_xor(b)),
    (Binary::Atan2, |a, b| a.atan2(b)),
];

/// Integers over all of their range and its ends, with small ones for exponents and shifts; floats up to 4, at times special.
fn operand(device: &Device, dtype: DType, dims: &[usize], rng: &mut Random) -> Given {
    if dtype.is_float() {
        let values = given(device, dtype, dims, Values::Special, rng);
        return values;
    }
    match rng.below(3) {
        0 => made(device, dtype, dims, rng, |rng| rng.below(45) as f64 - 6.0),
        _ => given(device, dtype, dims, Values::Extreme, rng),
    }
}

/// Extents that broadcast to these.
fn narrower(dims: &[usize], rng: &mut Random) -> Vec<usize> {
    // Not to rank 0, which promotes by another rule.
    let skip = rng.below(dims.len());
    let own = dims[skip..].iter();
    own.map(|&dim| if rng.below(4) == 0 { 1 } else { dim })
        .collect()
}

/// The values of a tensor at every place of what it is broadcast to.
fn spread(given: &Given, dims: &[usize]) -> Vec<f64> {
    let own = given.dims();
    let value = |place: Vec<usize>| {
        let place = &place[place.len() - own.len()..];
        let at = place
            .iter()
            .zip(own)
            .fold(0, |at, (&i, &dim)| at * dim + i.min(dim - 1));
        given.values[at]
    };
    places(dims).into_iter().map(value).collect()
}

#[test]
fn arithmetic_of_any_two_dtypes_agrees_with_the_reference() {
    fuzz_few(|device, rng| {
        let [a, b] = [(); 2].map(|()| rng.pick(&DType::ALL));
        let which = rng.below(METHODS.len());
        let (op, method) = METHODS[which];
        let dims = modest(1 + rng.below(3), rng);
        let own = narrower(&dims, rng);
        let (x, y) = (
            operand(device, a, &dims, rng),
            operand(device, b, &own, rng),
        );
        let (x, y) = if rng.below(2) == 0 { (x, y) } else { (y, x) };
        let result = method(&x.tensor, &y.tensor);
        let mut dtype = promoted(a, b);
        // True division leaves the integers, and so does the angle.
        if matches!(which, 5 | 16) && !dtype.is_float() {
            dtype = DType::F32;
        }
        let what = format!("{op:?} ({which}) {a} {b} {:?} {:?}", x.dims(), y.dims());
        let of = |given: &Given| -> Vec<f64> {
            let from = given.tensor.dtype();
            spread(given, &dims)
                .into_iter()
                .map(|x| cast(from, dtype, x))
                .collect()
        };
        if !op.spec().dtypes.contains(&dtype) {
            return refused(&what, result);
        }
        let tolerance = op.spec().tolerance;
        let wanted: Vec<Expected> = (of(&x).into_iter().zip(of(&y)))
            .map(|(x, y)| {
                if dtype.is_float() {
                    // The exact quotient without its fraction: of numbers of 24 bits, no f64 rounds to the next whole one.
                    let quotient = (op.spec().float)(x, y);
                    let value = if which == 6 {
                        quotient.trunc()
                    } else {
                        quotient
                    };
                    let input = if y.is_finite() { y } else { 0.0 };
                    let row = expect::row(dtype, value, tolerance, input);
                    let tiny = value.abs() < f64::from(f32::MIN_POSITIVE);
                    let least = if tiny {
                        f64::from(f32::MIN_POSITIVE)
                    } else {
                        0.0
                    };
                    return Expected {
                        bound: row.bound + least,
                        ..row
                    };
                }
                Expected::exact(match (dtype, op) {
                    (DType::Bool, Binary::Add | Binary::Maximum | Binary::BitwiseOr) => x.max(y),
                    (DType::Bool, Binary::Mul | Binary::Minimum | Binary::BitwiseAnd) => x.min(y),
                    (DType::Bool, _) => f64::from(u8::from(x != y)),
                    _ => wrapped(dtype, whole(op, x as i128, y as i128)),
                })
            })
            .collect();
        assert_eq!(
            result.as_ref().map(Tensor::dtype).ok(),
            Some(dtype),
            "{what}"
        );
        agrees(&what, result, &dims, &wanted);
    });
}

/// A comparison of the promoted values.
#[test]
fn comparisons_and_choices_agree_with_the_reference() {
    fuzz_few(|device, rng| {
        let [a, b] = [(); 2].map(|()| rng.pick(&DType::ALL));
        let dims = modest(1 + rng.below(3), rng);
        let own = narrower(&dims, rng);
        let (x, y) = (
            operand(device, a, &dims, rng),
            operand(device, b, &own, rng),
        );
        let dtype = promoted(a, b);
        let left: Vec<f64> = x.values.iter().map(|&x| cast(a, dtype, x)).collect();
        let right: Vec<f64> = spread(&y, &dims)
            .into_iter()
            .map(|y| cast(b, dtype, y))
            .collect();
        let what = format!("{a} {b} {dims:?} {own:?}");
        let pairs = || left.iter().copied().zip(right.iter().copied());
        if rng.below(2) == 0 {
            type Compared = (&'static str, Method, fn(f64, f64) -> bool);
            let (name, method, truth): Compared = rng.pick(&[
                ("eq", |a, b| a.eq(b), |x, y| x == y),
                ("ne", |a, b| a.ne(b), |x, y| x != y),
                ("lt", |a, b| a.lt(b), |x, y| x < y),
                ("le", |a, b| a.le(b), |x, y| x <= y),
                ("gt", |a, b| a.gt(b), |x, y| x > y),
                ("ge", |a, b| a.ge(b), |x, y| x >= y),
                ("and", |a, b| a.logical_and(b), |x, y| x != 0.0 && y != 0.0),
                ("or", |a, b| a.logical_or(b), |x, y| x != 0.0 || y != 0.0),
                (
                    "xor",
                    |a, b| a.logical_xor(b),
                    |x, y| (x != 0.0) != (y != 0.0),
                ),
            ]);
            let logic = matches!(name, "and" | "or" | "xor");
            // Truths are those of the values given.
            let pairs: Vec<(f64, f64)> = if logic {
                x.values.iter().copied().zip(spread(&y, &dims)).collect()
            } else {
                pairs().collect()
            };
            let wanted = pairs
                .into_iter()
                .map(|(x, y)| f64::from(u8::from(truth(x, y))));
            let wanted: Vec<f64> = wanted.collect();
            return moved(
                &format!("{name} {what}"),
                method(&x.tensor, &y.tensor),
                &dims,
                &wanted,
            );
        }
        let own = narrower(&dims, rng);
        let mask = given(device, DType::Bool, &own, Values::Plain, rng);
        let truths = spread(&mask, &dims);
        if rng.below(2) == 0 {
            let wanted: Vec<f64> = (truths.iter().zip(pairs()))
                .map(|(&truth, (x, y))| if truth == 0.0 { y } else { x })
                .collect();
            let result = mask.tensor.where_(&x.tensor, &y.tensor);
            return agrees(
                &format!("where {what}"),
                result,
                &dims,
                &expect::exact(&wanted),
            );
        }
        let value = if a.is_bool() { 1.0 } else { 3.0 };
        let filled = |(&truth, &x): (&f64, &f64)| if truth == 0.0 { x } else { value };
        let wanted: Vec<f64> = truths.iter().zip(&x.values).map(filled).collect();
        let result = if a.is_bool() {
            x.tensor.masked_fill(&mask.tensor, true)
        } else {
            x.tensor.masked_fill(&mask.tensor, 3)
        };
        agrees(
            &format!("masked_fill {what}"),
            result,
            &dims,
            &expect::exact(&wanted),
        );
    });
}

type Parametric = fn(&[&Tensor], &[f64]) -> Result<Tensor, Error>;

/// Rows of the composed table, as methods.
const ROWS: [(Composite, Parametric); 17] = [
    (Composite::Clamp, |t, _| t[0].clamp(t[1], t[2])),
    (Composite::Lerp, |t, _| t[0].lerp(t[1], t[2])),
    (Composite::Addcmul, |t, n| {
        t[0].addcmul(t[1], t[2], n[0] as i32)
    }),
    (Composite::Addcdiv, |t, n| t[0].addcdiv(t[1], t[2], n[0])),
    (Composite::Isclose, |t, n| {
        let options = Closeness {
            rtol: n[0],
            atol: n[1],
            equal_nan: n[2] != 0.0,
        };
        t[0].isclose(t[1], &options)
    }),
    (Composite::NanToNum, |t, n| {
        t[0].nan_to_num_with(n[0], Some(n[1]), Some(n[2]))
    }),
    (Composite::LeakyRelu, |t, n| t[0].leaky_relu(n[0])),
    (Composite::Prelu, |t, _| t[0].prelu(t[1])),
    (Composite::Elu, |t, n| t[0].elu(n[0])),
    (Composite::Celu, |t, n| t[0].celu(n[0])),
    (Composite::Selu, |t, _| t[0].selu()),
    (Composite::SoftplusWith, |t, n| t[0].softplus(n[0], n[1])),
    (Composite::HardSigmoid, |t, n| t[0].hard_sigmoid(n[0], n[1])),
    (Composite::HardTanh, |t, n| t[0].hard_tanh(n[0], n[1])),
    (Composite::Relu6, |t, _| t[0].relu6()),
    (Composite::ThresholdedRelu, |t, n| {
        t[0].thresholded_relu(n[0])
    }),
    (Composite::Shrink, |t, n| t[0].shrink(n[0], n[1])),
];

#[test]
fn functions_with_parameters_agree_with_their_rows() {
    fuzz_few(|device, rng| {
        let (op, method) = rng.pick(&ROWS);
        let spec = op.spec();
        let dtype = rng.pick(spec.dtypes);
        let dims = modest(1 + rng.below(3), rng);
        let (low, high) = (spec.samples.low, spec.samples.high);
        let special = op != Composite::Lerp;
        let operands: Vec<Given> = (spec.operands.iter())
            .map(|_| {
                // Not seen through a negation: some rows are for positive numbers.
                in_memory(device, dtype, &dims, rng, |rng| match rng.below(12) {
                    0 if special && dtype.is_float() => {
                        rng.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0])
                    }
                    1 if low <= 0.0 => rng.pick(&[0.0, 1.0]),
                    _ if dtype.is_float() => low + (high - low) * (rng.below(4001) as f64 / 4000.0),
                    _ => rng.below(17) as f64 - 4.0,
                })
            })
            .collect();
        // The row's numbers, at times halved: within what its tolerance is for.
        let half = rng.below(2) == 0 && op != Composite::Addcmul;
        let numbers: Vec<f64> = (spec.examples.iter())
            .map(|&n| if half { n / 2.0 } else { n })
            .collect();
        let tensors: Vec<&Tensor> = operands.iter().map(|given| &given.tensor).collect();
        let truth = op == Composite::Isclose;
        let wanted: Vec<Expected> = (0..operands[0].values.len())
            .map(|i| {
                let row: Vec<f64> = operands.iter().map(|given| given.values[i]).collect();
                let value = (spec.reference)(&row, &numbers);
                let size = row.iter().filter(|x| x.is_finite());
                let size = size.fold(0.0f64, |most, x| most.max(x.abs()));
                if truth {
                    expect::truth(value != 0.0)
                } else if dtype.is_float() {
                    expect::row(dtype, value, spec.tolerance, size)
                } else {
                    Expected::exact(wrapped(dtype, value as i128))
                }
            })
            .collect();
        let what = format!("{} {numbers:?} {dtype} {dims:?}", spec.name);
        agrees(&what, method(&tensors, &numbers), &dims, &wanted);
    });
}

#[test]
fn gated_units_and_the_hard_maximum_agree_with_their_formulas() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let rank = 1 + rng.below(4);
        let mut dims = modest(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        let what = format!("{dtype} {dims:?} along {axis}");
        let place_of = |dims: &[usize], place: &[usize]| {
            dims.iter().zip(place).fold(0, |at, (dim, i)| at * dim + i)
        };
        if rng.below(4) == 0 {
            let x = given(device, dtype, &dims, Values::Special, rng);
            let result = x.tensor.hardmax(signed);
            if dims[axis] == 0 {
                return refused(&format!("hardmax {what}"), result);
            }
            let hot = |place: &Vec<usize>| {
                let value = |i: usize| {
                    let mut place = place.clone();
                    place[axis] = i;
                    x.values[place_of(&dims, &place)]
                };
                let row: Vec<f64> = (0..dims[axis]).map(value).collect();
                let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let nan = row.iter().position(|x| x.is_nan());
                let best = nan.or_else(|| row.iter().position(|&x| x == most));
                f64::from(u8::from(best == Some(place[axis])))
            };
            let wanted: Vec<f64> = places(&dims).iter().map(hot).collect();
            return moved(&format!("hardmax {what}"), result, &dims, &wanted);
        }
        let odd = rng.below(12) == 0;
        let half = dims[axis];
        dims[axis] = 2 * half + usize::from(odd);
        let row = rng.pick(&[
            Composite::Glu,
            Composite::Swiglu,
            Composite::Geglu,
            Composite::Reglu,
        ]);
        let values = rng.pick(&[Values::Plain, Values::Special]);
        let x = given(device, dtype, &dims, values, rng);
        let gate = if row == Composite::Glu {
            GateHalf::Second
        } else {
            rng.pick(&[GateHalf::First, GateHalf::Second])
        };
        let result = match row {
            Composite::Glu => x.tensor.glu(signed),
            Composite::Swiglu => x.tensor.swiglu(signed, gate),
            Composite::Geglu => x.tensor.geglu(signed, gate),
            _ => x.tensor.reglu(signed, gate),
        };
        let what = format!("{row:?} {gate:?} {what}");
        if odd {
            return refused(&what, result);
        }
        let mut out = dims.clone();
        out[axis] = half;
        let (shift, other) = match gate {
            GateHalf::First => (0, half),
            GateHalf::Second => (half, 0),
        };
        let element = |mut place: Vec<usize>| {
            let i = place[axis];
            place[axis] = i + other;
            let factor = x.values[place_of(&dims, &place)];
            place[axis] = i + shift;
            let gate = x.values[place_of(&dims, &place)];
            let value = (row.spec().reference)(&[factor, gate], &[]);
            let size = if gate.is_finite() { gate.abs() } else { 0.0 };
            let e = expect::row(dtype, value, row.spec().tolerance, size);
            // A subnormal result may be 0.
            Expected {
                bound: e.bound + f64::from(f32::MIN_POSITIVE),
                ..e
            }
        };
        let wanted: Vec<Expected> = places(&out).into_iter().map(element).collect();
        agrees(&what, result, &out, &wanted);
    });
}
