//! Numbers for how values lie in memory: a dtype and a layout are one word of a key.
//!
//! Nodes remember their number, and a plan that of its results, so layouts are looked at when values of a new sort appear.
//!
//! Invariant: no two forms have the same number in a process, whichever device asks; one may have several.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use ziggurat_core::{DType, Layout};
use ziggurat_pipeline::QuickMap;

/// Forms that are known; with one more all are forgotten, and get new numbers.
const MOST: usize = 4096;

/// A dtype and a layout, whose hash looks at as many dimensions as there are.
#[derive(Debug, PartialEq, Eq)]
struct Form(DType, Layout);

impl Hash for Form {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self(dtype, layout) = self;
        state.write_u64((*dtype as u64) << 8 | layout.rank() as u64);
        for (dim, stride) in layout.dims().iter().zip(layout.strides()) {
            state.write_usize(*dim);
            state.write_isize(*stride);
        }
        state.write_usize(layout.offset());
    }
}

/// The forms that a device met.
#[derive(Debug, Default)]
pub(super) struct Forms {
    known: QuickMap<Form, u64>,
}

impl Forms {
    /// The number of a form, which is not 0.
    pub(super) fn number(&mut self, dtype: DType, layout: &Layout) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let form = Form(dtype, *layout);
        if let Some(known) = self.known.get(&form) {
            return *known;
        }
        if self.known.len() >= MOST {
            self.known.clear();
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.known.insert(form, number);
        number
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use ziggurat_core::Shape;

    #[test]
    fn a_number_stands_for_one_dtype_and_layout() {
        let (mut one, mut other) = (Forms::default(), Forms::default());
        let plain = |dims: &[usize]| Layout::contiguous(Shape::new(dims).unwrap());
        let turned = plain(&[2, 3]).transpose(0, 1).unwrap();
        let layouts = [plain(&[2, 3]), plain(&[3, 2]), turned, plain(&[6])];
        let mut seen = std::collections::HashSet::new();
        for layout in &layouts {
            for dtype in [DType::F32, DType::U32] {
                let number = one.number(dtype, layout);
                assert_eq!(one.number(dtype, layout), number);
                assert!(number != 0 && seen.insert(number), "{layout:?}");
                assert!(seen.insert(other.number(dtype, layout)), "{layout:?}");
            }
        }
        // What was forgotten gets a number that nothing had.
        for len in 0..MOST {
            one.number(DType::F32, &plain(&[len]));
        }
        assert!(one.known.len() <= MOST);
        assert!(seen.insert(one.number(DType::F32, &layouts[0])));
    }
}
