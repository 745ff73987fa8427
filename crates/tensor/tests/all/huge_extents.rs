//! Every function that takes an extent, a count or a shape, with numbers that no device can hold: an answer or a typed error
//! in short time, never a panic, an abort, or a loop or an allocation in proportion to the number.

use crate::common;
use std::sync::mpsc;
use std::time::Duration;

use ziggurat_tensor::{
    AspectRatio, Attention, Conv2dOptions, ConvTranspose2dOptions, DType, Device, Error, Generator,
    InterpolateOptions, KvCache, Pad, Pool2dOptions, QueryPosition, ResizeOptions, RopeForm,
    RopeTable, Scatter, Tensor, io,
};

/// More than any of these takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

const HUGE: [usize; 6] = [
    1 << 31,
    (1 << 32) + 1,
    1 << 40,
    1 << 61,
    1 << 62,
    isize::MAX.cast_unsigned(),
];

/// What the calls are made with.
struct Case {
    device: Device,
    /// The huge number.
    n: usize,
    /// [1].
    one: Tensor,
    /// [2, 3].
    small: Tensor,
    /// [2] of i32.
    index: Tensor,
    /// [1, 1, 4, 4].
    image: Tensor,
    /// [n]: one element seen n times.
    wide: Tensor,
    /// [n, 0].
    hollow: Tensor,
    /// [0, n].
    late: Tensor,
}

impl Case {
    fn new(device: &Device, n: usize) -> Self {
        let zeros = |dims: &[usize]| Tensor::zeros(device, dims, DType::F32).unwrap();
        Self {
            device: device.clone(),
            n,
            one: zeros(&[1]),
            small: zeros(&[2, 3]),
            index: Tensor::zeros(device, [2], DType::I32).unwrap(),
            image: zeros(&[1, 1, 4, 4]),
            wide: zeros(&[1]).broadcast_to([n]).unwrap(),
            hollow: zeros(&[n, 0]),
            late: zeros(&[0, n]),
        }
    }

    fn signed(&self) -> isize {
        self.n.cast_signed()
    }

    fn generator(&self) -> Generator {
        Generator::new(1)
    }
}

type Call = fn(&Case) -> Result<Vec<Tensor>, Error>;
type CallOf = fn(&Case, &Tensor) -> Result<Vec<Tensor>, Error>;
type Run = Box<dyn FnOnce() -> Result<(), Error> + Send>;

fn one(tensor: Tensor) -> Vec<Tensor> {
    vec![tensor]
}

const F: DType = DType::F32;

