//! Nodes that nobody has any more: how they let go of their inputs, and how they are used again.
//!
//! Invariant: a spare node has no work, and its value, if it has one, is an error that nobody sees.

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use super::{Input, Node, Work};
use crate::Error;

/// Drops inputs, and what only they held, one after the other.
pub(super) fn release(work: Work) {
    let mut next = None;
    let mut later = Vec::new();
    let_go(&mut Some(work), &mut next, &mut later);
    while let Some(mut node) = next.take().or_else(|| later.pop()) {
        if let Some(own) = Arc::get_mut(&mut node) {
            let_go(own.pending.get_mut(), &mut next, &mut later);
            own.empty();
            keep(|| node);
        }
    }
}

/// Gives up the handles of inputs. Those of which that was the last one go to `next` and `later`.
fn let_go(work: &mut Option<Work>, next: &mut Option<Arc<Node>>, later: &mut Vec<Arc<Node>>) {
    let mut give_up = |mut node: Arc<Node>| {
        node.uses.fetch_sub(1, Ordering::Release);
        if Arc::get_mut(&mut node).is_some()
            && let Some(node) = next.replace(node)
        {
            later.push(node);
        }
    };
    if let Some(Work::Op { inputs, .. }) = work {
        inputs.take_each(|input| {
            if let Input::Node(node) = input {
                give_up(node);
            }
        });
        let is_small = inputs.more().is_empty();
        let empty = work.take();
        if is_small {
            // Nothing is left in it to be dropped, which is not seen by the compiler.
            std::mem::forget(empty);
        }
        return;
    }
    match work.take() {
        Some(Work::View { base, .. }) => give_up(base),
        Some(Work::Kernel(kernel)) => kernel.release(),
        Some(Work::Op { .. }) | None => {}
    }
}

/// A node that was kept, of which there is this one handle.
#[inline]
pub(super) fn take() -> Option<Arc<Node>> {
    let node = SPARE.try_with(|spare| spare.borrow_mut().pop());
    let node = node.ok().flatten();
    node.filter(|node| Arc::strong_count(node) == 1)
}

/// Spare nodes of a thread.
const SPARES: usize = 256;

thread_local! {
    /// Nodes that nobody has any more, without work. An expression's nodes come and go in crowds, which allocators are slow
    /// at.
    static SPARE: RefCell<Vec<Arc<Node>>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a node that nobody has any more. Beyond the limit, or at the end of the thread, it is freed.
pub(super) fn keep(node: impl FnOnce() -> Arc<Node>) {
    let _freed = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() < SPARES {
            spare.push(node());
        }
    });
}

/// What spare nodes have for a value, in whose place another one is quickly put.
pub(super) fn gone() -> Error {
    static GONE: OnceLock<Error> = OnceLock::new();
    let error = || Error::internal("value", "nobody has the node");
    GONE.get_or_init(error).clone()
}
