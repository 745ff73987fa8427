//! The contract of docs/semantics.md, rule by rule: what ops give on their edges, and what they refuse.
//! Rules that need more than a call have tests with their topic.

use crate::common;
use ziggurat_tensor::{
    Attention, Closeness, Conv1dOptions, CrossEntropyOptions, DType, Device, Error,
    InterpolateMode, InterpolateOptions, MaskedRows, Pad, PoolOptions, Reduction, Tensor,
};

mod axes;
mod products;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

type Outcome = Result<Tensor, Error>;

/// Whether these are the values, signs of zero aside.
fn same(got: &[f64], wanted: &[f64]) -> bool {
    let alike = |(&a, &b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
    got.len() == wanted.len() && got.iter().zip(wanted).all(alike)
}

/// Collects what breaks a rule, so that one run tells all.
struct Contract {
    device: Device,
    held: usize,
    broken: Vec<String>,
}

impl Contract {
    fn new() -> Self {
        Self {
            device: common::device(),
            held: 0,
            broken: Vec::new(),
        }
    }

    fn of(&self, dtype: DType, values: &[f64]) -> Tensor {
        let values: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        let tensor = Tensor::from_slice(&self.device, &values, [values.len()]).unwrap();
        tensor.to_dtype(dtype).unwrap()
    }

    fn floats(&self, values: &[f64]) -> Tensor {
        self.of(DType::F32, values)
    }

    fn ints(&self, values: &[i32]) -> Tensor {
        Tensor::from_slice(&self.device, values, [values.len()]).unwrap()
    }

    fn zeros(&self, dims: &[usize], dtype: DType) -> Tensor {
        Tensor::zeros(&self.device, dims, dtype).unwrap()
    }

    fn ones(&self, dims: &[usize]) -> Tensor {
        Tensor::ones(&self.device, dims, DType::F32).unwrap()
    }

    fn gives(&mut self, rule: &str, dims: &[usize], wanted: &[f64], outcome: Outcome) {
        let read = outcome.and_then(|t| Ok((t.dims().to_vec(), t.to_f64_vec_blocking()?)));
        match read {
            Ok((d, values)) if d == dims && same(&values, wanted) => self.held += 1,
            other => {
                let line = format!("{rule}: {other:?}, not {dims:?} {wanted:?}");
                self.broken.push(line);
            }
        }
    }

    fn refuses(&mut self, rule: &str, kind: fn(&Error) -> bool, outcome: Outcome) {
        match outcome {
            // An operation, then what is wrong.
            Err(error) if kind(&error) && error.to_string().contains(": ") => self.held += 1,
            other => self.broken.push(format!("{rule}: {other:?}")),
        }
    }

    fn finish(self, least: usize) {
        assert!(self.broken.is_empty(), "{}", self.broken.join("\n"));
        assert!(self.held >= least, "only {} rules were held", self.held);
    }
}

#[test]
fn a_broken_rule_is_seen() {
    assert!(same(&[NAN, 1.0, -0.0], &[NAN, 1.0, 0.0]));
    for other in [vec![1.0, 1.0, 0.0], vec![NAN, 2.0, 0.0], vec![NAN, 1.0]] {
        assert!(!same(&other, &[NAN, 1.0, 0.0]));
    }
    let mut c = Contract::new();
    let (a, none) = (c.ints(&[1, 2]), Tensor::concat(&[], 0));
    c.gives("a value", &[2], &[1.0, 3.0], Ok(a.clone()));
    c.gives("a shape", &[2, 1], &[1.0, 2.0], Ok(a.clone()));
    c.gives("an error", &[2], &[1.0, 2.0], none);
    c.refuses("no error", Error::is_shape, Ok(a));
    c.refuses("another kind", Error::is_shape, Tensor::concat(&[], 0));
    assert_eq!((c.held, c.broken.len()), (0, 5));
}

#[test]
fn nan_infinity_and_ties() {
    let mut c = Contract::new();
    for t in FLOATS {
        let x = c.of(t, &[1.0, NAN, 3.0, NAN]);
        c.gives("max of NaN", &[], &[NAN], x.max_all());
        c.gives("min of NaN", &[], &[NAN], x.min_all());
        c.gives("first NaN", &[], &[1.0], x.argmax(0, false));
        c.gives("first NaN", &[], &[1.0], x.argmin(-1, false));
        let y = c.of(t, &[NAN, 2.0, NAN, NAN]);
        c.gives("NaN wins", &[4], &[NAN, NAN, NAN, NAN], x.maximum(&y));
        c.gives("NaN loses", &[4], &[1.0, 2.0, 3.0, NAN], x.fmin(&y));
        let edges = c.of(t, &[NAN, INF, -INF, -1.0]);
        c.gives("relu", &[4], &[NAN, INF, 0.0, 0.0], edges.relu());
        c.gives("sign", &[4], &[NAN, 1.0, -1.0, -1.0], edges.sign());
        let crossed = edges.clamp(1.0, 0.0);
        c.gives("high wins", &[4], &[NAN, 0.0, 0.0, 0.0], crossed);
        let limits = c.of(t, &[INF, -INF]);
        for gated in [
            limits.silu(),
            limits.gelu(),
            limits.mish(),
            limits.hard_swish(),
        ] {
            c.gives("a gate's limits", &[2], &[INF, 0.0], gated);
        }
        c.gives("tanh", &[2], &[1.0, -1.0], limits.tanh());
        c.gives("sigmoid", &[2], &[1.0, 0.0], limits.sigmoid());
        c.gives("softsign", &[2], &[1.0, -1.0], limits.softsign());
        c.gives("ne of NaN", &[4], &[0.0, 1.0, 0.0, 1.0], x.ne(&x));
        c.gives("eq of NaN", &[4], &[1.0, 0.0, 1.0, 0.0], x.eq(&x));
        let close = edges.isclose(&edges, &Closeness::default());
        c.gives("isclose", &[4], &[0.0, 1.0, 1.0, 1.0], close);
    }
    c.finish(45);
}

#[test]
fn numbers() {
    let mut c = Contract::new();
    let (b, e) = (
        c.floats(&[-2.0, -2.0, -8.0, 0.0, 1.0, NAN, -1.0]),
        c.floats(&[3.0, 0.5, 1.0 / 3.0, -1.0, NAN, 0.0, INF]),
    );
    let powers = [-8.0, NAN, NAN, INF, 1.0, 1.0, 1.0];
    c.gives("pow", &[7], &powers, b.pow(&e));
    let halves = c.floats(&[0.5, 1.5, 2.5, -0.5, -1.5]);
    c.gives("round", &[5], &[0.0, 2.0, 2.0, 0.0, -2.0], halves.round());
    let (x, y) = (
        c.floats(&[-7.5, 5.0, -5.0, 1.0]),
        c.floats(&[2.0, INF, INF, 0.0]),
    );
    c.gives("remainder", &[4], &[0.5, 5.0, INF, NAN], x.remainder(&y));
    c.gives("fmod", &[4], &[-1.5, 5.0, -5.0, NAN], x.fmod(&y));
    c.gives(
        "floor_divide",
        &[4],
        &[-4.0, 0.0, -1.0, INF],
        x.floor_divide(&y),
    );
    let (x, y) = (c.ints(&[-7, 7, 5, i32::MIN]), c.ints(&[2, -2, 0, -1]));
    let low = f64::from(i32::MIN);
    c.gives(
        "floor_divide",
        &[4],
        &[-4.0, -4.0, 5.0, low],
        x.floor_divide(&y),
    );
    c.gives("remainder", &[4], &[1.0, -1.0, 0.0, 0.0], x.remainder(&y));
    c.gives("div_trunc", &[4], &[-3.0, -3.0, 5.0, low], x.div_trunc(&y));
    c.gives("fmod", &[4], &[-1.0, 1.0, 0.0, 0.0], x.fmod(&y));
    c.gives("true division", &[4], &[-3.5, -3.5, INF, -low], x.div(&y));
    c.gives("abs(MIN)", &[1], &[low], c.ints(&[i32::MIN]).abs());
    let bytes = c.of(DType::U8, &[255.0, 1.0]);
    c.gives("u8 wraps", &[2], &[0.0, 2.0], bytes.add(1));
    c.refuses(
        "a number that does not fit",
        Error::is_argument,
        bytes.add(256),
    );
    let counts = c.ints(&[1, 32, -1, 31]);
    c.gives(
        "left",
        &[4],
        &[2.0, 0.0, 0.0, low],
        c.ints(&[1]).shift_left(&counts),
    );
    c.gives(
        "right",
        &[4],
        &[-4.0, -1.0, -1.0, -1.0],
        c.ints(&[-8]).shift_right(&counts),
    );
    let far = c.floats(&[1.9, -300.7, NAN, 3e9]);
    c.gives(
        "to i8",
        &[4],
        &[1.0, -128.0, 0.0, 127.0],
        far.to_dtype(DType::I8),
    );
    c.gives(
        "to u32",
        &[4],
        &[1.0, 0.0, 0.0, 3e9],
        far.to_dtype(DType::U32),
    );
    c.gives("to bool", &[4], &[1.0; 4], far.to_dtype(DType::Bool));
    c.gives(
        "i32 to u8",
        &[2],
        &[0.0, 255.0],
        c.ints(&[256, -1]).to_dtype(DType::U8),
    );
    c.gives(
        "f16",
        &[2],
        &[65504.0, INF],
        c.floats(&[65519.0, 65520.0]).to_dtype(DType::F16),
    );
    c.gives(
        "bf16",
        &[2],
        &[1.0, 1.015625],
        c.floats(&[1.00390625, 1.01171875]).to_dtype(DType::BF16),
    );
    let truth = c.of(DType::Bool, &[1.0]);
    c.refuses("bool - bool", Error::is_dtype, truth.sub(&truth));
    c.refuses("bits of floats", Error::is_dtype, far.bitwise_and(1));
    c.finish(23);
}

#[test]
fn shapes_and_indices() {
    let mut c = Contract::new();
    let (none, x) = (
        c.zeros(&[0], DType::F32),
        c.ints(&[0, 1, 2, 3, 4, 5]).reshape([2, 3]).unwrap(),
    );
    c.gives(
        "(3, 0) + (1)",
        &[3, 0],
        &[],
        c.zeros(&[3, 0], DType::F32).add(c.floats(&[1.0])),
    );
    c.refuses(
        "(0) + (2)",
        Error::is_shape,
        none.add(c.floats(&[1.0, 2.0])),
    );
    c.refuses("0 and -1", Error::is_shape, none.reshape([0, -1]));
    c.gives("-1 and 3", &[0, 3], &[], none.reshape([-1, 3]));
    c.refuses(
        "more than usize",
        Error::is_shape,
        x.reshape([isize::MAX, isize::MAX, 2]),
    );
    c.refuses("no permutation", Error::is_shape, x.permute([1, -1]));
    c.gives(
        "backwards",
        &[2, 2],
        &[2.0, 0.0, 5.0, 3.0],
        x.slice_step(1, .., -2),
    );
    c.gives(
        "an empty vector",
        &[2, 3],
        &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        Tensor::concat(&[&c.zeros(&[0], DType::I32), &x], 1),
    );
    c.gives(
        "roll",
        &[2, 3],
        &[2.0, 0.0, 1.0, 5.0, 3.0, 4.0],
        x.roll([4], [1]),
    );
    let line = c.ints(&[1, 2, 3]);
    c.gives(
        "crop, then pad",
        &[2],
        &[7.0, 7.0],
        line.pad([[-3, 2]], Pad::Constant, 7),
    );
    c.refuses(
        "a reflection",
        Error::is_shape,
        line.pad([[3, 0]], Pad::Reflect, 0),
    );
    c.refuses(
        "nothing to continue",
        Error::is_shape,
        none.pad([[1, 1]], Pad::Replicate, 0),
    );
    c.gives(
        "nearest end",
        &[2],
        &[3.0, 1.0],
        line.index_select(0, &c.ints(&[9, -9])),
    );
    c.gives(
        "every update",
        &[3],
        &[1.0, 2.0, 6.0],
        line.index_add(0, &c.ints(&[2, -1]), &c.ints(&[1, 2])),
    );
    c.refuses(
        "from nothing",
        Error::is_shape,
        none.index_select(0, &c.ints(&[0])),
    );
    c.gives(
        "nothing from nothing",
        &[0],
        &[],
        none.index_select(0, &c.zeros(&[0], DType::I32)),
    );
    c.gives(
        "outside",
        &[2, 2],
        &[0.0, 1.0, 0.0, 0.0],
        c.ints(&[-1, 2]).one_hot(2, -1, 1, 0, DType::I32),
    );
    c.gives(
        "nowhere",
        &[1, 0],
        &[],
        Tensor::from_value(&c.device, 1.0f32)
            .unwrap()
            .nonzero_blocking(),
    );
    c.finish(18);
}
