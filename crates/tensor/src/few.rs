//! [`Few`]: what an op is of: up to three without an allocation, and some ops have more.

/// Places for values, in order. The first three are always there.
#[derive(Clone, Debug)]
pub(crate) struct Few<T> {
    first: [Option<T>; 3],
    more: Box<[Option<T>]>,
}

impl<T> From<[Option<T>; 3]> for Few<T> {
    fn from(first: [Option<T>; 3]) -> Self {
        Self {
            first,
            more: Box::default(),
        }
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut all = all.into_iter();
        let first = [(); 3].map(|()| all.next());
        Self {
            first,
            more: all.map(Some).collect(),
        }
    }
}

impl<T> Few<T> {
    /// How many places there are.
    pub(crate) fn places(&self) -> usize {
        self.first.len() + self.more.len()
    }

    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut Option<T>> {
        match place.checked_sub(self.first.len()) {
            None => self.first.get_mut(place),
            Some(place) => self.more.get_mut(place),
        }
    }

    /// The first three places.
    pub(crate) const fn first(&self) -> &[Option<T>; 3] {
        &self.first
    }

    /// The places behind those.
    pub(crate) fn more(&self) -> &[Option<T>] {
        &self.more
    }

    /// What is there, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.first.iter().chain(&*self.more).flatten()
    }

    /// Calls `f` with what is there, in order.
    #[inline]
    pub(crate) fn each(&self, mut f: impl FnMut(&T)) {
        self.first.iter().flatten().for_each(&mut f);
        if !self.more.is_empty() {
            self.more.iter().flatten().for_each(f);
        }
    }

    /// Calls `f` with what is there, in order, and leaves nothing.
    #[inline]
    pub(crate) fn take_each(&mut self, mut f: impl FnMut(T)) {
        self.first
            .iter_mut()
            .filter_map(Option::take)
            .for_each(&mut f);
        if !self.more.is_empty() {
            self.more.iter_mut().filter_map(Option::take).for_each(f);
        }
    }

    /// The same places with other values.
    pub(crate) fn map<U>(self, mut f: impl FnMut(T) -> U) -> Few<U> {
        Few {
            first: self.first.map(|value| value.map(&mut f)),
            more: (self.more.into_iter())
                .map(|value| value.map(&mut f))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_there_in_order() {
        for len in 0..7 {
            let mut few: Few<usize> = (0..len).collect();
            assert_eq!(few.places(), len.max(3));
            assert!(few.iter().copied().eq(0..len));
            assert_eq!(few.get_mut(few.places()), None);
            for place in 0..len {
                assert_eq!(few.get_mut(place), Some(&mut Some(place)));
            }
            let mut taken = Vec::new();
            let mut next = few.map(|at| at + 1);
            next.take_each(|at| taken.push(at));
            assert!(taken.into_iter().eq(1..=len) && next.iter().next().is_none());
        }
    }
}
