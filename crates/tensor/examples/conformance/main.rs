//! Runs conformance vectors of a folder and reports per op: passed, failed (with the worst element), unsupported.
//!
//! ```text
//! cargo run -p ziggurat-tensor --example conformance -- DIR [--json FILE] [--filter [!]TEXT] [--unbuilt FILE] [--negative-control]
//! ```
//!
//! `--unbuilt` names a list of ops not yet built, with which the outcome must agree. `--negative-control` instead
//! corrupts the expected values of every case in several ways, each of which must be noticed. The exit code is 1 on any failure or
//! disagreement.
#![expect(clippy::print_stdout, reason = "a command line program")]

// The test of the same name shares these modules; the path makes their folder the same from both.
#[path = "suite.rs"]
mod suite;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use suite::report::read_list;
use ziggurat_tensor::{Device, DeviceOptions};

const USAGE: &str =
    "usage: conformance DIR [--json FILE] [--filter [!]TEXT] [--unbuilt FILE] [--negative-control]";

struct Args {
    folder: PathBuf,
    json: Option<PathBuf>,
    filter: Option<String>,
    unbuilt: Option<PathBuf>,
    negative_control: bool,
}

impl Args {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut folder, mut json, mut filter, mut unbuilt) = (None, None, None, None);
        let mut negative_control = false;
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .ok_or_else(|| format!("{word} needs a value\n{USAGE}"))
            };
            match word.as_str() {
                "--json" => json = Some(PathBuf::from(value()?)),
                "--filter" => filter = Some(value()?),
                "--unbuilt" => unbuilt = Some(PathBuf::from(value()?)),
                "--negative-control" => negative_control = true,
                _ if word.starts_with('-') || folder.is_some() => {
                    return Err(format!("unexpected: {word}\n{USAGE}"));
                }
                _ => folder = Some(PathBuf::from(word)),
            }
        }
        let folder = folder.ok_or_else(|| USAGE.to_owned())?;
        Ok(Self {
            folder,
            json,
            filter,
            unbuilt,
            negative_control,
        })
    }
}

fn run() -> Result<bool, String> {
    let args = Args::parse(std::env::args().skip(1))?;
    let device =
        Device::open_blocking(DeviceOptions::default()).map_err(|error| error.to_string())?;
    println!("{} on {}", args.folder.display(), device.name());
    let begin = Instant::now();
    if args.negative_control {
        let filter = args.filter.as_deref().unwrap_or("");
        let wanted = |case: &suite::case::Case| suite::folder::is_named(case, filter);
        let noticed = suite::folder::negative_control(&device, &args.folder, wanted)?;
        println!("corrupted expected values, all noticed: {noticed:?}");
        return Ok(true);
    }
    let report = suite::folder::run_folder(&device, &args.folder, args.filter.as_deref(), |op| {
        println!("{}", op.text());
    })?;
    println!(
        "{} in {:.1} s",
        report.totals(),
        begin.elapsed().as_secs_f64()
    );
    if let Some(path) = &args.json {
        let text = format!("{:#}\n", report.json());
        std::fs::write(path, text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let mut disagreements = Vec::new();
    if let Some(path) = &args.unbuilt {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        disagreements = report.disagreements(&read_list(&text));
    }
    for text in &disagreements {
        println!("{text}");
    }
    if report.passed() == 0 {
        return Err("no case passed: nothing matches, or nothing is built".to_owned());
    }
    Ok(report.failed() == 0 && disagreements.is_empty())
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
