//! Reductions and normalisations over axes, softmax, attention, rope.

use ziggurat_tensor::{
    Attention, DType, Error, MaskedRows, QueryPosition, RopeForm, RopeTable, ScoreStage, Tensor,
};

use super::super::Trouble;
use super::super::case::Case;
use super::{Inputs, Row, operand};

/// The family's ops by name.
pub(super) const OPS: &[Row] = &[
    ("reduce_all", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| x.all(axes, keep))
    }),
    ("reduce_any", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| x.any(axes, keep))
    }),
    ("reduce_l1", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| {
            if x.dtype().is_float() {
                x.norm(1.0, axes, keep)
            } else {
                x.abs()?.sum(axes, keep)
            }
        })
    }),
    ("reduce_l2", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| x.norm(2.0, axes, keep))
    }),
    ("reduce_log_sum", |_, case, inputs| {
        // The sum must not be rounded to f16 before its logarithm is taken.
        reduced(case, inputs, |x, axes, keep| {
            x.sum_to(axes, keep, DType::F32)?.log()?.to_dtype(x.dtype())
        })
    }),
    ("reduce_log_sum_exp", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| x.logsumexp(axes, keep))
    }),
    ("reduce_prod", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| x.prod(axes, keep))
    }),
    ("reduce_std", |_, case, inputs| {
        let correction = case.number("correction")?;
        reduced(case, inputs, |x, axes, keep| x.std(axes, correction, keep))
    }),
    ("reduce_sum_square", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| x.sum_squares(axes, keep))
    }),
    ("reduce_var", |_, case, inputs| {
        let correction = case.number("correction")?;
        reduced(case, inputs, |x, axes, keep| x.var(axes, correction, keep))
    }),
    ("log_softmax", |_, case, inputs| {
        Ok(vec![operand(inputs, "x")?.log_softmax(case.axis("axis")?)?])
    }),
    ("layer_norm", |_, case, inputs| layer_norm(case, inputs)),
    ("rms_norm", |_, case, inputs| {
        let x = operand(inputs, "x")?;
        let (axes, eps) = (case.extents("axes")?, case.number("epsilon")? as f32);
        let scale = operand(inputs, "scale")?;
        Ok(vec![over_last(x, &axes, |x, shape| {
            x.rms_norm(shape, Some(scale), eps)
        })?])
    }),
    ("group_norm", |_, case, inputs| {
        let (groups, eps) = (case.extent("num_groups")?, case.number("epsilon")? as f32);
        let x = operand(inputs, "x")?;
        let (scale, bias) = (inputs.get("scale"), inputs.get("bias"));
        Ok(vec![x.group_norm(groups, scale, bias, eps)?])
    }),
    ("instance_norm", |_, case, inputs| {
        let eps = case.number("epsilon")? as f32;
        let x = operand(inputs, "x")?;
        Ok(vec![x.instance_norm(
            inputs.get("scale"),
            inputs.get("bias"),
            eps,
        )?])
    }),
    ("batch_norm", |_, case, inputs| {
        let eps = case.number("epsilon")? as f32;
        let x = operand(inputs, "x")?;
        let statistics = (operand(inputs, "mean")?, operand(inputs, "var")?);
        let (scale, bias) = (inputs.get("scale"), inputs.get("bias"));
        Ok(vec![x.batch_norm(
            case.axis("axis")?,
            statistics,
            scale,
            bias,
            eps,
        )?])
    }),
    ("batch_norm_train", |_, case, inputs| {
        let eps = case.number("epsilon")? as f32;
        let x = operand(inputs, "x")?;
        let (scale, bias) = (inputs.get("scale"), inputs.get("bias"));
        let trained = x.batch_norm_train(case.axis("axis")?, scale, bias, eps)?;
        let running = (operand(inputs, "mean")?, operand(inputs, "var")?);
        let (mean, var) = trained.running(running, case.number("momentum")? as f32)?;
        Ok(vec![trained.output, mean, var])
    }),
    ("rope", |_, case, inputs| rope(case, inputs)),
    ("attention", |_, case, inputs| attention(case, inputs)),
];

/// Layer norm with the optional outputs mean and 1 / standard deviation.
fn layer_norm(case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let x = operand(inputs, "x")?;
    let (axes, eps) = (case.extents("axes")?, case.number("epsilon")? as f32);
    let (scale, bias) = (inputs.get("scale"), inputs.get("bias"));
    let y = over_last(x, &axes, |x, shape| x.layer_norm(shape, scale, bias, eps))?;
    if case.outputs.len() == 1 {
        return Ok(vec![y]);
    }
    let axes: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
    let (var, mean) = x.to_dtype(DType::F32)?.var_mean(axes, 0, true)?;
    let inverse = var.add(eps)?.rsqrt()?;
    Ok(vec![y, mean, inverse])
}

