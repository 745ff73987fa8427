//! What a page must be able to rely on: its own kernels, typed errors, many reads at once, and life after a failure.

use futures::future::join_all;
use serde_json::json;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use ziggurat_pipeline::{KernelDescriptor, MessageKind, ShaderSource};
use ziggurat_tensor::{
    Any, CustomKernel, DType, Device, Error, Tensor, TensorKernel, interop, like, read_many,
};

#[wasm_bindgen]
extern "C" {
    /// How often buffers have been mapped in this page; `page/tests.js` counts.
    #[wasm_bindgen(js_namespace = globalThis)]
    fn maps() -> u32;
}

/// What a test gives: nothing, or what was wrong.
type Verdict = Result<(), String>;

fn text(error: impl std::fmt::Display) -> String {
    format!("error: {error}")
}

fn equal<T: PartialEq + std::fmt::Debug>(found: T, wanted: T) -> Verdict {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{found:?} in place of {wanted:?}"))
}

/// The error of what must fail, if it is of the right kind.
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, is: fn(&Error) -> bool) -> Verdict {
    match result {
        Ok(value) => Err(format!("{value:?} in place of an error")),
        Err(error) if is(&error) => Ok(()),
        Err(error) => Err(format!("another error: {error}")),
    }
}

const AXPY: &str = "
    @group(0) @binding(0) var<uniform> alpha: f32;
    @group(0) @binding(1) var<storage, read> x: array<f32>;
    @group(0) @binding(2) var<storage, read> y: array<f32>;
    @group(0) @binding(3) var<storage, read_write> out: array<f32>;
    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
        let i = id.x + (id.y + id.z * n.y) * n.x * 64u;
        if (i < arrayLength(&out)) { out[i] = alpha * x[i] + y[i]; }
    }";

fn axpy(name: &'static str, wgsl: String) -> CustomKernel {
    CustomKernel::wgsl(name, wgsl)
        .input("x", DType::F32)
        .input("y", DType::F32)
        .output("out", DType::F32)
}

async fn own_shader(device: &Device) -> Verdict {
    let x = Tensor::from_slice(device, &[1.0_f32, 2.0, 3.0], [3]).map_err(text)?;
    let y = Tensor::ones(device, [3], DType::F32).map_err(text)?;
    let kernel = axpy("axpy", AXPY.to_owned());
    let call = kernel.call(&[&x, &y]).shape([3]);
    let z = call.uniform(&10.0_f32.to_le_bytes()).run().map_err(text)?;
    equal(
        z.to_vec::<f32>().await.map_err(text)?,
        vec![11.0, 21.0, 31.0],
    )
}

async fn own_body(device: &Device) -> Verdict {
    let body = "fn kernel(i: u32) { y_store(i, alpha * x_at(i)); }";
    let kernel = TensorKernel::wgsl("scaled", body)
        .input("x", Any::floats())
        .output("y", like("x"))
        .param("alpha", 3.0_f32);
    let x = Tensor::from_slice(device, &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3]);
    let x = x
        .and_then(|x| x.t())
        .and_then(|x| x.to_dtype(DType::F16))
        .map_err(text)?;
    let y = kernel.call(&[&x]).run().map_err(text)?;
    let y = y.to_dtype(DType::F32).map_err(text)?;
    equal(
        y.to_vec::<f32>().await.map_err(text)?,
        vec![3.0, 12.0, 6.0, 15.0, 9.0, 18.0],
    )
}