/// Functions that are given the number.
const GIVEN: &[(&str, Call)] = &[
    ("zeros", |c| Tensor::zeros(&c.device, [c.n], F).map(one)),
    ("zeros beside 0", |c| {
        Tensor::zeros(&c.device, [c.n, 0, 3], F).map(one)
    }),
    ("zeros of two", |c| {
        Tensor::zeros(&c.device, [c.n, c.n], F).map(one)
    }),
    ("zeros of two beside 0", |c| {
        Tensor::zeros(&c.device, [c.n, 0, c.n], F).map(one)
    }),
    ("ones", |c| {
        Tensor::ones(&c.device, [2, c.n], DType::Bool).map(one)
    }),
    ("full", |c| Tensor::full(&c.device, [c.n], 2.5, F).map(one)),
    ("full_like", |c| c.wide.full_like(1).map(one)),
    ("eye", |c| Tensor::eye(&c.device, c.n, F).map(one)),
    ("eye_of", |c| {
        Tensor::eye_of(&c.device, c.n, 0, isize::MAX, F).map(one)
    }),
    ("eye_of k", |c| {
        Tensor::eye_of(&c.device, 2, 2, isize::MIN, F).map(one)
    }),
    ("arange", |c| {
        Tensor::arange(&c.device, 0, c.n as f64, 1, F).map(one)
    }),
    ("arange step", |c| {
        Tensor::arange(&c.device, 0, 1, 1.0 / c.n as f64, F).map(one)
    }),
    ("linspace", |c| {
        Tensor::linspace(&c.device, 0.0, 1.0, c.n).map(one)
    }),
    ("logspace", |c| {
        Tensor::logspace(&c.device, 0.0, 1.0, c.n, 2.0).map(one)
    }),
    ("from_slice", |c| {
        Tensor::from_slice(&c.device, &[1.0f32], [c.n]).map(one)
    }),
    ("from_slice beside 0", |c| {
        Tensor::from_slice::<f32>(&c.device, &[], [c.n, 0]).map(one)
    }),
    ("from_bytes", |c| {
        Tensor::from_bytes(&c.device, &[], [c.n], F).map(one)
    }),
    ("from_bytes beside 0", |c| {
        Tensor::from_bytes(&c.device, &[], [c.n, 0], F).map(one)
    }),
    ("rand", |c| {
        Tensor::rand(&c.device, [c.n], F, &mut c.generator()).map(one)
    }),
    ("randn", |c| {
        Tensor::randn(&c.device, [c.n, 0], F, &mut c.generator()).map(one)
    }),
    ("uniform", |c| {
        Tensor::uniform(&c.device, [c.n], 0.0, 1.0, F, &mut c.generator()).map(one)
    }),
    ("normal", |c| {
        Tensor::normal(&c.device, [c.n], 0.0, 1.0, F, &mut c.generator()).map(one)
    }),
    ("randint", |c| {
        Tensor::randint(&c.device, [c.n], 0, 9, &mut c.generator()).map(one)
    }),
    ("randperm", |c| {
        Tensor::randperm(&c.device, c.n, &mut c.generator()).map(one)
    }),
    ("multinomial", |c| {
        c.one.multinomial(c.n, true, &mut c.generator()).map(one)
    }),
    ("RopeTable", |c| {
        RopeTable::new(&c.device, c.n, 2, 10.0).map(|t| vec![t.cos, t.sin])
    }),
    ("RopeTable width", |c| {
        RopeTable::new(&c.device, 1, c.n & !1, 10.0).map(|t| vec![t.cos, t.sin])
    }),
    ("KvCache", |c| {
        KvCache::new(&c.device, [1, 1], c.n, [2, 2], F)?
            .keys()
            .map(one)
    }),
    ("KvCache beside 0", |c| {
        KvCache::new(&c.device, [1, 0], c.n, [2, 2], F)?
            .keys()
            .map(one)
    }),
    ("KvCache batch", |c| {
        KvCache::new(&c.device, [c.n, c.n], 1, [0, 2], F)?
            .keys()
            .map(one)
    }),
    ("reshape", |c| c.small.reshape([c.signed(), -1]).map(one)),
    ("reshape_to", |c| c.small.reshape_to([c.n, 3]).map(one)),
    ("reshape_to beside 0", |c| {
        c.hollow.reshape_to([0, c.n]).map(one)
    }),
    ("view", |c| c.small.view([c.signed(), 0]).map(one)),
    ("expand", |c| c.one.expand([c.signed()]).map(one)),
    ("expand of two", |c| {
        c.one.expand([c.signed(), c.signed()]).map(one)
    }),
    ("broadcast_to", |c| c.one.broadcast_to([c.n]).map(one)),
    ("broadcast_to beside 0", |c| {
        c.one.broadcast_to([c.n, 0, 1]).map(one)
    }),
    ("unflatten", |c| c.wide.unflatten(0, [-1, 1]).map(one)),
    ("unflatten to more", |c| {
        c.small.unflatten(0, [c.signed(), 2]).map(one)
    }),
    ("narrow", |c| c.small.narrow(1, c.n, c.n).map(one)),
    ("narrow start", |c| c.small.narrow(1, c.n, 0).map(one)),
    ("slice", |c| c.small.slice(1, 0..c.signed()).map(one)),
    ("slice_step", |c| {
        c.small.slice_step(1, .., c.signed()).map(one)
    }),
    ("slice_step down", |c| {
        c.small.slice_step(1, .., -c.signed()).map(one)
    }),
    ("select", |c| c.small.select(0, c.signed()).map(one)),
    ("chunk", |c| c.small.chunk(c.n, 0)),
    ("chunk of nothing", |c| {
        c.small.narrow(0, 0, 0)?.chunk(c.n, 0)
    }),
    ("split", |c| c.small.split(c.n, 0)),
    ("split_sizes", |c| c.small.split_sizes([c.n, c.n, c.n], 0)),
    ("unfold size", |c| c.small.unfold(1, c.n, 1).map(one)),
    ("unfold step", |c| c.small.unfold(1, 1, c.n).map(one)),
    ("diagonal", |c| c.small.diagonal(c.signed(), 0, 1).map(one)),
    ("diag", |c| c.one.diag(c.signed()).map(one)),
    ("diag_embed", |c| c.one.diag_embed(-c.signed()).map(one)),
    ("tril", |c| c.small.tril(isize::MAX).map(one)),
    ("triu", |c| c.small.triu(isize::MIN).map(one)),
    ("tile", |c| c.small.tile([c.n]).map(one)),
    ("tile both", |c| c.small.tile([c.n, c.n]).map(one)),
    ("tile beside 0", |c| c.small.tile([c.n, 0]).map(one)),
    ("tile nothing", |c| {
        c.small.narrow(0, 0, 0)?.tile([1, c.n]).map(one)
    }),
    ("tile of rank 8", |c| {
        c.one
            .reshape_to([1; 8])?
            .tile([1, 1, 1, 1, 1, 1, 1, c.n])
            .map(one)
    }),
    ("tile two of rank 8", |c| {
        c.one
            .reshape_to([1; 8])?
            .tile([c.n, 1, 1, 1, 1, 1, 2, 0])
            .map(one)
    }),
    ("repeat", |c| c.small.repeat([c.n, 1]).map(one)),
    ("repeat_interleave", |c| {
        c.small.repeat_interleave(c.n, 0).map(one)
    }),
    ("repeat_interleave nothing", |c| {
        c.small.narrow(0, 0, 0)?.repeat_interleave(c.n, 1).map(one)
    }),
    ("roll", |c| c.small.roll([c.signed()], [0]).map(one)),
    ("roll_flat", |c| c.small.roll_flat(-c.signed()).map(one)),
    ("pad", |c| {
        c.one.pad([[c.signed(), 0]], Pad::Constant, 0).map(one)
    }),
    ("pad both", |c| {
        c.one
            .pad([[c.signed(), c.signed()]], Pad::Constant, 0)
            .map(one)
    }),
    ("pad off", |c| {
        c.one
            .pad([[-c.signed(), c.signed()]], Pad::Constant, 0)
            .map(one)
    }),
    ("pad edge", |c| {
        c.one.pad([[0, c.signed()]], Pad::Replicate, 0).map(one)
    }),
    ("one_hot", |c| c.index.one_hot(c.n, -1, 1, 0, F).map(one)),
    ("topk", |c| {
        c.small.topk(c.n, 0, true).map(|(a, b)| vec![a, b])
    }),
    ("kthvalue", |c| {
        c.small.kthvalue(c.n, 0, false).map(|(a, b)| vec![a, b])
    }),
    ("histogram", |c| {
        c.small.histogram(c.n, 0.0, 1.0).map(|(a, b)| vec![a, b])
    }),
    ("histc", |c| c.small.histc(c.n, 0.0, 1.0).map(one)),
    ("bincount", |c| {
        c.index.bincount_blocking(None, c.n).map(one)
    }),
    ("group_norm", |c| {
        c.image.group_norm(c.n, None, None, 1e-5).map(one)
    }),
    ("layer_norm", |c| {
        c.image.layer_norm([c.n], None, None, 1e-5).map(one)
    }),
    ("depth_to_space", |c| {
        c.image
            .depth_to_space(c.n, ziggurat_tensor::DepthOrder::BlockFirst)
            .map(one)
    }),
    ("space_to_depth", |c| {
        c.image
            .space_to_depth(c.n, ziggurat_tensor::DepthOrder::BlockFirst)
            .map(one)
    }),
    ("interpolate", |c| {
        c.image
            .interpolate(&[c.n, 1], &InterpolateOptions::default())
            .map(one)
    }),
    ("interpolate beside 0", |c| {
        c.image
            .interpolate(&[c.n, 0], &InterpolateOptions::default())
            .map(one)
    }),
    ("interpolate_by", |c| {
        c.image
            .interpolate_by(&[c.n as f64, 1.0], &InterpolateOptions::default())
            .map(one)
    }),
    ("resize_to", |c| {
        let options = ResizeOptions::default();
        c.image
            .resize_to(&[2], &[c.n], AspectRatio::Stretch, &options)
            .map(one)
    }),
    ("resize_by", |c| {
        c.image
            .resize_by(&[3], &[c.n as f64], &ResizeOptions::default())
            .map(one)
    }),
    ("conv2d padding", |c| {
        let options = Conv2dOptions::default().padding([c.n, c.n]);
        c.image.conv2d(&c.image, None, &options).map(one)
    }),
    ("conv2d stride", |c| {
        let options = Conv2dOptions {
            stride: [c.n, c.n],
            ..Conv2dOptions::default()
        };
        c.image.conv2d(&c.image, None, &options).map(one)
    }),
    ("conv2d dilation", |c| {
        let options = Conv2dOptions {
            dilation: [c.n, c.n],
            ..Conv2dOptions::default()
        };
        c.image.conv2d(&c.image, None, &options).map(one)
    }),
    ("conv2d groups", |c| {
        let options = Conv2dOptions::default().groups(c.n);
        c.image.conv2d(&c.image, None, &options).map(one)
    }),
    ("conv_transpose2d stride", |c| {
        let options = ConvTranspose2dOptions {
            stride: [c.n, 1],
            ..ConvTranspose2dOptions::default()
        };
        c.image.conv_transpose2d(&c.image, None, &options).map(one)
    }),
    ("conv_transpose2d padding", |c| {
        let options = ConvTranspose2dOptions {
            output_padding: [c.n, c.n],
            dilation: [c.n, c.n],
            ..ConvTranspose2dOptions::default()
        };
        c.image.conv_transpose2d(&c.image, None, &options).map(one)
    }),
    ("im2col", |c| {
        c.image.im2col([c.n, 1], &Conv2dOptions::default()).map(one)
    }),
    ("max_pool2d", |c| {
        let options = Pool2dOptions {
            padding_begin: [c.n, 0],
            ..Pool2dOptions::new([c.n, 2])
        };
        c.image.max_pool2d(&options).map(one)
    }),
    ("avg_pool2d", |c| {
        let options = Pool2dOptions {
            stride: [c.n, c.n],
            ..Pool2dOptions::new([2, 2])
        };
        c.image.avg_pool2d(&options).map(one)
    }),
    ("adaptive_avg_pool2d", |c| {
        c.image.adaptive_avg_pool2d([c.n, 1]).map(one)
    }),
    ("max_unpool2d", |c| {
        let index = Tensor::zeros(&c.device, [1, 1, 4, 4], DType::I32)?;
        c.image.max_unpool2d(&index, [c.n, 1]).map(one)
    }),
    ("rope start", |c| {
        let table = RopeTable::new(&c.device, 8, 4, 10.0)?;
        let form = RopeForm {
            start: c.n,
            ..RopeForm::default()
        };
        c.image.rope(&table, form).map(one)
    }),
    ("gather_nd batch", |c| {
        c.small.gather_nd(&c.index.unsqueeze(0)?, c.n).map(one)
    }),
    ("adaptive_max_pool2d", |c| {
        c.image.adaptive_max_pool2d([c.n, c.n]).map(one)
    }),
    ("lp_pool2d", |c| {
        let options = Pool2dOptions {
            dilation: [c.n, 1],
            ..Pool2dOptions::new([2, 2])
        };
        c.image.lp_pool2d(2.0, &options).map(one)
    }),
    ("generator", |c| {
        let mut generator = c.generator();
        generator.set_counter(u64::MAX);
        Tensor::rand(&c.device, [5], F, &mut generator).map(one)
    }),
    ("col2im", |c| {
        let columns = c.small.unsqueeze(0)?;
        columns
            .col2im([c.n, 1], [1, 1], &Conv2dOptions::default())
            .map(one)
    }),
    ("bitcast", |c| c.wide.bitcast(DType::U8).map(one)),
    ("attention position", |c| {
        let options = Attention {
            causal: true,
            position: QueryPosition::At(i32::MAX),
            left_window: Some(u32::MAX),
            ..Attention::default()
        };
        c.image
            .scaled_dot_product_attention(&c.image, &c.image, &options)
            .map(one)
    }),
];

