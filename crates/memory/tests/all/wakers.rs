//! Reads as futures: polled again, and awaited by hostile wakers.

use crate::common::{memory, pattern};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};
use ziggurat_device::block_on;
use ziggurat_memory::{MemoryError, MemoryOptions};

fn again<T>(mut future: impl Future<Output = Result<T, MemoryError>> + Unpin) {
    block_on(&mut future).map(|_| ()).unwrap();
    for _ in 0..3 {
        let error = block_on(&mut future).map(|_| ()).unwrap_err();
        assert!(matches!(error, MemoryError::Finished), "{error}");
    }
}

#[test]
fn a_read_that_is_polled_again_is_an_error() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&pattern(1, 100)).unwrap();
    let mut output = [0; 100];
    again(memory.read(&buffer, 0..100).unwrap());
    again(memory.read(&buffer, 0..0).unwrap());
    again(memory.read_into(&buffer, 0..100, &mut output).unwrap());
    again(memory.read_mapped(&buffer, 0..100).unwrap());
    again(memory.read_mapped(&buffer, 5..5).unwrap());
    again(
        memory
            .read_many(&[(&buffer, 0..10), (&buffer, 3..4)])
            .unwrap(),
    );
    again(memory.read_many(&[]).unwrap());
    again(memory.read_slice::<u16>(&buffer, 0..10).unwrap());
}

struct Panics(AtomicBool);

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
        panic!("a waker that panics");
    }
}

#[test]
fn a_waker_that_panics_harms_neither_the_device_nor_other_reads() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&pattern(1, 1000)).unwrap();
    let waker = Arc::new(Panics(AtomicBool::new(false)));
    let hostile = Waker::from(waker.clone());
    let end = Instant::now() + Duration::from_secs(20);
    while !waker.0.load(Ordering::SeqCst) {
        assert!(Instant::now() < end, "never woken");
        let mut read = memory.read(&buffer, 0..1000).unwrap();
        let poll = Pin::new(&mut read).poll(&mut Context::from_waker(&hostile));
        let other = memory.read(&buffer, 0..1000).unwrap();
        assert_eq!(
            futures::executor::block_on(other).unwrap(),
            pattern(1, 1000)
        );
        if poll.is_pending() {
            assert_eq!(read.wait().unwrap(), pattern(1, 1000));
        }
    }
    memory.device().status().unwrap();
}
