//! A call of every op with operands good and bad.

use ziggurat_kernels::{
    Affine, ArgReduce, AttentionOperands, AttentionOptions, Binary, BlockFormat, BlockShape,
    Blocks, Channels, Compare, Composite, ConvTransposeOptions, Coordinates, DType, Executor,
    GridSampleOptions, KernelError, NearestMode, Norm, Pad, Pool, Predicate, Random as Kind,
    Reduce, ResizeAxis, ResizeMode, ResizeOptions, RopeAppend, RopeAppended, RopeOptions,
    RopePositions, Scan, ScanOptions, Scatter, Unary, View,
};

use crate::any_arguments::Outcome;
use crate::any_arguments::any::Any;
use crate::operands::given;

pub(crate) type Call = (&'static str, fn(&Executor, &mut Any<'_>) -> Outcome);

/// A method's name, and a call of it with what `$any` makes up.
macro_rules! calls {
    ($($name:literal: |$exec:ident, $any:ident| $call:expr;)*) => {
        &[$(($name, |$exec, $any| $call.map(drop)),)*]
    };
}

/// Blocks of any extents, over memory that is mostly not theirs.
fn blocks(any: &mut Any<'_>) -> Result<Blocks, KernelError> {
    let format = any.rng.pick(BlockFormat::ALL);
    let cols = any.rng.pick(&[0, 32, 256, 255, usize::MAX]);
    let shape = BlockShape::new(format, [any.extent(), cols])?;
    let words = any.mostly(DType::U32);
    Ok(Blocks { words, shape })
}

pub(crate) const CALLS: &[Call] = calls! {
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
    "reduce": |exec, any| { let out = any.sized(any.dtype, &[]); exec.reduce(any.rng.pick(&Reduce::ALL), &any.view(), &[any.axes(), (0..any.dims.len()).collect()][any.rng.below(2)], &out) };
    "reduce_with": |exec, any| exec.reduce(any.rng.pick(&Reduce::ALL).with(any.small()), &any.view(), &any.axes(), &any.view());
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
    "rope": |exec, any| {
        let (cos, sin, at) = (any.view(), any.view(), any.mostly(DType::I32));
        let positions = match any.rng.below(3) {
            0 => RopePositions::From(any.rng.pick(&[0, 1, usize::MAX])),
            1 => RopePositions::PerBatch,
            _ => RopePositions::Given(&at),
        };
        exec.rope(&any.view(), &cos, &sin, positions, RopeOptions::default(), &any.view())
    };
    "rope_append": |exec, any| {
        let (joined, queries, keys, values) = (any.view(), any.view(), any.view(), any.view());
        let (cos, sin, positions) = (any.mostly(DType::F32), any.mostly(DType::F32), any.mostly(DType::I32));
        let reads = RopeAppend { joined: &joined, tables: [&cos, &sin], positions: &positions, interleaved: any.flag() };
        exec.rope_append(&reads, &RopeAppended { queries: &queries, keys: &keys, values: &values })
    };
    "attention": |exec, any| {
        let (q, k, v, mask, lengths) = (any.view(), any.view(), any.view(), any.view(), any.vector());
        let factors = any.mostly(DType::F32);
        let operands = AttentionOperands {
            q: &q, k: &k, v: &v,
            mask: any.flag().then_some(&mask),
            lengths: any.flag().then_some(&lengths),
            factors: any.flag().then_some(&factors),
        };
        exec.attention(&operands, &AttentionOptions::default(), &any.view())
    };
    "attention_with_past": |exec, any| {
        let (q, k, v, past, out) = (any.view(), any.view(), any.view(), any.view(), any.view());
        let operands = AttentionOperands { q: &q, k: &k, v: &v, mask: None, lengths: None, factors: None };
        let present = (any.view(), any.view());
        exec.attention_with_past(&operands, (&past, &past), (&present.0, &present.1), &AttentionOptions::default(), &out)
    };
    "matmul": |exec, any| exec.matmul(&any.view(), &any.view(), &any.view());
    "quantized_linear": |exec, any| exec.quantized_linear(&any.view(), &blocks(any)?, &any.view());
    "dequantize": |exec, any| exec.dequantize(&blocks(any)?, &any.view());
    "quantized_embedding": |exec, any| exec.quantized_embedding(&any.index(), &blocks(any)?, &any.view());
    "quantize_rows": |exec, any| {
        let (positions, is_given) = (any.index(), any.flag());
        let (numbers, factors) = (any.mostly(DType::I8), any.mostly(DType::F32));
        exec.quantize_rows(&any.view(), is_given.then_some(&positions), &numbers, &factors)
    };
    "conv": |exec, any| { let bias = any.vector(); exec.conv(&any.view(), &any.view(), any.flag().then_some(&bias), &any.conv(), &any.view()) };
    "conv_transpose": |exec, any| {
        let conv = any.conv();
        let options = ConvTransposeOptions {
            stride: conv.stride, padding_begin: conv.padding_begin, padding_end: conv.padding_end, dilation: conv.dilation, groups: conv.groups,
            output_padding: any.several(&[0, 0, 1, usize::MAX]),
        };
        exec.conv_transpose(&any.view(), &any.view(), None, &options, &any.view())
    };
    "fold": |exec, any| { let kernel = any.several(&[1, 1, 2, 0, usize::MAX]); exec.fold(&any.view(), kernel, &any.conv(), &any.view()) };
    "pool": |exec, any| exec.pool(any.rng.pick(&Pool::ALL), &any.view(), &any.pool(), &any.view());
    "max_pool_indices": |exec, any| exec.max_pool_indices(&any.view(), &any.pool(), &any.mostly(DType::I32));
    "lp_pool": |exec, any| exec.lp_pool(&any.view(), any.small(), &any.pool(), &any.view());
    "adaptive_pool": |exec, any| exec.adaptive_pool::<2>(any.rng.pick(&Pool::ALL), &any.view(), &any.view());
    "adaptive_max_pool_indices": |exec, any| exec.adaptive_max_pool_indices::<2>(&any.view(), &any.mostly(DType::I32));
    "max_unpool": |exec, any| exec.max_unpool(&any.view(), &any.mostly(DType::I32), &any.view());
    "grid_sample": |exec, any| exec.grid_sample(&any.view(), &any.mostly(DType::F32), &GridSampleOptions::default(), &any.view());
    "resize": |exec, any| {
        let scale = any.rng.pick(&[None, None, Some(2.0), Some(0.0), Some(f64::NAN)]);
        let region = any.rng.pick(&[[0.0, 1.0], [0.5, 0.25], [f64::NAN, 1.0]]);
        let axes = vec![ResizeAxis { scale, region }; any.dims.len()];
        let options = ResizeOptions {
            mode: any.rng.pick(&[ResizeMode::Linear, ResizeMode::Cubic(f64::NAN), ResizeMode::Nearest(NearestMode::Floor)]),
            coordinates: any.rng.pick(&[Coordinates::HalfPixel, Coordinates::TfCropAndResize]),
            exclude_outside: any.flag(),
            antialias: any.flag(),
            extrapolation: any.small(),
        };
        exec.resize(&any.view(), &axes, &options, &any.view())
    };
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
};
