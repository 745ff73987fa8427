//! Lists the adapters of this machine and what each can do, then says which one would be opened.
#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

use ziggurat_device::{Device, DeviceError, DeviceOptions, adapters, block_on, install_advice};

fn main() -> Result<(), DeviceError> {
    let found = block_on(adapters());
    if found.iter().all(|adapter| adapter.is_software_device()) {
        println!("no GPU; {}", install_advice(std::env::consts::OS));
    }
    for adapter in &found {
        println!("{adapter}");
        if !adapter.driver.is_empty() {
            println!("   driver      {}", adapter.driver);
        }
        let mut options = DeviceOptions::default();
        options.adapter.index = Some(adapter.index);
        // What the options say wins over the environment: every one is asked by its index.
        match Device::open_blocking(options) {
            Ok(device) if device.adapter() == adapter => describe(&device),
            Ok(_) => {}
            Err(error) => println!("   {error}"),
        }
    }
    let device = Device::open_blocking(DeviceOptions::default())?;
    println!("chosen: {}", device.adapter());
    Ok(())
}

fn describe(device: &Device) {
    let caps = device.caps();
    let mib = |bytes: u64| bytes >> 20;
    println!(
        "   buffer      {} MiB, binding {} MiB, {} storage buffers",
        mib(caps.max_buffer_bytes),
        mib(caps.max_binding_bytes),
        caps.max_storage_buffers
    );
    println!(
        "   workgroup   {} preferred, {} at most, {} KiB of memory, {} per dimension",
        caps.workgroup_size,
        caps.limits.max_compute_invocations_per_workgroup,
        caps.limits.max_compute_workgroup_storage_size >> 10,
        caps.max_workgroups
    );
    let (low, high) = caps.subgroup_size;
    println!(
        "   features    f16 {}, subgroups {} ({low} to {high}), timestamps {}, \
         immediates {} bytes, pipeline cache {}",
        caps.f16, caps.subgroups, caps.timestamps, caps.immediate_bytes, caps.pipeline_cache
    );
    for shape in &caps.cooperative_matrix {
        println!("   matrix      {shape}");
    }
}