/// What is no kernel by its declarations is refused at once. The browser's compiler says what else is wrong, with its place, if it is
/// asked; if it is not, the device fails, and another takes over.
async fn a_wrong_shader_is_a_typed_error(device: &Device) -> Verdict {
    let x = Tensor::ones(device, [3], DType::F32).map_err(text)?;
    let call = |wgsl: &str| {
        let kernel = axpy("wrong", wgsl.to_owned());
        let call = kernel.call(&[&x, &x]).shape([3]);
        call.uniform(&1.0_f32.to_le_bytes()).run()
    };
    let textures = AXPY.replace("var<uniform> alpha: f32", "var alpha: sampler");
    refused(call(&textures), Error::is_kernel)?;
    let wrong = AXPY.replace("alpha * x[i]", "alpha * z[i]");
    let pipelines = device.executor().pipelines();
    let descriptor = KernelDescriptor::new(ShaderSource::wgsl("wrong", wrong.clone()));
    let messages = pipelines.messages(&descriptor).await.map_err(text)?;
    let before = wrong.split("z[i]").next().unwrap_or_default();
    let place = [
        before.lines().count(),
        before.lines().last().map_or(0, str::len) + 1,
    ];
    let told = messages
        .first()
        .map(|first| (first.kind, [first.place.line, first.place.column]));
    equal(told, Some((MessageKind::Error, place.map(|n| n as u32))))?;
    let right = KernelDescriptor::new(ShaderSource::wgsl("right", AXPY));
    equal(pipelines.messages(&right).await.map_err(text)?.len(), 0)?;
    let late = async { call(&wrong)?.to_vec::<f32>().await };
    refused(late.await, |_| true)?;
    let other = device.reopen().await.map_err(text)?;
    a_fused_expression(&other).await
}

/// One expression stays one kernel, and gives what its parts give.
async fn a_fused_expression(device: &Device) -> Verdict {
    let count = 256;
    let values: Vec<f32> = (0..count).map(|i| i as f32).collect();
    let a = Tensor::from_slice(device, &values, [count]).map_err(text)?;
    let value = (&a * &a).and_then(|x| &x + &a).and_then(|x| x.sqrt());
    let found = value.map_err(text)?.to_vec::<f32>().await.map_err(text)?;
    let wanted: Vec<f32> = values.iter().map(|x| (x * x + x).sqrt()).collect();
    equal(found, wanted)
}

async fn a_hundred_reads_at_once(device: &Device) -> Verdict {
    let sums: Vec<Tensor> = (0..100)
        .map(|i| Tensor::full(device, [1000], i as f32, DType::F32).and_then(|x| x.sum_all()))
        .collect::<Result<_, _>>()
        .map_err(text)?;
    let reads = join_all(sums.iter().map(Tensor::item::<f32>)).await;
    for (i, read) in reads.into_iter().enumerate() {
        equal(read.map_err(text)?, 1000.0 * i as f32)?;
    }
    Ok(())
}

async fn many_reads_are_one_map(device: &Device) -> Verdict {
    let all: Vec<Tensor> = (0..100)
        .map(|i| Tensor::full(device, [1000], i as f32, DType::F32))
        .collect::<Result<_, _>>()
        .map_err(text)?;
    let together: Vec<&Tensor> = all.iter().collect();
    let before = maps();
    let bytes = read_many(&together).await.map_err(text)?;
    equal(maps() - before, 1)?;
    for (i, bytes) in bytes.into_iter().enumerate() {
        equal(bytes, (i as f32).to_le_bytes().repeat(1000))?;
    }
    // The count counts.
    let before = maps();
    for one in [&all[3], &all[4]] {
        one.to_vec::<f32>().await.map_err(text)?;
    }
    equal(maps() - before, 2)
}

/// 200 rounds of values that nobody keeps, after as many others; the pool must give their memory to the next.
async fn memory_is_reused(device: &Device) -> Verdict {
    let x = Tensor::ones(device, [1 << 16], DType::F32).map_err(text)?;
    for _ in 0..200 {
        let y = x.exp().and_then(|y| y.sum_all()).map_err(text)?;
        y.eval().await.map_err(text)?;
    }
    let before = device.usage().reserved;
    for _ in 0..200 {
        let y = x.exp().and_then(|y| y.sum_all()).map_err(text)?;
        y.eval().await.map_err(text)?;
    }
    equal(device.usage().reserved, before)
}

