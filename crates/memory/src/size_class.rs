//! Size classes: how many bytes a pooled buffer really has for the bytes asked for.
//!
//! Eight classes per power of two keep the number of different capacities small, so that freed
//! buffers are found again, and the waste at most an eighth.
//! From [`LARGE_STEP`] × 8 upwards the step no longer grows: very large buffers are nearly exact.
//!
//! Invariants: a capacity is a multiple of [`ALIGNMENT`], at least the bytes asked for, never above
//! the limit, and grows with the bytes asked for.

use std::ops::RangeInclusive;

/// Every capacity is a multiple of this, so that kernels may use 16-byte vectors to the end.
pub(crate) const ALIGNMENT: u64 = 16;

/// The smallest class: drivers round up to about this much in any case.
const SMALLEST: u64 = 256;

/// Steps between classes never grow beyond this.
const LARGE_STEP: u64 = 1 << 20;

/// The largest capacity a device with this buffer limit can have.
pub(crate) const fn largest(max_buffer_bytes: u64) -> u64 {
    max_buffer_bytes / ALIGNMENT * ALIGNMENT
}

/// `bytes` rounded up to [`ALIGNMENT`], at least one unit; `None` on overflow.
pub(crate) fn exact(bytes: u64) -> Option<u64> {
    bytes.max(1).checked_next_multiple_of(ALIGNMENT)
}

/// The capacity for a request of `bytes`, or `None` if it is above what the device allows.
pub(crate) fn capacity(bytes: u64, max_buffer_bytes: u64) -> Option<u64> {
    let largest = largest(max_buffer_bytes);
    if bytes > largest || largest == 0 {
        return None;
    }
    if bytes <= SMALLEST {
        return Some(SMALLEST.min(largest));
    }
    let power = (bytes - 1).ilog2();
    let step = (1_u64 << (power - 3)).min(LARGE_STEP);
    Some(
        bytes
            .checked_next_multiple_of(step)
            .map_or(largest, |class| class.min(largest)),
    )
}

/// The capacities of cached buffers that may serve a request of this class.
///
/// A little more than the class is accepted, so that a pool of odd sizes is still reused. But what one binding can hold is never
/// served by what it cannot: whether a buffer is bound whole depends on the bytes asked for, not on what the pool has.
pub(crate) fn acceptable(class: u64, max_binding_bytes: u64) -> RangeInclusive<u64> {
    let most = class.saturating_add(class / 8);
    if class <= max_binding_bytes {
        class..=most.min(max_binding_bytes)
    } else {
        class..=most
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_requests_share_one_class() {
        for bytes in 0..=256 {
            assert_eq!(capacity(bytes, u64::MAX), Some(256));
        }
        assert_eq!(capacity(257, u64::MAX), Some(288));
    }

    #[test]
    fn what_a_binding_holds_is_served_by_what_it_holds() {
        assert_eq!(acceptable(256, 256), 256..=256);
        assert_eq!(acceptable(256, 272), 256..=272);
        assert_eq!(acceptable(256, 4096), 256..=288);
        assert_eq!(acceptable(288, 256), 288..=324);
        assert_eq!(acceptable(u64::MAX, u64::MAX), u64::MAX..=u64::MAX);
    }

    #[test]
    fn very_large_requests_are_nearly_exact() {
        let gib = 1 << 30;
        assert_eq!(capacity(3 * gib, u64::MAX), Some(3 * gib));
        assert_eq!(capacity(3 * gib + 1, u64::MAX), Some(3 * gib + LARGE_STEP));
    }

    #[test]
    fn a_legal_request_is_never_rounded_above_the_limit() {
        // lavapipe: 2 GiB - 1.
        let limit = (1 << 31) - 1;
        assert_eq!(capacity(limit - 15, limit), Some(limit - 15));
        assert_eq!(capacity(limit - 14, limit), None);
        assert_eq!(capacity(limit - 4096, limit), Some(limit - 15));
        assert_eq!(capacity(10, 100), Some(96));
        assert_eq!(capacity(0, 15), None);
    }

    #[test]
    fn huge_requests_do_not_overflow() {
        assert_eq!(capacity(u64::MAX, u64::MAX), None);
        assert_eq!(
            capacity(u64::MAX - 15, u64::MAX),
            Some(u64::MAX / ALIGNMENT * ALIGNMENT)
        );
        assert_eq!(exact(u64::MAX), None);
        assert_eq!(exact(0), Some(16));
    }

    proptest! {
        #[test]
        fn waste_is_at_most_an_eighth(bytes in 257_u64..(1 << 40)) {
            let class = capacity(bytes, u64::MAX).unwrap();
            prop_assert!(class >= bytes);
            prop_assert_eq!(class % ALIGNMENT, 0);
            prop_assert!((class - bytes) * 8 <= bytes, "{} for {}", class, bytes);
        }

        #[test]
        fn capacities_grow_with_requests(bytes in 0_u64..(1 << 34), limit in 16_u64..(1 << 34)) {
            if let (Some(a), Some(b)) = (capacity(bytes, limit), capacity(bytes + 1, limit)) {
                prop_assert!(a <= b && b <= limit && b > bytes);
            }
        }

        #[test]
        fn a_class_is_its_own_class(bytes in 0_u64..(1 << 40)) {
            let class = capacity(bytes, u64::MAX).unwrap();
            prop_assert_eq!(capacity(class, u64::MAX), Some(class));
        }
    }
}
