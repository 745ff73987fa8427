//! `cargo xtask wgsl`: every kernel of the catalogue, on every backend, before any GPU sees it.
//!
//! The kernels crate lists its own variants; there is no second list here. Each is parsed, validated with
//! only the capabilities its tier declares, resolved, measured against the tier's limits, compared with the
//! host's parameters, translated to SPIR-V, MSL and HLSL, and linted: once with parameters as immediates,
//! once as a uniform.

mod catalogue;
mod compositions;
mod header;
mod limits;
mod lint;
mod params;
mod scan;
mod translate;
mod variant;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use clap::Args;

use crate::problem::{Problem, Report};
use lint::unused::Usage;
use variant::Variant;
use xtask::failure::{Failure, Outcome};
use xtask::progress::Step;
use xtask::workspace;
use ziggurat_shaders::IMPORTABLE;

pub(crate) use catalogue::{OpRow, op_rows, other_ops};
pub(crate) use header::Header;

/// What to do with the catalogue.
#[derive(Args, Debug)]
pub(crate) struct Choice {
    /// Print the assembled WGSL of the kernels with this name (or with it as a part of their name)
    #[arg(long, value_name = "NAME")]
    print: Option<String>,
    /// Write the assembled WGSL of all kernels into a folder
    #[arg(long, value_name = "DIR")]
    dump: Option<std::path::PathBuf>,
    /// Print the names of all kernels
    #[arg(long)]
    list: bool,
}

/// Runs the check, or prints what was asked for instead.
pub(crate) fn run(choice: &Choice) -> Outcome<String> {
    if choice.list {
        let variants = catalogue::variants()?;
        variants
            .iter()
            .for_each(|variant| println!("{}", variant.name));
        return Ok(format!("{} kernels", variants.len()));
    }
    if let Some(name) = &choice.print {
        return print(name);
    }
    if let Some(folder) = &choice.dump {
        return dump(folder);
    }
    crate::check::wgsl()
}

fn print(name: &str) -> Outcome<String> {
    let variants = catalogue::variants()?;
    let exact: Vec<&Variant> = variants
        .iter()
        .filter(|variant| variant.name == name)
        .collect();
    let found = if exact.is_empty() {
        variants
            .iter()
            .filter(|variant| variant.name.contains(name))
            .collect()
    } else {
        exact
    };
    let kernel = |variant: &Variant| {
        variant
            .name
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let kernels: BTreeSet<String> = found.iter().map(|variant| kernel(variant)).collect();
    match found.as_slice() {
        [] => Err(Failure::new(format!(
            "no kernel is called {name}: see `cargo xtask wgsl --list`"
        ))),
        [first, others @ ..] if kernels.len() == 1 => {
            print!("{}", marked(first));
            for other in others {
                println!("// also: {}", other.name);
            }
            Ok(format!("// {}", first.name))
        }
        many => {
            many.iter()
                .take(40)
                .for_each(|variant| println!("{}", variant.name));
            Err(Failure::new(format!(
                "{} kernels have {name} in their name: pick one",
                kernels.len()
            )))
        }
    }
}

fn dump(folder: &Path) -> Outcome<String> {
    fs::create_dir_all(folder)?;
    let variants = catalogue::variants()?;
    for variant in &variants {
        let name: String = variant
            .name
            .chars()
            .map(|c| {
                if c.is_alphanumeric() || c == '_' {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        fs::write(folder.join(format!("{name}.wgsl")), marked(variant))?;
    }
    Ok(format!(
        "{} kernels written to {}",
        variants.len(),
        folder.display()
    ))
}

/// The assembled text with a line before each part that names its file, and the constants at the end.
fn marked(variant: &Variant) -> String {
    let mut text = format!("// kernel {}\n", variant.name);
    for part in &variant.parts {
        text.push_str(&format!(
            "// ---- {}\n{}\n",
            part.file,
            part.text.trim_end()
        ));
    }
    for (name, value) in &variant.constants {
        text.push_str(&format!("// ---- {name} = {value}\n"));
    }
    text
}

/// Checks all kernels and all shader files under `root`.
pub(crate) fn check(root: &Path) -> Outcome<Report> {
    let variants = catalogue::variants()?;
    let files = workspace::text_files(root, "shaders", &[".wgsl"])?;
    let mut report = Report::default();
    for file in &files {
        report.extend(lint::file(file));
    }
    let importable = |text: &str| IMPORTABLE.iter().any(|piece| piece.text == text);
    let imported = ziggurat_shaders::FILES
        .iter()
        .filter(|(_, text)| importable(text))
        .map(|(path, _)| format!("shaders/{path}"));
    let used: BTreeSet<String> = variants
        .iter()
        .flat_map(|variant| &variant.parts)
        .map(|part| part.file.clone())
        .chain(imported)
        .collect();
    report.extend(lint::orphan::check(
        files.iter().map(|file| file.path.as_str()),
        &used,
    ));
    let (problems, usage) = check_variants(&variants);
    report.extend(problems);
    report.extend(usage.problems());
    report.scope = format!(
        "{} kernels from {} shader files",
        variants.len(),
        files.len()
    );
    if variants.is_empty() {
        report.extend([Problem::new(
            "shaders",
            0,
            "catalogue",
            "the catalogue is empty",
        )]);
    }
    Ok(report)
}

/// All kernels over all cores.
fn check_variants(variants: &[Variant]) -> (Vec<Problem>, Usage) {
    let step = Step::counted("kernels", variants.len() as u64);
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut problems = Vec::new();
    let mut usage = Usage::default();
    thread::scope(|scope| {
        let worker = || {
            let mut problems = Vec::new();
            let mut usage = Usage::default();
            while let Some(variant) = variants.get(next.fetch_add(1, Ordering::Relaxed)) {
                problems.extend(check_variant(variant, &mut usage));
                step.advance();
            }
            (problems, usage)
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            match worker.join() {
                Ok((found, seen)) => {
                    problems.extend(found);
                    usage.merge(seen);
                }
                Err(_) => problems.push(Problem::new(
                    "shaders",
                    0,
                    "panic",
                    "the check itself panicked on a kernel",
                )),
            }
        }
    });
    (problems, usage)
}

fn check_variant(variant: &Variant, usage: &mut Usage) -> Vec<Problem> {
    let parsed = match variant::parse(variant) {
        Ok(parsed) => parsed,
        Err(problem) => return vec![problem],
    };
    usage.add(variant, &parsed);
    let mut problems = params::check(variant, &parsed);
    problems.extend(lint::naming::check(variant, &parsed));
    problems.extend(lint::unused::globals(variant, &parsed));
    problems.extend(lint::uniformity::check(variant, &parsed));
    problems.extend(lint::parentheses::check(variant, &parsed));
    match variant::resolve(variant, &parsed) {
        Ok((module, info)) => {
            problems.extend(limits::check(variant, &module));
            problems.extend(translate::check(
                variant,
                &module,
                &info,
                &parsed.entry_name,
            ));
        }
        Err(problem) => problems.push(problem),
    }
    problems
}