/// Functions that are given a tensor of the extent.
const OF_WIDE: &[(&str, CallOf)] = &[
    ("to_vec", |_, t| t.to_vec_blocking::<f32>().map(|_| vec![])),
    ("to_vec1", |_, t| {
        t.to_vec1_blocking::<f32>().map(|_| vec![])
    }),
    ("to_vec2", |_, t| {
        t.to_vec2_blocking::<f32>().map(|_| vec![])
    }),
    ("to_vec3", |_, t| {
        t.unsqueeze(0)?.to_vec3_blocking::<f32>().map(|_| vec![])
    }),
    ("to_vec3 behind", |_, t| {
        t.unsqueeze(-1)?.to_vec3_blocking::<f32>().map(|_| vec![])
    }),
    ("to_f64_vec", |_, t| t.to_f64_vec_blocking().map(|_| vec![])),
    ("to_bytes", |_, t| t.to_bytes_blocking().map(|_| vec![])),
    ("item", |_, t| t.item_blocking::<f32>().map(|_| vec![])),
    ("display", |_, t| {
        assert!(t.display_blocking()?.to_string().len() < 10_000);
        assert!(format!("{t:?}").len() < 1000);
        Ok(vec![])
    }),
    ("eval", |_, t| t.eval_blocking().map(|()| vec![])),
    ("contiguous", |_, t| t.contiguous().map(one)),
    ("relu", |_, t| t.relu().map(one)),
    ("add", |_, t| t.add(t).map(one)),
    ("add one", |c, t| t.add(&c.one).map(one)),
    ("outer", |_, t| {
        t.flatten(0, -1)?
            .unsqueeze(1)?
            .mul(&t.flatten(0, -1)?)
            .map(one)
    }),
    ("cast", |_, t| t.to_dtype(DType::U8).map(one)),
    ("where", |c, t| t.gt(0.0)?.where_(t, &c.one).map(one)),
    ("sum", |_, t| t.sum([0], false).map(one)),
    ("mean", |_, t| t.mean([-1], true).map(one)),
    ("max", |_, t| t.max([0], false).map(one)),
    ("argmax", |_, t| t.argmax(0, false).map(one)),
    ("var", |_, t| t.var([0], 1.0, false).map(one)),
    ("softmax", |_, t| t.softmax(0).map(one)),
    ("log_softmax", |_, t| t.log_softmax(-1).map(one)),
    ("layer_norm", |_, t| {
        let last = t.dims().last().copied().unwrap();
        t.layer_norm([last], None, None, 1e-5).map(one)
    }),
    ("cumsum", |_, t| t.cumsum(0).map(one)),
    ("cummax", |_, t| t.cummax(-1).map(|(a, b)| vec![a, b])),
    ("sort", |_, t| t.sort(0, false).map(|(a, b)| vec![a, b])),
    ("argsort", |_, t| t.argsort(-1, true).map(one)),
    ("topk", |_, t| t.topk(1, 0, true).map(|(a, b)| vec![a, b])),
    ("median", |_, t| t.median(0, false).map(|(a, b)| vec![a, b])),
    ("unique", |_, t| t.unique_blocking().map(|u| vec![u.values])),
    ("nonzero", |_, t| t.nonzero_blocking().map(one)),
    ("masked_select", |_, t| {
        t.masked_select_blocking(&t.gt(0.0)?).map(one)
    }),
    ("histc", |_, t| t.histc(3, 0.0, 1.0).map(one)),
    ("index_select", |c, t| t.index_select(0, &c.index).map(one)),
    ("embedding", |c, t| t.embedding(&c.index).map(one)),
    ("take", |c, t| t.take(&c.index).map(one)),
    ("index by it", |c, t| {
        c.small.index_select(0, &t.to_dtype(DType::I32)?).map(one)
    }),
    ("index_add", |c, t| {
        t.index_add(0, &c.index, &t.narrow(0, 0, 2)?).map(one)
    }),
    ("scatter_nd", |c, t| {
        t.scatter_nd(
            &c.index.reshape_to([2, 1])?,
            &t.narrow(0, 0, 2)?,
            Scatter::Set,
        )
        .map(one)
    }),
    ("concat", |_, t| Tensor::concat(&[t, t, t], 0).map(one)),
    ("concat eight", |_, t| Tensor::concat(&[t; 8], -1).map(one)),
    ("stack", |_, t| Tensor::stack(&[t; 3], 0).map(one)),
    ("flip", |_, t| t.flip([0]).map(one)),
    ("flatten", |_, t| t.flatten(0, -1).map(one)),
    ("roll", |_, t| t.roll([1], [0]).map(one)),
    ("tile", |_, t| t.tile([2]).map(one)),
    ("pad", |_, t| {
        let pads = vec![[1, 1]; t.rank()];
        t.pad(pads, Pad::Constant, 0).map(one)
    }),
    ("unbind", |_, t| t.unbind(0)),
    ("unbind last", |_, t| t.unbind(-1)),
    ("split", |_, t| t.split(1, 0)),
    ("split last", |_, t| t.split(1, -1)),
    ("chunk", |_, t| t.chunk(usize::MAX, 0)),
    ("chunk last", |_, t| t.chunk(usize::MAX, -1)),
    ("unfold", |_, t| t.unfold(0, 1, 1).map(one)),
    ("diag_embed", |_, t| t.diag_embed(0).map(one)),
    ("matmul", |_, t| {
        t.unsqueeze(0)?.matmul(&t.unsqueeze(-1)?).map(one)
    }),
    ("matmul outer", |_, t| {
        t.unsqueeze(-1)?.matmul(&t.unsqueeze(0)?).map(one)
    }),
    ("dot", |_, t| t.matmul(t).map(one)),
    ("einsum", |_, t| {
        let t = t.flatten(0, -1)?;
        Tensor::einsum("a,b->ab", &[&t, &t]).map(one)
    }),
    ("meshgrid", |_, t| {
        let t = t.flatten(0, -1)?;
        Tensor::meshgrid(&[&t, &t], true)
    }),
    ("conv1d", |c, t| {
        let t = t.flatten(0, -1)?.reshape([1, 1, -1])?;
        t.conv1d(&c.one.reshape_to([1, 1, 1])?, None, &Default::default())
            .map(one)
    }),
    ("dropout", |c, t| {
        t.dropout(0.5, &mut c.generator()).map(one)
    }),
    ("bernoulli", |c, t| t.bernoulli(&mut c.generator()).map(one)),
    ("npy", |_, t| {
        futures::executor::block_on(io::npy_to_bytes(t)).map(|_| vec![])
    }),
    ("safetensors", |_, t| {
        futures::executor::block_on(io::safetensors_to_bytes(&[("t", t)])).map(|_| vec![])
    }),
    ("explain", |_, t| t.relu()?.explain().map(|_| vec![])),
    ("capture", |c, t| {
        c.device
            .capture(&[t], |x| Ok(vec![x[0].relu()?]))
            .map(|_| vec![])
    }),
    ("read in part", |_, t| {
        t.narrow(0, 0, 1)?.contiguous().map(one)
    }),
];

