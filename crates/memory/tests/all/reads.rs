//! Reads resolve on any executor, may be dropped, and never hang.

use crate::common::{device, memory, pattern, small_staging};
use futures::future::try_join_all;
use std::time::{Duration, Instant};
use ziggurat_memory::{Memory, MemoryError, MemoryOptions};

#[test]
fn resolves_on_a_futures_executor() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&pattern(1, 77)).unwrap();
    let read = memory.read(&buffer, 0..77).unwrap();
    assert_eq!(futures::executor::block_on(read).unwrap(), pattern(1, 77));
}

#[test]
fn blocking_within_an_executor_is_allowed() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&pattern(1, 77)).unwrap();
    let got = futures::executor::block_on(async { memory.read(&buffer, 0..77).unwrap().wait() });
    assert_eq!(got.unwrap(), pattern(1, 77));
}

async fn many_reads(memory: Memory) {
    let data: Vec<_> = (0..50).map(|i| pattern(i, 20_000 + i)).collect();
    let buffers: Vec<_> = data
        .iter()
        .map(|data| memory.upload(data).unwrap())
        .collect();
    let reads = buffers
        .iter()
        .map(|buffer| memory.read(buffer, 0..buffer.bytes()).unwrap());
    let got = try_join_all(reads).await.unwrap();
    assert!(got == data);
}

