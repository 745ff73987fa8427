//! A call of every op with operands that it accepts, and whether what it gives is finite.

use ziggurat_kernels::{
    Affine, ArgReduce, Binary, Channels, Compare, Composite, CompositeKind, DType, Executor, Norm,
    Pad, Pool, Predicate, Random as Kind, Reduce, Scan, ScanOptions, Scatter, Shape, Unary, View,
};

use crate::any_arguments::Outcome;
use crate::any_arguments::any::Any;
use crate::operands::{given, shape};

/// What may be said of results of finite operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gives {
    /// They are finite, and follow from the operands' values.
    Finite,
    /// They follow from the operands' values.
    Wild,
    /// Of several updates of an element any one stays.
    Loose,
}

pub(crate) type Call = (&'static str, Gives, fn(&Executor, &mut Any<'_>) -> Outcome);

mod joined;
mod windows;

use joined::{attention, attention_with_past, blocks, rope, rope_append};
use windows::{conv, conv_transpose, fold, grid_sample, lp_pooled, pool_indices, pooled, resize};

/// A method's name, what it gives, and a call of it with what it accepts.
macro_rules! calls {
    (@ finite) => { Gives::Finite };
    (@ wild) => { Gives::Wild };
    (@ loose) => { Gives::Loose };
    ($($name:literal $sort:ident: |$exec:ident, $any:ident| $call:expr;)*) => {
        &[$(($name, calls!(@ $sort), |$exec, $any| $call.map(drop)),)*]
    };
}

/// One of three numbers of axes.
macro_rules! dimensions {
    ($exec:ident, $any:ident, $name:ident) => {
        match $any.rng.below(3) {
            0 => $name::<1>($exec, $any),
            1 => $name::<2>($exec, $any),
            _ => $name::<3>($exec, $any),
        }
    };
}

fn with(dims: &[usize], axis: usize, extent: usize) -> Vec<usize> {
    let mut dims = dims.to_vec();
    dims[axis] = extent;
    dims
}

/// Indices that name `count` positions, from both ends or beyond them at times.
fn indices(any: &mut Any<'_>, dims: &[usize], count: usize) -> View {
    if any.flag() {
        return any.below(DType::U32, dims, count + 1);
    }
    any.values(DType::I32, dims, |rng| {
        rng.below(2 * count + 2) as f64 - count as f64
    })
}

/// Extents of which none is above the others'.
fn within(any: &mut Any<'_>, dims: &[usize]) -> Vec<usize> {
    dims.iter().map(|&dim| any.extent_of(dim)).collect()
}

fn shuffled_axes(any: &mut Any<'_>, rank: usize) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..rank).collect();
    for at in (1..rank).rev() {
        axes.swap(at, any.rng.below(at + 1));
    }
    axes.truncate(any.rng.below(rank + 1));
    axes
}

fn kept(dims: &[usize], axes: &[usize]) -> Vec<usize> {
    let all = dims.iter().enumerate();
    all.filter(|(axis, _)| !axes.contains(axis))
        .map(|(_, &dim)| dim)
        .collect()
}

/// A dtype and one that an op writes of it.
fn pair(any: &mut Any<'_>, fits: impl Fn(DType, DType) -> bool) -> (DType, DType) {
    let all: Vec<(DType, DType)> = DType::ALL
        .into_iter()
        .flat_map(|from| DType::ALL.map(|to| (from, to)))
        .filter(|&(from, to)| fits(from, to))
        .collect();
    any.rng.pick(&all)
}

