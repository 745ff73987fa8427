//! `cargo xtask package`: the crates as a registry would have them, and a program outside of the workspace that uses them.
//!
//! Cargo packs every crate that can be published; the archives are unpacked, and a program that knows nothing of this
//! repository is built from them and run. What a package lacks (a shader, a readme, a file behind a link) fails here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::failure::{Failure, Outcome};
use xtask::{process, workspace};

/// Members of the workspace that are not for a registry.
const PRIVATE: [&str; 7] = [
    "digits",
    "xtask",
    "xtask-checks",
    "ziggurat-docs",
    "ziggurat-web",
    "ziggurat-web-chat",
    "ziggurat-web-demo",
];

const MANIFEST: &str = "\
[package]
name = \"outside\"
edition = \"2024\"

[workspace]

[dependencies]
ziggurat-kernels = \"0.1\"
ziggurat-models = \"0.1\"
ziggurat-pipeline = \"0.1\"
ziggurat-tensor = \"0.1\"

# Only whether it builds and runs is asked.
[profile.dev]
debug = false

[patch.crates-io]
";

const PROGRAM: &str = "\
use ziggurat_tensor::{Device, DeviceOptions, Tensor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::open_blocking(DeviceOptions::default())?;
    let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
    let b = a.matmul(&a)?.softmax(-1)?.sum_all()?.item_blocking::<f32>()?;
    assert!((b - 2.0).abs() < 1e-5, \"{b}\");
    let exec = ziggurat_kernels::Executor::open_blocking(DeviceOptions::default())?;
    let _: &ziggurat_pipeline::Pipelines = exec.pipelines();
    let file = b\"GGUF\\x03\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\";
    assert_eq!(ziggurat_models::gguf::Gguf::parse(file)?.version(), 3);
    println!(\"a program outside of the workspace computed {b} on {}\", device.adapter());
    Ok(())
}
";

/// Packs, unpacks, builds and runs.
pub(crate) fn run() -> Outcome<String> {
    let target = workspace::target_dir()?.join("package");
    // Files of an earlier run would hide that one is missing.
    let _ = fs::remove_dir_all(target.join("outside").join("crates"));
    let mut pack = workspace::cargo();
    pack.args(["package", "--workspace", "--no-verify", "--allow-dirty"]);
    pack.arg("--target-dir").arg(workspace::target_dir()?);
    process::stream(&mut pack)?;
    let outside = target.join("outside");
    let crates = unpack(&target, &outside.join("crates"))?;
    let mut manifest = MANIFEST.to_owned();
    for (name, folder) in &crates {
        manifest.push_str(&format!(
            "{name} = {{ path = {:?} }}\n",
            folder.to_string_lossy()
        ));
    }
    fs::create_dir_all(outside.join("src"))?;
    fs::write(outside.join("Cargo.toml"), manifest)?;
    fs::write(outside.join("src/main.rs"), PROGRAM)?;
    // The versions that everything else is tested with.
    fs::copy(
        workspace::root().join("Cargo.lock"),
        outside.join("Cargo.lock"),
    )?;
    let mut build = workspace::cargo();
    build
        .current_dir(&outside)
        .args(["run", "--target-dir"])
        .arg(outside.join("target"));
    process::stream(build.env_remove("CARGO_TARGET_DIR"))?;
    Ok(format!("{} crates packed, unpacked and used", crates.len()))
}

/// Unpacks every archive of this version; names and folders of what was in them.
fn unpack(archives: &Path, to: &Path) -> Outcome<Vec<(String, PathBuf)>> {
    let version = format!("-{}", env!("CARGO_PKG_VERSION"));
    fs::create_dir_all(to)?;
    let mut crates = Vec::new();
    for entry in fs::read_dir(archives)? {
        let file = entry?.path();
        let stem = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let Some(name) = stem.strip_suffix(&version).filter(|name| {
            !PRIVATE.contains(name) && file.extension().is_some_and(|ending| ending == "crate")
        }) else {
            continue;
        };
        // With the time of now: all files of archives have the same, by which cargo would take what it built of an earlier package.
        let mut tar = Command::new("tar");
        tar.arg("-xmzf").arg(&file).arg("-C").arg(to);
        process::quiet(&format!("unpacking {stem}"), &mut tar)?;
        let folder = to.join(&stem);
        let problems = problems(&folder, name)?;
        if !problems.is_empty() {
            return Err(Failure::new(format!("{stem}: {}", problems.join("; "))));
        }
        crates.push((name.to_owned(), folder));
    }
    crates.sort();
    if crates.is_empty() {
        return Err(Failure::new(format!(
            "no archives in {}",
            archives.display()
        )));
    }
    Ok(crates)
}

/// What an unpacked package lacks.
fn problems(folder: &Path, name: &str) -> Outcome<Vec<String>> {
    let mut problems = Vec::new();
    for file in ["README.md", "LICENSE", "Cargo.toml"] {
        if !folder.join(file).is_file() {
            problems.push(format!("has no {file}"));
        }
    }
    let (mut shaders, mut links) = (0, 0);
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            links += usize::from(kind.is_symlink());
            shaders += usize::from(
                entry
                    .path()
                    .extension()
                    .is_some_and(|ending| ending == "wgsl"),
            );
            if kind.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    if links > 0 {
        problems.push(format!("has {links} symbolic links"));
    }
    if name == "ziggurat-shaders" && shaders < 300 {
        problems.push(format!("has only {shaders} shaders"));
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_package_without_its_files_is_refused() {
        let folder = std::env::temp_dir().join(format!("ziggurat-package-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(problems(&folder, "ziggurat-core").unwrap().len(), 3);
        for file in ["README.md", "LICENSE", "Cargo.toml"] {
            fs::write(folder.join(file), "").unwrap();
        }
        assert!(problems(&folder, "ziggurat-core").unwrap().is_empty());
        assert_eq!(problems(&folder, "ziggurat-shaders").unwrap().len(), 1);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.join("LICENSE"), folder.join("link")).unwrap();
            assert_eq!(
                problems(&folder, "ziggurat-core").unwrap(),
                ["has 1 symbolic links"]
            );
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
