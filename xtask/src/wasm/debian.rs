//! A web toolchain out of Debian's packages, unpacked into a folder and installed nowhere.
//!
//! Debian ships a newer rustc for building web browsers, with its standard library's source. The
//! packages are downloaded and unpacked, the standard library is built once for `wasm32` and put where
//! that rustc looks for it; from then on any cargo can use it through the `RUSTC` variable.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::wasm::TARGET;
use xtask::failure::{Failure, Outcome};
use xtask::{process, workspace};

/// Compiler, host library, and library source; the libraries they need follow from their dependencies.
const PACKAGES: [&str; 3] = ["rustc-web", "libstd-rust-web-dev", "rust-web-src"];
/// Of the dependencies, those with these names belong to the compiler and come along.
const COMPILER_LIBRARIES: [&str; 2] = ["libstd-rust-web-", "libllvm"];
/// Written last, when the standard library is complete.
const READY: &str = "ready";

/// Makes the toolchain under `prefix` unless it is there; returns its rustc.
pub(super) fn prepare(prefix: &Path) -> Outcome<PathBuf> {
    fs::create_dir_all(prefix)?;
    if !prefix.join("usr/bin/rustc").exists() || !prefix.join("unpacked").exists() {
        unpack(prefix)?;
    }
    let rustc = wrapper(prefix)?;
    let library = prefix.join("usr/lib/rustlib").join(TARGET).join("lib");
    if !library.join(READY).exists() {
        build_std(prefix, &rustc, &library)?;
    }
    Ok(rustc)
}

/// Downloads the packages and unpacks them side by side.
fn unpack(prefix: &Path) -> Outcome {
    let folder = prefix.join("debs");
    fs::create_dir_all(&folder)?;
    let names = with_libraries(|package| {
        let output = process::capture(Command::new("apt-cache").args(["depends", package]))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    })?;
    // As a user without rights, apt-get cannot hand the download to its own account, and says so.
    let mut download = Command::new("apt-get");
    download
        .args(["-o", "APT::Sandbox::User=root", "download"])
        .args(&names)
        .current_dir(&folder);
    process::quiet("downloading Debian's web compiler (140 MB)", &mut download).map_err(
        |failure| {
            Failure::new(format!(
                "{failure}\nif the package lists are old, run `apt-get update` first"
            ))
        },
    )?;
    for entry in fs::read_dir(&folder)? {
        let file = entry?.path();
        let mut unpack = Command::new("dpkg");
        unpack.arg("-x").arg(&file).arg(prefix);
        process::quiet(
            &format!("unpacking {}", workspace::relative(&folder, &file)),
            &mut unpack,
        )?;
    }
    fs::remove_dir_all(&folder)?;
    fs::write(prefix.join("unpacked"), "")?;
    Ok(())
}

/// The packages, and those of their dependencies, near and far, that belong to the compiler.
fn with_libraries(depends: impl Fn(&str) -> Outcome<String>) -> Outcome<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut waiting: Vec<String> = PACKAGES.iter().map(|name| (*name).to_owned()).collect();
    while let Some(name) = waiting.pop() {
        if names.insert(name.clone()) {
            waiting.extend(compiler_libraries(&depends(&name)?));
        }
    }
    Ok(names)
}

/// The compiler's own libraries in the output of `apt-cache depends`.
fn compiler_libraries(depends: &str) -> Vec<String> {
    let names = depends
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "));
    names
        .filter(|name| {
            COMPILER_LIBRARIES
                .iter()
                .any(|library| name.starts_with(library))
        })
        .filter(|name| !name.ends_with("-dev"))
        .map(str::to_owned)
        .collect()
}

/// A rustc that finds its libraries in the unpacked tree.
fn wrapper(prefix: &Path) -> Outcome<PathBuf> {
    let host = workspace::host()?;
    let machine = host.split('-').next().unwrap_or("x86_64");
    let library = prefix.join("usr/lib").join(format!("{machine}-linux-gnu"));
    let script = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH='{}' exec '{}' \"$@\"\n",
        library.display(),
        prefix.join("usr/bin/rustc").display()
    );
    let path = prefix.join("rustc");
    fs::write(&path, script)?;
    make_executable(&path)?;
    Ok(path)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Outcome {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Outcome {
    Ok(())
}

/// Builds the standard library for the web through an empty crate and keeps what came of it.
fn build_std(prefix: &Path, rustc: &Path, library: &Path) -> Outcome {
    let seed = prefix.join("seed");
    fs::create_dir_all(seed.join("src"))?;
    fs::write(seed.join("src/lib.rs"), "")?;
    fs::write(
        seed.join("Cargo.toml"),
        "[package]\nname = \"stdseed\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n",
    )?;
    let mut command = workspace::cargo();
    command
        .current_dir(&seed)
        .args([
            "build",
            "--release",
            "--target",
            TARGET,
            "-Zbuild-std=std,panic_abort,proc_macro",
        ])
        .arg("--target-dir")
        .arg(seed.join("target"))
        .env("RUSTC", rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        // Without bitcode in it, a later build with lto fails.
        .env(
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
            "-Cembed-bitcode=yes",
        )
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER");
    process::quiet(
        &format!("building the standard library for {TARGET}"),
        &mut command,
    )?;
    if library.exists() {
        fs::remove_dir_all(library)?;
    }
    fs::create_dir_all(library)?;
    for entry in fs::read_dir(seed.join("target").join(TARGET).join("release/deps"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("lib") && name.ends_with(".rlib") && !name.starts_with("libstdseed") {
            fs::copy(entry.path(), library.join(name))?;
        }
    }
    fs::write(library.join(READY), "")?;
    fs::remove_dir_all(&seed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_libraries_come_along() {
        let depends = |package: &str| {
            Ok(match package {
                "rustc-web" => "  Depends: libstd-rust-web-1.96\n  Depends: libc6\n".to_owned(),
                "libstd-rust-web-1.96" => "  Depends: libllvm22\n".to_owned(),
                _ => String::new(),
            })
        };
        let names: Vec<String> = with_libraries(depends).unwrap().into_iter().collect();
        assert_eq!(
            names,
            [
                "libllvm22",
                "libstd-rust-web-1.96",
                "libstd-rust-web-dev",
                "rust-web-src",
                "rustc-web"
            ]
        );
    }

    #[test]
    fn only_the_compilers_own_libraries_come_along() {
        let depends = "rustc-web\n  Depends: libc6\n  Depends: libllvm22\n  Depends: libstd-rust-web-dev\n  Suggests: cargo-web\n";
        assert_eq!(compiler_libraries(depends), ["libllvm22"]);
        assert_eq!(
            compiler_libraries("  Depends: libstd-rust-web-1.96\n"),
            ["libstd-rust-web-1.96"]
        );
    }
}
