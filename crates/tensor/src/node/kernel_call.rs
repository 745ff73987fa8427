//! [`KernelCall`]: a recorded call of an op that is not elementwise.
//!
//! Invariant: a spare call has no operands and no reader.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use ziggurat_kernels::{Call, FusedReader, KernelError, Operands, Source, View};

use crate::Error;

/// Operands whose forms have numbers.
const FORMS: usize = 8;

/// A recorded call of an op that is not elementwise, over memory.
#[derive(Debug)]
pub(crate) struct KernelCall {
    /// The public operation.
    pub(crate) name: &'static str,
    /// The operations that it computes where it reads its first operand.
    pub(crate) before: Vec<&'static str>,
    pub(crate) call: Call,
    /// What it reads in place of a first operand in memory.
    pub(crate) reader: Option<Box<FusedReader>>,
    /// Its operands in memory, in order.
    pub(crate) operands: Vec<View>,
    /// The numbers of the forms of what it reads, in the order of [`KernelCall::memory`]; 0 where it is not known.
    forms: [u64; FORMS],
}

impl KernelCall {
    /// A call whose operands `fill` gives.
    pub(crate) fn new(
        name: &'static str,
        call: &Call,
        fill: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<Arc<Self>, Error> {
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop());
        let mut made = spare.ok().flatten().unwrap_or_else(|| Self::blank(call));
        let Some(own) = Arc::get_mut(&mut made) else {
            return Err(Error::internal(name, "a spare call has another handle"));
        };
        own.name = name;
        own.call = *call;
        fill(own)?;
        Ok(made)
    }

    #[cold]
    fn blank(call: &Call) -> Arc<Self> {
        Arc::new(Self {
            name: "",
            before: Vec::new(),
            call: *call,
            reader: None,
            operands: Vec::new(),
            forms: [0; FORMS],
        })
    }

    /// Adds an operand in memory, which lies as the form of this number, if that is known.
    pub(crate) fn push(&mut self, view: View, form: Option<u64>) {
        let place = self.read().len() + self.operands.len();
        self.operands.push(view);
        self.set_form(place, form.unwrap_or_default());
    }

    /// Reads a value by an expression, the forms of whose memory have these numbers.
    pub(crate) fn set_reader(&mut self, reader: Box<FusedReader>, forms: &[u64]) {
        self.reader = Some(reader);
        for (place, form) in forms.iter().enumerate() {
            self.set_form(place, *form);
        }
    }

    fn set_form(&mut self, place: usize, form: u64) {
        if let Some(slot) = self.forms.get_mut(place) {
            *slot = form;
        }
    }

    /// The operands as the executor takes them.
    pub(crate) fn operands(&self) -> Result<Operands<'_>, KernelError> {
        let mut views = self.operands.iter();
        let first = match (&self.reader, &self.operands[..]) {
            (Some(reader), _) => Source::Reader(reader),
            (None, [first, ..]) => {
                views.next();
                Source::View(first)
            }
            (None, []) => {
                return Err(KernelError::Internal {
                    op: self.name,
                    what: "a call without operands",
                });
            }
        };
        let others = [(); 5].map(|()| views.next());
        Ok(Operands { first, others })
    }

    /// Its name, with the operations that are computed where it reads.
    pub(crate) fn label(&self) -> Cow<'static, str> {
        if self.before.is_empty() {
            return self.name.into();
        }
        format!("{} of {}", self.name, self.before.join(", ")).into()
    }

    /// What the reader reads.
    #[inline]
    fn read(&self) -> &[View] {
        self.reader.as_deref().map_or(&[], FusedReader::views)
    }

    /// The memory that it reads.
    pub(crate) fn memory(&self) -> impl Iterator<Item = &View> {
        self.read().iter().chain(&self.operands)
    }

    /// What of its memory stands at a place, and the number of its form if that is known.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Option<(&View, Option<u64>)> {
        let read = self.read();
        let view = match place.checked_sub(read.len()) {
            None => read.get(place),
            Some(place) => self.operands.get(place),
        };
        let form = self.forms.get(place).copied().filter(|form| *form != 0);
        Some((view?, form))
    }

    /// Lets go of its memory. If this is the only handle, the call is used again.
    pub(crate) fn release(mut self: Arc<Self>) {
        let Some(own) = Arc::get_mut(&mut self) else {
            return;
        };
        own.before.clear();
        own.reader = None;
        own.operands.clear();
        own.forms = [0; FORMS];
        let _freed = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARES {
                spare.push(self);
            }
        });
    }
}

/// Spare calls of a thread.
const SPARES: usize = 64;

thread_local! {
    /// Calls that nobody has any more, kept for their memory.
    static SPARE: RefCell<Vec<Arc<KernelCall>>> = const { RefCell::new(Vec::new()) };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_call_that_is_used_again_has_nothing_of_the_one_before() {
        let call = Call::matmul();
        let first = KernelCall::new("matmul", &call, |own| {
            own.before.push("exp");
            own.set_form(0, 7);
            own.set_form(FORMS, 7);
            Ok(())
        });
        let first = first.unwrap();
        let other = Arc::as_ptr(&first);
        assert_eq!(first.label(), "matmul of exp");
        // While somebody has it, it is not given to others.
        let kept = Arc::clone(&first);
        first.release();
        let second = KernelCall::new("matmul", &call, |_| Ok(())).unwrap();
        assert_ne!(Arc::as_ptr(&second), other);
        kept.release();
        let third = KernelCall::new("softmax", &call, |_| Ok(())).unwrap();
        assert_eq!(Arc::as_ptr(&third), other);
        assert_eq!((&*third.label(), third.forms), ("softmax", [0; FORMS]));
        assert!(third.reader.is_none() && third.operands.is_empty());
        // A call without operands is an error, not a kernel.
        assert!(third.operands().is_err());
    }
}
