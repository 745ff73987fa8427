//! `cargo xtask wasm`: the layers compile for the web, with wgpu's WebGPU backend.
//!
//! That nothing blocks there is proved by compiling: whatever blocks does not exist on `wasm32`.
//! The standard library for that target comes from rustup where it can, else from Debian's packages.

mod debian;

use std::env;
use std::path::PathBuf;
use std::process::Command;

use xtask::failure::{Failure, Outcome};
use xtask::{process, workspace};

pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// A compiler that can build for the web.
#[derive(Debug)]
struct Toolchain {
    name: String,
    /// Instead of the rustc on the path.
    rustc: Option<PathBuf>,
}

/// Compiles every layer for the web, with Debian's compiler if `debian` says so.
pub(crate) fn run(debian: bool) -> Outcome<String> {
    let toolchain = if debian { from_debian()? } else { toolchain()? };
    let layers = workspace::LAYERS.map(|layer| format!("ziggurat-{layer}"));
    check(&toolchain, &layers, &["--lib"])?;
    // These take the layers without naga.
    let programs = PROGRAMS.map(str::to_owned);
    check(&toolchain, &programs, &["--lib", "--examples"])?;
    let count = layers.len() + programs.len();
    Ok(format!("{count} crates, {}", toolchain.name))
}

/// What is built for pages.
const PROGRAMS: [&str; 3] = ["ziggurat-web", "ziggurat-web-chat", "ziggurat-web-demo"];

fn check(toolchain: &Toolchain, packages: &[String], what: &[&str]) -> Outcome {
    let (mut command, _) = cargo("check", toolchain)?;
    command.args(what);
    for package in packages {
        command.args(["-p", package]);
    }
    // Only whether it compiles is asked: no time goes into optimising build scripts.
    command.args([
        "--config",
        "profile.dev.opt-level=0",
        "--config",
        "profile.dev.package.'*'.opt-level=0",
    ]);
    process::stream(&mut command)
}

/// Builds the libraries of packages for the web; the folder that they are in. All at once, because each choice of packages has
/// features of dependencies of its own, and would build those again.
pub(crate) fn built(packages: &[&str]) -> Outcome<PathBuf> {
    let (mut command, folder) = cargo("build", &toolchain()?)?;
    command.arg("--lib");
    // What the tests in a page wait for is the browser's GPU, not this code.
    command.args(["--config", "profile.dev.package.'*'.opt-level=1"]);
    for package in packages {
        command.args(["-p", package]);
    }
    process::stream(&mut command)?;
    Ok(folder.join(TARGET).join("debug"))
}

/// Builds the libraries of packages, and examples with these names, for their size. Gives the folder that they are in.
pub(crate) fn small(packages: &[&str], examples: &[&str]) -> Outcome<PathBuf> {
    let (mut command, folder) = cargo("build", &toolchain()?)?;
    command.args(["--profile", "web", "--lib"]);
    let flags = without_folders()?;
    command.args(["--config", &format!("target.{TARGET}.rustflags={flags:?}")]);
    for package in packages {
        command.args(["-p", package]);
    }
    for example in examples {
        command.args(["--example", example]);
    }
    process::stream(&mut command)?;
    Ok(folder.join(TARGET).join("web"))
}

/// Flags that leave the folders of this machine out of the paths in panics: a page has no use for them.
fn without_folders() -> Outcome<Vec<String>> {
    let home = match env::var_os("CARGO_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => env::home_dir().unwrap_or_default().join(".cargo"),
    };
    let Ok(registries) = home.join("registry/src").read_dir() else {
        return Ok(Vec::new());
    };
    let mut flags = Vec::new();
    for registry in registries {
        let folder = registry?.path();
        flags.push(format!("--remap-path-prefix={}/=", folder.display()));
    }
    Ok(flags)
}

/// Cargo with a command for the web, and the folder it builds into.
fn cargo(command: &str, toolchain: &Toolchain) -> Outcome<(Command, PathBuf)> {
    println!("compiling for {TARGET} with {}", toolchain.name);
    let folder = if toolchain.rustc.is_some() {
        "wasm-debian"
    } else {
        "wasm"
    };
    let folder = workspace::target_dir()?.join(folder);
    let mut cargo = workspace::cargo();
    cargo.args([command, "--target", TARGET]);
    cargo.args(["--config", "profile.dev.debug=false", "--target-dir"]);
    cargo.arg(&folder).env_remove("RUSTFLAGS");
    if let Some(rustc) = &toolchain.rustc {
        cargo.env("RUSTC", rustc).env_remove("RUSTC_WRAPPER");
    }
    Ok((cargo, folder))
}

fn toolchain() -> Outcome<Toolchain> {
    if has_std()? {
        return Ok(Toolchain {
            name: version("rustc")?,
            rustc: None,
        });
    }
    let in_toolchain = env::var_os("RUSTUP_TOOLCHAIN").is_some()
        || process::succeeds(Command::new("rustup").arg("--version"));
    if in_toolchain {
        let added = process::quiet(
            "rustup target add",
            Command::new("rustup").args(["target", "add", TARGET]),
        );
        match added {
            Ok(_) if has_std()? => {
                return Ok(Toolchain {
                    name: version("rustc")?,
                    rustc: None,
                });
            }
            Ok(_) => println!("rustup added {TARGET} for another toolchain than the one in use"),
            Err(failure) => println!("{failure}"),
        }
    }
    if workspace::on_debian() {
        println!("rustup cannot get {TARGET} here; taking Debian's packages");
        return from_debian();
    }
    Err(Failure::new(format!(
        "the standard library for {TARGET} is missing: run `rustup target add {TARGET}`, \
         or install your distribution's package of it"
    )))
}

fn from_debian() -> Outcome<Toolchain> {
    let rustc = debian::prepare(&workspace::target_dir()?.join("wasm-toolchain"))?;
    let name = version(&rustc.to_string_lossy())?;
    Ok(Toolchain {
        name,
        rustc: Some(rustc),
    })
}

fn has_std() -> Outcome<bool> {
    let output = process::capture(Command::new("rustc").args([
        "--print",
        "target-libdir",
        "--target",
        TARGET,
    ]))?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let files = folder.read_dir();
    Ok(output.status.success()
        && files.is_ok_and(|mut files| {
            files.any(|file| {
                file.is_ok_and(|file| file.file_name().to_string_lossy().starts_with("libcore"))
            })
        }))
}

fn version(rustc: &str) -> Outcome<String> {
    let output = process::capture(Command::new(rustc).arg("--version"))?;
    if !output.status.success() {
        return Err(Failure::new(format!(
            "{rustc} does not run: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
