//! `cargo xtask web`: the tests in a browser. Builds the program for wasm32 and the JavaScript around it, and hands the folder to
//! the driver in `xtask-checks`.

use std::fs;

use crate::{checks, wasm};
use xtask::failure::{Failure, Outcome};
use xtask::{process, workspace};

/// The program in the page.
const PACKAGE: &str = "ziggurat-web";

/// Builds what the page needs, opens it, and gives the driver's last line.
pub(crate) fn run(arguments: &[String]) -> Outcome<String> {
    let program = wasm::built(PACKAGE, "ziggurat_web.wasm")?;
    let target = workspace::target_dir()?;
    let tools = target.join("bindgen");
    let manifest = workspace::root().join("xtask/web/bindgen/Cargo.toml");
    let mut build = workspace::cargo();
    build.args(["build", "--locked", "--manifest-path"]);
    build.arg(manifest).arg("--target-dir").arg(&tools);
    process::stream(&mut build)?;
    let folder = target.join("web");
    fs::create_dir_all(&folder)?;
    let name = format!("ziggurat-bindgen{}", std::env::consts::EXE_SUFFIX);
    let mut bindgen = std::process::Command::new(tools.join("debug").join(name));
    process::stream(bindgen.arg(program).arg(folder.join("program")))?;
    let folder = folder
        .to_str()
        .ok_or_else(|| Failure::new("the folder of builds has a name that is not UTF-8"))?;
    let mut words = vec![folder.to_owned()];
    words.extend_from_slice(arguments);
    checks::built("web", &words)
}
