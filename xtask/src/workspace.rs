//! Where the workspace is, which files it has, and what Cargo says about it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::failure::{Failure, Outcome};

/// The crates of the tower, lowest first.
pub const LAYERS: [&str; 7] = [
    "core", "device", "memory", "pipeline", "kernels", "tensor", "models",
];

/// The workspace root: this crate's parent folder.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The cargo that started us, or the one on the path.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Has a program of tests run on the software device, which takes a tenth of the time for a pipeline that a driver without a
/// GPU takes, and gives the same results on every machine; unless the environment chooses for all that is run.
pub fn on_software(command: &mut Command) -> &mut Command {
    const CHOICES: [&str; 2] = ["ZIGGURAT_ADAPTER", "ZIGGURAT_BACKEND"];
    if CHOICES.iter().any(|name| env::var_os(name).is_some()) {
        return command;
    }
    command.env(CHOICES[0], "software")
}

/// The host triple, from rustc.
pub fn host() -> Outcome<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .ok_or_else(|| Failure::new("rustc -vV names no host"))
}

/// The folder Cargo builds into: the one above this program that Cargo has marked as its own.
pub fn target_dir() -> Outcome<PathBuf> {
    let program = env::current_exe()?;
    let mut above = program.ancestors();
    above
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
        .map(Path::to_path_buf)
        .ok_or_else(|| Failure::new(format!("{} is in no folder of cargo's", program.display())))
}

/// A program that Cargo has built in the dev profile, by its path below that profile's folder: `examples/first`.
pub fn program(path: &str) -> Outcome<Command> {
    let file = format!("{path}{}", env::consts::EXE_SUFFIX);
    let mut command = Command::new(target_dir()?.join("debug").join(file));
    command.current_dir(root());
    Ok(command)
}

/// True on Debian, Ubuntu and what calls itself like them.
pub fn on_debian() -> bool {
    is_debian(&fs::read_to_string("/etc/os-release").unwrap_or_default())
}

fn is_debian(os_release: &str) -> bool {
    os_release
        .lines()
        .filter_map(|line| {
            line.strip_prefix("ID=")
                .or_else(|| line.strip_prefix("ID_LIKE="))
        })
        .flat_map(|value| value.trim_matches('"').split(' '))
        .any(|id| matches!(id, "debian" | "ubuntu"))
}

/// A text file of the workspace.
#[derive(Clone, Debug)]
pub struct TextFile {
    /// Relative to the root, with forward slashes.
    pub path: String,
    /// What it holds.
    pub text: String,
}

impl TextFile {
    /// One that is on no disk: for tests of checks.
    pub fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }

    /// The file's name without folder and ending.
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.split('.').next().unwrap_or(name)
    }
}

/// Every UTF-8 file under `folder` (relative to `root`) with one of `endings`, sorted by path.
///
/// Build output, version control and symbolic links are left out.
pub fn text_files(root: &Path, folder: &str, endings: &[&str]) -> Outcome<Vec<TextFile>> {
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
pub fn relative(root: &Path, path: &Path) -> String {
    let short = path.strip_prefix(root).unwrap_or(path);
    short.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_and_its_relatives_are_recognised() {
        assert!(is_debian(
            "PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n"
        ));
        assert!(is_debian("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"));
        assert!(!is_debian("ID=fedora\nID_LIKE=\"rhel\"\n"));
        assert!(!is_debian(""));
    }

    #[test]
    fn the_folder_of_builds_is_found_from_the_running_program() {
        let folder = target_dir().unwrap_or_default();
        let program = env::current_exe().unwrap_or_default();
        assert!(program.starts_with(&folder) && folder.join("CACHEDIR.TAG").exists());
    }
}
