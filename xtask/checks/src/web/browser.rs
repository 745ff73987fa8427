//! Chromium without a window.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::{env, fs, thread};

use super::server::Message;

use xtask::failure::{Failure, Outcome};
use xtask::{process, workspace};

/// Names under which Chromium and its relatives are installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// What a page finds behind `navigator.gpu`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Adapter {
    /// There is no WebGPU.
    None,
    /// The one that Chromium brings.
    Software,
    /// The machine's, by Vulkan.
    Gpu,
}

impl Adapter {
    /// Without a window, Chromium has WebGPU only if it is asked for, and uses a GPU only if its own drawing does.
    const fn flags(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::Software => &["--enable-unsafe-webgpu"],
            Self::Gpu => &[
                "--enable-unsafe-webgpu",
                "--enable-features=Vulkan",
                "--use-angle=vulkan",
                "--disable-vulkan-surface",
                "--ignore-gpu-blocklist",
            ],
        }
    }
}

/// None of what a browser does beside showing a page.
const FLAGS: [&str; 14] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--enable-logging=stderr",
    "--no-pings",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
];

/// A running browser; dropped, it ends and its profile is deleted.
#[derive(Debug)]
pub(super) struct Browser {
    child: Child,
    profile: PathBuf,
}

/// Opens the page with an adapter; installs Chromium first, where that is possible and it is missing. What pages and workers
/// write to their consoles is sent on.
pub(super) fn open(address: &str, adapter: Adapter, console: &Sender<Message>) -> Outcome<Browser> {
    let name = match installed() {
        Some(name) => name,
        None => install()?,
    };
    let profile = env::temp_dir().join(format!("ziggurat-web-{}", std::process::id()));
    fs::create_dir_all(&profile)?;
    let child = Command::new(name)
        .args(FLAGS)
        .args(adapter.flags())
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| Failure::new(format!("cannot start {name}: {error}")))?;
    if let Some(log) = child.stderr.take() {
        let console = console.clone();
        thread::spawn(move || {
            for line in BufReader::new(log).lines().map_while(Result::ok) {
                if let Some((_, text)) = line.split_once(":CONSOLE") {
                    // Nobody listens any more when the run is over.
                    let _ = console.send(Message::Console(text.to_owned()));
                }
            }
        });
    }
    Ok(Browser { child, profile })
}

fn installed() -> Option<&'static str> {
    let runs = |name: &&str| process::succeeds(Command::new(name).arg("--version"));
    NAMES.into_iter().find(runs)
}

fn install() -> Outcome<&'static str> {
    if workspace::on_debian() {
        let words = ["install", "-y", "--no-install-recommends", "chromium"];
        let quiet = ("DEBIAN_FRONTEND", "noninteractive");
        let mut apt = Command::new("apt-get");
        process::quiet(
            "apt-get install chromium",
            apt.args(words).env(quiet.0, quiet.1),
        )?;
    }
    installed().ok_or_else(|| {
        Failure::new(format!(
            "no browser with WebGPU: install one of {}",
            NAMES.join(", ")
        ))
    })
}

impl Browser {
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself; its own processes end with it, a moment later.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for _ in 0..20 {
            if fs::remove_dir_all(&self.profile).is_ok() {
                break;
            }
            thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}
