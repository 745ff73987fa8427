//! Settings that hold on a thread within a part of a program.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::thread::LocalKey;

/// The scopes of one setting that are open on a thread.
#[derive(Debug)]
pub(crate) struct Open<T: Copy> {
    /// With a number that tells them apart, the innermost last.
    scopes: RefCell<Vec<(u64, T)>>,
    innermost: Cell<Option<T>>,
    next: Cell<u64>,
}

impl<T: Copy> Open<T> {
    pub(crate) const fn new() -> Self {
        Self {
            scopes: RefCell::new(Vec::new()),
            innermost: Cell::new(None),
            next: Cell::new(0),
        }
    }
}

/// A setting with scopes.
pub(crate) trait Scoped: Copy + 'static {
    /// Those of this thread.
    const OPEN: &'static LocalKey<Open<Self>>;

    /// The innermost scope's value.
    fn of_scope() -> Option<Self> {
        Self::OPEN.with(|open| open.innermost.get())
    }

    /// Opens a scope.
    fn open(self) -> Scope<Self> {
        Self::OPEN.with(|open| {
            let number = open.next.get();
            open.next.set(number.wrapping_add(1));
            open.scopes.borrow_mut().push((number, self));
            open.innermost.set(Some(self));
            Scope {
                number,
                thread: PhantomData,
            }
        })
    }
}

/// Keeps a scope open on its thread.
#[derive(Debug)]
pub(crate) struct Scope<T: Scoped> {
    number: u64,
    /// It stays on its thread.
    thread: PhantomData<*const T>,
}

impl<T: Scoped> Drop for Scope<T> {
    fn drop(&mut self) {
        // Where the thread ends, so do its scopes.
        let _ended = T::OPEN.try_with(|open| {
            let mut scopes = open.scopes.borrow_mut();
            scopes.retain(|(number, _)| *number != self.number);
            open.innermost
                .set(scopes.last().map(|(_, setting)| *setting));
        });
    }
}
