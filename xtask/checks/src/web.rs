//! `cargo xtask web`, the driver's half: serves the page with the program in it, opens it in Chromium without a window, and
//! prints what the page reports.

mod browser;
mod catalogue;
mod report;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
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
    /// Only these stages: shaders, behaviour, conformance
    #[arg(long, value_name = "STAGE,…")]
    only: Option<String>,
}

/// Much longer than the page has ever taken.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// Without a word from the page; the slowest single case takes some seconds.
const SILENCE: Duration = Duration::from_secs(180);

/// Runs the tests in the page.
pub(crate) fn run(choice: &Choice) -> Outcome<String> {
    page(&choice.folder)?;
    let only = choice.only.as_deref();
    let server = server::start(&choice.folder)?;
    let query = only.map_or_else(String::new, |only| format!("?only={only}"));
    let address = format!("http://127.0.0.1:{}/index.html{query}", server.port);
    let _browser = browser::open(&address)?;
    let mut report = Report::default();
    let begin = Instant::now();
    loop {
        let left = PATIENCE.saturating_sub(begin.elapsed()).min(SILENCE);
        match server.messages.recv_timeout(left) {
            Ok(server::Message::Report(text)) => report.add(&text)?,
            Ok(server::Message::End) => break,
            Err(_) => {
                return Err(Failure::new(format!(
                    "the page said nothing for {} s; so far: {report:?}",
                    left.as_secs()
                )));
            }
        }
    }
    report.verdict(only)
}

/// Puts the page and the catalogue beside the program.
fn page(folder: &Path) -> Outcome {
    let root = workspace::root();
    for file in ["index.html", "tests.js"] {
        fs::copy(root.join("xtask/web/page").join(file), folder.join(file))?;
    }
    catalogue::write(&folder.join("catalogue.jsonl"))
}
