//! Every family of the public interface with good and bad arguments: a value or a typed error, never a panic.

use super::*;
use ziggurat_tensor::{
    AspectRatio, Attention, AxisRange, Closeness, Conv1dOptions, Conv2dOptions, Conv3dOptions,
    ConvTranspose1dOptions, ConvTranspose2dOptions, ConvTranspose3dOptions, CrossEntropyOptions,
    DType, DepthOrder, Device, Error, GateHalf, GemmOptions, Generator, GridMode,
    GridSampleOptions, InterpolateMode, InterpolateOptions, KvCache, Pad, Pool1dOptions,
    Pool2dOptions, Pool3dOptions, QueryPosition, Reduction, ResizeOptions, RopeForm, RopeTable,
    ScanOptions, Scatter, ScoreStage, Tensor,
};

/// Arguments of a call, sensible or not.
#[derive(Clone, Debug)]
pub(super) struct Args {
    pub(super) axis: isize,
    pub(super) other: isize,
    pub(super) count: usize,
    pub(super) number: f64,
    pub(super) flag: bool,
    pub(super) dtype: DType,
}

pub(super) type Call = fn(&Tensor, &Tensor, &Args) -> Result<Tensor, Error>;

/// Calls by name. `a` and `b` are tensors of any dtype and shape.
macro_rules! calls {
    ($($name:literal: |$a:ident, $b:ident, $args:ident| $body:expr;)*) => {
        pub(super) const CALLS: &[(&str, Call)] = &[$(($name, |$a, $b, $args| { let _ = ($b, $args); $body }),)*];
    };
}

