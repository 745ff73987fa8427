//! Shape, movement, indexing, scan, sort and selection.

use ziggurat_tensor::{DepthOrder, Device, Pad, Tensor};

use super::super::case::Case;
use super::{Inputs, Row, Trouble, operand};

/// The family's ops by name.
pub(super) const OPS: &[Row] = &[
    ("concat", concat),
    ("depth_to_space", |_, case, inputs| {
        let order = match case.text("mode")? {
            "CRD" => DepthOrder::ChannelFirst,
            _ => DepthOrder::BlockFirst,
        };
        let x = operand(inputs, "x")?;
        Ok(vec![x.depth_to_space(case.extent("block_size")?, order)?])
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
    ("trilu", |_, case, inputs| {
        let (x, k) = (operand(inputs, "x")?, case.integer("k")?);
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
