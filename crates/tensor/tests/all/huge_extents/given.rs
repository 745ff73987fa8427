//! Calls that are given a huge number.

use ziggurat_tensor::{
    AspectRatio, Attention, Conv2dOptions, ConvTranspose2dOptions, DType, InterpolateOptions,
    KvCache, Pad, Pool2dOptions, QueryPosition, ResizeOptions, RopeForm, RopeTable, Tensor,
};

use super::{Call, F, one};

/// Functions that are given the number.
pub(super) const GIVEN: &[(&str, Call)] = &[
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
