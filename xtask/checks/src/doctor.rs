//! `cargo xtask doctor`: what this machine has, what would be used and why, and what is missing.

use std::process::Command;

use ziggurat_device::ziggurat_software::Profile;
use ziggurat_device::{Caps, Device, DeviceOptions, block_on, env};
use ziggurat_kernels::Executor;
use ziggurat_kernels::memory::{Memory, MemoryOptions};
use ziggurat_kernels::pipeline::Pipelines;

use crate::setup;
use xtask::failure::Outcome;
use xtask::{process, workspace};

/// Prints the report; it never fails because something is missing, that is what it is there to say.
pub(crate) fn run() -> Outcome<String> {
    tools();
    println!();
    let adapters = ziggurat_device::adapters_blocking();
    if adapters.iter().all(|adapter| adapter.is_software_device()) {
        println!("{}", setup::advice(std::env::consts::OS));
        println!("until then the software device computes on the CPU, which needs nothing");
    }
    println!("adapters");
    for (index, adapter) in adapters.iter().enumerate() {
        println!(
            "  {index}: {}, vendor {:#06x}, device {:#06x}",
            setup::describe(adapter),
            adapter.vendor,
            adapter.device
        );
    }
    println!(
        "software ZIGGURAT_ADAPTER=software:<profile>, one of {}",
        Profile::all().map(|profile| profile.name).join(", ")
    );
    let wish = setup::wish()?;
    println!("wanted   {wish:?}");
    for name in [
        "ZIGGURAT_ADAPTER",
        "ZIGGURAT_BACKEND",
        "ZIGGURAT_LIMITS",
        "ZIGGURAT_CACHE_DIR",
    ] {
        println!(
            "         {name} = {}",
            std::env::var(name).unwrap_or_else(|_| "not set".into())
        );
    }
    match ziggurat_device::select(&adapters, &wish) {
        Ok(index) => {
            let name = adapters
                .get(index)
                .map_or("?", |adapter| adapter.name.as_str());
            println!(
                "chosen   {index}: {name} (discrete before integrated, virtual, a driver on the CPU, the built-in one; then the order above)"
            );
        }
        Err(error) => println!("chosen   none: {error}"),
    }
    println!();
    match Device::open_blocking(DeviceOptions::default()) {
        Ok(device) => {
            println!("opened   {}", setup::describe(device.adapter()));
            capabilities(device.caps());
            numerics(&device);
            let cache = env::cache_dir(device.options());
            println!(
                "cache    {}",
                cache.map_or_else(|| "none".into(), |path| path.display().to_string())
            );
            Ok(format!("{} adapter(s)", adapters.len()))
        }
        Err(error) => {
            println!("opened   failed: {error}");
            Ok(format!("{} adapter(s), none opens", adapters.len()))
        }
    }
}

/// What the adapter makes of plain WGSL; ops keep the contract either way.
fn numerics(device: &Device) {
    let memory = Memory::new(device, MemoryOptions::default());
    let executor = Executor::new(&Pipelines::new(&memory));
    match block_on(executor.numerics()) {
        Ok(answers) => {
            for (i, line) in answers.to_string().lines().enumerate() {
                println!("{:9}{line}", if i == 0 { "numerics" } else { "" });
            }
        }
        Err(error) => println!("numerics failed: {error}"),
    }
}

fn tools() {
    let version = |name: &str, command: &mut Command| {
        let output = process::capture(command)
            .ok()
            .filter(|output| output.status.success());
        let text = output.map(|output| {
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        });
        println!("{name:9}{}", text.unwrap_or_else(|| "not installed".into()));
    };
    println!(
        "system   {} {}",
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    version("rustc", Command::new("rustc").arg("--version"));
    version("cargo", workspace::cargo().arg("--version"));
    version("clippy", workspace::cargo().args(["clippy", "--version"]));
    version("rustfmt", workspace::cargo().args(["fmt", "--version"]));
    version("nextest", workspace::cargo().args(["nextest", "--version"]));
}

fn capabilities(caps: &Caps) {
    let yes = |has: bool| if has { "yes" } else { "no" };
    println!(
        "features f16 {}, subgroups {} (size {} to {}), timestamps {}, pipeline cache {}, immediates {} bytes",
        yes(caps.f16),
        yes(caps.subgroups),
        caps.subgroup_size.0,
        caps.subgroup_size.1,
        yes(caps.timestamps),
        yes(caps.pipeline_cache),
        caps.immediate_bytes
    );
    if caps.cooperative_matrix.is_empty() {
        println!("         cooperative matrices: none");
    }
    for shape in &caps.cooperative_matrix {
        println!("         cooperative matrix {shape:?}");
    }
    let limits = &caps.limits;
    println!(
        "limits   buffer {} MiB, binding {} MiB, storage buffers {}",
        caps.max_buffer_bytes >> 20,
        caps.max_binding_bytes >> 20,
        caps.max_storage_buffers
    );
    println!(
        "         workgroup {} invocations ({} preferred), {} x {} x {}, {} KiB memory",
        limits.max_compute_invocations_per_workgroup,
        caps.workgroup_size,
        limits.max_compute_workgroup_size_x,
        limits.max_compute_workgroup_size_y,
        limits.max_compute_workgroup_size_z,
        limits.max_compute_workgroup_storage_size >> 10
    );
    println!(
        "         {} workgroups per dimension, alignment {} storage, {} uniform",
        caps.max_workgroups, caps.storage_alignment, caps.uniform_alignment
    );
}
