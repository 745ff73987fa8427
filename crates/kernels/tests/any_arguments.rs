//! Every method of the `Executor` with random operands, good and bad: it records or returns a typed error that names an
//! operation, never panics, and never makes the device unusable. `ZIGGURAT_FUZZ_SECONDS` makes it go on for so long.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "common/operands.rs"]
mod operands;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use operands::{Arrangement, Random, given, random};
use ziggurat_kernels::{
    Affine, ArgReduce, AttentionOperands, AttentionOptions, Binary, ChannelAffine, Channels,
    Compare, Composite, ConvOptions, ConvTransposeOptions, CrossEntropyOptions, DType, Executor,
    GemmOptions, GridSampleOptions, KernelError, Norm, Pad, Pool, PoolOptions, Predicate,
    Random as Kind, RandomState, Reduce, Reduction, RopeOptions, RopePositions, Scan, ScanOptions,
    Scatter, Unary, View,
};

/// Random arguments; operands of one call often agree in dtype and extents.
struct Any<'a> {
    exec: &'a Executor,
    rng: Random,
    dtype: DType,
    dims: Vec<usize>,
    agree: bool,
}

impl Any<'_> {
    fn renew(&mut self) {
        self.dtype = self.rng.pick(&DType::ALL);
        if self.rng.below(2) == 0 {
            self.dtype = self.rng.pick(&[DType::F32, DType::F16]);
        }
        let rank = self.rng.below(6);
        self.dims = (0..rank).map(|_| self.extent()).collect();
        self.agree = self.rng.below(4) > 0;
    }

    fn extent(&mut self) -> usize {
        self.rng.pick(&[0, 1, 1, 2, 2, 3, 4, 5])
    }

    fn some_dims(&mut self) -> Vec<usize> {
        if self.rng.below(8) > 0 && self.agree {
            return self.dims.clone();
        }
        let mut dims = self.dims.clone();
        match self.rng.below(4) {
            0 => {
                let at = self.rng.below(dims.len() + 1);
                let extent = self.extent();
                dims.insert(at, extent);
            }
            1 if !dims.is_empty() => {
                let at = self.rng.below(dims.len());
                dims.remove(at);
            }
            2 if !dims.is_empty() => {
                let at = self.rng.below(dims.len());
                dims[at] = self.extent();
            }
            _ => {
                let rank = self.rng.below(6);
                dims = (0..rank).map(|_| self.extent()).collect();
            }
        }
        dims
    }

    /// A view of a dtype.
    fn of(&mut self, dtype: DType) -> View {
        let dims = self.some_dims();
        self.sized(dtype, &dims)
    }

    fn sized(&mut self, dtype: DType, dims: &[usize]) -> View {
        let how = self.rng.pick(&[
            Arrangement::Contiguous,
            Arrangement::Contiguous,
            Arrangement::Contiguous,
            Arrangement::Transposed,
            Arrangement::Sliced,
            Arrangement::Flipped,
            Arrangement::Broadcast,
        ]);
        random(self.exec, dtype, dims, how, &mut self.rng).view
    }

    /// A view, mostly of the call's dtype.
    fn view(&mut self) -> View {
        let dtype = match self.rng.below(10) {
            0 => self.rng.pick(&DType::ALL),
            _ => self.dtype,
        };
        self.of(dtype)
    }

    /// Mostly of this dtype.
    fn mostly(&mut self, dtype: DType) -> View {
        match self.rng.below(10) {
            0 => self.view(),
            _ => self.of(dtype),
        }
    }

    fn vector(&mut self) -> View {
        let len = match self.rng.below(3) {
            0 => self.extent(),
            _ => self.dims.get(1).copied().unwrap_or(2),
        };
        let dtype = self.rng.pick(&[self.dtype, DType::F32, DType::I32]);
        self.sized(dtype, &[len])
    }

    fn index(&mut self) -> View {
        let dtype = self
            .rng
            .pick(&[DType::I32, DType::I32, DType::U32, DType::U8, DType::F32]);
        self.of(dtype)
    }

    fn axis(&mut self) -> usize {
        match self.rng.below(10) {
            0 => usize::MAX,
            1 => self.rng.below(8),
            _ => self.rng.below(self.dims.len().max(1)),
        }
    }

    fn axes(&mut self) -> Vec<usize> {
        (0..self.rng.below(3)).map(|_| self.axis()).collect()
    }

    fn number(&mut self) -> f64 {
        self.rng.pick(&[
            0.0,
            1.0,
            -1.0,
            0.5,
            3.0,
            1e30,
            f64::NAN,
            f64::INFINITY,
            -2.0,
        ])
    }

    fn small(&mut self) -> f32 {
        self.number() as f32
    }

    fn flag(&mut self) -> bool {
        self.rng.below(2) == 0
    }

    fn state(&mut self) -> RandomState {
        RandomState {
            seed: self.rng.bits(),
            counter: self.rng.bits(),
            stream: 0,
        }
    }

    fn three(&mut self, of: &[usize]) -> [usize; 2] {
        std::array::from_fn(|_| self.rng.pick(of))
    }

    fn conv(&mut self) -> ConvOptions<2> {
        ConvOptions {
            strides: self.three(&[1, 1, 2, 0, usize::MAX]),
            pads_begin: self.three(&[0, 0, 1, 2, usize::MAX]),
            pads_end: self.three(&[0, 0, 1, 2]),
            dilations: self.three(&[1, 1, 2, 0, usize::MAX]),
            groups: self.rng.pick(&[1, 1, 1, 2, 0, usize::MAX]),
        }
    }

    fn pool(&mut self) -> PoolOptions<2> {
        PoolOptions {
            strides: self.three(&[1, 2, 1, 0, usize::MAX]),
            dilations: self.three(&[1, 1, 2, 0, usize::MAX]),
            pads_begin: self.three(&[0, 0, 1, usize::MAX]),
            pads_end: self.three(&[0, 0, 1, usize::MAX]),
            ceil_mode: self.flag(),
            count_include_pad: self.flag(),
            divisor: self.rng.pick(&[None, None, Some(3), Some(0)]),
            ..PoolOptions::new(self.three(&[1, 1, 2, 3, 0, usize::MAX]))
        }
    }

    fn losses(&mut self) -> (Reduction, f64, i32) {
        let reduction = self
            .rng
            .pick(&[Reduction::None, Reduction::Mean, Reduction::Sum]);
        (
            reduction,
            self.rng.pick(&[0.0, 0.0, 0.25, 2.0, f64::NAN]),
            self.rng.pick(&[-100, 0, i32::MIN]),
        )
    }
}

