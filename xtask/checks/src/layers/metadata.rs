//! What Cargo says about the workspace.

use serde_json::Value;
use xtask::failure::{Failure, Outcome};
use xtask::workspace::{cargo, host};

/// `cargo metadata` of the workspace for the host, with or without the dependency graph.
pub(super) fn of(dependencies: bool) -> Outcome<Value> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1"]);
    if dependencies {
        command.args(["--filter-platform", &host()?]);
    } else {
        command.arg("--no-deps");
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(Failure::new(format!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