#[tokio::test]
async fn resolves_on_tokio_with_one_thread() {
    many_reads(memory(small_staging())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn resolves_on_tokio_with_many_threads() {
    let memory = memory(small_staging());
    let tasks: Vec<_> = (0..8)
        .map(|_| tokio::spawn(many_reads(memory.clone())))
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[test]
fn many_reads_are_one_submission() {
    let memory = memory(MemoryOptions::default());
    let buffers: Vec<_> = (0..200)
        .map(|i| memory.upload(&pattern(i, 64)).unwrap())
        .collect();
    memory.device().synchronize().wait().unwrap();
    let before = memory.device().queue_stats().submissions;
    let reads: Vec<_> = buffers.iter().map(|buffer| (buffer, 1..60)).collect();
    let got = memory.read_many(&reads).unwrap().wait().unwrap();
    assert_eq!(memory.device().queue_stats().submissions, before + 1);
    for (i, got) in got.iter().enumerate() {
        assert_eq!(got, &pattern(i, 64)[1..60]);
    }
}

#[test]
fn reading_nothing_works() {
    let memory = memory(MemoryOptions::default());
    let empty = memory.upload(&[]).unwrap();
    let buffer = memory.upload(&[1, 2, 3]).unwrap();
    assert!(
        memory
            .read(&empty, 0..0)
            .unwrap()
            .wait()
            .unwrap()
            .is_empty()
    );
    assert!(
        memory
            .read(&buffer, 3..3)
            .unwrap()
            .wait()
            .unwrap()
            .is_empty()
    );
    assert!(memory.read_many(&[]).unwrap().wait().unwrap().is_empty());
    let got = memory
        .read_many(&[(&empty, 0..0), (&buffer, 1..3), (&buffer, 0..0)])
        .unwrap();
    assert_eq!(got.wait().unwrap(), [vec![], vec![2, 3], vec![]]);
}

#[test]
fn dropped_reads_give_their_slots_back() {
    let memory = memory(small_staging());
    let data = pattern(1, 30_000);
    let buffer = memory.upload(&data).unwrap();
    for round in 0..300_u64 {
        drop(memory.read(&buffer, 0..30_000).unwrap());
        if round % 7 == 0 {
            let start = round * 11;
            let got = memory
                .read(&buffer, start..start + 9000)
                .unwrap()
                .wait()
                .unwrap();
            assert!(got == data[start as usize..start as usize + 9000]);
        }
    }
    memory.device().synchronize().wait().unwrap();
    // What is left is idle and within the limits of both directions.
    let deadline = Instant::now() + Duration::from_secs(10);
    while memory.usage().staging > 2 * 16384 {
        assert!(Instant::now() < deadline, "{:?}", memory.usage());
        std::thread::sleep(Duration::from_millis(1));
    }
    // A slot whose callback another thread is still in the middle of is not idle yet.
    loop {
        memory.trim(0);
        if memory.usage().staging == 0 {
            break;
        }
        assert!(Instant::now() < deadline, "{:?}", memory.usage());
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(
        memory.usage().live,
        buffer.capacity(),
        "parked pieces are gone"
    );
}

#[test]
fn small_reads_reuse_one_slot() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&pattern(1, 100)).unwrap();
    memory.read(&buffer, 0..100).unwrap().wait().unwrap();
    let before = memory.usage().staging;
    for _ in 0..200 {
        memory.read(&buffer, 0..100).unwrap().wait().unwrap();
    }
    assert_eq!(memory.usage().staging, before);
}

#[test]
fn a_small_read_after_a_large_one_keeps_the_large_slots() {
    let memory = memory(small_staging());
    let buffer = memory.upload(&pattern(1, 16384)).unwrap();
    memory.read(&buffer, 0..16384).unwrap().wait().unwrap();
    let before = memory.usage().staging;
    for _ in 0..3 {
        assert_eq!(
            memory.read(&buffer, 0..4).unwrap().wait().unwrap(),
            pattern(1, 4)
        );
    }
    assert_eq!(memory.usage().staging, before);
}

#[test]
fn a_destroyed_device_fails_every_call_and_hangs_none() {
    let device = device();
    let memory = Memory::new(&device, small_staging());
    let buffer = memory.upload(&pattern(1, 50_000)).unwrap();
    let pending: Vec<_> = (0..5)
        .map(|_| memory.read(&buffer, 0..50_000).unwrap())
        .collect();
    device.destroy();
    let started = Instant::now();
    for read in pending {
        // A small part may have made it; what resolves to bytes resolves to the right ones.
        match read.wait() {
            Ok(got) => assert!(got == pattern(1, 50_000)),
            Err(error) => assert!(matches!(error, MemoryError::Device(_)), "{error}"),
        }
    }
    for _ in 0..3 {
        assert!(matches!(memory.alloc(10), Err(MemoryError::Device(_))));
        assert!(matches!(
            memory.write(&buffer, 0, &[1; 100]),
            Err(MemoryError::Device(_))
        ));
        assert!(matches!(
            memory.write(&buffer, 0, &pattern(1, 40_000)),
            Err(MemoryError::Device(_))
        ));
        assert!(matches!(
            memory.read(&buffer, 0..10),
            Err(MemoryError::Device(_))
        ));
    }
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_read_that_landed_before_the_device_was_destroyed_tells_of_the_loss() {
    let device = device();
    let memory = Memory::new(&device, MemoryOptions::default());
    let buffer = memory.upload(&[1; 8]).unwrap();
    let read = memory.read(&buffer, 0..8).unwrap();
    device.synchronize().wait().unwrap();
    // Its memory is mapped by now, and nobody has looked yet.
    std::thread::sleep(Duration::from_millis(50));
    device.destroy();
    match read.wait() {
        Ok(got) => assert_eq!(got, [1; 8]),
        Err(error) => assert!(matches!(error, MemoryError::Device(_)), "{error}"),
    }
}

#[test]
fn a_read_that_was_awaited_is_finished() {
    use std::future::Future as _;
    use std::task::{Context, Poll, Waker};
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&[1; 8]).unwrap();
    let mut read = memory.read(&buffer, 0..8).unwrap();
    assert_eq!(futures::executor::block_on(&mut read).unwrap(), [1; 8]);
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(
        std::pin::Pin::new(&mut read).poll(&mut context),
        Poll::Ready(Err(MemoryError::Finished))
    ));
}
