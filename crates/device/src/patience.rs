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

/// The first interval between two questions.
const SHORTEST: Duration = Duration::from_micros(20);

/// How intervals grow.
#[derive(Clone, Copy, Debug)]
struct Naps {
    /// Their part of the time waited: a wait is half of it late in the mean.
    part: u32,
    longest: Duration,
}

/// Those of a blocked thread, which has nothing else to do.
const BLOCKED: Naps = Naps {
    part: 64,
    longest: Duration::from_micros(200),
};
/// Those of a thread that nobody waits for: its questions take locks that those who record need.
const UNAWAITED: Naps = Naps {
    part: 16,
    longest: Duration::from_millis(1),
};
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
            self.after(waited, BLOCKED)
        }
    }

    /// What a thread does that nobody waits for.
    pub(crate) fn asleep(&self, waited: Duration) -> Next {
        self.after(waited, UNAWAITED)
    }

    fn after(&self, waited: Duration, naps: Naps) -> Next {
        if self.naps && waited < LONG {
            Next::Nap((waited / naps.part).clamp(SHORTEST, naps.longest))
        } else {
            Next::Driver
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often a thread asks until the driver wakes it, if each nap is as long as it should be.
    fn questions(naps: Naps, next: impl Fn(Duration) -> Next) -> u32 {
        let mut waited = Duration::ZERO;
        let mut asked = 0;
        loop {
            match next(waited) {
                Next::Ask => waited += Duration::from_micros(2),
                Next::Nap(nap) => {
                    assert!(nap <= naps.longest && nap <= SHORTEST.max(waited / naps.part));
                    waited += nap;
                    asked += 1;
                }
                Next::Driver => break,
            }
        }
        assert!(waited >= LONG);
        asked
    }

    #[test]
    fn naps_are_short_against_the_time_waited_and_end() {
        let patience = Patience {
            spin: Duration::from_micros(100),
            naps: true,
        };
        let blocked = questions(BLOCKED, |waited| patience.next(waited));
        assert!(blocked < 5200, "{blocked} questions in a second");
        let unawaited = questions(UNAWAITED, |waited| patience.asleep(waited));
        assert!(unawaited < 1200, "{unawaited} questions in a second");
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