calls! {
    "add": |a, b, _p| a.add(b);
    "sub": |a, b, _p| a.sub(b);
    "mul": |a, b, _p| a.mul(b);
    "div": |a, b, _p| a.div(b);
    "div_trunc": |a, b, _p| a.div_trunc(b);
    "floor_divide": |a, b, _p| a.floor_divide(b);
    "remainder": |a, b, _p| a.remainder(b);
    "fmod": |a, b, _p| a.fmod(b);
    "pow": |a, b, _p| a.pow(b);
    "rpow": |a, _b, p| a.rpow(p.number);
    "add a number": |a, _b, p| a.add(p.number);
    "atan2": |a, b, _p| a.atan2(b);
    "hypot": |a, b, _p| a.hypot(b);
    "fmax": |a, b, _p| a.fmax(b);
    "minimum": |a, b, _p| a.minimum(b);
    "clamp": |a, b, p| a.clamp(p.number, b);
    "lerp": |a, b, p| a.lerp(b, p.number);
    "addcmul": |a, b, p| a.addcmul(b, a, p.number);
    "addcdiv": |a, b, p| a.addcdiv(a, b, p.number);
    "eq": |a, b, _p| a.eq(b);
    "lt": |a, b, _p| a.lt(b);
    "where": |a, b, p| a.where_(b, p.number);
    "masked_fill": |a, b, p| a.masked_fill(b, p.number);
    "isclose": |a, b, p| a.isclose(b, &Closeness { rtol: p.number, atol: 0.0, equal_nan: p.flag });
    "nan_to_num": |a, _b, p| a.nan_to_num_with(p.number, None, Some(p.number));
    "bitwise_xor": |a, b, _p| a.bitwise_xor(b);
    "logical_or": |a, b, _p| a.logical_or(b);
    "shift_left": |a, b, _p| a.shift_left(b);
    "to_dtype": |a, _b, p| a.to_dtype(p.dtype);
    "bitcast": |a, _b, p| a.bitcast(p.dtype);
    "exp": |a, _b, _p| a.exp();
    "abs": |a, _b, _p| a.abs();
    "floor": |a, _b, _p| a.floor();
    "is_nan": |a, _b, _p| a.is_nan();
    "relu6": |a, _b, _p| a.relu6();
    "mish": |a, _b, _p| a.mish();
    "elu": |a, _b, p| a.elu(p.number);
    "celu": |a, _b, p| a.celu(p.number);
    "prelu": |a, b, _p| a.prelu(b);
    "softplus": |a, _b, p| a.softplus(p.number, 20.0);
    "hard_tanh": |a, _b, p| a.hard_tanh(p.number, 1.0);
    "shrink": |a, _b, p| a.shrink(p.number, 0.5);
    "hardmax": |a, _b, p| a.hardmax(p.axis);
    "glu": |a, _b, p| a.glu(p.axis);
    "swiglu": |a, _b, p| a.swiglu(p.axis, GateHalf::First);
    "softmax": |a, _b, p| a.softmax(p.axis);
    "sum": |a, _b, p| a.sum([p.axis], p.flag);
    "sum of two": |a, _b, p| a.sum([p.axis, p.other], p.flag);
    "mean": |a, _b, p| a.mean([p.axis], p.flag);
    "prod": |a, _b, p| a.prod([p.axis], p.flag);
    "max": |a, _b, p| a.max([p.axis], p.flag);
    "amin": |a, _b, p| a.amin([p.axis], p.flag);
    "any": |a, _b, p| a.any([p.axis], p.flag);
    "argmax": |a, _b, p| a.argmax(p.axis, p.flag);
    "logsumexp": |a, _b, p| a.logsumexp([p.axis], p.flag);
    "mse_loss": |a, b, _p| a.mse_loss(b, Reduction::Mean);
    "kl_div": |a, b, p| a.kl_div(b, p.flag, Reduction::None);
    "cross_entropy": |a, b, p| a.cross_entropy(b, &CrossEntropyOptions { label_smoothing: p.number, ..CrossEntropyOptions::default() });
    "matmul": |a, b, _p| a.matmul(b);
    "outer": |a, b, _p| a.outer(b);
    "einsum": |a, b, _p| Tensor::einsum("ij,jk->ik", &[a, b]);
    "transpose": |a, _b, p| a.transpose(p.axis, p.other);
    "permute": |a, _b, p| a.permute([p.axis, p.other]);
    "flip": |a, _b, p| a.flip([p.axis, p.other]);
    "narrow": |a, _b, p| a.narrow(p.axis, p.count, p.count);
    "slice_step": |a, _b, p| a.slice_step(p.axis, .., p.other);
    "select": |a, _b, p| a.select(p.axis, p.other);
    "squeeze_axis": |a, _b, p| a.squeeze_axis(p.axis);
    "unsqueeze": |a, _b, p| a.unsqueeze(p.axis);
    "flatten": |a, _b, p| a.flatten(p.axis, p.other);
    "reshape": |a, _b, p| a.reshape([p.axis, p.other]);
    "expand": |a, _b, p| a.expand([p.other, p.axis, 3]);
    "broadcast_to": |a, b, _p| a.broadcast_to(b.dims());
    "contiguous": |a, _b, _p| a.t()?.contiguous();
    "concat": |a, b, p| Tensor::concat(&[a, b, a], p.axis);
    "stack": |a, b, p| Tensor::stack(&[a, b], p.axis);
    "tile": |a, _b, p| a.tile([p.count, 2]);
    "repeat_interleave": |a, _b, p| a.repeat_interleave(p.count, p.axis);
    "roll_flat": |a, _b, p| a.roll_flat(p.other);
    "huge reshape": |a, _b, p| a.reshape_to([usize::MAX, p.count]);
    "huge full": |a, _b, p| Tensor::full(a.device(), [1 << 40, p.count, 1 << 40], 0, p.dtype);
    "too many axes": |a, _b, p| Tensor::zeros(a.device(), vec![1; p.count * 9], p.dtype);
    "arange": |a, _b, p| Tensor::arange(a.device(), 0.0, p.number, 0.25, p.dtype);
    "eye": |a, _b, p| Tensor::eye_of(a.device(), p.count, 3, p.other, p.dtype);
    "conv1d": |a, b, p| a.conv1d(b, None, &Conv1dOptions { stride: [p.count], groups: p.count, same: p.flag, ..Conv1dOptions::default() });
    "conv2d": |a, b, p| a.conv2d(b, Some(b), &Conv2dOptions { dilation: [p.count, 1], padding_begin: [p.count, 2], ..Conv2dOptions::default() });
    "conv3d": |a, b, p| a.conv3d(b, None, &Conv3dOptions { padding_end: [1, p.count, 1 << 40], ..Conv3dOptions::default() });
    "conv_transpose2d": |a, b, p| a.conv_transpose2d(b, None, &ConvTranspose2dOptions { stride: [p.count, 2], output_padding: [p.count, 0], ..ConvTranspose2dOptions::default() });
    "max_pool1d": |a, _b, p| a.max_pool1d(&Pool1dOptions { stride: [p.count], padding_begin: [p.count], ..Pool1dOptions::new([2]) });
    "max_pool2d with indices": |a, _b, p| Ok(a.max_pool2d_with_indices(&Pool2dOptions { ceil_mode: p.flag, dilation: [p.count, 1], ..Pool2dOptions::new([p.count, 2]) })?.1);
    "avg_pool2d": |a, _b, p| a.avg_pool2d(&Pool2dOptions { divisor_override: Some(p.count as u32), ceil_mode: p.flag, ..Pool2dOptions::new([2, p.count]) });
    "lp_pool2d": |a, _b, p| a.lp_pool2d(p.number as f32, &Pool2dOptions::new([2, 1]));
    "adaptive_avg_pool2d": |a, _b, p| a.adaptive_avg_pool2d([p.count, 2]);
    "global_avg_pool": |a, _b, _p| a.global_avg_pool();
    "interpolate": |a, _b, p| a.interpolate(&[p.count, 3], &InterpolateOptions { mode: InterpolateMode::Linear, align_corners: p.flag, ..InterpolateOptions::default() });
    "layer_norm": |a, b, p| a.layer_norm(b.dims(), p.flag.then_some(b), None, p.number as f32);
    "rms_norm": |a, b, p| a.rms_norm([p.count], Some(b), p.number as f32);
    "group_norm": |a, b, p| a.group_norm(p.count, p.flag.then_some(b), None, 1e-5);
    "instance_norm": |a, b, p| a.instance_norm(p.flag.then_some(b), None, 1e-5);
    "batch_norm": |a, b, p| a.batch_norm(p.axis, (b, b), None, Some(b), 1e-5);
    "batch_norm_train": |a, b, p| Ok(a.batch_norm_train(p.axis, Some(b), None, 1e-5)?.output);
    "normalize": |a, _b, p| a.normalize(p.number, [p.axis], 1e-12);
    "attention": |a, b, p| a.scaled_dot_product_attention(b, b, &Attention { causal: p.flag, left_window: Some(p.count as u32), softcap: p.number as f32, ..Attention::default() });
    "attention with a mask": |a, b, p| a.scaled_dot_product_attention(a, a, &Attention { mask: Some(b), scale: Some(p.number as f32), ..Attention::default() });
    "gather": |a, b, p| a.gather(p.axis, b);
    "index_select": |a, b, p| a.index_select(p.axis, b);
    "take": |a, b, _p| a.take(b);
    "embedding": |a, b, _p| a.embedding(b);
    "gather_nd": |a, b, p| a.gather_nd(b, p.count);
    "index": |a, b, _p| a.index(&[b, b]);
    "index_put": |a, b, p| a.index_put(&[b], a, p.flag);
    "scatter": |a, b, p| a.scatter(p.axis, b, a);
    "scatter_add": |a, b, p| a.scatter_add(p.axis, b, b);
    "scatter_nd": |a, b, _p| a.scatter_nd(b, a, Scatter::Max);
    "index_copy": |a, b, p| a.index_copy(p.axis, b, a);
    "index_fill": |a, b, p| a.index_fill(p.axis, b, p.number);
    "one_hot": |a, _b, p| a.one_hot(p.count, p.axis, 1, 0, p.dtype);
    "slice_assign": |a, b, p| a.slice_assign(&[AxisRange::from(p.other..3)], b);
    "cumsum": |a, _b, p| a.cumsum_with(p.axis, ScanOptions { exclusive: p.flag, reverse: !p.flag });
    "cumprod": |a, _b, p| a.cumprod(p.axis);
    "cummax": |a, _b, p| Ok(a.cummax(p.axis)?.1);
    "logcumsumexp": |a, _b, p| a.logcumsumexp(p.axis);
    "sort": |a, _b, p| Ok(a.sort(p.axis, p.flag)?.0);
    "topk": |a, _b, p| Ok(a.topk(p.count, p.axis, p.flag)?.0);
    "kthvalue": |a, _b, p| Ok(a.kthvalue(p.count, p.axis, p.flag)?.0);
    "median": |a, _b, p| Ok(a.median(p.axis, p.flag)?.1);
    "searchsorted": |a, b, p| a.searchsorted(b, p.flag);
    "var": |a, _b, p| a.var([p.axis], p.number, p.flag);
    "norm": |a, _b, p| a.norm(p.number, [p.axis, p.other], p.flag);
    "sum_to": |a, _b, p| a.sum_to([p.axis], p.flag, p.dtype);
    "histogram": |a, _b, p| Ok(a.histogram(p.count, -1.0, p.number as f32)?.0);
    "bincount": |a, b, p| a.bincount_blocking(p.flag.then_some(b), p.count);
    "unique": |a, _b, _p| Ok(a.unique_blocking()?.values);
    "nonzero": |a, _b, _p| a.nonzero_blocking();
    "masked_select": |a, b, _p| a.masked_select_blocking(b);
    "pad": |a, _b, p| a.pad([[p.axis, p.other]], [Pad::Constant, Pad::Reflect, Pad::Circular, Pad::Replicate][p.count % 4], 1);
    "roll": |a, _b, p| a.roll([p.other], [p.axis]);
    "triu": |a, _b, p| a.triu(p.other);
    "diag": |a, _b, p| a.diag(p.other);
    "diag_embed": |a, _b, p| a.diag_embed(p.axis);
    "diagonal": |a, _b, p| a.diagonal(p.other, p.axis, 1);
    "unfold": |a, _b, p| a.unfold(p.axis, p.count, 1 + p.count);
    "split": |a, _b, p| a.split(p.count, p.axis)?.pop().map_or_else(|| a.squeeze(), Ok);
    "chunk": |a, _b, p| a.chunk(p.count, p.axis)?.pop().map_or_else(|| a.squeeze(), Ok);
    "unflatten": |a, _b, p| a.unflatten(p.axis, [p.other, -1]);
    "movedim": |a, _b, p| a.movedim([p.axis], [p.other]);
    "im2col": |a, _b, p| a.im2col([2, p.count], &Conv2dOptions::default());
    "col2im": |a, _b, p| a.col2im([3, p.count], [2, 1], &Conv2dOptions::default());
    "space_to_depth": |a, _b, p| a.space_to_depth(p.count, DepthOrder::default());
    "depth_to_space": |a, _b, p| a.depth_to_space(p.count, DepthOrder::default());
    "cholesky": |a, _b, _p| a.cholesky();
    "solve": |a, b, _p| a.solve(b);
    "inverse": |a, _b, _p| a.inverse();
    "det": |a, _b, _p| a.det();
    "mv": |a, b, _p| a.mv(b);
    "dot": |a, b, _p| a.dot(b);
    "addmm": |a, b, p| a.addmm(b, a, p.number, 0.5);
    "linear": |a, b, p| a.linear(b, p.flag.then_some(a));
    "tensordot": |a, b, p| a.tensordot(b, [p.axis], [p.other]);
    "nll_loss": |a, b, _p| a.nll_loss(b, &CrossEntropyOptions::default());
    "huber_loss": |a, b, p| a.huber_loss(b, p.number, Reduction::Sum);
    "randint": |a, _b, p| Tensor::randint(a.device(), a.dims(), p.axis as i32, p.other as i32, &mut Generator::new(1));
    "bernoulli": |a, _b, _p| a.bernoulli(&mut Generator::new(2));
    "dropout": |a, _b, p| a.dropout(p.number as f32, &mut Generator::new(3));
    "multinomial": |a, _b, p| a.multinomial(p.count, p.flag, &mut Generator::new(4));
    "affine": |a, _b, p| a.affine(p.number as f32, 2.0);
    "linspace": |a, _b, p| Tensor::linspace(a.device(), -1.0, p.number as f32, p.count);
    "logspace": |a, _b, p| Tensor::logspace(a.device(), p.number as f32, 1.0, p.count, p.other as f32);
    "full_like": |a, _b, p| a.full_like(p.number);
    "rand": |a, _b, p| Tensor::rand(a.device(), a.dims(), p.dtype, &mut Generator::new(5));
    "uniform": |a, _b, p| Tensor::uniform(a.device(), a.dims(), p.number as f32, 2.0, p.dtype, &mut Generator::new(6));
    "normal": |a, _b, p| Tensor::normal(a.device(), a.dims(), 0.0, p.number as f32, p.dtype, &mut Generator::new(7));
    "randperm": |a, _b, p| Tensor::randperm(a.device(), p.count, &mut Generator::new(8));
    "meshgrid": |a, b, p| Tensor::meshgrid(&[a, b, a], p.flag)?.pop().map_or_else(|| a.squeeze(), Ok);
    "view": |a, _b, p| a.view([p.axis, p.other]);
    "swapaxes": |a, _b, p| a.swapaxes(p.axis, p.other);
    "repeat": |a, _b, p| a.repeat([p.count, 1, 2]);
    "repeat_interleave_by": |a, b, p| a.repeat_interleave_by_blocking(&b.clamp(0, 9)?, p.axis);
    "split_sizes": |a, _b, p| a.split_sizes([p.count, 1], p.axis)?.pop().map_or_else(|| a.squeeze(), Ok);
    "unbind": |a, _b, p| a.unbind(p.axis)?.pop().map_or_else(|| a.squeeze(), Ok);
    "tril": |a, _b, p| a.tril(p.axis);
    "slice_scatter": |a, b, p| a.slice_scatter(p.axis, p.other.., p.other, b);
    "masked_scatter": |a, b, _p| a.masked_scatter(&a.ne(0)?, b);
    "index_add": |a, b, p| a.index_add(p.axis, b, a);
    "scatter_reduce": |a, b, p| a.scatter_reduce(p.axis, b, a, Scatter::Mul);
    "histc": |a, _b, p| a.histc(p.count, p.number as f32, 2.0);
    "cummin": |a, _b, p| Ok(a.cummin(p.axis)?.0);
    "cumprod_with": |a, _b, p| a.cumprod_with(p.axis, ScanOptions { exclusive: p.flag, reverse: p.flag });
    "argsort": |a, _b, p| a.argsort(p.axis, p.flag);
    "argmin_last": |a, _b, p| a.argmin_last(p.axis, p.flag);
    "min_with_indices": |a, _b, p| Ok(a.min_with_indices(p.axis, p.flag)?.0);
    "max_from": |a, _b, p| a.max_from([p.axis, p.other], p.flag, p.number);
    "min_from": |a, _b, p| a.min_from([p.axis], p.flag, p.other as i32);
    "var_mean": |a, _b, p| Ok(a.var_mean([p.axis], p.number, p.flag)?.1);
    "std of two": |a, _b, p| a.std([p.axis, p.other], p.count as f64, p.flag);
    "sum_squares": |a, _b, p| a.sum_squares([p.axis], p.flag);
    "prod_all": |a, _b, _p| a.prod_all();
    "max_all": |a, _b, _p| a.max_all();
    "log_softmax": |a, _b, p| a.log_softmax(p.axis);
    "hard_sigmoid": |a, _b, p| a.hard_sigmoid(p.number, 0.5);
    "geglu": |a, _b, p| a.geglu(p.axis, GateHalf::Second);
    "gemm": |a, b, p| a.gemm(b, Some(a), &GemmOptions { alpha: p.number, beta: 1.0, trans_a: p.flag, trans_b: !p.flag });
    "baddbmm": |a, b, p| a.baddbmm(b, a, p.number, 1.0);
    "bmm": |a, b, _p| a.bmm(b);
    "vdot": |a, b, _p| a.vdot(b);
    "matmul_to": |a, b, p| a.matmul_to(b, p.dtype);
    "solve_triangular": |a, b, p| a.solve_triangular(b, p.flag, !p.flag);
    "conv1d transposed": |a, b, p| a.conv_transpose1d(b, Some(b), &ConvTranspose1dOptions { groups: p.count, dilation: [p.count], ..ConvTranspose1dOptions::default() });
    "conv3d transposed": |a, b, p| a.conv_transpose3d(b, None, &ConvTranspose3dOptions { padding_begin: [p.count, 0, 1 << 40], ..ConvTranspose3dOptions::default() });
    "max_pool3d": |a, _b, p| a.max_pool3d(&Pool3dOptions { padding_end: [p.count, 1, 0], ..Pool3dOptions::new([2, 1, p.count]) });
    "max_unpool1d": |a, b, p| a.max_unpool1d(b, [p.count]);
    "max_unpool2d": |a, b, p| a.max_unpool2d(b, [p.count, 5]);
    "adaptive_max_pool3d": |a, _b, p| a.adaptive_max_pool3d([p.count, 2, 1]);
    "global_max_pool": |a, _b, _p| a.global_max_pool();
    "global_lp_pool": |a, _b, p| a.global_lp_pool(p.number as f32);
    "interpolate_by": |a, _b, p| a.interpolate_by(&[p.number, 1.5], &InterpolateOptions { mode: InterpolateMode::Cubic, antialias: p.flag, ..InterpolateOptions::default() });
    "resize_to": |a, _b, p| a.resize_to(&[p.axis, p.other], &[p.count, 3], if p.flag { AspectRatio::Stretch } else { AspectRatio::NotLarger }, &ResizeOptions::default());
    "resize_by": |a, _b, p| a.resize_by(&[p.axis], &[p.number], &ResizeOptions::default());
    "crop_and_resize": |a, _b, p| a.crop_and_resize(&[p.axis], &[p.count], &[[p.number, 0.5]], &ResizeOptions::default());
    "grid_sample": |a, b, p| a.grid_sample(b, &GridSampleOptions { mode: GridMode::ALL[p.count % GridMode::ALL.len()], align_corners: p.flag, ..GridSampleOptions::default() });
    "rope": |a, b, p| a.rope(&RopeTable { cos: b.clone(), sin: b.clone() }, RopeForm { interleaved: p.flag, start: p.count, positions: p.flag.then_some(b), ..RopeForm::default() });
    "attention scores": |a, b, p| a.attention_scores(b, &Attention { right_window: Some(p.count as u32), position: QueryPosition::At(p.other as i32), ..Attention::default() }, ScoreStage::Weights);
    "attention over the past": |a, b, p| a.scaled_dot_product_attention(a, a, &Attention { past: Some((b, a)), key_lengths: p.flag.then_some(b), ..Attention::default() });
    "a cache": |a, b, p| {
        let mut cache = KvCache::new(a.device(), [p.count, 1], 3, [2, p.count], a.dtype())?;
        cache.append(a, b)?;
        cache.keys()
    };
    "running": |a, b, p| Ok(a.batch_norm_train(p.axis, None, None, 1e-5)?.running((b, b), p.number as f32)?.0);
    "smooth_l1_loss": |a, b, p| a.smooth_l1_loss(b, p.number, Reduction::Mean);
    "bce": |a, b, _p| a.binary_cross_entropy(b, Reduction::None);
    "bce with logits": |a, b, _p| a.binary_cross_entropy_with_logits(b, Reduction::Sum);
    "cross_entropy with weights": |a, b, p| a.cross_entropy(a, &CrossEntropyOptions { weight: Some(b), ignore_index: p.other as i32, ..CrossEntropyOptions::default() });
    "fill_": |a, _b, p| { let mut x = a.clone(); x.fill_(p.number)?; Ok(x) };
    "clamp_": |a, b, p| { let mut x = a.clone(); x.clamp_(b, p.number)?; Ok(x) };
    "masked_fill_": |a, b, p| { let mut x = a.clone(); x.masked_fill_(b, p.number)?; Ok(x) };
    "lerp_": |a, b, p| { let mut x = a.clone(); x.lerp_(b, p.number)?; Ok(x) };
    "shift_right_": |a, b, _p| { let mut x = a.clone(); x.shift_right_(b)?; Ok(x) };
    "add_": |a, b, _p| { let mut x = a.clone(); x.add_(b)?; Ok(x) };
    "sqrt_": |a, _b, _p| { let mut x = a.clone(); x.sqrt_()?; Ok(x) };
}

