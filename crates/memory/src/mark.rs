//! Notes on memory: what whoever reads the values must look at first.
//!
//! A layer above marks the memory that an operation writes; dispatches carry marks on from what a kernel reads to what it
//! writes. Fresh memory has none.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A note on memory. Clones are the same note.
#[derive(Clone)]
pub struct Mark {
    note: Arc<dyn Any + Send + Sync>,
    over: Arc<AtomicBool>,
}

impl Mark {
    /// A mark that leads to `note`.
    pub fn new<T: Any + Send + Sync>(note: Arc<T>) -> Self {
        Self {
            note,
            over: Arc::default(),
        }
    }

    /// What it leads to, if that is a `T`.
    #[must_use]
    pub fn note<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(&self.note).downcast().ok()
    }

    /// Takes it off all memory: what it says is settled.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Whether both are clones of one mark.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.over, &other.over)
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mark")
            .field("over", &self.is_over())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use ziggurat_device::{Device, DeviceOptions};

    use super::Mark;
    use crate::{Memory, MemoryOptions};
    use std::sync::Arc;

    #[test]
    fn marks_stay_until_they_end_and_fresh_memory_has_none() {
        let device = Device::noop(DeviceOptions::default(), None).unwrap();
        let memory = Memory::new(&device, MemoryOptions::default());
        let buffer = memory.upload(&[0; 16]).unwrap();
        assert!(buffer.marks().is_empty());
        let marks = [Mark::new(Arc::new("first")), Mark::new(Arc::new("second"))];
        for mark in [&marks[0], &marks[1], &marks[0]] {
            buffer.mark(mark);
        }
        let notes = |buffer: &crate::Buffer| -> Vec<&'static str> {
            let marks = buffer.marks();
            marks
                .iter()
                .filter_map(|mark| Some(*mark.note::<&str>()?))
                .collect()
        };
        assert_eq!(notes(&buffer.clone()), ["first", "second"]);
        marks[0].end();
        assert_eq!(notes(&buffer), ["second"]);
        buffer.set_marks(Vec::new());
        assert!(buffer.marks().is_empty());
        buffer.mark(&marks[1]);
        drop(buffer);
        assert!(
            memory.alloc(16).unwrap().marks().is_empty(),
            "recycled memory"
        );
    }
}
