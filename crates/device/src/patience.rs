//! How a thread passes the time until the device has done something; native only.
//!
//! NVIDIA's Vulkan driver (seen with 580.159.04) loses wake-ups: of 400 waits for 66 dispatches that take 1.6 ms, up to one in
//! ten came back from `vkWaitSemaphores` 9 ms late, more of them the more submissions and threads wait. Asking for the
//! semaphore's value is never late. So on that driver threads ask, at intervals that are short against what they have waited
//! already; a wait that is long is left to the driver, for which 9 ms are little then.
//!
//! A pure function of the time waited.

use std::time::Duration;

use crate::{AdapterKind, AdapterSummary, DeviceOptions, Sleep};

/// The first and the longest interval between two questions.
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_micros(200);
/// An interval's part of the time waited: a wait is half of it late in the mean.
const PART: u32 = 64;
/// From here on a late wake-up is little.
const LONG: Duration = Duration::from_secs(1);

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Ask at once.
    Ask,
    /// Sleep so long, then ask.
    Nap(Duration),
    /// Let the driver wake the thread.
    Driver,
}

/// How threads wait for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    spin: Duration,
    naps: bool,
}

impl Patience {
    pub(crate) fn of(adapter: &AdapterSummary, options: &DeviceOptions) -> Self {
        let loses_wakeups = crate::park::is_nvidia_vulkan(adapter);
        Self {
            // A software adapter computes on the processors that asking would keep busy.
            spin: match adapter.kind {
                AdapterKind::Software => Duration::ZERO,
                _ => options.spin,
            },
            naps: match options.sleep {
                Sleep::Auto => loses_wakeups,
                Sleep::Ask => true,
                Sleep::Driver => false,
            },
        }
    }

    /// What a blocked thread does after it has waited so long.
    pub(crate) fn next(&self, waited: Duration) -> Next {
        if waited < self.spin {
            Next::Ask
        } else {
            self.asleep(waited)
        }
    }

    /// What a thread does that nobody waits for.
    pub(crate) fn asleep(&self, waited: Duration) -> Next {
        if self.naps && waited < LONG {
            Next::Nap((waited / PART).clamp(SHORTEST, LONGEST))
        } else {
            Next::Driver
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naps_are_short_against_the_time_waited_and_end() {
        let patience = Patience {
            spin: Duration::from_micros(100),
            naps: true,
        };
        let mut waited = Duration::ZERO;
        let mut asked = 0;
        loop {
            match patience.next(waited) {
                Next::Ask => waited += Duration::from_micros(2),
                Next::Nap(nap) => {
                    assert!(nap <= LONGEST && nap <= SHORTEST.max(waited / PART));
                    waited += nap;
                    asked += 1;
                }
                Next::Driver => break,
            }
        }
        assert!(waited >= LONG);
        assert!(asked < 5200, "{asked} questions in a second");
    }

    #[test]
    fn without_naps_the_driver_wakes_after_the_spin() {
        let patience = Patience {
            spin: Duration::from_micros(100),
            naps: false,
        };
        assert_eq!(patience.next(Duration::from_micros(99)), Next::Ask);
        assert_eq!(patience.next(Duration::from_micros(100)), Next::Driver);
        assert_eq!(patience.asleep(Duration::ZERO), Next::Driver);
    }
}