fn any_args() -> impl Strategy<Value = Args> {
    let number = prop::sample::select(vec![
        0.0,
        0.5,
        1.0,
        -2.0,
        300.0,
        1e30,
        f64::NAN,
        f64::INFINITY,
    ]);
    let axis = || -4isize..5;
    (
        axis(),
        axis(),
        0usize..4,
        number,
        any::<bool>(),
        any_dtype(),
    )
        .prop_map(|(axis, other, count, number, flag, dtype)| Args {
            axis,
            other,
            count,
            number,
            flag,
            dtype,
        })
}

pub(super) fn random(device: &Device, dtype: DType, dims: &[usize], seed: u64) -> Tensor {
    let mut unit = Unit(seed);
    let len = dims.iter().product::<usize>();
    let values: Vec<f64> = (0..len).map(|_| unit.value(dtype, -4.0, 4.0)).collect();
    Tensor::from_bytes(device, &encode(dtype, &values), dims, dtype).unwrap()
}

/// A value that can be read, or an error that says what rule was broken.
fn settled(name: &str, result: Result<Tensor, Error>) -> Result<(), TestCaseError> {
    match result {
        Ok(tensor) => {
            let read = tensor
                .to_dtype(DType::F32)
                .and_then(|x| x.to_vec_blocking::<f32>());
            match read {
                Ok(values) => prop_assert_eq!(values.len(), tensor.len(), "{}", name),
                Err(error) => return Err(TestCaseError::fail(format!("{name}: reading: {error}"))),
            }
        }
        Err(error) => {
            let typed =
                error.is_shape() || error.is_dtype() || error.is_argument() || error.is_too_large();
            prop_assert!(typed, "{}: {}", name, error);
            prop_assert!(error.to_string().contains(": "), "{}: {}", name, error);
        }
    }
    Ok(())
}

#[test]
fn any_call_gives_a_value_or_a_typed_error() {
    let device = common::device();
    let operands = (
        any_dtype(),
        any_dims(4),
        any_dtype(),
        any_dims(3),
        any::<bool>(),
    );
    let strategy = (
        0..CALLS.len(),
        operands,
        any_steps(),
        any_args(),
        any::<u64>(),
    );
    fuzz(
        &strategy,
        3200,
        |(call, (from, dims, other, more, alike), steps, args, seed)| {
            let (name, call) = CALLS[call];
            let mut a = random(&device, from, &dims, seed);
            for &(kind, axis, at) in &steps {
                let next = match kind {
                    0 => a.transpose(axis, 0),
                    1 => a.flip([axis]),
                    2 => a.slice_step(axis, .., 2),
                    3 => a.unsqueeze(axis),
                    _ => a.narrow(axis, at, 1),
                };
                a = next.unwrap_or(a);
            }
            // Half of the second operands fit the first.
            let b = if alike {
                random(&device, from, a.dims(), seed ^ 1)
            } else {
                random(&device, other, &more, seed ^ 1)
            };
            settled(name, call(&a, &b, &args))
        },
    );
}
