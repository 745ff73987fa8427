//! Shape, movement, indexing, scan, sort and selection.

use ziggurat_tensor::{DepthOrder, Device, Pad, ScanOptions, Scatter, Tensor};

use super::super::case::Case;
use super::{Inputs, Row, Trouble, operand};

/// The family's ops by name.
pub(super) const OPS: &[Row] = &[
    ("concat", concat),
    ("cumprod", |_, case, inputs| {
        let (x, axis) = (operand(inputs, "x")?, case.axis("axis")?);
        Ok(vec![x.cumprod_with(axis, scan_options(case)?)?])
    }),
    ("cumsum", |_, case, inputs| {
        let (x, axis) = (operand(inputs, "x")?, case.axis("axis")?);
        Ok(vec![x.cumsum_with(axis, scan_options(case)?)?])
    }),
    ("depth_to_space", |_, case, inputs| {
        let order = match case.text("mode")? {
            "CRD" => DepthOrder::ChannelFirst,
            _ => DepthOrder::BlockFirst,
        };
        let x = operand(inputs, "x")?;
        Ok(vec![x.depth_to_space(case.extent("block_size")?, order)?])
    }),
    ("gather", |_, case, inputs| {
        let (x, indices) = (operand(inputs, "x")?, operand(inputs, "indices")?);
        Ok(vec![x.index_select(case.axis("axis")?, indices)?])
    }),
    ("gather_elements", |_, case, inputs| {
        let (x, indices) = (operand(inputs, "x")?, operand(inputs, "indices")?);
        Ok(vec![x.gather(case.axis("axis")?, indices)?])
    }),
    ("gather_nd", |_, case, inputs| {
        let (x, indices) = (operand(inputs, "x")?, operand(inputs, "indices")?);
        Ok(vec![x.gather_nd(indices, case.extent("batch_dims")?)?])
    }),
    ("index_add", |_, case, inputs| {
        let (x, indices) = (operand(inputs, "x")?, operand(inputs, "indices")?);
        let src = operand(inputs, "src")?;
        Ok(vec![x.index_add(case.axis("axis")?, indices, src)?])
    }),
    ("one_hot", |_, case, inputs| {
        let indices = operand(inputs, "indices")?;
        let (on, off) = (case.number("on")?, case.number("off")?);
        let (depth, axis) = (case.extent("depth")?, case.axis("axis")?);
        Ok(vec![indices.one_hot(
            depth,
            axis,
            on,
            off,
            case.dtype("dtype")?,
        )?])
    }),
    ("pad", pad),
    ("roll", |_, case, inputs| {
        let x = operand(inputs, "x")?;
        Ok(vec![x.roll(case.axes("shifts")?, case.axes("axes")?)?])
    }),
    ("scatter_elements", |_, case, inputs| {
        let (x, indices) = (operand(inputs, "x")?, operand(inputs, "indices")?);
        let (axis, updates) = (case.axis("axis")?, operand(inputs, "updates")?);
        Ok(vec![x.scatter_reduce(
            axis,
            indices,
            updates,
            reduction(case)?,
        )?])
    }),
    ("scatter_nd", |_, case, inputs| {
        let (x, indices) = (operand(inputs, "x")?, operand(inputs, "indices")?);
        let updates = operand(inputs, "updates")?;
        Ok(vec![x.scatter_nd(indices, updates, reduction(case)?)?])
    }),
    ("sort", |_, case, inputs| {
        let (x, axis) = (operand(inputs, "x")?, case.axis("axis")?);
        let (values, at) = x.sort(axis, case.flag("descending")?)?;
        Ok(vec![values, at])
    }),
    ("space_to_depth", |_, case, inputs| {
        let x = operand(inputs, "x")?;
        let block = case.extent("block_size")?;
        Ok(vec![x.space_to_depth(block, DepthOrder::BlockFirst)?])
    }),
    ("split", |_, case, inputs| {
        let x = operand(inputs, "x")?;
        Ok(x.split_sizes(case.extents("sizes")?, case.axis("axis")?)?)
    }),
    ("tile", |_, case, inputs| {
        Ok(vec![operand(inputs, "x")?.tile(case.extents("repeats")?)?])
    }),
    ("topk", |_, case, inputs| {
        let (x, axis) = (operand(inputs, "x")?, case.axis("axis")?);
        let (values, at) = x.topk(case.extent("k")?, axis, case.flag("largest")?)?;
        Ok(vec![values, at])
    }),
    ("trilu", |_, case, inputs| {
        let (x, k) = (operand(inputs, "x")?, case.axis("k")?);
        let kept = if case.flag("upper")? {
            x.triu(k)?
        } else {
            x.tril(k)?
        };
        Ok(vec![kept])
    }),
];

fn concat(_: &Device, case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let parts = (0..inputs.len())
        .map(|i| operand(inputs, &format!("x{i}")))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(vec![Tensor::concat(&parts, case.axis("axis")?)?])
}

fn pad(_: &Device, case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let mode = match case.text("mode")? {
        "constant" => Pad::Constant,
        "edge" => Pad::Replicate,
        "reflect" => Pad::Reflect,
        "symmetric" => Pad::Symmetric,
        "wrap" => Pad::Circular,
        other => return Err(Trouble::Vectors(format!("pad mode {other}"))),
    };
    let ends = case.axes("pads_end")?;
    let pads: Vec<[isize; 2]> = case
        .axes("pads_begin")?
        .into_iter()
        .zip(ends)
        .map(|(begin, end)| [begin, end])
        .collect();
    let value = case.number_or_none("value")?.unwrap_or(0.0);
    Ok(vec![operand(inputs, "x")?.pad(pads, mode, value)?])
}

fn reduction(case: &Case) -> Result<Scatter, Trouble> {
    Ok(match case.text("reduction")? {
        "none" => Scatter::Set,
        "add" => Scatter::Add,
        "mul" => Scatter::Mul,
        "max" => Scatter::Max,
        "min" => Scatter::Min,
        other => return Err(Trouble::Vectors(format!("reduction {other}"))),
    })
}

fn scan_options(case: &Case) -> Result<ScanOptions, Trouble> {
    Ok(ScanOptions {
        exclusive: case.flag("exclusive")?,
        reverse: case.flag("reverse")?,
    })
}
