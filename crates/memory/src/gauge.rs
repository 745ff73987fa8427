//! Counts the bytes of staging buffers that exist.
//!
//! Each staging buffer owns a [`Metered`] handle that takes its bytes off when it is dropped, wherever
//! that happens: in a list, in a callback, or with a batch of commands that was never submitted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A shared byte count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge(Arc<AtomicU64>);

impl Gauge {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Books `bytes` until the returned handle is dropped.
    pub(crate) fn book(&self, bytes: u64) -> Booking {
        self.0.fetch_add(bytes, Ordering::AcqRel);
        Booking {
            gauge: self.clone(),
            bytes,
        }
    }

    /// Books `bytes` only if the total stays within `limit`.
    pub(crate) fn book_within(&self, bytes: u64, limit: u64) -> Option<Booking> {
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |total| {
                total.checked_add(bytes).filter(|&sum| sum <= limit)
            })
            .ok()?;
        Some(Booking {
            gauge: self.clone(),
            bytes,
        })
    }
}

/// Bytes on a [`Gauge`].
#[derive(Debug)]
pub(crate) struct Booking {
    gauge: Gauge,
    bytes: u64,
}

impl Booking {
    /// A buffer of the bytes booked.
    pub(crate) const fn with(self, buffer: wgpu::Buffer) -> Metered {
        Metered {
            buffer,
            booking: self,
        }
    }
}

impl Drop for Booking {
    fn drop(&mut self) {
        self.gauge.0.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// A staging buffer on a gauge.
#[derive(Debug)]
pub(crate) struct Metered {
    pub(crate) buffer: wgpu::Buffer,
    booking: Booking,
}

impl Metered {
    pub(crate) const fn bytes(&self) -> u64 {
        self.booking.bytes
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn bookings_come_off_when_dropped() {
        let gauge = Gauge::default();
        let first = gauge.book(10);
        let second = gauge.book_within(5, 15).unwrap();
        assert!(gauge.book_within(1, 15).is_none());
        drop(first);
        assert_eq!(gauge.bytes(), 5);
        drop(second);
        assert_eq!(gauge.bytes(), 0);
    }
}