/// The values of what a call gave, where they are few.
fn look(results: &[Tensor]) -> Result<(), Error> {
    for tensor in results.iter().take(4) {
        assert!(format!("{tensor:?}").len() < 1000);
        tensor.eval_blocking()?;
        if tensor.len() < 1 << 16 {
            tensor.to_bytes_blocking()?;
        }
    }
    Ok(())
}

/// Runs `call` on a thread of its own; what is wrong with it, if anything is.
fn wrong(
    name: String,
    call: impl FnOnce() -> Result<(), Error> + Send + 'static,
) -> Option<String> {
    let (done, wait) = mpsc::channel();
    let thread = std::thread::Builder::new().name(name.clone());
    let thread = thread.spawn(move || {
        let result = call();
        done.send(result).ok();
    });
    match wait.recv_timeout(LIMIT) {
        Ok(Ok(())) => None,
        Ok(Err(error)) if error.is_internal() => Some(format!("{name}: {error}")),
        Ok(Err(_)) => None,
        Err(mpsc::RecvTimeoutError::Timeout) => Some(format!("{name}: does not end")),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let text = thread.unwrap().join().unwrap_err();
            let text = text.downcast_ref::<String>().cloned();
            Some(format!("{name}: panics: {}", text.unwrap_or_default()))
        }
    }
}

