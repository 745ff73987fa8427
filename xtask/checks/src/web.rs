//! `cargo xtask web`, the driver's half: serves the page with the program in it, opens it in Chromium without a window, and
//! prints what the page reports.

mod browser;
mod catalogue;
mod memory;
mod report;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use clap::Args;
use report::{Report, SHADERS};
use server::Message;
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
    /// The stage chat too, which needs a model
    #[arg(long)]
    chat: bool,
    /// Less of it: one case of each file of vectors, and pipelines of one small shader in twenty, other ones each day
    #[arg(long)]
    sample: bool,
    /// With --sample: the shaders of another day
    #[arg(long, value_name = "DAY", requires = "sample")]
    day: Option<usize>,
    /// The shaders from this number on, to go on with a run that was cut off
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    from: u64,
    /// The shaders whose numbers leave K - 1 when divided by N: one of N runs in parallel
    #[arg(long, value_name = "K/N", default_value = "1/1")]
    part: Part,
    /// On the machine's GPU by its Vulkan driver, in place of the software adapter that Chromium brings; unless `--only` says
    /// otherwise, shaders, behaviour and conformance
    #[arg(long)]
    gpu: bool,
}

/// What `--gpu` runs by itself: the others look at how a page is drawn, at its console, or at memory of the processor.
const ON_A_GPU: [&str; 3] = [SHADERS, "behaviour", "conformance"];

/// One of so many parts of the shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Below `of`.
    index: usize,
    of: usize,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((k, of)) if (1..=of).contains(&k) => Ok(Self { index: k - 1, of }),
            _ => Err(format!("{text:?} is not K/N with K from 1 to N")),
        }
    }
}

/// How long is waited.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// In all.
    all: Duration,
    /// Without a sign of life from the page.
    silence: Duration,
    /// Without a report of the page that lives.
    standstill: Duration,
}

/// All pipelines take hours in a software adapter. The page gives a sign of life every few seconds, and reports as often, unless
/// a single pipeline takes long: in a software adapter whose machine is busy that is minutes.
const PATIENCE: Patience = Patience {
    all: Duration::from_secs(8 * 60 * 60),
    silence: Duration::from_secs(180),
    standstill: Duration::from_secs(15 * 60),
};

/// Runs the tests in the page.
pub(crate) fn run(choice: &Choice) -> Outcome<String> {
    let day = choice
        .sample
        .then(|| choice.day.unwrap_or_else(catalogue::today));
    let catalogue = page(&choice.folder, day, choice.part)?;
    let mut only: Vec<&str> = match &choice.only {
        Some(names) => names.split(',').collect(),
        None if choice.gpu => ON_A_GPU.to_vec(),
        None => report::STAGES.to_vec(),
    };
    if choice.chat && !only.contains(&report::CHAT) {
        only.push(report::CHAT);
    }
    let server = server::start(&choice.folder)?;
    let mut report = Report::default();
    // Some stages have a browser of their own: one without WebGPU, one whose console counts, one whose memory counts, one that
    // may not last.
    const ALONE: [&str; 4] = ["missing", "leaving", "memory", SHADERS];
    let (alone, together): (Vec<&str>, Vec<&str>) =
        only.iter().partition(|name| ALONE.contains(name));
    let sessions = alone.iter().map(|name| name.to_string());
    let sessions = sessions.chain((!together.is_empty()).then(|| together.join(",")));
    for names in sessions {
        let sample = if choice.sample { "&sample" } else { "" };
        let gpu = if choice.gpu { "&gpu" } else { "" };
        if names == SHADERS {
            all_shaders(choice.from, |from| {
                let asked = format!("only={names}&from={from}&catalogue={catalogue}{gpu}");
                let heard = hear(&server, &names, &asked, choice.gpu, &mut report);
                heard.map(|()| report.reached(SHADERS))
            })?;
        } else {
            let asked = format!("only={names}{sample}{gpu}");
            hear(&server, &names, &asked, choice.gpu, &mut report)?;
        }
    }
    report.verdict(&only)
}

/// Has browsers try shaders, one browser after the other, each from where the one before had no device anymore: Chromium gives
/// none when its process for GPUs has ended several times. One that tries no further shader is the last.
///
/// `open` gives how many shaders are done, and whether that is all.
fn all_shaders(
    mut from: u64,
    mut open: impl FnMut(u64) -> Outcome<Option<(u64, bool)>>,
) -> Outcome {
    loop {
        match open(from)? {
            Some((done, false)) if done > from => {
                println!("{SHADERS}: another browser goes on from {done}");
                from = done;
            }
            _ => return Ok(()),
        }
    }
}

