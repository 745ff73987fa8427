//! The loss of a device is told as what it is, and a program can go on with another one.

use crate::common::{device, memory, pattern};
use ziggurat_device::{Device, DeviceError, DeviceOptions, LostReason};
use ziggurat_memory::{Memory, MemoryError, MemoryOptions};

fn is_destroyed(error: &MemoryError) -> bool {
    matches!(
        error,
        MemoryError::Device(DeviceError::Lost {
            reason: LostReason::Destroyed,
            ..
        })
    )
}

type Destroy = fn(&Device);

fn devices() -> Vec<Device> {
    #[cfg(feature = "software")]
    {
        let profile = ziggurat_device::ziggurat_software::Profile::webgpu_default();
        let software = Device::software(profile, DeviceOptions::default()).unwrap();
        vec![device(), software]
    }
    #[cfg(not(feature = "software"))]
    vec![device()]
}

/// Opens devices, each with how it is destroyed: by us, and by an application that shares its wgpu device.
fn destroyed() -> impl Iterator<Item = (Device, Destroy)> {
    let ways: [Destroy; 2] = [Device::destroy, |device| device.wgpu().destroy()];
    let each = |way| devices().into_iter().map(move |device| (device, way));
    ways.into_iter().flat_map(each)
}

#[test]
fn a_pending_read_of_a_destroyed_device_has_its_bytes_or_the_loss() {
    for round in 0..20 {
        for (device, destroy) in destroyed() {
            let memory = Memory::new(&device, MemoryOptions::default());
            let data = pattern(round, 100_000);
            let buffer = memory.upload(&data).unwrap();
            let reads = [
                memory.read(&buffer, 0..100_000).unwrap(),
                memory.read(&buffer, 0..100_000).unwrap(),
            ];
            destroy(&device);
            for read in reads {
                match read.wait() {
                    Ok(bytes) => assert!(bytes == data),
                    Err(error) => assert!(is_destroyed(&error), "{error}"),
                }
            }
        }
    }
}

/// By [`Device::destroy`] alone: wgpu's own takes memory away from under a view.
#[test]
fn a_pending_view_of_a_destroyed_device_has_its_bytes_or_the_loss() {
    for round in 0..20 {
        for device in devices() {
            let memory = Memory::new(&device, MemoryOptions::default());
            let data = pattern(round, 100_000);
            let buffer = memory.upload(&data).unwrap();
            let mapped = memory.read_mapped(&buffer, 0..100_000).unwrap();
            device.destroy();
            match mapped.wait() {
                Ok(bytes) => assert!(*bytes == *data),
                Err(error) => assert!(is_destroyed(&error), "{error}"),
            }
        }
    }
}

/// Pieces are so large that an allocator gives them back to the system at once: who touched one then would crash.
#[test]
fn a_device_that_is_destroyed_while_bytes_move_neither_takes_nor_changes_them() {
    const BYTES: u64 = 40 << 20;
    let data = pattern(3, 40 << 20);
    let mut landed = 0;
    for round in 0..3 {
        for (device, destroy) in destroyed() {
            let options = MemoryOptions {
                staging_chunk: BYTES,
                ..MemoryOptions::default()
            };
            let memory = Memory::new(&device, options);
            let (buffer, room) = (memory.upload(&data).unwrap(), memory.alloc(BYTES).unwrap());
            let read = memory.read(&buffer, 0..BYTES).unwrap();
            device.synchronize().wait().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(std::time::Duration::from_millis(round));
                    destroy(&device);
                    let _ = device.wgpu().poll(wgpu::PollType::Poll);
                });
                scope.spawn(|| {
                    if let Err(error) = memory.write(&room, 0, &data) {
                        assert!(is_destroyed(&error), "{error}");
                    }
                });
                match read.wait() {
                    Ok(bytes) => {
                        assert!(bytes == data);
                        landed += 1;
                    }
                    Err(error) => assert!(is_destroyed(&error), "{error}"),
                }
            });
        }
    }
    assert!(landed > 0, "no read came through before its device went");
}

#[test]
fn every_call_on_a_destroyed_device_tells_of_the_loss() {
    for (device, destroy) in destroyed() {
        let memory = Memory::new(&device, MemoryOptions::default());
        let buffer = memory.upload(&[1; 64]).unwrap();
        device.synchronize().wait().unwrap();
        destroy(&device);
        let error = memory
            .read(&buffer, 0..64)
            .and_then(ziggurat_memory::Read::wait)
            .unwrap_err();
        assert!(is_destroyed(&error), "{error}");
        assert!(is_destroyed(&memory.alloc(4).unwrap_err()));
        assert!(is_destroyed(&memory.write(&buffer, 0, &[1]).unwrap_err()));
        assert!(is_destroyed(&memory.upload(&[1]).unwrap_err()));
    }
}

#[test]
fn memory_is_opened_again_with_its_options_and_old_buffers_are_refused() {
    let old = memory(MemoryOptions {
        limit: Some(1 << 20),
        ..MemoryOptions::default()
    });
    let kept = old.upload(&[7; 16]).unwrap();
    old.device().destroy();
    let new = ziggurat_device::block_on(old.reopen()).unwrap();
    assert_eq!(new.options(), old.options());
    let buffer = new.upload(&[9; 16]).unwrap();
    assert_eq!(new.read(&buffer, 0..16).unwrap().wait().unwrap(), [9; 16]);
    assert!(matches!(
        new.read(&kept, 0..16).unwrap_err(),
        MemoryError::ForeignBuffer { .. }
    ));
    assert!(is_destroyed(&old.read(&kept, 0..16).unwrap_err()));
}
