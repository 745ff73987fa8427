//! `cargo xtask web`, the driver's half: serves the page with the program in it, opens it in Chromium without a window, and
//! prints what the page reports.

mod browser;
mod catalogue;
mod memory;
mod report;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use report::Report;
use xtask::failure::{Failure, Outcome};
use xtask::workspace;

/// What to serve, and what of it to run.
#[derive(Args, Debug)]
pub(crate) struct Choice {
    /// A folder with `program/ziggurat_web.js`; `cargo xtask web` makes it
    folder: PathBuf,
    /// Only these stages: demo, leaving, memory, missing, shaders, behaviour, conformance; or chat, which needs a model
    #[arg(long, value_name = "STAGE,…")]
    only: Option<String>,
    /// Less of it: one case of each file of vectors, and pipelines of one small shader in twenty, other ones each day
    #[arg(long)]
    sample: bool,
    /// With --sample: the shaders of another day
    #[arg(long, value_name = "DAY", requires = "sample")]
    day: Option<usize>,
}

/// Much longer than the page has ever taken.
const PATIENCE: Duration = Duration::from_secs(45 * 60);
/// Without a word from the page; the slowest single case takes some seconds.
const SILENCE: Duration = Duration::from_secs(180);

/// Runs the tests in the page.
pub(crate) fn run(choice: &Choice) -> Outcome<String> {
    let part = choice
        .sample
        .then(|| choice.day.unwrap_or_else(catalogue::today));
    page(&choice.folder, part)?;
    let only: Vec<&str> = match &choice.only {
        Some(names) => names.split(',').collect(),
        None => report::STAGES.to_vec(),
    };
    let server = server::start(&choice.folder)?;
    let mut report = Report::default();
    // Some stages have a browser of their own: one without WebGPU, one whose console counts, one whose memory counts.
    const ALONE: [&str; 3] = ["missing", "leaving", "memory"];
    let (alone, together): (Vec<&str>, Vec<&str>) =
        only.iter().partition(|name| ALONE.contains(name));
    let sessions = alone.iter().map(|name| name.to_string());
    let sessions = sessions.chain((!together.is_empty()).then(|| together.join(",")));
    for names in sessions {
        let sample = if choice.sample { "&sample" } else { "" };
        hear(&server, &names, sample, &mut report)?;
    }
    report.verdict(&only)
}

/// Opens the page in a browser for some stages and takes what it says until it ends.
fn hear(server: &server::Server, names: &str, sample: &str, report: &mut Report) -> Outcome {
    let port = server.port;
    let address = format!("http://127.0.0.1:{port}/index.html?only={names}{sample}");
    let browser = browser::open(&address, names != "missing", &server.sender)?;
    server.browser.store(browser.id(), Ordering::Relaxed);
    let begin = Instant::now();
    loop {
        let left = PATIENCE.saturating_sub(begin.elapsed()).min(SILENCE);
        match server.messages.recv_timeout(left) {
            Ok(server::Message::Report(text)) => report.add(&text)?,
            Ok(server::Message::Console(line)) if names == "leaving" => report.console(line),
            Ok(server::Message::Console(_)) => {}
            Ok(server::Message::End) => return Ok(()),
            Err(_) => {
                return Err(Failure::new(format!(
                    "the page said nothing for {} s; so far: {report:?}",
                    left.as_secs()
                )));
            }
        }
    }
}

/// Puts the page and the catalogue beside the program.
fn page(folder: &Path, part: Option<usize>) -> Outcome {
    let root = workspace::root();
    for file in ["index.html", "tests.js", "demo.js", "holder.html"] {
        fs::copy(root.join("xtask/web/page").join(file), folder.join(file))?;
    }
    catalogue::write(&folder.join("catalogue.jsonl"), part)
}
