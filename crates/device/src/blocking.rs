//! Waiting for a future on the calling thread; native only.
//!
//! Unlike executors that keep a thread-local pool, this one may be called from within another
//! executor's task without a panic (it still blocks that thread).

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// Wakes a thread and remembers that it did.
struct Unpark {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        if self.thread.id() != std::thread::current().id() {
            self.thread.unpark();
        }
    }
}

/// Runs `future` to its end, parking this thread while it waits.
pub fn block_on<F: Future>(future: F) -> F::Output {
    block_on_with(future, |_, _| {})
}

/// Like [`block_on`], but calls `meanwhile` before parking, with the waker that was given to the future. It may return at
/// any time, best when what it is given says that the future has been woken.
pub(crate) fn block_on_with<F: Future>(
    future: F,
    mut meanwhile: impl FnMut(&Waker, &dyn Fn() -> bool),
) -> F::Output {
    let unpark = Arc::new(Unpark {
        thread: std::thread::current(),
        woken: AtomicBool::new(false),
    });
    let waker = Waker::from(unpark.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        meanwhile(&waker, &|| unpark.woken.load(Ordering::Acquire));
        while !unpark.woken.swap(false, Ordering::AcqRel) {
            std::thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_a_future_that_another_thread_finishes() {
        let (sender, receiver) = futures::channel::oneshot::channel();
        let thread = std::thread::spawn(move || sender.send(7));
        assert_eq!(block_on(receiver), Ok(7));
        assert_eq!(thread.join().ok(), Some(Ok(())));
    }

    #[test]
    fn works_inside_another_executor() {
        assert_eq!(
            futures::executor::block_on(async { block_on(async { 3 }) }),
            3
        );
    }
}
