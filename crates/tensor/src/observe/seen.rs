//! What an operation reads, as its dispatches tell.

use std::cell::RefCell;

use ziggurat_kernels::View;
use ziggurat_pipeline::{DispatchObserver, ObservedDispatch};

/// What was read before it was written, and what was written.
#[derive(Debug, Default)]
pub(super) struct Seen(RefCell<Books>);

#[derive(Debug, Default)]
struct Books {
    inputs: Vec<View>,
    written: Vec<u64>,
}

impl Seen {
    /// What the operation reads of what was there before, each view once.
    pub(super) fn inputs(&self) -> Vec<View> {
        self.0.borrow().inputs.clone()
    }
}

impl DispatchObserver for Seen {
    fn dispatch(&self, dispatch: &ObservedDispatch<'_>) {
        let mut books = self.0.borrow_mut();
        for bound in dispatch.buffers().filter(|bound| !bound.writes) {
            let Some((layout, dtype)) = bound.elements else {
                continue;
            };
            let known = |view: &View| {
                view.buffer.id() == bound.buffer.id()
                    && view.dtype == dtype
                    && view.layout == *layout
            };
            let is_new = !books.written.contains(&bound.buffer.id());
            if is_new && !books.inputs.iter().any(known) {
                let (buffer, layout) = (bound.buffer.clone(), *layout);
                // Kernels look at the same memory as other dtypes, of which not all fit.
                books.inputs.extend(View::new(buffer, layout, dtype).ok());
            }
        }
        let written = dispatch.buffers().filter(|bound| bound.writes);
        books.written.extend(written.map(|bound| bound.buffer.id()));
    }
}