/// Opens the page in a browser for some stages and takes what it says until it ends.
fn hear(
    server: &server::Server,
    names: &str,
    asked: &str,
    gpu: bool,
    report: &mut Report,
) -> Outcome {
    let port = server.port;
    let address = format!("http://127.0.0.1:{port}/index.html?{asked}");
    let adapter = match (names, gpu) {
        ("missing", _) => browser::Adapter::None,
        (_, true) => browser::Adapter::Gpu,
        (_, false) => browser::Adapter::Software,
    };
    let browser = browser::open(&address, adapter, &server.sender)?;
    server.browser.store(browser.id(), Ordering::Relaxed);
    listen(&server.messages, PATIENCE, names == "leaving", report)
}

/// Takes what a page says, with or without lines of its console, until it ends or says nothing for too long.
fn listen(
    messages: &Receiver<Message>,
    patience: Patience,
    console: bool,
    report: &mut Report,
) -> Outcome {
    let begin = Instant::now();
    let mut told = begin;
    loop {
        let left = patience.all.saturating_sub(begin.elapsed());
        let left = left.min(patience.standstill.saturating_sub(told.elapsed()));
        match messages.recv_timeout(left.min(patience.silence)) {
            Ok(Message::Report(text)) => {
                told = Instant::now();
                report.add(&text)?;
            }
            Ok(Message::Console(line)) if console => report.console(line),
            Ok(Message::Console(_) | Message::Alive) => {}
            Ok(Message::End) => return Ok(()),
            Err(_) => {
                let what = match left > patience.silence {
                    true => "gave no sign of life",
                    false => "lives, and reported nothing new",
                };
                return Err(Failure::new(format!(
                    "the page {what} for {} s; so far: {report:?}",
                    told.elapsed().as_secs()
                )));
            }
        }
    }
}

/// Puts the page and the catalogue beside the program; the catalogue's name, which is another one for each part.
fn page(folder: &Path, day: Option<usize>, part: Part) -> Outcome<String> {
    let root = workspace::root();
    for file in ["index.html", "tests.js", "demo.js", "holder.html"] {
        fs::copy(root.join("xtask/web/page").join(file), folder.join(file))?;
    }
    let catalogue = format!("catalogue-{}-of-{}.jsonl", part.index + 1, part.of);
    catalogue::write(&folder.join(&catalogue), day, part)?;
    Ok(catalogue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    /// What comes of a page that says this, a word every 20 ms.
    fn heard(words: &'static [&str]) -> Result<(), String> {
        let (sender, messages) = mpsc::channel();
        let page = thread::spawn(move || {
            for word in words {
                thread::sleep(Duration::from_millis(20));
                let message = match *word {
                    "alive" => Message::Alive,
                    "end" => Message::End,
                    text => Message::Report(text.to_owned()),
                };
                // Whoever has given up hears nothing more.
                if sender.send(message).is_err() {
                    return;
                }
            }
            // It does not hang up.
            thread::sleep(Duration::from_secs(2));
            drop(sender);
        });
        let patience = Patience {
            all: Duration::from_secs(60),
            silence: Duration::from_millis(500),
            standstill: Duration::from_millis(1000),
        };
        let outcome = listen(&messages, patience, false, &mut Report::default());
        drop(messages);
        assert!(page.join().is_ok());
        outcome.map_err(|failure| failure.to_string())
    }

    /// From where browsers go on that get so far.
    fn begun(reached: &[Option<(u64, bool)>]) -> Vec<u64> {
        let mut begun = Vec::new();
        let outcome = all_shaders(3, |from| {
            begun.push(from);
            Ok(reached[begun.len() - 1])
        });
        assert!(outcome.is_ok());
        begun
    }

    #[test]
    fn another_browser_goes_on_unless_the_last_got_nowhere() {
        assert_eq!(begun(&[Some((9, true))]), [3]);
        assert_eq!(begun(&[Some((7, false)), Some((9, true))]), [3, 7]);
        assert_eq!(begun(&[Some((7, false)), Some((7, false))]), [3, 7]);
        assert_eq!(begun(&[None]), [3]);
        let failed = all_shaders(0, |_| Err(Failure::new("no browser")));
        assert!(failed.is_err());
    }

    #[test]
    fn a_part_is_one_of_those_there_are() {
        let part = |text: &str| text.parse::<Part>();
        assert_eq!(part("1/1"), Ok(Part { index: 0, of: 1 }));
        assert_eq!(part("3/14"), Ok(Part { index: 2, of: 14 }));
        for text in ["0/2", "3/2", "1/0", "0/0", "1", "a/2", "1/2/3", ""] {
            assert!(part(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_slow_page_is_waited_for_and_a_dead_one_is_not() {
        const PART: &str = r#"{"stage":"shaders","done":1,"of":5,"failures":[],"note":""}"#;
        assert_eq!(heard(&["alive", PART, "alive", "end"]), Ok(()));
        assert!(heard(&["alive", PART]).is_err_and(|text| text.contains("no sign of life")));
        let busy = heard(&["alive"; 100]);
        assert!(busy.is_err_and(|text| text.contains("reported nothing new")));
    }
}
