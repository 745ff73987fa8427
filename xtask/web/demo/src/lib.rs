//! The program of the page that people open. A worker runs it: `page/worker.js` calls what is here, and the page asks the worker.
#![cfg(target_arch = "wasm32")]

mod bench;
#[path = "../../../../crates/tensor/examples/digits/src/model.rs"]
mod model;

use std::collections::BTreeMap;

use model::Digits;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use ziggurat_pipeline::{KernelDescriptor, ShaderSource};
use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, Tensor};

/// Tensors of a file, which the worker reads: browsers know JSON, and the program need not.
#[wasm_bindgen]
#[derive(Default)]
#[allow(missing_debug_implementations, reason = "only JavaScript holds it")]
pub struct Weights(Vec<(String, Vec<usize>, Vec<f32>)>);

#[wasm_bindgen]
impl Weights {
    /// No tensors.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more, f32.
    pub fn add(&mut self, name: String, shape: Vec<usize>, values: Vec<f32>) {
        self.0.push((name, shape, values));
    }
}

/// A device, and the network of the demo on it.
#[wasm_bindgen]
#[allow(missing_debug_implementations, reason = "only JavaScript holds it")]
pub struct App {
    device: Device,
    network: Digits,
}

#[wasm_bindgen]
impl App {
    /// Opens a device and puts the network's weights there.
    ///
    /// # Errors
    /// If the browser has no WebGPU, or the weights are not those of the network.
    pub async fn open(weights: Weights) -> Result<Self, JsError> {
        let device = Device::open(DeviceOptions::default()).await?;
        let mut tensors = BTreeMap::new();
        for (name, shape, values) in weights.0 {
            let tensor = Tensor::from_slice(&device, &values, &shape[..])?;
            tensors.insert(name, tensor);
        }
        let network = Digits::new(&tensors).map_err(|text| JsError::new(&text))?;
        Ok(Self { device, network })
    }

    /// What computes, as far as the browser says.
    pub fn adapter(&self) -> String {
        let adapter = self.device.adapter();
        let name = match adapter.name.as_str() {
            "" => "WebGPU",
            name => name,
        };
        format!("{name} ({})", adapter.kind)
    }

    /// How probable each of the ten digits is, for 8 × 8 values of ink from 0 to 1.
    ///
    /// # Errors
    /// If there are not 64 values, or the device failed.
    pub async fn classify(&self, ink: Vec<f32>) -> Result<Vec<f32>, JsError> {
        let image = Tensor::from_slice(&self.device, &ink, [1, 1, 8, 8])?;
        let chances = self.network.logits(&image)?.softmax(-1)?;
        Ok(chances.to_vec().await?)
    }

    /// What the browser's compiler says of a kernel, each as `kernel:line:column: error: text`; nothing, if nothing.
    ///
    /// # Errors
    /// If the text is too large, or the device failed.
    pub async fn messages(&self, wgsl: String) -> Result<Vec<String>, JsError> {
        let descriptor = KernelDescriptor::new(ShaderSource::wgsl("kernel", wgsl));
        let pipelines = self.device.executor().pipelines();
        let messages = pipelines.messages(&descriptor).await?;
        Ok(messages.iter().map(ToString::to_string).collect())
    }

    /// Runs a kernel that reads the values from its buffer `x` and writes as many to `y`.
    ///
    /// # Errors
    /// If it has not these buffers, or the device failed: it does if the browser refuses the text.
    pub async fn kernel(&self, wgsl: String, values: Vec<f32>) -> Result<Vec<f32>, JsError> {
        let x = Tensor::from_slice(&self.device, &values, [values.len()])?;
        let kernel = CustomKernel::wgsl("kernel", wgsl)
            .input("x", DType::F32)
            .output("y", DType::F32);
        let y = kernel.call(&[&x]).shape([values.len()]).run()?;
        Ok(y.to_vec().await?)
    }
}
