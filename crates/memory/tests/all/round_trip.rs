//! Bytes go up, across and down unchanged, whatever their length and offset.

use crate::common::{memory, pattern, small_staging};
use proptest::prelude::*;
use ziggurat_memory::{MemoryError, MemoryOptions};

#[test]
fn every_short_length_survives_upload_and_read() {
    let memory = memory(MemoryOptions::default());
    for len in 0..=33 {
        let data = pattern(len, len);
        let buffer = memory.upload(&data).unwrap();
        assert_eq!(buffer.bytes(), len as u64);
        assert_eq!(buffer.capacity() % 16, 0);
        assert_eq!(
            memory.read(&buffer, 0..len as u64).unwrap().wait().unwrap(),
            data
        );
    }
}

#[test]
fn every_short_range_can_be_read() {
    let memory = memory(MemoryOptions::default());
    let data = pattern(3, 40);
    let buffer = memory.upload(&data).unwrap();
    let ranges: Vec<_> = (0..=40_u64)
        .flat_map(|start| (start..=40).map(move |end| start..end))
        .collect();
    let reads: Vec<_> = ranges
        .iter()
        .map(|range| (&buffer, range.clone()))
        .collect();
    let got = memory.read_many(&reads).unwrap().wait().unwrap();
    for (range, got) in ranges.iter().zip(got) {
        assert_eq!(
            got,
            data[range.start as usize..range.end as usize],
            "{range:?}"
        );
    }
}

#[test]
fn large_data_goes_through_small_staging() {
    for len in [4095, 4096, 4097, 16384, 16385, 1_000_003] {
        let memory = memory(small_staging());
        let data = pattern(len, len);
        let buffer = memory.upload(&data).unwrap();
        let got = memory.read(&buffer, 0..len as u64).unwrap().wait().unwrap();
        assert!(got == data, "{len}");
        let (from, to) = (len / 3 + 1, len - 5);
        let got = memory
            .read(&buffer, from as u64..to as u64)
            .unwrap()
            .wait()
            .unwrap();
        assert!(got == data[from..to], "{from}..{to} of {len}");
        assert!(memory.usage().staging <= 2 * 16384, "{:?}", memory.usage());
    }
}

#[test]
fn data_beyond_the_parallel_threshold_survives() {
    let memory = memory(MemoryOptions::default());
    let len = (80 << 20) + 13;
    let data = pattern(1, len);
    let buffer = memory.upload(&data).unwrap();
    let got = memory.read(&buffer, 0..len as u64).unwrap().wait().unwrap();
    assert!(got == data);
}

#[test]
fn a_thousand_uploads_are_all_there() {
    let memory = memory(MemoryOptions::default());
    let data: Vec<_> = (0..1000).map(|i| pattern(i, 1 + i * 7 % 5000)).collect();
    let buffers: Vec<_> = data
        .iter()
        .map(|data| memory.upload(data).unwrap())
        .collect();
    let reads: Vec<_> = buffers
        .iter()
        .map(|buffer| (buffer, 0..buffer.bytes()))
        .collect();
    let got = memory.read_many(&reads).unwrap().wait().unwrap();
    for (i, (got, data)) in got.iter().zip(&data).enumerate() {
        assert!(got == data, "upload {i}");
    }
}

#[test]
fn a_thousand_uploads_through_exhausted_staging_are_all_there() {
    let memory = memory(MemoryOptions {
        staging_chunk: 512,
        staging_limit: 1024,
        ..small_staging()
    });
    let data: Vec<_> = (0..1000).map(|i| pattern(i, i % 1500)).collect();
    let buffers: Vec<_> = data
        .iter()
        .map(|data| memory.upload(data).unwrap())
        .collect();
    for (i, (buffer, data)) in buffers.iter().zip(&data).enumerate() {
        let got = memory
            .read(buffer, 0..buffer.bytes())
            .unwrap()
            .wait()
            .unwrap();
        assert!(&got == data, "upload {i}");
    }
    assert!(memory.usage().staging <= 4096, "{:?}", memory.usage());
}

#[test]
fn odd_writes_leave_their_neighbours_alone() {
    let memory = memory(MemoryOptions::default());
    for total in [1_usize, 3, 5, 17, 32] {
        for offset in 0..total {
            for len in [1, 2, 3, 4, 5, 7, 13, 17] {
                if offset + len > total {
                    continue;
                }
                let mut expected = pattern(9, total);
                let buffer = memory.upload(&expected).unwrap();
                let data = pattern(77, len);
                memory.write(&buffer, offset as u64, &data).unwrap();
                expected[offset..offset + len].copy_from_slice(&data);
                let got = memory
                    .read(&buffer, 0..total as u64)
                    .unwrap()
                    .wait()
                    .unwrap();
                assert_eq!(got, expected, "{len} bytes at {offset} of {total}");
            }
        }
    }
}

#[test]
fn writes_and_copies_happen_in_the_order_they_were_asked_for() {
    let memory = memory(MemoryOptions::default());
    let a = memory.upload(&[1; 64]).unwrap();
    let b = memory.alloc(64).unwrap();
    memory.copy(&a, 0, &b, 0, 64).unwrap();
    memory.write(&a, 0, &[2; 64]).unwrap();
    let before = memory.read(&a, 0..64).unwrap();
    memory.write(&a, 0, &[3; 64]).unwrap();
    assert_eq!(memory.read(&b, 0..64).unwrap().wait().unwrap(), [1; 64]);
    assert_eq!(before.wait().unwrap(), [2; 64]);
    assert_eq!(memory.read(&a, 0..64).unwrap().wait().unwrap(), [3; 64]);
}