/// More than the adapter can have, piece by piece: a typed error, and another device takes over.
async fn out_of_memory(device: &Device) -> Verdict {
    let most = usize::try_from(device.executor().device().caps().max_buffer_bytes);
    // Memory is taken in steps of 16 bytes, which not every device's limit is.
    let count = most.unwrap_or(usize::MAX / 8) / 16 * 4;
    let mut all = Vec::new();
    let failure = loop {
        if all.len() == 64 {
            return Err("64 of the largest buffers, and memory enough".to_owned());
        }
        let full = Tensor::zeros(device, [count], DType::F32);
        let written = match full {
            Ok(full) => match full.eval().await {
                Ok(()) => full.narrow(0, 0, 1).map(|first| (full, first)),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        match written {
            Ok((full, first)) => match first.item::<f32>().await {
                Ok(_) => all.push(full),
                Err(error) => break error,
            },
            Err(error) => break error,
        }
    };
    drop(all);
    refused::<()>(Err(failure), Error::is_out_of_memory)?;
    let other = device.reopen().await.map_err(text)?;
    a_fused_expression(&other).await
}

/// The device is taken away while work is under way: a typed error, and another device takes over.
async fn a_destroyed_device(device: &Device) -> Verdict {
    let x = Tensor::ones(device, [1 << 20], DType::F32).map_err(text)?;
    let y = x.exp().and_then(|y| y.sum_all()).map_err(text)?;
    let under_way = y.to_vec::<f32>();
    interop::wgpu_device(device).destroy();
    match under_way.await {
        // It was done before.
        Ok(values) => equal(values.len(), 1)?,
        Err(error) => refused::<()>(Err(error), Error::is_device_lost)?,
    }
    let late = async {
        Tensor::ones(device, [4], DType::F32)?
            .exp()?
            .to_vec::<f32>()
            .await
    };
    refused(late.await, Error::is_device_lost)?;
    let other = device.reopen().await.map_err(text)?;
    a_fused_expression(&other).await
}

/// Runs one of them on a device of its own; nothing, if it holds, else what was wrong.
///
/// # Errors
/// If there is no device or no such test.
#[wasm_bindgen]
pub async fn behaviour(name: String) -> Result<Option<String>, JsError> {
    let device = crate::open().await?;
    let verdict = match name.as_str() {
        "own_shader" => own_shader(&device).await,
        "own_body" => own_body(&device).await,
        "a_wrong_shader_is_a_typed_error" => a_wrong_shader_is_a_typed_error(&device).await,
        "a_fused_expression" => a_fused_expression(&device).await,
        "a_hundred_reads_at_once" => a_hundred_reads_at_once(&device).await,
        "many_reads_are_one_map" => many_reads_are_one_map(&device).await,
        "memory_is_reused" => memory_is_reused(&device).await,
        "a_destroyed_device" => a_destroyed_device(&device).await,
        "out_of_memory" => out_of_memory(&device).await,
        _ => return Err(JsError::new(&format!("there is no test {name}"))),
    };
    Ok(verdict.err())
}

/// The names that [`behaviour`] knows.
#[wasm_bindgen]
pub fn behaviours() -> String {
    json!([
        "own_shader",
        "own_body",
        "a_wrong_shader_is_a_typed_error",
        "a_fused_expression",
        "a_hundred_reads_at_once",
        "many_reads_are_one_map",
        "memory_is_reused",
        "a_destroyed_device",
        "out_of_memory",
    ])
    .to_string()
}

/// Opens a device and holds tensors of so many bytes for as long as the page lives.
///
/// # Errors
/// If there is no memory for them.
#[wasm_bindgen]
pub async fn hold(count: usize, bytes: usize) -> Result<(), JsError> {
    let device = crate::open().await?;
    for _ in 0..count {
        let held = Tensor::ones(&device, [bytes / 4], DType::F32).map_err(crate::js)?;
        held.eval().await.map_err(crate::js)?;
        std::mem::forget(held);
    }
    Ok(())
}

/// Opens a device, adds 256 numbers and reads the sums: milliseconds from the call.
///
/// # Errors
/// If anything of it fails.
#[wasm_bindgen]
pub async fn first_result() -> Result<f64, JsError> {
    let begin = js_sys::Date::now();
    let device = crate::open().await?;
    let a = Tensor::ones(&device, [256], DType::F32).map_err(crate::js)?;
    let sum = (&a + &a).map_err(crate::js)?;
    let values = sum.to_vec::<f32>().await.map_err(crate::js)?;
    if values != [2.0; 256] {
        return Err(JsError::new(&format!("{values:?}")));
    }
    Ok(js_sys::Date::now() - begin)
}
