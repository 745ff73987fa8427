//! Measures uploads and reads through staging memory on the best adapter there is.
//!
//! `cargo run --release -p ziggurat-memory --example transfer_speed -- [MiB]`

use std::error::Error;
use std::io::Write as _;
use std::time::Instant;
use ziggurat_device::{Device, DeviceOptions};
use ziggurat_memory::{Memory, MemoryOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let mib = std::env::args()
        .nth(1)
        .map_or(Ok(256), |text| text.parse::<usize>())?;
    let device = Device::open_blocking(DeviceOptions::default())?;
    let memory = Memory::new(&device, MemoryOptions::default());
    let data: Vec<u8> = (0..mib << 20)
        .map(|i| (i.wrapping_mul(167) ^ (i >> 12)) as u8)
        .collect();
    let bytes = data.len() as u64;
    let gigabytes = bytes as f64 / 1e9;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}: {mib} MiB", device.adapter().name)?;
    let buffer = memory.alloc(bytes)?;
    for round in 0..6 {
        let start = Instant::now();
        memory.write(&buffer, 0, &data)?;
        let host = start.elapsed().as_secs_f64();
        device.synchronize().wait()?;
        let upload = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let read = memory.read(&buffer, 0..bytes)?.wait()?;
        let readback = start.elapsed().as_secs_f64();
        if read != data {
            return Err("the bytes read differ from the bytes written".into());
        }
        writeln!(
            out,
            "round {round}: upload {:.1} GB/s ({:.1} until the call returned), read {:.1} GB/s",
            gigabytes / upload,
            gigabytes / host,
            gigabytes / readback
        )?;
    }
    let small = memory.upload(&data[..data.len().min(4096)])?;
    let start = Instant::now();
    for _ in 0..1000 {
        memory.read(&small, 0..4)?.wait()?;
    }
    writeln!(
        out,
        "4-byte read: {:.1} us",
        start.elapsed().as_secs_f64() * 1e3
    )?;
    let start = Instant::now();
    for _ in 0..1000 {
        drop(memory.upload(&data[..data.len().min(4096)])?);
    }
    device.synchronize().wait()?;
    writeln!(
        out,
        "4 KiB upload: {:.1} us",
        start.elapsed().as_secs_f64() * 1e3
    )?;
    writeln!(out, "{:?}", memory.usage())?;
    Ok(())
}