pub(crate) const CALLS: &[Call] = calls! {
    "unary" wild: |exec, any| {
        let op = any.rng.pick(Unary::ALL);
        let (dtype, dims) = (any.rng.pick(op.spec().dtypes), any.extents(0..=5));
        exec.unary(op, &any.sized(dtype, &dims), &any.out(dtype, &dims))
    };
    "binary" wild: |exec, any| {
        let op = any.rng.pick(Binary::ALL);
        let (dtype, dims) = (any.rng.pick(op.spec().dtypes), any.extents(0..=5));
        let right = any.rng.below(dims.len() + 1);
        exec.binary(op, &any.sized(dtype, &dims), &any.sized(dtype, &dims[right..]), &any.out(dtype, &dims))
    };
    "compare" finite: |exec, any| {
        let op = any.rng.pick(Compare::ALL);
        let (dtype, dims) = (any.rng.pick(op.spec().dtypes), any.extents(0..=5));
        exec.compare(op, &any.sized(dtype, &dims), &any.sized(dtype, &dims), &any.out(DType::Bool, &dims))
    };
    "predicate" finite: |exec, any| {
        let op = any.rng.pick(Predicate::ALL);
        let (dtype, dims) = (any.rng.pick(op.spec().dtypes), any.extents(0..=5));
        exec.predicate(op, &any.sized(dtype, &dims), &any.out(DType::Bool, &dims))
    };
    "where_" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.extents(0..=5));
        exec.where_(&any.sized(DType::Bool, &dims), &any.sized(dtype, &dims), &any.sized(dtype, &[]), &any.out(dtype, &dims))
    };
    "cast" finite: |exec, any| {
        let (from, to, dims) = (any.rng.pick(&DType::ALL), any.rng.pick(&DType::ALL), any.extents(0..=5));
        // The greatest integers are infinite in f16.
        let to = if from.is_int() && to == DType::F16 { DType::F32 } else { to };
        exec.cast(&any.sized(from, &dims), &any.out(to, &dims))
    };
    "copy" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.extents(0..=5));
        exec.copy(&any.sized(dtype, &dims), &any.out(dtype, &dims))
    };
    "fill" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.extents(0..=5));
        exec.fill(&any.out(dtype, &dims), 1.5)
    };
    "arange" finite: |exec, any| {
        let (dtype, dims) = (any.number_dtype(), any.extents(0..=5));
        exec.arange(&any.out(dtype, &dims), -2.0, 0.5)
    };
    "eye" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.extents(2..=2));
        exec.eye(&any.out(dtype, &dims), any.rng.pick(&[0, 1, -3, i64::MIN, i64::MAX]))
    };
    "composite" wild: |exec, any| {
        let op = any.rng.pick(Composite::ALL);
        let (dtype, dims) = (any.rng.pick(op.spec().dtypes), any.extents(0..=5));
        let operands: Vec<View> = op.spec().operands.iter().map(|_| any.sized(dtype, &dims)).collect();
        // Numbers of integers are whole.
        let numbers: Vec<f64> = (op.spec().examples.iter())
            .map(|&number| if dtype.is_float() { number } else { number.round() })
            .collect();
        let to = if op.spec().kind == CompositeKind::Truth { DType::Bool } else { dtype };
        exec.composite(op, &operands.iter().collect::<Vec<_>>(), &numbers, &any.out(to, &dims))
    };
    "reduce" wild: |exec, any| {
        let op = any.rng.pick(&Reduce::ALL);
        let ((from, to), dims) = (pair(any, |from, to| op.accepts(from, to)), any.full(0..=5));
        let axes = shuffled_axes(any, dims.len());
        exec.reduce(op, &any.sized(from, &dims), &axes, &any.out(to, &kept(&dims, &axes)))
    };
    "reduce_with" finite: |exec, any| {
        let (dtype, dims) = (any.float(), any.full(0..=4));
        let axes = shuffled_axes(any, dims.len());
        let p = any.rng.pick(&[1.0, 2.0, 3.0]);
        exec.reduce(Reduce::Norm.with(p), &any.sized(dtype, &dims), &axes, &any.out(dtype, &kept(&dims, &axes)))
    };
    "var_mean" finite: |exec, any| {
        let (dtype, dims) = (any.float(), any.full(0..=5));
        let axes = shuffled_axes(any, dims.len());
        let count: usize = kept(&dims, &axes).iter().product();
        exec.var_mean(0.0, &any.sized(dtype, &dims), &axes, &any.out(dtype, &[2, count]))
    };
    "arg_reduce" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.full(0..=5));
        let axes = shuffled_axes(any, dims.len());
        exec.arg_reduce(ArgReduce::Max, &any.sized(dtype, &dims), &axes, any.flag(), &any.out(DType::I32, &kept(&dims, &axes)))
    };
    "extreme_with_position" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.full(0..=5));
        let axes = shuffled_axes(any, dims.len());
        let to = kept(&dims, &axes);
        let (values, places) = (any.out(dtype, &to), any.out(DType::I32, &to));
        exec.extreme_with_position(ArgReduce::Min, &any.sized(dtype, &dims), &axes, any.flag(), &values, &places)
    };
    "softmax" finite: |exec, any| {
        let (dtype, dims) = (any.float(), any.extents(1..=5));
        exec.softmax(&any.sized(dtype, &dims), any.rng.below(dims.len()), &any.out(dtype, &dims))
    };
    "log_softmax" finite: |exec, any| {
        let (dtype, dims) = (any.float(), any.extents(1..=5));
        exec.log_softmax(&any.sized(dtype, &dims), any.rng.below(dims.len()), &any.out(dtype, &dims))
    };
    "normalize" finite: |exec, any| {
        let (dtype, dims) = (any.float(), any.full(1..=5));
        let axes = any.extent_of(dims.len());
        let row: usize = dims[dims.len() - axes..].iter().product();
        let (weight, bias, some) = (any.dense(dtype, &[row]), any.dense(dtype, &[row]), any.rng.below(3));
        let channels = Channels { period: 1, step: 0, span: 1 };
        let affine = Affine { weight: (some > 0).then_some(&weight), bias: (some > 1).then_some(&bias), channels };
        exec.normalize(any.rng.pick(&Norm::ALL), &any.sized(dtype, &dims), axes, 1e-3, &affine, &any.out(dtype, &dims))
    };
    "rope" finite: |exec, any| rope(exec, any);
    "rope_append" finite: |exec, any| rope_append(exec, any);
    "attention" finite: |exec, any| attention(exec, any);
    "attention_with_past" finite: |exec, any| attention_with_past(exec, any);
    "matmul" finite: |exec, any| {
        let (dtype, batch) = (any.number_dtype(), any.extents(0..=3));
        let [m, k, n] = std::array::from_fn(|_| any.extent());
        let (a, b) = (any.sized(dtype, &[&batch[..], &[m, k]].concat()), any.sized(dtype, &[k, n]));
        exec.matmul(&a, &b, &any.out(dtype, &[&batch[..], &[m, n]].concat()))
    };
    "quantized_linear" finite: |exec, any| {
        let (weight, [n, k]) = blocks(exec, any)?;
        let (dtype, batch, m) = (any.float(), any.extents(0..=2), any.extent());
        let x = any.sized(dtype, &[&batch[..], &[m, k]].concat());
        let out = any.rng.pick(&[dtype, DType::F32]);
        exec.quantized_linear(&x, &weight, &any.out(out, &[&batch[..], &[m, n]].concat()))
    };
    "dequantize" finite: |exec, any| {
        let (blocks, dims) = blocks(exec, any)?;
        let dtype = any.float();
        exec.dequantize(&blocks, &any.out(dtype, &dims))
    };
    "quantized_embedding" finite: |exec, any| {
        let (table, [_, k]) = blocks(exec, any)?;
        let named = any.full(0..=3);
        let indices = indices(any, &named, table.shape.dims()[0]);
        let dtype = any.float();
        exec.quantized_embedding(&indices, &table, &any.out(dtype, &[&named[..], &[k]].concat()))
    };
    "quantize_rows" finite: |exec, any| {
        let (dtype, dims) = (any.float(), any.full(4..=4));
        let (numbers, factors) = (any.out(DType::I8, &dims), any.out(DType::F32, &with(&dims, 3, 1)));
        exec.quantize_rows(&any.sized(dtype, &dims), None, &numbers, &factors)
    };
    "conv" finite: |exec, any| dimensions!(exec, any, conv);
    "conv_transpose" finite: |exec, any| dimensions!(exec, any, conv_transpose);
    "fold" finite: |exec, any| dimensions!(exec, any, fold);
    "pool" finite: |exec, any| dimensions!(exec, any, pooled);
    "max_pool_indices" finite: |exec, any| dimensions!(exec, any, pool_indices);
    "lp_pool" finite: |exec, any| dimensions!(exec, any, lp_pooled);
    "adaptive_pool" finite: |exec, any| {
        let kind = any.rng.pick(&Pool::ALL);
        let dtype = if kind.accepts(DType::I32) { any.number_dtype() } else { any.float() };
        let (dims, spatial) = (any.full(4..=4), any.full(2..=2));
        exec.adaptive_pool::<2>(kind, &any.sized(dtype, &dims), &any.out(dtype, &[&dims[..2], &spatial].concat()))
    };
    "adaptive_max_pool_indices" finite: |exec, any| {
        let (dtype, dims, spatial) = (any.number_dtype(), any.full(4..=4), any.full(2..=2));
        exec.adaptive_max_pool_indices::<2>(&any.sized(dtype, &dims), &any.out(DType::I32, &[&dims[..2], &spatial].concat()))
    };
    "max_unpool" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.full(4..=4));
        let spatial = [dims[2] + any.rng.below(3), dims[3]];
        // Places of their own: of several elements at one place any one may stay.
        let index = exec.alloc(&Shape::new(&dims[2..]).unwrap(), DType::I32)?;
        let _counted = exec.arange(&index, 0.0, 1.0)?;
        let index = index.with_layout(index.layout.expand(Shape::new(&dims).unwrap()).unwrap())?;
        exec.max_unpool(&any.sized(dtype, &dims), &index, &any.out(dtype, &[&dims[..2], &spatial[..]].concat()))
    };
    "grid_sample" finite: |exec, any| grid_sample(exec, any);
    "resize" finite: |exec, any| resize(exec, any);
    "pad" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.full(0..=5));
        let begin: Vec<isize> = dims.iter().map(|_| any.rng.pick(&[0, 1, -1, 3])).collect();
        let to: Vec<usize> = (dims.iter().zip(&begin))
            .map(|(&dim, &begin)| dim.saturating_add_signed(begin) + any.rng.below(4))
            .collect();
        exec.pad(&any.sized(dtype, &dims), &begin, any.rng.pick(&Pad::ALL), 1.0, &any.out(dtype, &to))
    };
    "concat" finite: |exec, any| {
        let (dtype, dims, parts) = (any.rng.pick(&DType::ALL), any.extents(1..=5), any.extent_of(4));
        let axis = any.rng.below(dims.len());
        let lens: Vec<usize> = (0..parts).map(|_| any.extent()).collect();
        let views: Vec<View> = lens.iter().map(|&len| any.sized(dtype, &with(&dims, axis, len))).collect();
        let out = any.out(dtype, &with(&dims, axis, lens.iter().sum()));
        exec.concat(&views.iter().collect::<Vec<_>>(), axis, &out)
    };
    "gather" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.full(1..=5));
        let axis = any.rng.below(dims.len());
        let to = with(&within(any, &dims), axis, any.extent());
        let index = indices(any, &to, dims[axis]);
        exec.gather(&any.sized(dtype, &dims), axis, &index, &any.out(dtype, &to))
    };
    "index_select" finite: |exec, any| {
        let (dtype, dims, picked) = (any.rng.pick(&DType::ALL), any.full(1..=4), any.extents(0..=2));
        let axis = any.rng.below(dims.len());
        let index = indices(any, &picked, dims[axis]);
        let to = [&dims[..axis], &picked, &dims[axis + 1..]].concat();
        exec.index_select(&any.sized(dtype, &dims), axis, &index, &any.out(dtype, &to))
    };
    "gather_nd" finite: |exec, any| {
        let (dtype, dims, picked) = (any.rng.pick(&DType::ALL), any.full(1..=4), any.extents(0..=2));
        let batch = any.rng.below(dims.len());
        let named = any.extent_of(dims.len() - batch);
        let of = [&dims[..batch], &picked].concat();
        let least = dims[batch..batch + named].iter().min().copied().unwrap_or(1);
        let index = indices(any, &[&of[..], &[named]].concat(), least);
        let to = [&of[..], &dims[batch + named..]].concat();
        exec.gather_nd(&any.sized(dtype, &dims), &index, batch, &any.out(dtype, &to))
    };
    "scatter" loose: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.full(1..=5));
        let axis = any.rng.below(dims.len());
        let from = with(&within(any, &dims), axis, any.extent());
        let index = indices(any, &from, dims[axis]);
        exec.scatter(any.rng.pick(&Scatter::ALL), &any.sized(dtype, &from), axis, &index, &any.updated(dtype, &dims))
    };
    "index_scatter" loose: |exec, any| {
        let (dtype, dims, count) = (any.rng.pick(&DType::ALL), any.full(1..=5), any.extent());
        let axis = any.rng.below(dims.len());
        let index = indices(any, &[count], dims[axis]);
        let updates = any.sized(dtype, &with(&dims, axis, count));
        exec.index_scatter(any.rng.pick(&Scatter::ALL), &updates, axis, &index, &any.updated(dtype, &dims))
    };
    "scatter_nd" loose: |exec, any| {
        let (dtype, dims, picked) = (any.rng.pick(&DType::ALL), any.full(1..=4), any.extents(0..=2));
        let named = any.extent_of(dims.len());
        let least = dims[..named].iter().min().copied().unwrap_or(1);
        let index = indices(any, &[&picked[..], &[named]].concat(), least);
        let updates = any.sized(dtype, &[&picked[..], &dims[named..]].concat());
        exec.scatter_nd(any.rng.pick(&Scatter::ALL), &updates, &index, &any.updated(dtype, &dims))
    };
    "check_indices" finite: |exec, any| {
        let (picked, extents) = (any.extents(0..=2), any.full(1..=3));
        let index = indices(any, &[&picked[..], &[extents.len()]].concat(), extents[0]);
        exec.check_indices(&index, &extents, &any.updated(DType::U32, &[]))
    };
    "scan" wild: |exec, any| {
        let op = any.rng.pick(&Scan::ALL);
        let ((from, to), dims) = (pair(any, |from, to| op.accepts(from, to)), any.extents(1..=5));
        let extreme = matches!(op, Scan::ArgMax | Scan::ArgMin);
        let options = ScanOptions { exclusive: !extreme && any.flag(), reverse: any.flag() };
        exec.scan(op, &any.sized(from, &dims), any.rng.below(dims.len()), options, &any.out(to, &dims))
    };
    "argsort" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.extents(1..=5));
        exec.argsort(&any.sized(dtype, &dims), any.rng.below(dims.len()), any.flag(), &any.out(DType::I32, &dims))
    };
    "sort" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.extents(1..=5));
        let outs = (any.out(dtype, &dims), any.out(DType::I32, &dims));
        exec.sort(&any.sized(dtype, &dims), any.rng.below(dims.len()), any.flag(), (&outs.0, &outs.1))
    };
    "topk" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.extents(1..=5));
        let axis = any.rng.below(dims.len());
        let to = with(&dims, axis, any.rng.below(dims[axis] + 1));
        let outs = (any.out(dtype, &to), any.out(DType::I32, &to));
        exec.topk(&any.sized(dtype, &dims), axis, any.flag(), (&outs.0, &outs.1))
    };
    "kthvalue" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.full(1..=5));
        let axis = any.rng.below(dims.len());
        let to = with(&dims, axis, 1);
        let outs = (any.out(dtype, &to), any.out(DType::I32, &to));
        exec.kthvalue(&any.sized(dtype, &dims), axis, any.extent_of(dims[axis]), (&outs.0, &outs.1))
    };
    "median" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.full(1..=5));
        let axis = any.rng.below(dims.len());
        let to = with(&dims, axis, 1);
        let outs = (any.out(dtype, &to), any.out(DType::I32, &to));
        exec.median(&any.sized(dtype, &dims), axis, (&outs.0, &outs.1))
    };
    "search_sorted" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.extents(1..=4));
        let (last, own) = (dims.len() - 1, any.flag());
        let rows = if own { with(&dims, last, any.extent()) } else { vec![any.extent()] };
        let wanted = any.sized(dtype, &dims);
        // Rows that are sorted: of one value in any arrangement, or of any values, which another op has sorted.
        let sorted = match any.flag() {
            true => any.below(dtype, &rows, 1),
            false => {
                let (a, shape) = (any.sized(dtype, &rows), shape(&rows));
                let (sorted, places) = (exec.alloc(&shape, dtype)?, exec.alloc(&shape, DType::I32)?);
                drop(exec.sort(&a, rows.len() - 1, false, (&sorted, &places))?);
                sorted
            }
        };
        exec.search_sorted(&sorted, &wanted, any.flag(), &any.out(DType::I32, &dims))
    };
    "random" finite: |exec, any| {
        let kind = any.rng.pick(&[Kind::Bits, Kind::Uniform, Kind::Normal, Kind::Integer { low: 3, count: 5 }]);
        let ((dtype, _), dims) = (pair(any, |from, to| from == to && kind.accepts(from)), any.extents(0..=5));
        exec.random(kind, any.state(), &any.out(dtype, &dims))
    };
    "uniform" finite: |exec, any| {
        let (dtype, dims) = (any.float(), any.extents(0..=5));
        exec.uniform(-1.0, 2.0, any.state(), &any.out(dtype, &dims))
    };
    "normal" finite: |exec, any| {
        let (dtype, dims) = (any.float(), any.extents(0..=5));
        exec.normal(1.0, 2.0, any.state(), &any.out(dtype, &dims))
    };
    "bernoulli" finite: |exec, any| {
        let (dtype, dims) = (any.float(), any.extents(0..=5));
        exec.bernoulli(&any.sized(dtype, &dims), any.state(), &any.out(dtype, &dims))
    };
    "multinomial" finite: |exec, any| {
        let (dtype, dims, replacement) = (any.float(), any.full(1..=4), any.flag());
        let last = dims.len() - 1;
        let drawn = if replacement { any.extent() } else { any.extent_of(dims[last]) };
        let weights = any.positive(dtype, &dims);
        exec.multinomial(&weights, replacement, any.state(), &any.out(DType::I32, &with(&dims, last, drawn)))
    };
    "solve" finite: |exec, any| {
        let (batch, n, columns) = (any.full(0..=2), any.extent(), any.extent());
        let (a, dims) = (any.dominant(&batch, n), [&batch[..], &[n, columns]].concat());
        exec.solve(&a, &any.sized(DType::F32, &dims), &any.out(DType::F32, &dims))
    };
    "solve_triangular" finite: |exec, any| {
        let (batch, n, columns) = (any.full(0..=2), any.extent(), any.extent());
        let (a, dims) = (any.dominant(&batch, n), [&batch[..], &[n, columns]].concat());
        exec.solve_triangular(&a, &any.sized(DType::F32, &dims), any.flag(), any.flag(), &any.out(DType::F32, &dims))
    };
    "determinant" finite: |exec, any| {
        let (batch, n) = (any.extents(0..=2), any.extent());
        let dims = [&batch[..], &[n, n]].concat();
        exec.determinant(&any.sized(DType::F32, &dims), &any.out(DType::F32, &batch))
    };
    "cholesky" finite: |exec, any| {
        let (batch, n) = (any.full(0..=2), any.extent());
        let (a, dims) = (any.dominant(&batch, n), [&batch[..], &[n, n]].concat());
        exec.cholesky(&a, &any.out(DType::F32, &dims))
    };
    "nonzero" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.extents(0..=5));
        let found = exec.nonzero(&any.sized(dtype, &dims))?.wait();
        found.map(|found| any.gives([found]))
    };
    "masked_select" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.extents(0..=5));
        let found = exec.masked_select(&any.sized(dtype, &dims), &any.sized(DType::Bool, &dims))?.wait();
        found.map(|found| any.gives([found]))
    };
    "unique" finite: |exec, any| {
        let (dtype, dims) = (any.rng.pick(&DType::ALL), any.extents(0..=5));
        let found = exec.unique(&any.sized(dtype, &dims))?.wait();
        found.map(|found| any.gives([found.values, found.inverse, found.counts]))
    };
    "bincount" finite: |exec, any| {
        let (dtype, len) = (any.integer(), any.extent());
        let weights = any.flag().then(|| any.sized(DType::F32, &[len]));
        let found = exec.bincount(&any.below(dtype, &[len], 9), weights.as_ref(), any.extent())?.wait();
        found.map(|found| any.gives([found]))
    };
    "histogram" finite: |exec, any| {
        let (dtype, dims, bins) = (any.rng.pick(&DType::ALL), any.extents(0..=5), any.extent_of(4));
        let edges: Vec<f64> = (0..=bins).map(|i| i as f64 * 0.5 - 1.0).collect();
        let edges = given(exec, DType::F32, &[bins + 1], &edges).view;
        exec.histogram(&any.sized(dtype, &dims), &edges, &any.out(DType::I32, &[bins]))
    };
    "histc" finite: |exec, any| {
        let (dtype, to) = (any.rng.pick(&DType::ALL), any.number_dtype());
        let (dims, bins) = (any.extents(0..=5), any.extent_of(4));
        let high = any.rng.pick(&[-1.0, 1.0, 1.5]);
        exec.histc(&any.sized(dtype, &dims), -1.0, high, &any.out(to, &[bins]))
    };
    "linspace" finite: |exec, any| {
        let (dtype, dims) = (any.float(), any.extents(0..=3));
        exec.linspace(-1.0, 2.0, &any.out(dtype, &dims))
    };
    "repeat_interleave_by" finite: |exec, any| {
        let (dtype, dims, index) = (any.rng.pick(&DType::ALL), any.extents(1..=4), any.integer());
        let axis = any.rng.below(dims.len());
        let len = any.rng.pick(&[1, dims[axis]]);
        let times = any.below(index, &[len], 4);
        let found = exec.repeat_interleave_by(&any.sized(dtype, &dims), &times, axis)?.wait();
        found.map(|found| any.gives([found]))
    };
};