type Outcome = Result<(), KernelError>;
type Call = (&'static str, fn(&Executor, &mut Any<'_>) -> Outcome);

/// A method's name, and a call of it with what `$any` makes up.
macro_rules! calls {
    ($($name:literal: |$exec:ident, $any:ident| $call:expr;)*) => {
        &[$(($name, |$exec, $any| $call.map(drop)),)*]
    };
}

const CALLS: &[Call] = calls! {
    "unary": |exec, any| exec.unary(any.rng.pick(Unary::ALL), &any.view(), &any.view());
    "binary": |exec, any| exec.binary(any.rng.pick(Binary::ALL), &any.view(), &any.view(), &any.view());
    "compare": |exec, any| exec.compare(any.rng.pick(Compare::ALL), &any.view(), &any.view(), &any.mostly(DType::Bool));
    "predicate": |exec, any| exec.predicate(any.rng.pick(Predicate::ALL), &any.view(), &any.mostly(DType::Bool));
    "where_": |exec, any| exec.where_(&any.mostly(DType::Bool), &any.view(), &any.view(), &any.view());
    "cast": |exec, any| { let to = any.rng.pick(&DType::ALL); exec.cast(&any.view(), &any.of(to)) };
    "copy": |exec, any| exec.copy(&any.view(), &any.view());
    "fill": |exec, any| exec.fill(&any.view(), any.number());
    "arange": |exec, any| exec.arange(&any.view(), any.number(), any.number());
    "eye": |exec, any| exec.eye(&any.view(), any.rng.pick(&[0, 1, -3, i64::MIN, i64::MAX]));
    "composite": |exec, any| {
        let op = any.rng.pick(Composite::ALL);
        let count = op.spec().operands.len() + usize::from(any.rng.below(12) == 0);
        let operands: Vec<View> = (0..count).map(|_| any.view()).collect();
        let numbers: Vec<f64> = op.spec().numbers.iter().map(|_| any.number()).collect();
        exec.composite(op, &operands.iter().collect::<Vec<_>>(), &numbers, &any.view())
    };
    "composite_reduced": |exec, any| {
        let (op, x, y) = (Composite::MseLoss, any.view(), any.view());
        exec.composite_reduced(op, (&[&x, &y], &[]), any.rng.pick(&Reduce::ALL), (x.shape(), &any.axes()), &any.of(DType::F32))
    };
    "reduce": |exec, any| { let out = any.sized(any.dtype, &[]); exec.reduce(any.rng.pick(&Reduce::ALL), &any.view(), &[any.axes(), (0..any.dims.len()).collect()][any.rng.below(2)], &out) };
    "reduce_with": |exec, any| exec.reduce_with(any.rng.pick(&Reduce::ALL), any.small(), &any.view(), &any.axes(), &any.view());
    "var_mean": |exec, any| exec.var_mean(any.small(), &any.view(), &any.axes(), &any.view());
    "arg_reduce": |exec, any| exec.arg_reduce(ArgReduce::Max, &any.view(), &any.axes(), any.flag(), &any.mostly(DType::I32));
    "extreme_with_position": |exec, any| {
        let (values, places) = (any.view(), any.mostly(DType::I32));
        exec.extreme_with_position(ArgReduce::Min, &any.view(), &any.axes(), any.flag(), &values, &places)
    };
    "softmax": |exec, any| exec.softmax(&any.view(), any.axis(), &any.view());
    "log_softmax": |exec, any| exec.log_softmax(&any.view(), any.axis(), &any.view());
    "normalize": |exec, any| {
        let (weight, bias, some) = (any.view(), any.view(), any.rng.below(3));
        let channels = Channels { period: any.rng.below(3), step: any.rng.below(3), span: any.rng.below(3) };
        let affine = Affine { weight: (some > 0).then_some(&weight), bias: (some > 1).then_some(&bias), channels };
        exec.normalize(any.rng.pick(&Norm::ALL), &any.view(), any.axis(), any.small(), &affine, &any.view())
    };
    "batch_norm": |exec, any| {
        let affine = (any.vector(), any.vector());
        let affine = ChannelAffine { weight: Some(&affine.0), bias: any.flag().then_some(&affine.1) };
        exec.batch_norm(&any.view(), 1, (&any.vector(), &any.vector()), &affine, any.small(), &any.view())
    };
    "batch_norm_train": |exec, any| exec.batch_norm_train(&any.view(), any.axis(), &ChannelAffine::default(), 0.1, (&any.view(), &any.vector(), &any.vector()));
    "rope": |exec, any| {
        let (cos, sin, at) = (any.view(), any.view(), any.mostly(DType::I32));
        let positions = match any.rng.below(3) {
            0 => RopePositions::From(any.rng.pick(&[0, 1, usize::MAX])),
            1 => RopePositions::PerBatch,
            _ => RopePositions::Given(&at),
        };
        exec.rope(&any.view(), &cos, &sin, positions, RopeOptions::default(), &any.view())
    };
    "attention": |exec, any| {
        let (q, k, v, mask, lengths) = (any.view(), any.view(), any.view(), any.view(), any.vector());
        let operands = AttentionOperands {
            q: &q, k: &k, v: &v,
            mask: any.flag().then_some(&mask),
            lengths: any.flag().then_some(&lengths),
        };
        exec.attention(&operands, &AttentionOptions::default(), &any.view())
    };
    "matmul": |exec, any| exec.matmul(&any.view(), &any.view(), &any.view());
    "gemm": |exec, any| {
        let c = any.view();
        let options = GemmOptions { alpha: any.number(), beta: any.number(), trans_a: any.flag(), trans_b: any.flag() };
        exec.gemm(&any.view(), &any.view(), any.flag().then_some(&c), &options, &any.view())
    };
    "linear": |exec, any| { let bias = any.vector(); exec.linear(&any.view(), &any.view(), any.flag().then_some(&bias), &any.view()) };
    "conv": |exec, any| { let bias = any.vector(); exec.conv(&any.view(), &any.view(), any.flag().then_some(&bias), &any.conv(), &any.view()) };
    "conv_transpose": |exec, any| {
        let conv = any.conv();
        let options = ConvTransposeOptions {
            strides: conv.strides, pads_begin: conv.pads_begin, pads_end: conv.pads_end, dilations: conv.dilations, groups: conv.groups,
            output_padding: any.three(&[0, 0, 1, usize::MAX]),
        };
        exec.conv_transpose(&any.view(), &any.view(), None, &options, &any.view())
    };
    "fold": |exec, any| { let kernel = any.three(&[1, 1, 2, 0, usize::MAX]); exec.fold(&any.view(), kernel, &any.conv(), &any.view()) };
    "pool": |exec, any| exec.pool(any.rng.pick(&Pool::ALL), &any.view(), &any.pool(), &any.view());
    "max_pool_indices": |exec, any| exec.max_pool_indices(&any.view(), &any.pool(), &any.mostly(DType::I32));
    "lp_pool": |exec, any| exec.lp_pool(&any.view(), any.small(), &any.pool(), &any.view());
    "adaptive_pool": |exec, any| exec.adaptive_pool::<2>(any.rng.pick(&Pool::ALL), &any.view(), &any.view());
    "adaptive_max_pool_indices": |exec, any| exec.adaptive_max_pool_indices::<2>(&any.view(), &any.mostly(DType::I32));
    "global_lp_pool": |exec, any| exec.global_lp_pool(&any.view(), any.small(), &any.view());
    "max_unpool": |exec, any| exec.max_unpool(&any.view(), &any.mostly(DType::I32), &any.view());
    "grid_sample": |exec, any| exec.grid_sample(&any.view(), &any.mostly(DType::F32), &GridSampleOptions::default(), &any.view());
    "pad": |exec, any| {
        let begin: Vec<isize> = (0..any.dims.len()).map(|_| any.rng.pick(&[0, 1, -1, 3, isize::MIN, isize::MAX])).collect();
        exec.pad(&any.view(), &begin, any.rng.pick(&Pad::ALL), any.number(), &any.view())
    };
    "concat": |exec, any| {
        let views: Vec<View> = (0..any.rng.below(4)).map(|_| any.view()).collect();
        exec.concat(&views.iter().collect::<Vec<_>>(), any.axis(), &any.view())
    };
    "gather": |exec, any| exec.gather(&any.view(), any.axis(), &any.index(), &any.view());
    "index_select": |exec, any| exec.index_select(&any.view(), any.axis(), &any.index(), &any.view());
    "gather_nd": |exec, any| exec.gather_nd(&any.view(), &any.index(), any.axis(), &any.view());
    "scatter": |exec, any| exec.scatter(any.rng.pick(&Scatter::ALL), &any.view(), any.axis(), &any.index(), &any.view());
    "index_scatter": |exec, any| exec.index_scatter(any.rng.pick(&Scatter::ALL), &any.view(), any.axis(), &any.index(), &any.view());
    "scatter_nd": |exec, any| exec.scatter_nd(any.rng.pick(&Scatter::ALL), &any.view(), &any.index(), &any.view());
    "check_indices": |exec, any| { let extents = any.some_dims(); exec.check_indices(&any.index(), &extents[..extents.len().min(1)], &any.sized(DType::U32, &[])) };
    "scan": |exec, any| {
        let options = ScanOptions { exclusive: any.flag(), reverse: any.flag() };
        exec.scan(any.rng.pick(&Scan::ALL), &any.view(), any.axis(), options, &any.view())
    };
    "argsort": |exec, any| exec.argsort(&any.view(), any.axis(), any.flag(), &any.mostly(DType::I32));
    "sort": |exec, any| exec.sort(&any.view(), any.axis(), any.flag(), (&any.view(), &any.mostly(DType::I32)));
    "topk": |exec, any| exec.topk(&any.view(), any.axis(), any.flag(), (&any.view(), &any.mostly(DType::I32)));
    "kthvalue": |exec, any| { let k = any.rng.pick(&[1, 1, 2, 0, usize::MAX]); exec.kthvalue(&any.view(), any.axis(), k, (&any.view(), &any.mostly(DType::I32))) };
    "median": |exec, any| exec.median(&any.view(), any.axis(), (&any.view(), &any.mostly(DType::I32)));
    "search_sorted": |exec, any| exec.search_sorted(&any.view(), &any.view(), any.flag(), &any.mostly(DType::I32));
    "random": |exec, any| exec.random(any.rng.pick(&[Kind::Bits, Kind::Uniform, Kind::Normal, Kind::Integer { low: 0, count: 0 }]), any.state(), &any.view());
    "uniform": |exec, any| exec.uniform(any.small(), any.small(), any.state(), &any.view());
    "normal": |exec, any| exec.normal(any.small(), any.small(), any.state(), &any.view());
    "bernoulli": |exec, any| exec.bernoulli(&any.view(), any.state(), &any.view());
    "multinomial": |exec, any| exec.multinomial(&any.view(), any.flag(), any.state(), &any.mostly(DType::I32));
    "solve": |exec, any| exec.solve(&any.view(), &any.view(), &any.view());
    "solve_triangular": |exec, any| exec.solve_triangular(&any.view(), &any.view(), any.flag(), any.flag(), &any.view());
    "determinant": |exec, any| exec.determinant(&any.view(), &any.view());
    "cholesky": |exec, any| exec.cholesky(&any.view(), &any.view());
    "nonzero": |exec, any| exec.nonzero(&any.view())?.wait();
    "masked_select": |exec, any| exec.masked_select(&any.view(), &any.mostly(DType::Bool))?.wait();
    "unique": |exec, any| exec.unique(&any.view())?.wait();
    "bincount": |exec, any| {
        let (len, dtype) = (any.extent(), any.rng.pick(&[DType::U8, DType::I8, DType::F32, DType::Bool]));
        let (a, weights) = (any.sized(dtype, &[len]), any.vector());
        exec.bincount(&a, any.flag().then_some(&weights), any.extent())?.wait()
    };
    "histogram": |exec, any| exec.histogram(&any.view(), &any.vector(), &any.vector());
    "histc": |exec, any| exec.histc(&any.view(), any.small(), any.small(), &any.vector());
    "linspace": |exec, any| exec.linspace(any.small(), any.small(), &any.view());
    "repeat_interleave_by": |exec, any| {
        let (len, one) = (any.extent(), any.rng.below(9) as f64 - 1.0);
        let times = given(exec, DType::I32, &[len], &vec![one; len]).view;
        exec.repeat_interleave_by(&any.view(), &times, any.axis())?.wait()
    };
    "masked_scatter": |exec, any| exec.masked_scatter(&any.view(), &any.mostly(DType::Bool), &any.view(), &any.view());
    "tril": |exec, any| exec.tril(&any.view(), any.rng.pick(&[0, 1, i64::MIN]), &any.view());
    "one_hot": |exec, any| exec.one_hot(&any.index(), any.axis(), (any.number(), any.number()), &any.view());
    "cross_entropy": |exec, any| {
        let (x, target, weight, (reduction, label_smoothing, ignore_index)) = (any.view(), any.index(), any.vector(), any.losses());
        let options = CrossEntropyOptions { weight: any.flag().then_some(&weight), reduction, label_smoothing, ignore_index };
        let out = if reduction == Reduction::None { any.view() } else { any.sized(DType::F32, &[]) };
        exec.cross_entropy(&x, &target, &options, &out)
    };
    "nll_loss": |exec, any| {
        let (reduction, label_smoothing, ignore_index) = any.losses();
        let options = CrossEntropyOptions { weight: None, reduction, label_smoothing, ignore_index };
        let dims: Vec<usize> = any.dims.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, &dim)| dim).collect();
        let target = any.sized(DType::I32, &dims);
        exec.nll_loss(&any.view(), &target, &options, &any.sized(DType::F32, &[]))
    };
};

