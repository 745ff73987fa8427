//! What runs under the sanitizer.

use std::path::Path;
use std::process::Command;

use crate::failure::Outcome;
use crate::{process, workspace};

/// One command.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: &'static str,
    /// Which kind of GPU the software device looks like.
    profile: &'static str,
    words: &'static [&'static str],
}

/// All of them; between them every variant of the catalogue has to run.
pub(super) fn all() -> Vec<Step> {
    vec![
        Step {
            name: "conformance",
            profile: "webgpu-default",
            words: &["run", "-p", "ziggurat-tensor", "--example", "conformance"],
        },
        Step {
            name: "kernels",
            profile: "nvidia",
            words: &["test", "-p", "ziggurat-kernels", "--tests"],
        },
    ]
}

impl Step {
    pub(super) fn run(&self, folder: &Path) -> Outcome {
        let mut command: Command = workspace::cargo();
        command
            .args(self.words)
            .env("ZIGGURAT_SANITIZE", folder)
            .env("ZIGGURAT_ADAPTER", format!("software:{}", self.profile))
            .env("ZIGGURAT_REQUIRE_GPU", "1");
        process::stream(&mut command)
    }
}
