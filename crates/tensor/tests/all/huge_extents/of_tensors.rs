//! Calls that are given tensors of huge extents.

use ziggurat_tensor::{DType, Pad, Scatter, Tensor, io};

use super::{CallOf, one};

/// Functions that are given a tensor of the extent.
pub(super) const OF_WIDE: &[(&str, CallOf)] = &[
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
