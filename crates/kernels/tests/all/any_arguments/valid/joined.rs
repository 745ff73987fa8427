//! Operands of several axes that fit each other: attention, losses of classes, sums of products.

use ziggurat_kernels::{
    AttentionOperands, AttentionOptions, BlockFormat, BlockShape, Blocks, Completion, DType,
    Executor, KernelError, RopeAppend, RopeAppended, RopeOptions, RopePositions,
};

use crate::any_arguments::any::Any;
use crate::operands::given;

struct Heads {
    dtype: DType,
    q: [usize; 4],
    k: [usize; 4],
    v: [usize; 4],
}

fn heads(any: &mut Any<'_>) -> Heads {
    let (batch, shared, group) = (any.extent_of(2), any.extent_of(2), any.extent_of(2));
    let (queries, keys) = (any.extent_of(4), any.extent_of(5));
    let (width, value_width) = (any.extent_of(4), any.extent_of(5));
    Heads {
        dtype: any.float(),
        q: [batch, shared * group, queries, width],
        k: [batch, shared, keys, width],
        v: [batch, shared, keys, value_width],
    }
}

fn attention_options(any: &mut Any<'_>) -> AttentionOptions {
    AttentionOptions {
        scale: any.rng.pick(&[1.0, 0.5]),
        softcap: any.rng.pick(&[0.0, 0.0, 4.0]),
        causal: any.flag(),
        shift: any.rng.pick(&[0, 0, 1, -1]),
        left_window: any.rng.pick(&[None, None, Some(1)]),
        right_window: any.rng.pick(&[None, None, Some(0)]),
        zero_masked_rows: true,
    }
}

pub(crate) fn attention(exec: &Executor, any: &mut Any<'_>) -> Result<Completion, KernelError> {
    let Heads { dtype, q, k, v } = heads(any);
    let mask_dims = [
        q[0],
        any.rng.pick(&[1, q[1]]),
        any.rng.pick(&[1, q[2]]),
        k[2],
    ];
    let mask_dtype = any.rng.pick(&[DType::Bool, DType::F32]);
    let mask = any.flag().then(|| any.sized(mask_dtype, &mask_dims));
    let counts: Vec<f64> = (0..q[0]).map(|_| any.extent_of(k[2]) as f64).collect();
    let lengths = any
        .flag()
        .then(|| given(exec, DType::I32, &[q[0]], &counts).view);
    let out = any.out(dtype, &[q[0], q[1], q[2], v[3]]);
    let factors = any
        .flag()
        .then(|| any.sized(DType::F32, &[k[0], k[1], k[2], 2]));
    let kept = factors.as_ref().map_or(dtype, |_| DType::I8);
    let operands = AttentionOperands {
        q: &any.sized(dtype, &q),
        k: &any.sized(kept, &k),
        v: &any.sized(kept, &v),
        mask: mask.as_ref(),
        lengths: lengths.as_ref(),
        factors: factors.as_ref(),
    };
    exec.attention(&operands, &attention_options(any), &out)
}

pub(crate) fn attention_with_past(
    exec: &Executor,
    any: &mut Any<'_>,
) -> Result<Completion, KernelError> {
    let Heads { dtype, q, k, v } = heads(any);
    let past = any.rng.below(4);
    let of = |dims: [usize; 4], len: usize| [dims[0], dims[1], len, dims[3]];
    let pasts = (
        any.sized(dtype, &of(k, past)),
        any.sized(dtype, &of(v, past)),
    );
    let presents = (
        any.out(dtype, &of(k, past + k[2])),
        any.out(dtype, &of(v, past + k[2])),
    );
    let out = any.out(dtype, &[q[0], q[1], q[2], v[3]]);
    let operands = AttentionOperands {
        q: &any.sized(dtype, &q),
        k: &any.sized(dtype, &k),
        v: &any.sized(dtype, &v),
        mask: None,
        lengths: None,
        factors: None,
    };
    let options = attention_options(any);
    exec.attention_with_past(
        &operands,
        (&pasts.0, &pasts.1),
        (&presents.0, &presents.1),
        &options,
        &out,
    )
}

pub(crate) fn rope_append(exec: &Executor, any: &mut Any<'_>) -> Result<Completion, KernelError> {
    let (dtype, interleaved) = (any.float(), any.flag());
    let [slots, heads, own] = [3, 4, 2].map(|most| any.extent_of(most));
    let (half, capacity, rows) = (4 * any.extent_of(2), any.extent_of(4), any.extent_of(5));
    let len = 2 * half + 4 * any.rng.below(2);
    let at: Vec<f64> = (0..slots).map(|_| any.rng.below(9) as f64 - 2.0).collect();
    let at = given(exec, DType::I32, &[slots], &at).view;
    let joined = any.dense(dtype, &[slots, heads + 2 * own, len]);
    let tables = [(); 2].map(|()| any.dense(DType::F32, &[rows, half]));
    let queries = any.updated(dtype, &[slots, heads, 1, len]);
    let caches = [(); 2].map(|()| any.updated(dtype, &[slots, own, capacity, len]));
    let reads = RopeAppend {
        joined: &joined,
        tables: tables.each_ref(),
        positions: &at,
        interleaved,
    };
    let writes = RopeAppended {
        queries: &queries,
        keys: &caches[0],
        values: &caches[1],
    };
    exec.rope_append(&reads, &writes)
}

pub(crate) fn rope(exec: &Executor, any: &mut Any<'_>) -> Result<Completion, KernelError> {
    let (dtype, half) = (any.float(), any.extent_of(3));
    let dims = [
        any.extent_of(2),
        any.extent_of(3),
        any.extent_of(3),
        2 * half + any.rng.below(2),
    ];
    let options = RopeOptions {
        interleaved: any.flag(),
        positions_before_heads: any.flag(),
    };
    let length = if options.positions_before_heads {
        dims[1]
    } else {
        dims[2]
    };
    let at: Vec<f64> = (0..dims[0] * length)
        .map(|_| any.rng.below(9) as f64)
        .collect();
    let at = given(exec, DType::I32, &[dims[0], length], &at).view;
    let (positions, rows) = match any.rng.below(3) {
        0 => (RopePositions::From(any.rng.below(3)), length + 2),
        1 => (RopePositions::PerBatch, dims[0] * length),
        _ => (RopePositions::Given(&at), 9),
    };
    let (cos, sin) = (
        any.dense(DType::F32, &[rows, half]),
        any.dense(DType::F32, &[rows, half]),
    );
    let a = any.sized(dtype, &dims);
    exec.rope(&a, &cos, &sin, positions, options, &any.out(dtype, &dims))
}

/// A quantised matrix of at least a row, whose numbers are small, and its extents.
pub(super) fn blocks(
    exec: &Executor,
    any: &mut Any<'_>,
) -> Result<(Blocks, [usize; 2]), KernelError> {
    let format = any.rng.pick(BlockFormat::ALL);
    let dims = [
        1 + any.rng.below(9),
        any.rng.pick(&[1, 2]) * format.elements(),
    ];
    let shape = BlockShape::new(format, dims).unwrap();
    let mut bytes = vec![0; usize::try_from(shape.bytes()).unwrap()];
    for block in bytes.chunks_exact_mut(format.bytes()) {
        block
            .iter_mut()
            .for_each(|byte| *byte = any.rng.below(256) as u8);
        // 0.0078125
        for &at in format.halves() {
            block[at..at + 2].copy_from_slice(&[0x00, 0x20]);
        }
    }
    Ok((exec.upload_blocks(shape, &bytes)?, dims))
}
