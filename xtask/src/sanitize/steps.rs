//! What runs under the sanitizer.

use std::path::Path;

use crate::failure::{Failure, Outcome};
use crate::{process, workspace};

/// One command.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: &'static str,
    /// Which kind of GPU the software device looks like.
    profile: &'static str,
    /// For cargo.
    words: Vec<String>,
}

/// Test files that are left out, with the reason.
const LEFT_OUT: [(&str, &str); 4] = [
    (
        "large",
        "tensors of more than 128 MiB take minutes when each word is checked",
    ),
    (
        "allocations",
        "counts allocations of the host; a sanitizer makes more",
    ),
    ("discriminates", "runs no kernel"),
    ("fused_structure", "runs no kernel"),
];

/// All steps; between them every kernel of the catalogue has to run.
pub(super) fn all() -> Outcome<Vec<Step>> {
    let conformance = [
        "run",
        "-q",
        "-p",
        "ziggurat-tensor",
        "--example",
        "conformance",
        "--",
        "crates/tensor/conformance",
    ];
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mut kernels: Vec<String> =
        words(&["test", "-q", "-p", "ziggurat-kernels", "--no-fail-fast"]);
    for file in test_files()? {
        kernels.extend(["--test".to_owned(), file]);
    }
    Ok(vec![
        Step {
            name: "conformance",
            profile: "webgpu-default",
            words: words(&conformance),
        },
        Step {
            name: "kernels",
            profile: "nvidia",
            words: kernels,
        },
    ])
}

/// The kernels' test files but those left out.
fn test_files() -> Outcome<Vec<String>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(workspace::root().join("crates/kernels/tests"))? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if let (Some(stem), true) = (stem, path.extension() == Some("rs".as_ref())) {
            files.push(stem.to_owned());
        }
    }
    files.sort();
    for (name, _) in LEFT_OUT {
        let before = files.len();
        files.retain(|file| file != name);
        if files.len() == before {
            return Err(Failure::new(format!(
                "{name}.rs is left out, but is not there"
            )));
        }
    }
    Ok(files)
}

impl Step {
    pub(super) fn run(&self, folder: &Path) -> Outcome {
        let mut command = workspace::cargo();
        command
            .args(&self.words)
            .current_dir(workspace::root())
            .env("ZIGGURAT_SANITIZE", folder)
            .env("ZIGGURAT_ADAPTER", format!("software:{}", self.profile))
            .env("ZIGGURAT_REQUIRE_GPU", "1");
        process::stream(&mut command)
    }
}
