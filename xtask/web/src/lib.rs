//! The program in the page: the library's public interface on the browser's WebGPU, asked by `page/tests.js`.
#![cfg(target_arch = "wasm32")]

pub mod behaviour;
pub mod cases;

use std::panic;

use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use ziggurat_tensor::{Device, DeviceOptions};

#[wasm_bindgen]
extern "C" {
    /// Tells the driver that the program panicked.
    #[wasm_bindgen(js_namespace = globalThis, js_name = panicked)]
    fn panicked(text: &str);
}

/// Makes a panic a failure of the tests.
#[wasm_bindgen(start)]
pub fn start() {
    panic::set_hook(Box::new(|panic| panicked(&panic.to_string())));
}

fn js(error: impl std::fmt::Display) -> JsError {
    JsError::new(&error.to_string())
}

async fn open() -> Result<Device, JsError> {
    Device::open(DeviceOptions::default()).await.map_err(js)
}

/// What computes here.
///
/// # Errors
/// If the browser has no WebGPU.
#[wasm_bindgen]
pub async fn adapter() -> Result<String, JsError> {
    Ok(open().await?.name().to_owned())
}
