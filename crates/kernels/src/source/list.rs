//! [`List`]: a short list that lives on the stack.
//!
//! Choosing a kernel for an op call names a handful of parts and constants; with `Vec`s that was a dozen allocations
//! per recorded op. Items beyond `N` go to the heap, so `N` is a matter of speed alone.

/// Up to `N` items in place, the rest in a vector.
#[derive(Clone, Debug)]
pub(crate) struct List<T, const N: usize> {
    items: [Option<T>; N],
    len: usize,
    more: Vec<T>,
}

impl<T: Copy, const N: usize> List<T, N> {
    pub(crate) const fn new() -> Self {
        Self {
            items: [None; N],
            len: 0,
            more: Vec::new(),
        }
    }

    pub(crate) fn of(items: &[T]) -> Self {
        let mut list = Self::new();
        list.extend(items.iter().copied());
        list
    }

    pub(crate) fn push(&mut self, item: T) {
        match self.items.get_mut(self.len) {
            Some(slot) => {
                *slot = Some(item);
                self.len += 1;
            }
            None => self.more.push(item),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.items.iter().take(self.len).flatten().chain(&self.more)
    }

    pub(crate) fn last(&self) -> Option<T> {
        self.iter().last().copied()
    }
}

impl<T: Copy, const N: usize> Extend<T> for List<T, N> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.push(item);
        }
    }
}

impl<T: Copy + PartialEq, const N: usize> PartialEq for List<T, N> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_within_and_beyond_its_place() {
        for count in 0..7 {
            let items: Vec<u32> = (0..count).collect();
            let list = List::<u32, 3>::of(&items);
            assert!(list.iter().eq(&items), "{count}");
            assert_eq!(list.last(), items.last().copied());
        }
        assert_ne!(List::<u32, 3>::of(&[1]), List::of(&[2]));
    }
}
