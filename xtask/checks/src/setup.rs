//! `cargo xtask setup`: what would compute here, and a second opinion where one is wanted.
//!
//! Nothing has to be installed: without a GPU's driver the software device computes. `--vulkan` installs
//! Mesa's software Vulkan driver (lavapipe) on Debian and its relatives, which shares no code with the
//! software device. Installing needs root: it is done directly, or through sudo where that asks for no
//! password, and is otherwise left to the person, with the command.

use std::process::Command;

use clap::Args;
use ziggurat_device::wgpu::Backend;
use ziggurat_device::{AdapterSummary, AdapterWish, DeviceOptions, env};

use xtask::failure::{Failure, Outcome};
use xtask::progress::Step;
use xtask::{process, workspace};

const PACKAGES: [&str; 2] = ["mesa-vulkan-drivers", "libvulkan1"];

/// What to set up.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Choice {
    /// Install Mesa's software Vulkan driver too, where no Vulkan driver is
    #[arg(long)]
    vulkan: bool,
}

/// Names what computes; with `--vulkan`, sees to it that a Vulkan driver is there.
pub(crate) fn run(choice: Choice) -> Outcome<String> {
    if choice.vulkan && !has_vulkan() {
        if !workspace::on_debian() {
            return Err(Failure::new(advice(std::env::consts::OS)));
        }
        install()?;
        if !has_vulkan() {
            return Err(Failure::new(format!(
                "{} are installed and there is still no Vulkan adapter: run `cargo xtask doctor`",
                PACKAGES.join(" and ")
            )));
        }
    }
    chosen()
}

fn has_vulkan() -> bool {
    let adapters = ziggurat_device::adapters_blocking();
    adapters
        .iter()
        .any(|adapter| adapter.backend == Backend::Vulkan && adapter.compute)
}

/// What a device opened with default options would use.
fn chosen() -> Outcome<String> {
    let wish = wish()?;
    if let Some(software) = &wish.software {
        return Ok(format!("software device, {software}"));
    }
    let adapters = ziggurat_device::adapters_blocking();
    let index = ziggurat_device::select(&adapters, &wish)?;
    Ok(adapters.get(index).map(describe).unwrap_or_default())
}

/// The wish of default options, with what the environment says about it.
pub(crate) fn wish() -> Outcome<AdapterWish> {
    let mut wish = DeviceOptions::default().adapter;
    env::apply(&mut wish)?;
    Ok(wish)
}

/// One line about an adapter.
pub(crate) fn describe(adapter: &AdapterSummary) -> String {
    if adapter.is_software_device() {
        return format!("{} (built in, no driver: {})", adapter.name, adapter.driver);
    }
    format!(
        "{} ({:?}, {:?}, driver {})",
        adapter.name, adapter.kind, adapter.backend, adapter.driver
    )
}

/// What to install where this program does not do it.
pub(crate) fn advice(os: &str) -> String {
    let what = match os {
        "linux" => {
            "install a Vulkan driver: your card's own, or Mesa's software driver \
             (Debian, Ubuntu: `apt-get install mesa-vulkan-drivers libvulkan1`; \
             Fedora: `dnf install mesa-vulkan-drivers vulkan-loader`; \
             Arch: `pacman -S vulkan-swrast vulkan-icd-loader`; \
             Alpine: `apk add mesa-vulkan-swrast vulkan-loader`)"
        }
        "macos" => {
            "Metal is part of macOS: this needs macOS 11 or newer and a session with access to the GPU"
        }
        "windows" => {
            "update the graphics driver; without a GPU, Windows 10 and newer bring the WARP adapter for DirectX 12"
        }
        _ => "install a Vulkan driver and its loader for this system",
    };
    format!("no GPU on this machine: {what}")
}

fn install() -> Outcome {
    let by_hand = format!(
        "apt-get update && apt-get install -y {}",
        PACKAGES.join(" ")
    );
    let Some(prefix) = root_prefix() else {
        return Err(Failure::new(format!(
            "the software Vulkan driver is missing; as root, run: {by_hand}"
        )));
    };
    println!(
        "installing the software Vulkan driver ({})",
        PACKAGES.join(", ")
    );
    // Old package lists are good enough where the network fails: the install below says if not.
    if let Err(failure) = process::quiet("apt-get update", &mut apt(&prefix, &["update"])) {
        println!("{failure}");
    }
    let mut words = vec!["install", "-y", "--no-install-recommends"];
    words.extend(PACKAGES);
    process::quiet(
        "apt-get install mesa-vulkan-drivers",
        &mut apt(&prefix, &words),
    )
    .map_err(|failure| Failure::new(format!("{failure}\nas root, run: {by_hand}")))?;
    Ok(())
}

/// How to become root: nothing for root itself, sudo where it asks nothing.
fn root_prefix() -> Option<Vec<&'static str>> {
    let id = process::capture(Command::new("id").arg("-u")).ok()?;
    if id.stdout.starts_with(b"0") {
        return Some(Vec::new());
    }
    let _step = Step::start("asking sudo");
    process::succeeds(Command::new("sudo").args(["-n", "true"])).then(|| vec!["sudo", "-n"])
}

fn apt(prefix: &[&str], words: &[&str]) -> Command {
    let all: Vec<&str> = prefix
        .iter()
        .copied()
        .chain(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"])
        .chain(words.iter().copied())
        .collect();
    let (program, rest) = all.split_first().unwrap_or((&"apt-get", &[]));
    let mut command = Command::new(program);
    command.args(rest);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_is_told_something_of_its_own() {
        assert!(advice("linux").contains("mesa-vulkan-drivers"));
        assert!(advice("macos").contains("Metal"));
        assert!(advice("windows").contains("DirectX 12"));
        assert!(advice("freebsd").contains("Vulkan"));
    }

    #[test]
    fn root_is_reached_through_sudo_where_needed() {
        let command = process::spell(&apt(&["sudo", "-n"], &["update"]));
        assert_eq!(
            command,
            "sudo -n env DEBIAN_FRONTEND=noninteractive apt-get update"
        );
    }
}
