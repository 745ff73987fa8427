//! Buffers are reused, bounded, trimmed and counted.

use crate::common::{device, memory, pattern};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use ziggurat_device::wgpu;
use ziggurat_device::{Device, DeviceOptions};
use ziggurat_memory::{Buffer, Memory, MemoryError, MemoryOptions};

#[test]
fn reuses_a_freed_buffer_of_the_same_class() {
    let memory = memory(MemoryOptions::default());
    let first = memory.alloc(1000).unwrap();
    let (id, other) = (first.id(), memory.alloc(1000).unwrap());
    assert_ne!(id, other.id());
    drop(first);
    assert_eq!(memory.alloc(990).unwrap().id(), id);
}

#[test]
fn a_clone_keeps_the_memory() {
    let memory = memory(MemoryOptions::default());
    let first = memory.alloc(100).unwrap();
    assert!(first.is_unique());
    let second = first.clone();
    assert!(!first.is_unique() && first.same_memory(&second));
    drop(first);
    assert!(second.is_unique());
    assert_eq!(memory.usage().live_buffers, 1);
    assert!(!memory.alloc(100).unwrap().same_memory(&second));
}

#[test]
fn ten_thousand_cycles_reserve_no_more_than_one() {
    let memory = memory(MemoryOptions::default());
    drop(memory.upload(&[1; 5000]).unwrap());
    let before = memory.usage();
    for _ in 0..10_000 {
        drop(memory.alloc(5000).unwrap());
    }
    let after = memory.usage();
    assert_eq!(after.reserved, before.reserved);
    assert_eq!(after.peak_reserved, before.peak_reserved);
    assert_eq!((after.hits, after.misses), (10_000, 1));
}

#[test]
fn an_allocation_above_the_limit_fails_and_the_next_ones_work() {
    let memory = memory(MemoryOptions {
        limit: Some(1 << 20),
        ..MemoryOptions::default()
    });
    let held = memory.upload(&pattern(1, 700_000)).unwrap();
    let error = memory.alloc(500_000).unwrap_err();
    let MemoryError::OutOfMemory {
        requested,
        in_use,
        reserved,
        limit,
        available,
        source,
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!(available, Some((1 << 20) - held.capacity()));
    assert_eq!(source, None);
    assert_eq!(
        (requested, in_use, limit),
        (500_000, held.capacity(), Some(1 << 20))
    );
    assert_eq!(reserved, memory.usage().reserved);
    assert_eq!(
        memory.read(&held, 0..700_000).unwrap().wait().unwrap(),
        pattern(1, 700_000)
    );
    drop(held);
    // Room is made from what is cached.
    let held = memory.upload(&pattern(2, 1_000_000)).unwrap();
    assert_eq!(
        memory.read(&held, 0..1_000_000).unwrap().wait().unwrap(),
        pattern(2, 1_000_000)
    );
}

/// Set in a child process whose address space is too small for the request.
#[cfg(target_os = "linux")]
const CHILD: &str = "ZIGGURAT_MEMORY_TEST_CHILD";

#[cfg(target_os = "linux")]
#[test]
fn a_driver_without_memory_is_an_error_and_the_device_still_works() {
    if std::env::var_os(CHILD).is_some() {
        return exhaust_the_driver();
    }
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 3000000 && exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "pool::a_driver_without_memory_is_an_error_and_the_device_still_works",
        ])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

#[cfg(target_os = "linux")]
fn exhaust_the_driver() {
    const HUGE: u64 = (4 << 30) - 16;
    let limits = wgpu::Limits {
        max_buffer_size: 4 << 30,
        ..wgpu::Limits::default()
    };
    let device = Device::noop(DeviceOptions::default(), Some(limits)).unwrap();
    let memory = Memory::new(&device, MemoryOptions::default());
    let kept = memory.upload(&pattern(1, 1000)).unwrap();
    drop(memory.alloc(4000).unwrap());
    for _ in 0..3 {
        let error = memory.alloc(HUGE).unwrap_err();
        assert!(
            matches!(
                error,
                MemoryError::OutOfMemory {
                    requested: HUGE,
                    limit: None,
                    ..
                }
            ),
            "{error}"
        );
        let source = std::error::Error::source(&error).unwrap();
        assert!(source.to_string().contains("Memory"), "{source}");
    }
    let usage = memory.usage();
    assert_eq!(
        (usage.live, usage.cached),
        (kept.capacity(), 0),
        "trimmed before giving up"
    );
    memory.device().status().unwrap();
    let more = memory.upload(&pattern(2, 1000)).unwrap();
    assert_eq!(
        memory.read(&kept, 0..1000).unwrap().wait().unwrap(),
        pattern(1, 1000)
    );
    assert_eq!(
        memory.read(&more, 0..1000).unwrap().wait().unwrap(),
        pattern(2, 1000)
    );
}

