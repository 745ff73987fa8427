//! Which problems a program has: noted while they are planned.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use ziggurat_core::{DType, Layout, Shape};
use ziggurat_pipeline::TuningKey;

use super::name::{Class, Named, WayName};
use crate::fused::Operand;
use crate::limits::ability::Ability;
use crate::ops::ways::Ways;
use crate::run::call::{Call, CallKind};
use crate::run::executor::Executor;
use crate::run::plan::Planner;
use crate::run::view::View;

/// The one way in which an executor computes a class of problems, whatever the store says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forced {
    pub(crate) key: TuningKey,
    pub(crate) way: u64,
}

/// What an operand is measured with.
#[derive(Clone, Debug)]
pub(super) enum Given {
    /// Random numbers that lie like the operand.
    Scratch(Layout, DType),
    /// The operand itself: what it holds decides how much is computed.
    Kept(View),
}

/// A call whose problem has more than one way.
#[derive(Clone, Debug)]
pub(super) struct Met {
    pub(super) class: Class,
    pub(super) call: Call,
    pub(super) first: Given,
    pub(super) others: [Option<Given>; 5],
    pub(super) out: (Shape, DType),
    pub(super) ways: Vec<WayName>,
}

/// Problems that a program has: see [`Executor::meet`].
#[derive(Clone, Debug, Default)]
pub struct Problems {
    pub(super) met: Vec<Met>,
    keys: BTreeSet<TuningKey>,
}

impl Problems {
    /// How many there are, each class once.
    #[must_use]
    pub fn len(&self) -> usize {
        self.met.len()
    }

    /// Whether nothing that was computed has more than one way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.met.is_empty()
    }
}

/// Everybody who notes the problems of an executor and its clones.
#[derive(Debug, Default)]
pub(crate) struct Meetings {
    active: AtomicUsize,
    next: AtomicU64,
    open: Mutex<Vec<(u64, Problems)>>,
}

/// Ends noting, also when what is noted panics.
struct Open<'a> {
    meetings: &'a Meetings,
    number: u64,
}

impl Open<'_> {
    fn take(&self) -> Problems {
        let mut open = self.meetings.open.lock();
        let at = open.iter().position(|(number, _)| *number == self.number);
        at.map(|at| open.swap_remove(at).1).unwrap_or_default()
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.take();
        self.meetings.active.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Meetings {
    fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed) > 0
    }

    fn begin(&self) -> Open<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.lock().push((number, Problems::default()));
        self.active.fetch_add(1, Ordering::Relaxed);
        Open {
            meetings: self,
            number,
        }
    }

    fn note(&self, key: TuningKey, met: impl Fn() -> Option<Met>) {
        for (_, problems) in self.open.lock().iter_mut() {
            if !problems.keys.contains(&key)
                && let Some(met) = met()
            {
                problems.keys.insert(key);
                problems.met.push(met);
            }
        }
    }
}

impl Executor {
    /// Calls `f` and notes the problems with more than one way that this executor and its clones plan meanwhile, on whatever
    /// thread: for [`Executor::tune_problems`]. Ops on an executor that captures are not noted.
    pub fn meet<R>(&self, f: impl FnOnce() -> R) -> (R, Problems) {
        let open = self.meetings().begin();
        // What was planned before would not be planned again.
        self.pipelines().tuning().touch();
        let result = f();
        (result, open.take())
    }
}

impl Planner<'_> {
    /// The way in which a problem is computed: the default, or what was measured to be faster and is among the ways of this
    /// problem on this device. `default` is that of `ways`, for those who would rather not list all.
    pub(crate) fn way<W: Named>(
        &self,
        class: impl FnOnce() -> Class,
        default: impl FnOnce(&Ability) -> W,
        ways: impl FnOnce(&Ability) -> Ways<W>,
    ) -> W {
        let (exec, ability) = (self.exec, self.exec.ability());
        if ability.way > 0 {
            return ways(&ability).chosen(&ability);
        }
        let store = exec.pipelines().tuning();
        let (meets, forced) = (exec.meetings().is_active(), exec.forced());
        if store.is_empty() && !meets && forced.is_none() {
            return default(&ability);
        }
        let (class, ways) = (class(), ways(&ability));
        if meets && ways.all().nth(1).is_some() && !exec.is_capturing() {
            let names = || ways.all().map(|way| way.name()).collect();
            exec.meetings().note(class.key, || self.met(class, names()));
        }
        let wanted = forced.filter(|forced| forced.key == class.key);
        let wanted = wanted.map_or_else(|| store.way(class.key), |forced| Some(forced.way));
        let known = |bits: u64| ways.all().find(|way| way.name().bits() == bits);
        wanted.and_then(known).unwrap_or(ways.default)
    }

    /// `None` for calls within calls, which have no operands of their own.
    fn met(&self, class: Class, ways: Vec<WayName>) -> Option<Met> {
        let call = *self.call?;
        let Operand::Memory(first) = self.ends.a else {
            return None;
        };
        let given = |at: usize, view: &View| {
            let keeps = match call.kind() {
                // Masks and lengths. Factors are random, as what they are for.
                CallKind::Attention { .. } => matches!(at, 2 | 3),
                // Words that are no numbers.
                CallKind::QuantizedLinear { .. } => true,
                _ => false,
            };
            if keeps {
                Given::Kept(view.clone())
            } else {
                Given::Scratch(view.layout, view.dtype)
            }
        };
        let mut others = [const { None }; 5];
        for (at, (slot, view)) in others.iter_mut().zip(self.ends.others).enumerate() {
            *slot = view.map(|view| given(at, view));
        }
        Some(Met {
            class,
            call,
            first: Given::Scratch(first.layout, first.dtype),
            others,
            out: (*self.ends.out.shape(), self.ends.computed()),
            ways,
        })
    }
}
