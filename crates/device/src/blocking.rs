//! Waiting for a future on the calling thread; native only.
//!
//! Unlike executors that keep a thread-local pool, this one may be called from within another
//! executor's task without a panic (it still blocks that thread).

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs `future` to its end, parking this thread while it waits.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
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