#[test]
fn a_buffer_above_the_devices_limit_is_too_large_and_the_limit_itself_is_not() {
    let limits = wgpu::Limits {
        max_buffer_size: 100_000,
        ..wgpu::Limits::default()
    };
    let device = Device::noop(DeviceOptions::default(), Some(limits)).unwrap();
    let memory = Memory::new(&device, MemoryOptions::default());
    let limit = device.caps().max_buffer_bytes;
    assert!(limit <= 100_000);
    let largest = limit / 16 * 16;
    let data = pattern(4, largest as usize);
    let buffer = memory.upload(&data).unwrap();
    assert_eq!(buffer.capacity(), largest);
    assert_eq!(
        memory.read(&buffer, 0..largest).unwrap().wait().unwrap(),
        data
    );
    assert!(matches!(
        memory.alloc(largest + 1),
        Err(MemoryError::TooLarge { requested, limit }) if requested == largest + 1 && limit == largest
    ));
    device.status().unwrap();
}

#[test]
fn trim_gives_back_down_to_its_target() {
    let memory = memory(MemoryOptions::default());
    let buffers: Vec<_> = (0..10).map(|_| memory.alloc(1 << 16).unwrap()).collect();
    drop(buffers);
    assert_eq!(memory.usage().cached, 10 << 16);
    assert_eq!(memory.trim(3 << 16), 7 << 16);
    assert_eq!(memory.usage().cached, 3 << 16);
    assert_eq!(memory.trim(0), 3 << 16);
    assert_eq!(memory.usage().reserved, 0);
    assert_eq!(memory.usage().released, 10);
}

#[test]
fn cached_memory_stays_within_its_bound() {
    let memory = memory(MemoryOptions {
        max_cached: 1 << 18,
        ..MemoryOptions::default()
    });
    for round in 1..50_u64 {
        let buffers: Vec<_> = (0..8)
            .map(|i| memory.alloc(round * 1000 + i * 3000).unwrap())
            .collect();
        drop(buffers);
        assert!(memory.usage().cached <= 1 << 18);
    }
}

#[test]
fn trimming_releases_idle_staging_too() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&pattern(1, 100_000)).unwrap();
    memory.read(&buffer, 0..100_000).unwrap().wait().unwrap();
    memory.device().synchronize().wait().unwrap();
    assert!(memory.usage().staging > 0);
    memory.trim(0);
    assert_eq!(memory.usage().staging, 0);
    assert_eq!(
        memory.read(&buffer, 5..100).unwrap().wait().unwrap(),
        pattern(1, 100_000)[5..100]
    );
}

#[test]
fn poison_is_visible_in_new_and_in_reused_memory() {
    let memory = memory(MemoryOptions {
        poison: true,
        ..MemoryOptions::default()
    });
    let fresh = memory.alloc(3_000_001).unwrap();
    let bytes = memory.read(&fresh, 0..3_000_001).unwrap().wait().unwrap();
    assert!(bytes.iter().all(|&byte| byte == 0xFF));
    memory.write(&fresh, 0, &vec![0; 3_000_001]).unwrap();
    drop(fresh);
    let reused = memory.alloc(3_000_001).unwrap();
    assert_eq!(memory.usage().hits, 1);
    let bytes = memory.read(&reused, 0..3_000_001).unwrap().wait().unwrap();
    assert!(bytes.iter().all(|&byte| byte == 0xFF));
    let uploaded = memory.upload(&[5; 99]).unwrap();
    assert_eq!(
        memory.read(&uploaded, 0..99).unwrap().wait().unwrap(),
        [5; 99]
    );
    assert_eq!(
        memory
            .read(&memory.alloc_zeroed(50).unwrap(), 0..50)
            .unwrap()
            .wait()
            .unwrap(),
        [0; 50]
    );
}

