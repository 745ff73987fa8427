//! `cargo xtask fuzz`: random calls, files and shaders against every layer.
//!
//! The cases are tests, each from a seed of its own; this runs them by the thousand in processes of their own, so that one
//! that is aborted, or hangs and is killed, is reported with its seed and what it did, and the next ones go on. A test
//! writes what it is about to do into a file (`crates/kernels/tests/common/campaign.rs`), which outlives it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use xtask::failure::{Failure, Outcome};
use xtask::{process, workspace};

/// A test, where it is, and how many cases it runs.
#[derive(Debug)]
struct Target {
    name: &'static str,
    /// The file that its program is built from.
    program: &'static str,
    test: &'static str,
    cases: &'static str,
    short: u64,
    long: u64,
}

const KERNELS: &str = "crates/kernels/tests/all/main.rs";
const PIPELINES: &str = "crates/pipeline/tests/adapter.rs";
const TENSORS: &str = "crates/tensor/tests/all/main.rs";

/// Calls: a million in the long form, with 100,000 files and 100,000 shaders.
const TARGETS: [Target; 12] = [
    Target {
        name: "executor",
        program: KERNELS,
        test: "any_arguments::any_arguments_give_a_result_or_an_error_that_names_the_rule",
        cases: "calls of executors with any arguments",
        short: 1_500,
        long: 300_000,
    },
    Target {
        name: "accepted",
        program: KERNELS,
        test: "any_arguments::every_op_accepts_what_fits_it_and_gives_numbers",
        cases: "calls of executors with what fits, over memory of any layout",
        short: 300,
        long: 100_000,
    },
    Target {
        name: "limits",
        program: KERNELS,
        test: "any_arguments::limits::every_op_is_right_or_refuses_under_tiny_limits",
        cases: "calls of executors within tiny limits",
        short: 180,
        long: 50_000,
    },
    Target {
        name: "tensor",
        program: TENSORS,
        test: "fuzz::calls::any_call_gives_a_value_or_a_typed_error",
        cases: "calls of tensors with any arguments",
        short: 800,
        long: 300_000,
    },
    Target {
        name: "tensor-limits",
        program: TENSORS,
        test: "fuzz::limits::any_call_is_right_or_refused_under_tiny_limits",
        cases: "calls of tensors within tiny limits",
        short: 200,
        long: 50_000,
    },
    Target {
        name: "device",
        program: "crates/device/tests/all/main.rs",
        test: "any_calls::any_calls_of_a_device_end_in_a_value_or_a_typed_error",
        cases: "devices, each with 32 calls",
        short: 500,
        long: 20_000,
    },
    Target {
        name: "pipeline",
        program: PIPELINES,
        test: "any_calls::any_call_gives_results_or_a_typed_error",
        cases: "calls of pipelines with any descriptors, grids and arguments",
        short: 1_000,
        long: 100_000,
    },
    Target {
        name: "cache",
        program: PIPELINES,
        test: "any_calls::any_cache_file_and_trace_is_used_or_refused",
        cases: "damaged cache files and traces",
        short: 300,
        long: 20_000,
    },
    Target {
        name: "memory",
        program: "crates/memory/tests/all/main.rs",
        test: "any_calls::memory_holds_what_a_model_holds",
        cases: "calls of memory with any sizes and offsets",
        short: 20_000,
        long: 80_000,
    },
    Target {
        name: "files",
        program: TENSORS,
        test: "any_files::any_bytes_give_tensors_or_a_typed_error",
        cases: "damaged files",
        short: 2_000,
        long: 80_000,
    },
    Target {
        name: "models",
        program: "crates/models/tests/hostile.rs",
        test: "damaged_files_give_a_head_or_a_typed_error",
        cases: "damaged model files",
        short: 5_000,
        long: 100_000,
    },
    Target {
        name: "shaders",
        program: "crates/software/tests/fuzz.rs",
        test: "no_text_makes_the_device_panic",
        cases: "damaged shaders",
        short: 6_000,
        long: 100_000,
    },
];

/// Findings after which a target is left.
const ENOUGH: usize = 20;

/// What `cargo xtask fuzz --help` prints.
pub(crate) const USAGE: &str = "\
Runs random calls, files and shaders against every layer: nothing may panic, abort, hang or be wrong

Usage: cargo xtask fuzz [OPTIONS]

Options:
  --long           A million calls, 100,000 files and 100,000 shaders, instead of a minute's worth
  --only NAME,…    Only these: executor, accepted, limits, tensor, tensor-limits, device,
                   pipeline, memory, files, models, cache, shaders
  --seed N         The first case (1000001, beyond those that the tests run)
  --cases N        So many cases of each
  --patience N     Seconds after which a case hangs (10)
";

/// What to run.
#[derive(Debug)]
pub(crate) struct Choice {
    long: bool,
    only: Vec<String>,
    seed: u64,
    cases: Option<u64>,
    patience: Duration,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            long: false,
            only: Vec::new(),
            seed: 1_000_001,
            cases: None,
            patience: Duration::from_secs(10),
        }
    }
}

impl Choice {
    /// Reads the words behind `cargo xtask fuzz`.
    pub(crate) fn parse(words: &[String]) -> Outcome<Self> {
        let mut choice = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--long" {
                choice.long = true;
                continue;
            }
            let mut value = || {
                let value = words.next();
                value.ok_or_else(|| Failure::new(format!("{word} needs a value\n\n{USAGE}")))
            };
            match word.as_str() {
                "--only" => choice.only.extend(value()?.split(',').map(str::to_owned)),
                "--seed" => choice.seed = number(value()?)?,
                "--cases" => choice.cases = Some(number(value()?)?),
                "--patience" => choice.patience = Duration::from_secs(number(value()?)?),
                _ => return Err(Failure::new(format!("unknown option {word}\n\n{USAGE}"))),
            }
        }
        let known = |name: &String| TARGETS.iter().any(|target| target.name == name);
        match choice.only.iter().find(|name| !known(name)) {
            Some(name) => Err(Failure::new(format!("no target {name:?}\n\n{USAGE}"))),
            None => Ok(choice),
        }
    }
}

