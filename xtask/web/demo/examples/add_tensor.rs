//! The `add` program through `Tensor`: what `cargo xtask web --size` weighs.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use ziggurat_tensor::{Device, DeviceOptions, Tensor};

/// Sums of two vectors of the same length.
///
/// # Errors
/// If there is no WebGPU, or the lengths differ.
#[wasm_bindgen]
pub async fn add(a: Vec<f32>, b: Vec<f32>) -> Result<Vec<f32>, JsError> {
    let device = Device::open(DeviceOptions::default()).await?;
    let x = Tensor::from_slice(&device, &a, [a.len()])?;
    let y = Tensor::from_slice(&device, &b, [b.len()])?;
    Ok((&x + &y)?.to_vec().await?)
}
