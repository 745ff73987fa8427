//! Conformance vectors in the browser.

#[path = "../../../crates/tensor/examples/conformance/suite.rs"]
#[allow(dead_code, reason = "the folders' side of it is native")]
mod suite;

use serde_json::json;
use suite::case::{self, Case};
use suite::corrupt::Corruption;
use suite::data::Files;
use suite::{Trouble, run_case};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use ziggurat_tensor::Device;

/// All cases, and the device they run on.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Cases {
    device: Device,
    cases: Vec<Case>,
}

#[wasm_bindgen]
impl Cases {
    /// Reads the text of `cases.jsonl` and opens a device.
    ///
    /// # Errors
    /// If the text is no such file, or there is no device.
    pub async fn open(text: String) -> Result<Self, JsError> {
        Ok(Self {
            cases: case::parse("cases.jsonl", &text).map_err(|text| JsError::new(&text))?,
            device: crate::open().await?,
        })
    }

    /// The names of the files with their tensors.
    pub fn files(&self) -> Vec<String> {
        let mut files: Vec<String> = self.cases.iter().map(|case| case.file.clone()).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Runs the first cases of one file, whose bytes are given, as many as `most`; for the first of them also with wrong expected values, which must be
    /// noticed. Gives JSON: `[{"op", "case", "failure"}]`, where a case that passed has no failure.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub async fn run(&self, file: String, bytes: Vec<u8>, most: usize) -> Result<String, JsError> {
        let mut files = Files::new(std::path::Path::new(""));
        let broken = |trouble: Trouble| JsError::new(&format!("{trouble:?}"));
        files.put(&file, &bytes).map_err(broken)?;
        let mut results = Vec::new();
        let mut controlled = false;
        for case in self
            .cases
            .iter()
            .filter(|case| case.file == file)
            .take(most)
        {
            let outcome = run_case(&self.device, &mut files, case, None).await;
            if outcome.is_ok() && !controlled {
                let spoilt = Some(Corruption::ALL[0]);
                match run_case(&self.device, &mut files, case, spoilt).await {
                    Ok(()) => results.push(json!({
                        "op": case.op,
                        "case": format!("{} with wrong expected values", case.name),
                        "failure": "it passed",
                    })),
                    Err(Trouble::Wrong(_)) => controlled = true,
                    // Nothing of this case can be spoilt so.
                    Err(_) => {}
                }
            }
            let failure = outcome.err().map(|trouble| format!("{trouble:?}"));
            results.push(json!({"op": case.op, "case": case.name, "failure": failure}));
        }
        serde_json::to_string(&results).map_err(super::js)
    }
}