fn number(text: &str) -> Outcome<u64> {
    let number = text.parse();
    number.map_err(|_| Failure::new(format!("{text:?} is not a number")))
}

/// Runs the targets; any finding is a failure.
pub(crate) fn run(choice: &Choice) -> Outcome<String> {
    let programs = build()?;
    let folder = workspace::target_dir()?.join("fuzz");
    fs::create_dir_all(&folder)?;
    let (mut findings, mut all) = (Vec::new(), Vec::new());
    for target in &TARGETS {
        if !choice.only.is_empty() && !choice.only.iter().any(|name| name == target.name) {
            continue;
        }
        let program = programs
            .iter()
            .find(|(file, _)| file.ends_with(target.program));
        let Some((_, program)) = program else {
            return Err(Failure::new(format!("{} was not built", target.program)));
        };
        let usual = if choice.long {
            target.long
        } else {
            target.short
        };
        let cases = choice.cases.unwrap_or(usual);
        println!(
            "{}: {cases} {} from seed {}",
            target.name, target.cases, choice.seed
        );
        let start = Instant::now();
        let found = cases_of(target, program, &folder, choice, cases)?;
        println!(
            "{}: {:.0} s, {} findings",
            target.name,
            start.elapsed().as_secs_f64(),
            found.len()
        );
        all.push(format!("{cases} {}", target.cases));
        findings.extend(found);
    }
    if findings.is_empty() {
        return Ok(format!("nothing found in {}", all.join(", ")));
    }
    Err(Failure::new(format!(
        "{} findings:\n{}",
        findings.len(),
        findings.join("\n")
    )))
}

/// Builds the programs of tests: the file of each and where it is.
fn build() -> Outcome<Vec<(String, PathBuf)>> {
    // Of the whole workspace, so that it has the features that other stages build it with.
    let mut command = workspace::cargo();
    command.args([
        "test",
        "--workspace",
        "--test",
        "all",
        "--test",
        "fuzz",
        "--test",
        "adapter",
        "--test",
        "hostile",
        "--no-run",
    ]);
    command.args(["--message-format", "json-render-diagnostics"]);
    println!("$ {}", process::spell(&command));
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(Failure::new("the tests do not build"));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().filter_map(artifact).collect())
}

/// The source and the executable that a line of cargo's tells of.
fn artifact(line: &str) -> Option<(String, PathBuf)> {
    let executable = field(line, "executable")?;
    Some((field(line, "src_path")?, PathBuf::from(executable)))
}

/// A text of a line of JSON, of which paths need no more than this.
fn field(line: &str, name: &str) -> Option<String> {
    let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
    let (value, _) = rest.split_once('"')?;
    Some(value.replace("\\\\", "/"))
}

/// Runs the cases in as many processes as it takes.
fn cases_of(
    target: &Target,
    program: &Path,
    folder: &Path,
    choice: &Choice,
    cases: u64,
) -> Outcome<Vec<String>> {
    let note = folder.join(format!("{}.note", target.name));
    let log = folder.join(format!("{}.log", target.name));
    let end = choice.seed.saturating_add(cases);
    let (mut first, mut findings) = (choice.seed, Vec::new());
    while first < end && findings.len() < ENOUGH {
        let _ = fs::remove_file(&note);
        let out = File::create(&log)?;
        let mut command = Command::new(program);
        command
            .current_dir(workspace::root())
            .args([target.test, "--exact", "--nocapture", "--test-threads=1"])
            .env("ZIGGURAT_FUZZ_SEED", first.to_string())
            .env("ZIGGURAT_FUZZ_CASES", (end - first).to_string())
            .env("ZIGGURAT_FUZZ_NOTE", &note)
            .env_remove("ZIGGURAT_FUZZ_SECONDS")
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out);
        workspace::on_software(&mut command);
        let ended = watch(command.spawn()?, &note, choice.patience)?;
        let said = fs::read_to_string(&log).unwrap_or_default();
        if ended.is_none() && said.contains("1 passed") {
            break;
        }
        let noted = fs::read_to_string(&note).unwrap_or_default();
        let how = ended.unwrap_or_else(|| "failed".to_owned());
        findings.push(finding(target.name, &noted, &how, &said));
        // Without a note nothing ran, and the next process would not get further.
        let Some(seed) = noted
            .split(' ')
            .next()
            .and_then(|seed| seed.parse::<u64>().ok())
        else {
            break;
        };
        first = seed.saturating_add(1);
    }
    Ok(findings)
}

/// A report: the case, how it ended, and the last that was said.
fn finding(name: &str, noted: &str, how: &str, said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    let last = lines
        .get(lines.len().saturating_sub(12)..)
        .unwrap_or_default();
    let case = noted.trim();
    format!("{name}: case {case}: {how}\n    {}", last.join("\n    "))
}

/// Waits for a process; why it did not end well, unless it ended with its own verdict of 0.
fn watch(mut child: Child, note: &Path, patience: Duration) -> Outcome<Option<String>> {
    let (mut before, mut since) = (String::new(), Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((!status.success()).then(|| format!("ended with {status}")));
        }
        let now = fs::read_to_string(note).unwrap_or_default();
        // Opening a device and closing it takes its time: that is no case.
        if now != before || now.is_empty() {
            (before, since) = (now, Instant::now());
        } else if since.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Ok(Some(format!(
                "hung for {} s and was killed",
                patience.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests;
