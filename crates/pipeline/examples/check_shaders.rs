//! Checks the compute shaders of a folder without a GPU: `cargo run --example check_shaders -- DIR`.
//!
//! Every entry point of every `.wgsl` file is read as `Pipelines` would on a device with WebGPU's default limits and all
//! features. What is refused is printed with file, line and reason; the program then ends with an error, as CI likes it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use ziggurat_pipeline::{
    KernelDescriptor, PipelineError, ShaderFeatures, ShaderSource, check_limits, reflect,
};

/// The `.wgsl` files below a folder, or the file itself.
fn shaders(path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            shaders(&entry?.path(), found)?;
        }
    } else if path
        .extension()
        .is_some_and(|extension| extension == "wgsl")
    {
        found.push(path.to_owned());
    }
    Ok(())
}

/// Names behind `@compute`, in any order of attributes: what stands between `fn` and the bracket.
fn entry_points(text: &str) -> Vec<String> {
    let behind = text.split("@compute").skip(1);
    let names = behind.filter_map(|rest| {
        let (_, name) = rest.split_once("fn ")?;
        let (name, _) = name.split_once('(')?;
        Some(name.trim().to_owned())
    });
    names.collect()
}

fn check(file: &str, text: &str, entry: &str) -> Result<(), PipelineError> {
    let source = ShaderSource::new(entry.to_owned()).part(file.to_owned(), text.to_owned());
    let descriptor = KernelDescriptor::new(source).entry(entry.to_owned());
    let reflection = reflect(&descriptor, ShaderFeatures::all())?;
    check_limits(&reflection, &wgpu::Limits::default())
}

#[expect(clippy::print_stdout, reason = "it prints what it finds")]
fn main() -> ExitCode {
    let Some(folder) = env::args().nth(1) else {
        println!("usage: check_shaders DIR");
        return ExitCode::FAILURE;
    };
    let mut files = Vec::new();
    if let Err(error) = shaders(Path::new(&folder), &mut files) {
        println!("{folder}: {error}");
        return ExitCode::FAILURE;
    }
    files.sort();
    let (mut accepted, mut refused) = (0, 0);
    for path in files {
        let file = path.display().to_string();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                println!("{file}: {error}");
                refused += 1;
                continue;
            }
        };
        for entry in entry_points(&text) {
            match check(&file, &text, &entry) {
                Ok(()) => accepted += 1,
                Err(error) => {
                    println!("{error}");
                    refused += 1;
                }
            }
        }
    }
    println!("{accepted} entry points accepted, {refused} refused");
    match refused {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