#[test]
fn a_large_read_sees_the_bytes_of_its_moment() {
    let memory = memory(small_staging());
    let data = pattern(5, 200_000);
    let buffer = memory.upload(&data).unwrap();
    let read = memory.read(&buffer, 0..200_000).unwrap();
    memory.write(&buffer, 0, &vec![0; 200_000]).unwrap();
    drop(buffer);
    let other = memory.upload(&vec![1; 200_000]).unwrap();
    assert!(read.wait().unwrap() == data);
    drop(other);
}

#[test]
fn copies_move_words_and_refuse_parts_of_words() {
    let memory = memory(MemoryOptions::default());
    let a = memory.upload(&pattern(1, 30)).unwrap();
    let b = memory.upload(&pattern(2, 30)).unwrap();
    memory.copy(&a, 4, &b, 8, 12).unwrap();
    let mut expected = pattern(2, 30);
    expected[8..20].copy_from_slice(&pattern(1, 30)[4..16]);
    assert_eq!(memory.read(&b, 0..30).unwrap().wait().unwrap(), expected);
    for (from, to, bytes) in [(1, 0, 4), (0, 2, 4), (0, 0, 3)] {
        assert!(matches!(
            memory.copy(&a, from, &b, to, bytes),
            Err(MemoryError::Misaligned { .. })
        ));
    }
    assert!(matches!(
        memory.copy(&a, 28, &b, 0, 4),
        Err(MemoryError::OutOfRange {
            start: 28,
            end: 32,
            bytes: 30
        })
    ));
    // All of an odd buffer is fine: what follows is padding.
    memory.copy(&a, 0, &b, 0, 30).unwrap();
    assert_eq!(
        memory.read(&b, 0..30).unwrap().wait().unwrap(),
        pattern(1, 30)
    );
}

#[test]
fn an_overlapping_copy_within_one_buffer_moves_the_old_bytes() {
    let memory = memory(MemoryOptions::default());
    let a = memory.upload(&pattern(1, 64)).unwrap();
    memory.copy(&a, 0, &a.clone(), 8, 40).unwrap();
    let mut expected = pattern(1, 64);
    expected.copy_within(0..40, 8);
    assert_eq!(memory.read(&a, 0..64).unwrap().wait().unwrap(), expected);
}

#[test]
fn nothing_can_be_read_or_written_beyond_the_bytes_asked_for() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&[1; 10]).unwrap();
    assert!(buffer.capacity() > 12);
    #[allow(clippy::reversed_empty_ranges, reason = "the case under test")]
    for range in [0..11, 10..12, 11..11, 5..4, u64::MAX - 1..u64::MAX] {
        assert!(matches!(
            memory.read(&buffer, range),
            Err(MemoryError::OutOfRange { .. })
        ));
    }
    assert!(memory.write(&buffer, 10, &[1]).is_err());
    assert!(memory.write(&buffer, u64::MAX, &[1]).is_err());
    assert!(memory.write(&buffer, 10, &[]).is_ok());
}

#[test]
fn zeroed_memory_is_zero_even_when_reused() {
    let memory = memory(MemoryOptions::default());
    drop(memory.upload(&[7; 1000]).unwrap());
    let buffer = memory.alloc_zeroed(1000).unwrap();
    assert_eq!(memory.usage().hits, 1);
    assert_eq!(
        memory.read(&buffer, 0..1000).unwrap().wait().unwrap(),
        [0; 1000]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn random_writes_copies_and_reads_match_host_memory(
        steps in prop::collection::vec((0_u8..3, 0_usize..9000, 0_usize..9000, any::<u16>()), 1..40),
    ) {
        const LEN: usize = 9001;
        let memory = memory(small_staging());
        let mut model = [pattern(1, LEN), pattern(2, LEN)];
        let buffers = [memory.upload(&model[0]).unwrap(), memory.upload(&model[1]).unwrap()];
        for (kind, start, len, seed) in steps {
            let len = len.min(LEN - start);
            let which = usize::from(seed % 2);
            match kind {
                0 => {
                    let data = pattern(usize::from(seed), len);
                    memory.write(&buffers[which], start as u64, &data).unwrap();
                    model[which][start..start + len].copy_from_slice(&data);
                }
                1 => {
                    let (start, len) = (start / 4 * 4, len / 4 * 4);
                    memory.copy(&buffers[which], start as u64, &buffers[1 - which], start as u64, len as u64).unwrap();
                    let bytes = model[which][start..start + len].to_vec();
                    model[1 - which][start..start + len].copy_from_slice(&bytes);
                }
                _ => {
                    let got = memory.read(&buffers[which], start as u64..(start + len) as u64).unwrap().wait().unwrap();
                    prop_assert!(got == model[which][start..start + len]);
                }
            }
        }
        for (buffer, model) in buffers.iter().zip(&model) {
            prop_assert!(&memory.read(buffer, 0..LEN as u64).unwrap().wait().unwrap() == model);
        }
    }
}