fn external(device: &Device, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.wgpu().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage,
        mapped_at_creation: false,
    })
}

#[test]
fn wrapped_buffers_are_read_and_written_but_neither_counted_nor_pooled() {
    use wgpu::BufferUsages as U;
    let device = device();
    let memory = Memory::new(&device, MemoryOptions::default());
    let raw = external(&device, 64, U::STORAGE | U::COPY_SRC | U::COPY_DST);
    let wrapped = memory.wrap(raw.clone()).unwrap();
    assert!(wrapped.is_wrapped() && wrapped.same_memory(&memory.wrap(raw).unwrap()));
    memory.write(&wrapped, 3, &[9; 7]).unwrap();
    let bytes = memory.read(&wrapped, 0..12).unwrap().wait().unwrap();
    assert_eq!(bytes, [0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 0, 0]);
    assert_eq!(memory.usage().reserved, 0);
    drop(wrapped);
    assert_eq!(memory.usage().cached, 0);

    let unreadable = memory.wrap(external(&device, 64, U::STORAGE)).unwrap();
    assert!(matches!(
        memory.read(&unreadable, 0..4),
        Err(MemoryError::MissingUsage { .. })
    ));
    assert!(matches!(
        memory.write(&unreadable, 0, &[1]),
        Err(MemoryError::MissingUsage { .. })
    ));
    let odd = memory
        .wrap(external(&device, 10, U::COPY_SRC | U::COPY_DST))
        .unwrap();
    assert!(matches!(
        memory.read(&odd, 0..10),
        Err(MemoryError::Misaligned { .. })
    ));
    assert_eq!(memory.read(&odd, 1..7).unwrap().wait().unwrap(), [0; 6]);
    device.status().unwrap();
}

#[test]
fn listeners_hear_of_every_buffer_that_is_given_back() {
    let memory = memory(MemoryOptions::default());
    let heard = Arc::new(AtomicU64::new(0));
    let sum = Arc::clone(&heard);
    memory.on_release(move |ids| {
        sum.fetch_add(ids.iter().sum(), Ordering::Relaxed);
    });
    let buffers: Vec<_> = (0..5).map(|_| memory.alloc(64).unwrap()).collect();
    let expected: u64 = buffers.iter().map(Buffer::id).sum();
    drop(buffers);
    assert_eq!(heard.load(Ordering::Relaxed), 0);
    memory.trim(0);
    assert_eq!(heard.load(Ordering::Relaxed), expected);
}

#[test]
fn buffers_outlive_their_memory() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&[1; 100]).unwrap();
    let read = memory.read(&buffer, 0..100).unwrap();
    drop(memory);
    drop(buffer);
    assert_eq!(read.wait().unwrap(), [1; 100]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn usage_is_the_sum_over_live_and_cached(
        steps in prop::collection::vec((0_u8..4, 0_u64..300_000), 1..80),
    ) {
        let memory = memory(MemoryOptions {
            limit: Some(1 << 20),
            max_cached: 1 << 19,
            ..MemoryOptions::default()
        });
        let mut live: Vec<Buffer> = Vec::new();
        for (kind, n) in steps {
            match kind {
                0 | 1 => live.extend(memory.alloc(n).ok()),
                2 if !live.is_empty() => drop(live.swap_remove(n as usize % live.len())),
                2 => {}
                _ => {
                    let before = memory.usage();
                    let given = memory.trim(n);
                    prop_assert_eq!(memory.usage().cached, before.cached - given);
                }
            }
            let usage = memory.usage();
            prop_assert_eq!(usage.live, live.iter().map(Buffer::capacity).sum::<u64>());
            prop_assert_eq!(usage.live_requested, live.iter().map(Buffer::bytes).sum::<u64>());
            prop_assert_eq!(usage.reserved, usage.live + usage.cached);
            prop_assert!(usage.reserved <= 1 << 20 && usage.cached <= 1 << 19);
        }
        drop(live);
        let usage = memory.usage();
        prop_assert_eq!((usage.live, usage.reserved), (0, usage.cached));
        memory.trim(0);
        prop_assert_eq!(memory.usage().reserved, 0);
    }
}

