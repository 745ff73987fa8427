//! The contract of docs/semantics.md, rule by rule: what ops give on their edges, and what they refuse.
//! Rules that need more than a call have tests with their topic.

use crate::common;
use ziggurat_tensor::{
    Attention, Closeness, Conv1dOptions, CrossEntropyOptions, DType, Device, Error,
    InterpolateMode, InterpolateOptions, MaskedRows, Pad, PoolOptions, Reduction, Tensor,
};

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

#[test]
fn along_axes() {
    let mut c = Contract::new();
    for t in FLOATS {
        let none = c.zeros(&[2, 0], t);
        for (rule, value, outcome) in [
            ("sum", 0.0, none.sum([1], false)),
            ("prod", 1.0, none.prod([1], false)),
            ("mean", NAN, none.mean([1], false)),
            ("var", NAN, none.var([1], 0, false)),
            ("logsumexp", -INF, none.logsumexp([1], false)),
            ("norm", 0.0, none.norm(3.0, [1], false)),
            ("any", 0.0, none.any([1], false)),
            ("all", 1.0, none.all([1], false)),
        ] {
            c.gives(rule, &[2], &[value; 2], outcome);
        }
        c.refuses(
            "the greatest of nothing",
            Error::is_shape,
            none.max([1], false),
        );
        c.refuses("its place", Error::is_shape, none.argmax(1, false));
        c.refuses(
            "norm inf of nothing",
            Error::is_shape,
            none.norm(INF, [1], false),
        );
        c.gives("along another axis", &[0], &[], none.max([0], false));
        c.refuses("an axis twice", Error::is_shape, none.sum([1, -1], false));
        let one = c.of(t, &[5.0]);
        c.gives("std of one", &[], &[NAN], one.std([0], 1, false));
        let low = c.of(t, &[-INF, -INF]);
        c.gives("logsumexp", &[], &[-INF], low.logsumexp([0], false));
        c.gives("softmax", &[2], &[NAN; 2], low.softmax(0));
        c.gives(
            "log_softmax",
            &[2],
            &[0.0, -INF],
            c.of(t, &[0.0, -INF]).log_softmax(0),
        );
        let x = c.of(t, &[2.0, NAN, 1.0, NAN, 1.0]);
        c.gives(
            "ascending",
            &[5],
            &[2.0, 4.0, 0.0, 1.0, 3.0],
            x.argsort(0, false),
        );
        c.gives(
            "descending",
            &[5],
            &[1.0, 3.0, 0.0, 2.0, 4.0],
            x.argsort(0, true),
        );
        c.gives("median", &[], &[1.0], x.median(0, false).map(|(_, at)| at));
        c.gives(
            "topk",
            &[2],
            &[NAN; 2],
            x.topk(2, 0, true).map(|(best, _)| best),
        );
        c.refuses(
            "more than there are",
            Error::is_shape,
            x.topk(6, 0, true).map(|(best, _)| best),
        );
        c.refuses(
            "k of 0",
            Error::is_argument,
            x.kthvalue(0, 0, false).map(|(value, _)| value),
        );
        let ties = c.of(t, &[1.0, 3.0, 3.0]);
        c.gives(
            "last of equals",
            &[3],
            &[0.0, 1.0, 2.0],
            ties.cummax(0).map(|(_, at)| at),
        );
        c.gives("NaN stays", &[5], &[2.0, NAN, NAN, NAN, NAN], x.cumsum(0));
        c.gives(
            "no length",
            &[2],
            &[0.0; 2],
            c.of(t, &[0.0; 2]).normalize(2.0, [0], 1e-12),
        );
        c.gives(
            "a constant row",
            &[2],
            &[0.0; 2],
            c.of(t, &[5.0; 2]).layer_norm([2], None, None, 1e-5),
        );
    }
    c.refuses("mean of integers", Error::is_dtype, c.ints(&[1]).mean_all());
    c.gives(
        "product of bytes",
        &[],
        &[400.0],
        c.of(DType::U8, &[200.0, 2.0]).prod_all(),
    );
    c.gives(
        "i32 wraps",
        &[],
        &[f64::from(i32::MIN)],
        c.ints(&[i32::MAX, 1]).sum_all(),
    );
    c.finish(84);
}

