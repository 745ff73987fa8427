//! Reads that borrow staging memory, and reads into slices.

use crate::common::{device, memory, pattern, small_staging};
use ziggurat_memory::{Memory, MemoryError, MemoryOptions};

#[test]
fn every_range_is_seen_as_it_was_written() {
    let memory = memory(small_staging());
    let data = pattern(3, 30_003);
    let buffer = memory.upload(&data).unwrap();
    for (start, end) in [
        (0, 30_003),
        (1, 2),
        (3, 3),
        (0, 0),
        (5, 4096),
        (4095, 29_999),
        (30_002, 30_003),
    ] {
        let view = memory
            .read_mapped(&buffer, start..end)
            .unwrap()
            .wait()
            .unwrap();
        let want = &data[start as usize..end as usize];
        assert!(*view == *want, "{start}..{end}");
        let mut slice = vec![0xAA; want.len()];
        memory
            .read_into(&buffer, start..end, &mut slice)
            .unwrap()
            .wait()
            .unwrap();
        assert!(slice == want, "{start}..{end}");
    }
}

#[test]
fn futures_resolve_on_an_executor_and_only_once() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&[7; 12]).unwrap();
    futures::executor::block_on(async {
        let mut mapped = memory.read_mapped(&buffer, 1..12).unwrap();
        assert_eq!(&*(&mut mapped).await.unwrap(), [7; 11]);
        assert!(matches!(mapped.await, Err(MemoryError::Finished)));
        let mut slice = [0; 4];
        let mut read = memory.read_into(&buffer, 2..6, &mut slice).unwrap();
        (&mut read).await.unwrap();
        assert!(matches!(read.await, Err(MemoryError::Finished)));
        assert_eq!(slice, [7; 4]);
    });
}

#[test]
fn a_view_shows_the_memory_as_it_was_at_the_read() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&[1; 64]).unwrap();
    let first = memory.read_mapped(&buffer, 0..64).unwrap();
    memory.write(&buffer, 0, &[2; 64]).unwrap();
    let second = memory.read_mapped(&buffer, 0..64).unwrap().wait().unwrap();
    assert_eq!(&*first.wait().unwrap(), [1; 64]);
    drop(buffer);
    assert_eq!(&*second, [2; 64]);
}

#[test]
fn views_held_side_by_side_have_memory_of_their_own_and_give_it_back() {
    let memory = memory(small_staging());
    let data: Vec<_> = (0..8).map(|i| pattern(i, 6000)).collect();
    let views: Vec<_> = data
        .iter()
        .map(|data| {
            let buffer = memory.upload(data).unwrap();
            memory
                .read_mapped(&buffer, 0..6000)
                .unwrap()
                .wait()
                .unwrap()
        })
        .collect();
    for (view, data) in views.iter().zip(&data) {
        assert!(**view == **data);
    }
    assert!(memory.usage().staging >= 8 * 6000);
    // In any order, and with others still held.
    let mut views = views;
    drop(views.remove(3));
    assert!(*views[0] == *data[0] && *views[6] == *data[7]);
    drop(views);
    memory.trim(0);
    assert_eq!(memory.usage().staging, 0);
}

#[test]
fn one_slot_serves_read_after_read() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&pattern(1, 70_000)).unwrap();
    let look = || {
        let view = memory.read_mapped(&buffer, 0..70_000).unwrap().wait();
        assert_eq!(view.unwrap().len(), 70_000);
    };
    look();
    let before = memory.usage().staging;
    for _ in 0..50 {
        look();
    }
    assert_eq!(memory.usage().staging, before);
}

#[test]
fn more_than_the_staging_limit_is_one_view_and_is_not_kept() {
    let memory = memory(small_staging());
    let data = pattern(5, 100_000);
    let buffer = memory.upload(&data).unwrap();
    let view = memory
        .read_mapped(&buffer, 0..100_000)
        .unwrap()
        .wait()
        .unwrap();
    assert!(*view == *data);
    drop(view);
    assert!(memory.usage().staging <= 2 * 16384, "{:?}", memory.usage());
}

#[test]
fn ranges_and_slices_that_do_not_fit_are_refused() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&[1; 10]).unwrap();
    #[expect(clippy::reversed_empty_ranges, reason = "one of the mistakes")]
    for range in [0..11, 11..11, 5..4, u64::MAX - 1..u64::MAX] {
        assert!(matches!(
            memory.read_mapped(&buffer, range.clone()),
            Err(MemoryError::OutOfRange { .. })
        ));
        assert!(matches!(
            memory.read_into(&buffer, range, &mut [0; 11]),
            Err(MemoryError::OutOfRange { .. })
        ));
    }
    assert!(matches!(
        memory.read_into(&buffer, 0..10, &mut [0; 9]),
        Err(MemoryError::SliceLength {
            bytes: 10,
            slice: 9
        })
    ));
}

#[test]
fn reads_dropped_early_give_their_slots_back() {
    let memory = memory(small_staging());
    let buffer = memory.upload(&pattern(1, 30_000)).unwrap();
    for _ in 0..100 {
        drop(memory.read_mapped(&buffer, 0..9000).unwrap());
        drop(memory.read_into(&buffer, 0..30_000, &mut vec![0; 30_000]));
    }
    memory.device().synchronize().wait().unwrap();
    let view = memory.read_mapped(&buffer, 7..99).unwrap().wait().unwrap();
    assert!(*view == pattern(1, 30_000)[7..99]);
}

#[test]
fn a_view_outlives_the_destruction_of_its_device_and_new_reads_fail() {
    let device = device();
    let memory = Memory::new(&device, small_staging());
    let data = pattern(9, 50_000);
    let buffer = memory.upload(&data).unwrap();
    let view = memory
        .read_mapped(&buffer, 0..50_000)
        .unwrap()
        .wait()
        .unwrap();
    let pending = memory.read_mapped(&buffer, 0..50_000).unwrap();
    device.destroy();
    if let Ok(view) = pending.wait() {
        assert!(*view == *data);
    }
    assert!(matches!(
        memory.read_mapped(&buffer, 0..1),
        Err(MemoryError::Device(_))
    ));
    assert!(matches!(
        memory.read_into(&buffer, 0..1, &mut [0]),
        Err(MemoryError::Device(_))
    ));
    drop((memory, buffer, device));
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(*view == *data, "still there");
}
