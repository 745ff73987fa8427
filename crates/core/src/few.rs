//! Sorting lists of a few items: axes, bindings.
//!
//! The standard library's sort is several KiB of code for each type it is used with, which a page has to download.

/// Sorts a short list by a key and keeps the order of items with equal keys, by insertion: as many steps as the square of the
/// length.
///
/// ```
/// let mut axes = [(2, 'a'), (1, 'b'), (2, 'c'), (0, 'd')];
/// ziggurat_core::sort_few_by_key(&mut axes, |(key, _)| *key);
/// assert_eq!(axes.map(|(_, name)| name), ['d', 'b', 'a', 'c']);
/// ```
pub fn sort_few_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    for end in 1..items.len() {
        let mut at = end;
        while let Some([before, item]) = at.checked_sub(1).and_then(|from| items.get_mut(from..=at))
            && key(item) < key(before)
        {
            std::mem::swap(before, item);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_that_of_the_standard_sort() {
        for code in 0..4_usize.pow(6) {
            let digits: Vec<usize> = (0..6).map(|at| code / 4_usize.pow(at) % 4).collect();
            let mut found: Vec<(usize, usize)> = digits.into_iter().zip(0..).collect();
            let mut wanted = found.clone();
            sort_few_by_key(&mut found, |(digit, _)| std::cmp::Reverse(*digit));
            wanted.sort_by_key(|(digit, _)| std::cmp::Reverse(*digit));
            assert_eq!(found, wanted);
        }
        sort_few_by_key(&mut [] as &mut [u8], |item| *item);
    }
}
