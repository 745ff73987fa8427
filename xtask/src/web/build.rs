//! Programs for pages: the wasm, the JavaScript around it, and the optimiser that makes it small.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::wasm;
use xtask::failure::{Failure, Outcome};
use xtask::{process, workspace};

/// The program of the tests.
const TESTS: &str = "ziggurat-web";
/// The program of the page for people, and that of its chat, which it loads when somebody has a model.
const DEMO: &str = "ziggurat-web-demo";
const CHAT: &str = "ziggurat-web-chat";
/// What else that page has.
const PAGE: &str = "xtask/web/demo/page";
const WEIGHTS: &str = "crates/tensor/examples/digits/data/weights.safetensors";

/// What `wasm-opt` comes from. Versions differ in what they make: 108, which Debian has, gives a module that does not start.
const OPTIMISER: &str = "binaryen@132.0.0";

/// Its passes. Beside `-Oz` twice they save a hundredth. Nothing lies in the lowest KiB of memory: rustc has the linker put the
/// stack first, which grows down to it. So additions to addresses may become offsets of loads and stores.
const PASSES: [&str; 6] = [
    "--low-memory-unused",
    "--flatten",
    "--rereloop",
    "-Oz",
    "-Oz",
    "--const-hoisting",
];

/// Builds the programs of the tests and of the page for people, that of its chat only if it is wanted; the folder of the tests'
/// page, with all of them in it.
pub(super) fn tests(chat: bool) -> Outcome<PathBuf> {
    let all = [TESTS, DEMO, CHAT];
    let built = wasm::built(if chat { &all } else { &all[..2] })?;
    let folder = workspace::target_dir()?.join("web");
    fs::create_dir_all(&folder)?;
    bind(
        &built.join("ziggurat_web.wasm"),
        &folder.join("program"),
        false,
    )?;
    let demo = files(&folder.join("demo"))?.join("program");
    bind(&built.join("ziggurat_web_demo.wasm"), &demo, false)?;
    if chat {
        bind(&built.join("ziggurat_web_chat.wasm"), &demo, false)?;
    }
    Ok(folder)
}

/// A wasm program, and the folder that it goes into with its JavaScript.
type Program = (PathBuf, PathBuf);

/// Builds the page for people and examples of its package, as small as they get, and puts the page into the folder, each example
/// into that beside its name. How large the page's program is, that of its chat, and each example.
pub(super) fn page(folder: &Path, examples: &[(&str, PathBuf)]) -> Outcome<Vec<Sizes>> {
    let names: Vec<&str> = examples.iter().map(|(name, _)| *name).collect();
    let built = wasm::small(&[DEMO, CHAT], &names)?;
    let programs = files(folder)?.join("program");
    let of_page = ["ziggurat_web_demo.wasm", "ziggurat_web_chat.wasm"];
    let of_page = of_page.map(|file| (built.join(file), programs.clone()));
    let example = |(name, folder): &(&str, PathBuf)| {
        let file = built.join("examples").join(format!("{name}.wasm"));
        (file, folder.clone())
    };
    let all: Vec<Program> = of_page
        .into_iter()
        .chain(examples.iter().map(example))
        .collect();
    small(&all)
}

/// Where the page for people goes.
pub(super) fn page_folder() -> Outcome<PathBuf> {
    Ok(workspace::target_dir()?.join("web-page"))
}

/// Puts what the page has beside its program into the folder; that folder.
fn files(folder: &Path) -> Outcome<&Path> {
    fs::create_dir_all(folder)?;
    let root = workspace::root();
    for entry in fs::read_dir(root.join(PAGE))? {
        let entry = entry?;
        fs::copy(entry.path(), folder.join(entry.file_name()))?;
    }
    fs::copy(root.join(WEIGHTS), folder.join("weights.safetensors"))?;
    Ok(folder)
}

/// The sizes of a program, in bytes.
#[derive(Debug)]
pub(super) struct Sizes {
    /// As the compiler and wasm-bindgen leave it, without names of functions.
    pub(super) raw: u64,
    /// After `wasm-opt`.
    pub(super) optimised: u64,
    /// That, as servers send it.
    pub(super) gzip: u64,
}

/// Puts programs that were built for their size into their folders, optimised, with their JavaScript. The optimiser has one
/// thread: all programs are at it at once.
fn small(programs: &[Program]) -> Outcome<Vec<Sizes>> {
    for (program, folder) in programs {
        bind(program, folder, true)?;
    }
    let optimiser = &optimiser()?;
    thread::scope(|scope| {
        let of = |program| scope.spawn(move || optimised(optimiser, program));
        let threads: Vec<_> = programs.iter().map(of).collect();
        let sizes = threads.into_iter().map(|thread| {
            let panicked = |_| Err(Failure::new("wasm-opt: a thread panicked"));
            thread.join().unwrap_or_else(panicked)
        });
        sizes.collect()
    })
}

/// Optimises a program in its folder.
fn optimised(optimiser: &Path, (program, folder): &Program) -> Outcome<Sizes> {
    let name = program.file_stem().unwrap_or_default().to_string_lossy();
    let file = folder.join(format!("{name}_bg.wasm"));
    let raw = fs::metadata(&file)?.len();
    let short = folder.join(format!("{name}_short.wasm"));
    let mut optimise = Command::new(optimiser);
    optimise.args(PASSES).arg(&file).arg("-o").arg(&short);
    process::quiet(&format!("wasm-opt {name}"), &mut optimise)?;
    fs::rename(&short, &file)?;
    let packed = process::capture(Command::new("gzip").arg("-9c").arg(&file))?;
    Ok(Sizes {
        raw,
        optimised: fs::metadata(&file)?.len(),
        gzip: packed.stdout.len() as u64,
    })
}

/// Writes the program and the JavaScript that a page imports into the folder.
fn bind(program: &Path, folder: &Path, small: bool) -> Outcome {
    let tools = workspace::target_dir()?.join("bindgen");
    let manifest = workspace::root().join("xtask/web/bindgen/Cargo.toml");
    let mut build = workspace::cargo();
    build.args(["build", "--locked", "--manifest-path"]);
    build.arg(manifest).arg("--target-dir").arg(&tools);
    process::stream(&mut build)?;
    let name = format!("ziggurat-bindgen{}", std::env::consts::EXE_SUFFIX);
    let mut bindgen = Command::new(tools.join("debug").join(name));
    bindgen.arg(program).arg(folder);
    process::stream(bindgen.args(small.then_some("small")))
}

/// The optimiser, installed below the folder of builds.
fn optimiser() -> Outcome<PathBuf> {
    let folder = workspace::target_dir()?.join("binaryen");
    let program = folder.join("node_modules/.bin/wasm-opt");
    if !program.exists() {
        fs::create_dir_all(&folder)?;
        let mut install = Command::new("npm");
        install.args(["install", "--no-audit", "--no-fund", "--prefix"]);
        process::quiet("npm install binaryen", install.arg(&folder).arg(OPTIMISER)).map_err(
            |failure| {
                Failure::new(format!(
                    "wasm-opt is missing, and npm does not give it: {failure}"
                ))
            },
        )?;
    }
    Ok(program)
}