#[test]
fn products_windows_and_losses() {
    let mut c = Contract::new();
    for t in [DType::F32, DType::F16, DType::I32, DType::U8] {
        let (a, b) = (c.zeros(&[2, 0], t), c.zeros(&[0, 3], t));
        c.gives("K = 0", &[2, 3], &[0.0; 6], a.matmul(&b));
    }
    let (zero, infinite) = (
        c.zeros(&[1, 1], DType::F32),
        c.floats(&[INF]).reshape([1, 1]).unwrap(),
    );
    c.gives("0 · inf", &[1, 1], &[NAN], zero.matmul(&infinite));
    c.gives(
        "beta 0",
        &[1, 1],
        &[0.0],
        infinite.addmm(&zero, &zero, 0.0, 1.0),
    );
    c.refuses("rank 0", Error::is_shape, c.ones(&[]).matmul(&c.ones(&[1])));
    let row = c
        .floats(&[1.0, 2.0, 3.0, 4.0, 5.0])
        .reshape([1, 1, 5])
        .unwrap();
    let plain = Conv1dOptions::default();
    let pair = c.ones(&[1, 1, 2]);
    c.gives(
        "same",
        &[1, 1, 5],
        &[3.0, 5.0, 7.0, 9.0, 5.0],
        row.conv1d(&pair, None, &plain.same()),
    );
    c.gives(
        "no batch",
        &[0, 1, 4],
        &[],
        c.zeros(&[0, 1, 5], DType::F32).conv1d(&pair, None, &plain),
    );
    c.gives(
        "no channels",
        &[1, 1, 4],
        &[0.0; 4],
        c.zeros(&[1, 0, 5], DType::F32)
            .conv1d(&c.ones(&[1, 0, 2]), None, &plain),
    );
    c.refuses(
        "a larger kernel",
        Error::is_shape,
        row.conv1d(&c.ones(&[1, 1, 6]), None, &plain),
    );
    let two = PoolOptions::<1>::new([2]);
    let ceil = PoolOptions {
        ceil_mode: true,
        ..two
    };
    let counted = PoolOptions {
        count_include_pad: true,
        ..two.padding([1])
    };
    c.gives("ceil", &[1, 1, 3], &[1.5, 3.5, 5.0], row.avg_pool1d(&ceil));
    c.gives(
        "padding counts",
        &[1, 1, 3],
        &[0.5, 2.5, 4.5],
        row.avg_pool1d(&counted),
    );
    let low = c.floats(&[-INF, -INF]).reshape([1, 1, 2]).unwrap();
    c.gives(
        "padding never wins",
        &[1, 1, 2],
        &[-INF; 2],
        low.max_pool1d(&two.padding([1])),
    );
    c.gives(
        "adaptive",
        &[1, 1, 3],
        &[1.5, 3.0, 4.5],
        row.adaptive_avg_pool1d([3]),
    );
    let linear = InterpolateOptions {
        mode: InterpolateMode::Linear,
        ..InterpolateOptions::default()
    };
    let ends = c.floats(&[0.0, 1.0]).reshape([1, 1, 2]).unwrap();
    c.gives(
        "linear",
        &[1, 1, 4],
        &[0.0, 0.25, 0.75, 1.0],
        ends.interpolate(&[4], &linear),
    );
    let (q, no_keys) = (c.ones(&[1, 1, 2, 1]), c.zeros(&[1, 1, 0, 1], DType::F32));
    for (masked_rows, value) in [(MaskedRows::Nan, NAN), (MaskedRows::Zero, 0.0)] {
        let options = Attention {
            masked_rows,
            ..Attention::default()
        };
        let y = q.scaled_dot_product_attention(&no_keys, &no_keys, &options);
        c.gives("no keys", &[1, 1, 2, 1], &[value; 2], y);
    }
    let logits = c.zeros(&[2, 2], DType::F32);
    for (reduction, value) in [(Reduction::Mean, NAN), (Reduction::Sum, 0.0)] {
        let options = CrossEntropyOptions {
            reduction,
            ..CrossEntropyOptions::default()
        };
        let loss = logits.cross_entropy(&c.ints(&[-100, -100]), &options);
        c.gives("all ignored", &[], &[value], loss);
    }
    let plain = CrossEntropyOptions::default();
    c.gives(
        "no class",
        &[],
        &[NAN],
        logits.cross_entropy(&c.ints(&[2, 0]), &plain),
    );
    c.gives("no rows", &[], &[1.0], c.zeros(&[0, 0], DType::F32).det());
    c.gives("singular", &[], &[0.0], c.zeros(&[3, 3], DType::F32).det());
    c.finish(23);
}