#[test]
fn peaks_count_again_from_a_reset() {
    let memory = memory(MemoryOptions::default());
    drop(memory.alloc(1 << 20).unwrap());
    assert_eq!(memory.usage().peak, 1 << 20);
    memory.reset_peaks();
    assert_eq!(
        (memory.usage().peak, memory.usage().peak_reserved),
        (0, 1 << 20)
    );
    drop(memory.alloc(256).unwrap());
    assert_eq!(memory.usage().peak, 256);
}

#[test]
fn the_devices_options_limit_memory_unless_its_own_do() {
    let options = DeviceOptions {
        memory_limit: Some(1 << 20),
        ..DeviceOptions::default()
    };
    let device = Device::noop(options, None).unwrap();
    let limited = Memory::new(&device, MemoryOptions::default());
    let error = limited.alloc(2 << 20).unwrap_err();
    assert!(
        matches!(error, MemoryError::OutOfMemory { limit: Some(limit), .. } if limit == 1 << 20),
        "{error}"
    );
    let own = MemoryOptions {
        limit: Some(4 << 20),
        ..MemoryOptions::default()
    };
    Memory::new(&device, own).alloc(2 << 20).unwrap();
}

#[test]
fn any_options_are_taken() {
    for value in [0, 1, 15, u64::MAX - 15, u64::MAX] {
        let memory = memory(MemoryOptions {
            limit: None,
            max_cached: value,
            poison: true,
            staging_chunk: value,
            staging_limit: value,
        });
        let buffer = memory.upload(&pattern(3, 5000)).unwrap();
        let got = memory.read(&buffer, 1..4999).unwrap().wait().unwrap();
        assert_eq!(got, pattern(3, 5000)[1..4999]);
    }
}

#[test]
fn buffers_of_another_memory_are_refused_and_both_live_on() {
    let (ours, other) = (
        memory(MemoryOptions::default()),
        memory(MemoryOptions::default()),
    );
    let same_device = Memory::new(ours.device(), MemoryOptions::default());
    let mine = ours.upload(&pattern(1, 64)).unwrap();
    for stranger in [&other, &same_device] {
        let foreign = stranger.upload(&pattern(2, 64)).unwrap();
        assert!(ours.owns(&mine) && !ours.owns(&foreign));
        assert!(!mine.same_memory(&foreign) && mine.id() != foreign.id());
        let mut output = [0; 64];
        let refusals = [
            ours.write(&foreign, 0, &[1]).unwrap_err(),
            ours.copy(&foreign, 0, &mine, 0, 64).unwrap_err(),
            ours.copy(&mine, 0, &foreign, 0, 64).unwrap_err(),
            ours.read(&foreign, 0..64).unwrap_err(),
            ours.read_into(&foreign, 0..64, &mut output).unwrap_err(),
            ours.read_mapped(&foreign, 0..64).unwrap_err(),
            ours.read_many(&[(&mine, 0..64), (&foreign, 0..64)])
                .unwrap_err(),
        ];
        for error in refusals {
            assert!(
                matches!(error, MemoryError::ForeignBuffer { .. }),
                "{error}"
            );
        }
        assert_eq!(
            stranger.read(&foreign, 0..64).unwrap().wait().unwrap(),
            pattern(2, 64)
        );
    }
    assert_eq!(
        ours.read(&mine, 0..64).unwrap().wait().unwrap(),
        pattern(1, 64)
    );
}

#[test]
fn a_wgpu_buffer_that_the_device_cannot_use_is_not_wrapped() {
    use wgpu::BufferUsages as U;
    let memory = memory(MemoryOptions::default());
    let mapped = memory
        .device()
        .wgpu()
        .create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 64,
            usage: U::COPY_SRC | U::COPY_DST,
            mapped_at_creation: true,
        });
    let error = memory.wrap(mapped).unwrap_err();
    assert!(matches!(error, MemoryError::Wrap { .. }), "{error}");
    memory.device().status().unwrap();
}