/// Normalises over any axes: as the last ones, in increasing order.
fn over_last(
    x: &Tensor,
    axes: &[usize],
    op: impl Fn(&Tensor, &[usize]) -> Result<Tensor, Error>,
) -> Result<Tensor, Error> {
    let mut order: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
    let kept = order.len();
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    order.extend(sorted);
    let signed: Vec<isize> = order.iter().map(|&axis| axis as isize).collect();
    let turned = x.permute(&signed)?;
    let shape = turned.dims().get(kept..).unwrap_or_default().to_vec();
    let mut back = vec![0; order.len()];
    for (place, &axis) in (0..).zip(&order) {
        if let Some(slot) = back.get_mut(axis) {
            *slot = place;
        }
    }
    op(&turned, &shape)?.permute(back)
}

fn rope(case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let x = operand(inputs, "x")?;
    let table = RopeTable {
        cos: operand(inputs, "cos")?.clone(),
        sin: operand(inputs, "sin")?.clone(),
    };
    let flat = x.rank() == 3;
    let form = RopeForm {
        interleaved: case.flag("interleaved")?,
        positions_before_heads: flat,
        start: 0,
        positions: inputs.get("position_ids"),
    };
    if !flat {
        return Ok(vec![x.rope(&table, form)?]);
    }
    let heads = case.axis("num_heads")?;
    let dims: Vec<isize> = x.dims().iter().map(|&dim| dim as isize).collect();
    let split = match dims.as_slice() {
        &[batch, length, _] => x.reshape([batch, length, heads, -1])?,
        _ => x.clone(),
    };
    Ok(vec![split.rope(&table, form)?.reshape_to(x.dims())?])
}

/// Heads from the last axis of rank 3 to an axis of their own.
fn split_heads(x: &Tensor, heads: usize) -> Result<Tensor, Error> {
    match x.dims() {
        &[batch, length, width] => x
            .reshape_to([batch, length, heads, width / heads.max(1)])?
            .transpose(1, 2),
        _ => Ok(x.clone()),
    }
}

fn attention(case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let heads = case.extent("q_num_heads")?;
    let kv_heads = case.extent("kv_num_heads")?;
    let flat = operand(inputs, "q")?.rank() == 3;
    let q = split_heads(operand(inputs, "q")?, heads)?;
    let k = split_heads(operand(inputs, "k")?, kv_heads)?;
    let v = split_heads(operand(inputs, "v")?, kv_heads)?;
    let past = inputs.get("past_k").zip(inputs.get("past_v"));
    let present = |past: Option<&Tensor>, new: &Tensor| match past {
        Some(past) => Tensor::concat(&[past, new], 2),
        None => Ok(new.clone()),
    };
    let all_keys = present(past.map(|(k, _)| k), &k)?;
    let keys = all_keys.dims().get(2).copied().unwrap_or(0);
    let mask = inputs
        .get("mask")
        .map(|mask| extended(mask, keys))
        .transpose()?;
    let window = |name| -> Result<Option<u32>, Trouble> { Ok(case.integer(name)?.try_into().ok()) };
    let options = Attention {
        scale: Some(case.number("scale")? as f32),
        mask: mask.as_ref(),
        causal: case.flag("is_causal")?,
        position: QueryPosition::TopLeft,
        left_window: window("left_window")?,
        right_window: window("right_window")?,
        softcap: case.number("softcap")? as f32,
        key_lengths: inputs.get("nonpad_kv_seqlen"),
        past,
        masked_rows: MaskedRows::Zero,
    };
    let mut y = q.scaled_dot_product_attention(&k, &v, &options)?;
    if flat {
        y = y.transpose(1, 2)?.flatten(2, 3)?;
    }
    let mut outputs = Vec::new();
    for output in &case.outputs {
        outputs.push(match output.name.as_str() {
            "present_k" => all_keys.clone(),
            "present_v" => present(past.map(|(_, v)| v), &v)?,
            "qk" => {
                let stage = match case.integer("qk_output_mode")? {
                    0 => ScoreStage::Raw,
                    1 => ScoreStage::Capped,
                    2 => ScoreStage::Masked,
                    _ => ScoreStage::Weights,
                };
                q.attention_scores(&k, &options, stage)?
            }
            _ => y.clone(),
        });
    }
    Ok(outputs)
}

/// A mask whose last extent is that of the keys: what is missing is hidden.
fn extended(mask: &Tensor, keys: usize) -> Result<Tensor, Error> {
    let mut dims = mask.dims().to_vec();
    let Some(last) = dims.last_mut().filter(|last| **last > 1 && **last < keys) else {
        return Ok(mask.clone());
    };
    *last = keys - *last;
    let hidden = if mask.dtype() == DType::Bool {
        0.0
    } else {
        f64::NEG_INFINITY
    };
    let rest = Tensor::full(mask.device(), dims, hidden, mask.dtype())?;
    Tensor::concat(&[mask, &rest], -1)
}

fn reduced(
    case: &Case,
    inputs: &Inputs,
    op: impl Fn(&Tensor, &[isize], bool) -> Result<Tensor, Error>,
) -> Result<Vec<Tensor>, Trouble> {
    let x = operand(inputs, "x")?;
    Ok(vec![op(x, &case.axes("axes")?, case.flag("keepdims")?)?])
}
