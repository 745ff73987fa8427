//! Parameters reach the batch they were given in.

use crate::common::{device, pattern};
use ziggurat_device::{Device, DeviceOptions};
use ziggurat_memory::{Memory, MemoryError, MemoryOptions, UniformSlice};

/// Records a copy of a uniform slice; the noop device's uniform buffers cannot be read otherwise.
fn write(memory: &Memory, bytes: &[u8]) -> UniformSlice {
    memory
        .device()
        .record(|recorder| memory.write_uniform(recorder, bytes))
        .unwrap()
        .unwrap()
}

#[test]
fn slices_of_one_batch_share_a_chunk_and_are_aligned() {
    let device = device();
    let memory = Memory::new(&device, MemoryOptions::default());
    let slices: Vec<_> = (0..10).map(|i| write(&memory, &pattern(i, 20))).collect();
    let alignment = device.caps().uniform_alignment;
    for (i, slice) in slices.iter().enumerate() {
        assert_eq!(slice.id, slices[0].id);
        assert_eq!(
            slice.offset,
            i as u32 * alignment.max(32).next_multiple_of(alignment)
        );
        assert!(u64::from(slice.offset) + 32 <= slice.buffer.size());
    }
}

#[test]
fn parameters_that_come_again_in_a_batch_share_their_slice() {
    let device = device();
    let memory = Memory::new(&device, MemoryOptions::default());
    let place = |bytes: &[u8]| {
        let slice = write(&memory, bytes);
        (slice.id, slice.offset)
    };
    let (long, short) = ([7; 20], [7; 16]);
    let first = place(&long);
    assert_eq!(place(&long), first);
    // Neither a part of them nor others are the same, and the last ones count.
    let other = place(&short);
    assert_ne!(other, first);
    assert_eq!(place(&short), other);
    let back = place(&long);
    assert!(back != first && back != other);
    assert_eq!(place(&long), back);
    let differs = place(&[[7; 19].as_slice(), &[8]].concat());
    assert_ne!(differs, back);
    assert_ne!(place(&[]), differs);
    // The next batch has parameters of its own: they are written before it, wherever they were.
    device.flush().unwrap();
    let next = place(&long);
    assert_eq!(next.1, 0);
    assert_eq!(place(&long), next);
    assert_ne!(place(&short), next);
}

#[test]
fn batches_take_turns_with_the_same_memory() {
    let device = device();
    let memory = Memory::new(&device, MemoryOptions::default());
    let first = write(&memory, &[1; 16]);
    device.flush().unwrap();
    let bytes = memory.usage().uniform;
    for _ in 0..1000 {
        let next = write(&memory, &[2; 16]);
        assert_eq!((next.id, next.offset), (first.id, 0));
        device.flush().unwrap();
    }
    assert_eq!(memory.usage().uniform, bytes);
    device.status().unwrap();
}

#[test]
fn a_full_chunk_is_followed_by_another() {
    let device = device();
    let memory = Memory::new(&device, MemoryOptions::default());
    let (first, last) = device
        .record(|recorder| {
            let first = memory.write_uniform(recorder, &[1; 1000]).unwrap();
            let mut last = first.clone();
            for i in 2..202 {
                last = memory.write_uniform(recorder, &[i; 1000]).unwrap();
            }
            (first, last)
        })
        .unwrap();
    assert_ne!(first.id, last.id);
    device.synchronize().wait().unwrap();
    let bytes = memory.usage().uniform;
    let again = write(&memory, &[1; 1000]);
    assert_eq!(again.offset, 0);
    assert_eq!(memory.usage().uniform, bytes);
}

#[test]
fn parameters_beyond_the_largest_buffer_are_too_large() {
    let options = DeviceOptions {
        max_buffer_bytes: Some(1 << 20),
        ..DeviceOptions::default()
    };
    let device = Device::noop(options, None).unwrap();
    let memory = Memory::new(&device, MemoryOptions::default());
    let limit = device.caps().max_buffer_bytes;
    let write_zeros = |bytes: u64| {
        device
            .record(|recorder| memory.write_uniform(recorder, &vec![0; bytes as usize]))
            .unwrap()
    };
    // Several uniforms in one slice may be more than a binding holds.
    let one = device.caps().limits.max_uniform_buffer_binding_size;
    assert!(one < limit && write_zeros(one + 1).is_ok());
    assert!(matches!(
        write_zeros(limit + 1),
        Err(MemoryError::TooLarge { limit: told, .. }) if told == limit
    ));
    assert!(write(&memory, &[]).offset == 0);
}
