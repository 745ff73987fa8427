//! Where the workspace is, which files it has, and what Cargo says about it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// The crates of the tower, lowest first.
pub(crate) const LAYERS: [&str; 6] = ["core", "device", "memory", "pipeline", "kernels", "tensor"];

/// The workspace root: this crate's parent folder.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The cargo that started us, or the one on the path.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// `cargo metadata` of the workspace for the host, with or without the dependency graph.
pub(crate) fn metadata(dependencies: bool) -> Outcome<Value> {
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

/// The host triple, from rustc.
pub(crate) fn host() -> Outcome<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .ok_or_else(|| Failure::new("rustc -vV names no host"))
}

/// The folder Cargo builds into.
pub(crate) fn target_dir() -> Outcome<PathBuf> {
    let metadata = metadata(false)?;
    let folder = metadata.get("target_directory").and_then(Value::as_str);
    folder
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new("cargo metadata names no target folder"))
}

/// A text file of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    /// Relative to the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    #[cfg(test)]
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }

    /// The file's name without folder and ending.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.split('.').next().unwrap_or(name)
    }
}

/// Every UTF-8 file under `folder` (relative to `root`) with one of `endings`, sorted by path.
///
/// Build output, version control and symbolic links are left out.
pub(crate) fn text_files(root: &Path, folder: &str, endings: &[&str]) -> Outcome<Vec<TextFile>> {
    let mut files = Vec::new();
    let start = root.join(folder);
    if start.exists() {
        collect(root, &start, endings, &mut files)?;
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn collect(root: &Path, folder: &Path, endings: &[&str], files: &mut Vec<TextFile>) -> Outcome {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_dir() {
            if name != "target" && name != ".git" {
                collect(root, &path, endings, files)?;
            }
        } else if kind.is_file()
            && endings.iter().any(|ending| name.ends_with(ending))
            && let Ok(text) = fs::read_to_string(&path)
        {
            files.push(TextFile {
                path: relative(root, &path),
                text,
            });
        }
    }
    Ok(())
}

/// `path` seen from `root`, with forward slashes.
pub(crate) fn relative(root: &Path, path: &Path) -> String {
    let short = path.strip_prefix(root).unwrap_or(path);
    short.to_string_lossy().replace('\\', "/")
}