fn all(names: impl Fn(usize) -> Vec<(String, Run)>) {
    let mut found = Vec::new();
    for n in HUGE {
        for (name, call) in names(n) {
            // Seen if the process is aborted.
            eprintln!("{name}");
            found.extend(wrong(name, call));
        }
    }
    assert!(
        found.is_empty(),
        "{} calls:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn huge_numbers_are_answered_or_refused() {
    let device = common::device();
    all(|n| {
        let calls = GIVEN.iter().map(|&(name, call)| {
            let device = device.clone();
            let run = move || look(&call(&Case::new(&device, n))?);
            (format!("{name} {n}"), Box::new(run) as Run)
        });
        calls.collect()
    });
}

#[test]
fn tensors_of_huge_extents_are_answered_or_refused() {
    let device = common::device();
    for (kind, of) in [
        ("wide", (|c: &Case| c.wide.clone()) as fn(&Case) -> Tensor),
        ("hollow", |c| c.hollow.clone()),
        ("late", |c| c.late.clone()),
    ] {
        all(|n| {
            let calls = OF_WIDE.iter().map(|&(name, call)| {
                let device = device.clone();
                let run = move || {
                    let case = Case::new(&device, n);
                    look(&call(&case, &of(&case))?)
                };
                let name = format!("{name} of {kind} {n}");
                (name, Box::new(run) as Run)
            });
            calls.collect()
        });
    }
}
