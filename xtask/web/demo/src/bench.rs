//! Rates of two ops, each measured over at least 50 ms after a first pass that compiles.

use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use ziggurat_tensor::{DType, Error, Tensor};

use crate::App;

#[wasm_bindgen]
extern "C" {
    /// Milliseconds of a clock that does not jump.
    #[wasm_bindgen(js_namespace = performance)]
    fn now() -> f64;
}

/// Long enough for the browser's clock, whose steps are at most a millisecond.
const LONG_ENOUGH: f64 = 50.0;

#[wasm_bindgen]
impl App {
    /// Bytes per second that an addition of two vectors of so many f32 reads and writes.
    ///
    /// # Errors
    /// If there is no memory for them, or the device failed.
    pub async fn bandwidth(&self, count: usize) -> Result<f64, JsError> {
        let x = Tensor::ones(&self.device, [count], DType::F32)?;
        let y = Tensor::ones(&self.device, [count], DType::F32)?;
        let seconds = seconds(&[&x, &y], || &x + &y).await?;
        Ok(3.0 * 4.0 * count as f64 / seconds)
    }

    /// Operations per second of a product of two square f32 matrices with so many rows.
    ///
    /// # Errors
    /// If there is no memory for them, or the device failed.
    pub async fn matmul(&self, rows: usize) -> Result<f64, JsError> {
        let x = Tensor::ones(&self.device, [rows, rows], DType::F32)?;
        let y = Tensor::ones(&self.device, [rows, rows], DType::F32)?;
        let seconds = seconds(&[&x, &y], || x.matmul(&y)).await?;
        Ok(2.0 * (rows as f64).powi(3) / seconds)
    }
}

/// Seconds that one evaluation takes, where several are under way at once.
async fn seconds(
    inputs: &[&Tensor],
    op: impl Fn() -> Result<Tensor, Error>,
) -> Result<f64, JsError> {
    for input in inputs {
        input.eval().await?;
    }
    op()?.eval().await?;
    let mut passes = 1_u32;
    loop {
        let begin = now();
        // `eval` records at once; what it gives resolves when the device is done.
        let all: Vec<_> = (0..passes)
            .map(|_| Ok(op()?.eval()))
            .collect::<Result<_, Error>>()?;
        for done in all {
            done.await?;
        }
        let time = now() - begin;
        if time >= LONG_ENOUGH {
            return Ok(time / 1e3 / f64::from(passes));
        }
        passes *= 4;
    }
}
