//! Whether a device has room for a model, asked before anything is uploaded.

use ziggurat_tensor::{DType, Device};

use crate::{DecoderConfig, Error};

/// Bytes that this program could still have of a device, if anybody knows: what its driver says, and what is left of
/// [`ziggurat_tensor::DeviceOptions::memory_limit`].
fn available(device: &Device) -> Option<u64> {
    let usage = device.usage();
    // What lies idle in the pool is given back when it is needed.
    let of_driver = device.memory_bytes().available;
    let of_driver = of_driver.map(|bytes| bytes.saturating_add(usage.cached));
    let limit = device.executor().memory().options().limit;
    let of_limit = limit.map(|limit| limit.saturating_sub(usage.live));
    of_driver.into_iter().chain(of_limit).min()
}

/// An error if a device is known to have less than so many bytes.
pub(crate) fn check(device: &Device, requested: u64) -> Result<(), Error> {
    match available(device) {
        Some(available) if available < requested => Err(Error::OutOfMemory {
            requested,
            available,
        }),
        _ => Ok(()),
    }
}

/// The product of extents, or the greatest number if it is beyond that.
pub(crate) fn product(extents: &[usize]) -> u64 {
    let extents = extents.iter().map(|&extent| extent as u64);
    extents.fold(1, u64::saturating_mul)
}

/// Bytes of the keys and values of so many sequences of up to `capacity` tokens.
pub(crate) fn of_caches(
    config: &DecoderConfig,
    slots: usize,
    capacity: usize,
    dtype: DType,
) -> u64 {
    let factor = usize::from(dtype == DType::I8) * DType::F32.bytes();
    let head = (config.head_dim.saturating_mul(dtype.bytes())).saturating_add(factor);
    product(&[2, config.layers, slots, config.key_heads, capacity, head])
}

/// Bytes of what is there between kernels while a piece of a prompt, of up to `chunk` tokens, goes through a decoder: two
/// activations (what came in, and its norm or what is added to it) and the greater half of a layer; and the scores of the last
/// token. If weights are quantised, the greatest of a layer is decoded for the moment.
pub(crate) fn of_pass(config: &DecoderConfig, dtype: DType, chunk: usize, quantised: bool) -> u64 {
    let (width, dim) = (config.width, config.head_dim);
    let (queries, keys) = (
        product(&[config.heads, dim]),
        product(&[config.key_heads, dim]),
    );
    // Queries and keys before and behind rotation, values, and the result in both orders of axes.
    let attention = (queries.saturating_mul(4)).saturating_add(keys.saturating_mul(3));
    let gated = product(&[3, config.hidden]);
    let rows = config.context.min(chunk) as u64;
    let row = product(&[2, width]).saturating_add(attention.max(gated));
    let widest = queries.max(config.hidden as u64);
    let decoded = widest.saturating_mul(width as u64 * u64::from(quantised));
    let elements = rows.saturating_mul(row).saturating_add(decoded);
    let scores = product(&[config.vocabulary, dtype.bytes() + DType::F32.bytes()]);
    elements
        .saturating_mul(dtype.bytes() as u64)
        .saturating_add(scores)
}