#[test]
fn any_arguments_give_a_result_or_an_error_that_names_the_rule() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut any = Any {
        exec: &exec,
        rng: Random(31),
        dtype: DType::F32,
        dims: Vec::new(),
        agree: true,
    };
    let mut told: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let given = std::env::var("ZIGGURAT_FUZZ_SECONDS").ok();
    let seconds = given.and_then(|text| text.parse().ok()).unwrap_or(0);
    let (start, mut round) = (Instant::now(), 0);
    while round < 60 || start.elapsed() < Duration::from_secs(seconds) {
        round += 1;
        for (name, call) in CALLS {
            any.renew();
            let outcome = call(&exec, &mut any);
            let counts = told.entry(name).or_default();
            let Err(error) = outcome else {
                counts[0] += 1;
                continue;
            };
            counts[1] += 1;
            let text = error.to_string();
            // An operation, then what is wrong; nothing of the layers below, which would be a mistake of the op's own.
            let below = matches!(
                error,
                KernelError::Device(_) | KernelError::Pipeline(_) | KernelError::MissingPart { .. }
            );
            assert!(
                !below && text.contains(": "),
                "{name} in round {round}: {text}"
            );
        }
        // Whatever was recorded is legal: the device has not been poisoned.
        exec.synchronize().wait().unwrap();
    }
    for (name, [done, refused]) in &told {
        println!("{name}: {done} done, {refused} refused");
        assert_eq!(done + refused, round, "{name}");
    }
    // The arguments are good often enough, and bad often enough, that both ways are walked.
    let total = told
        .values()
        .fold([0, 0], |sum, each| [sum[0] + each[0], sum[1] + each[1]]);
    assert!(total[0] > 400 && total[1] > 400, "{total:?}");
}
