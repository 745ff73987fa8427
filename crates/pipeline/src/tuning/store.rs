//! [`TuningStore`]: which way was measured to be the fastest, by problem.
//!
//! Keys are hashes of what somebody measured (a kernel's text and constants, a class of problems), values say which of
//! several ways is to be taken. Neither is trusted: whoever asks takes a way only if it is one of those that there are for
//! the problem at hand. A store belongs to one adapter, driver and version of the library, and so do its bytes.
//!
//! Invariants: bytes that do not match in full change nothing and leave a reason; an empty store costs one relaxed load.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;

use crate::envelope::{Kind, Rejected, checksum};

const KIND: Kind = Kind {
    magic: *b"ZIGTUNED",
    format: 1,
};

/// Longer texts of an entry are cut off.
const MOST_TEXT: usize = 200;

/// What a choice depends on, as 64 bits.
///
/// ```
/// use ziggurat_pipeline::TuningKey;
///
/// assert_eq!(TuningKey::new("matmul", [64, 32]), TuningKey::new("matmul", [64, 32]));
/// assert_ne!(TuningKey::new("matmul", [64, 32]), TuningKey::new("conv", [64, 32]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TuningKey(u64);

impl TuningKey {
    /// The key of a family of problems and of the numbers that tell its problems from each other. The same on every
    /// platform.
    #[must_use]
    pub fn new(family: &str, words: impl IntoIterator<Item = u64>) -> Self {
        let mut bytes = Vec::with_capacity(256);
        for word in words {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        Self(checksum(&[family.as_bytes(), &[0], &bytes]))
    }

    /// The key as a number.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// One choice of a [`TuningStore`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuned {
    /// Which way is taken, as whoever asks numbers them.
    pub way: u64,
    /// The sort of problem, for people.
    pub family: String,
    /// The problem, for people.
    pub problem: String,
    /// The way, for people.
    pub name: String,
}

impl Tuned {
    fn line(&self, key: TuningKey) -> String {
        let text = |text: &str| {
            let is_plain = |c: char| if c.is_control() { ' ' } else { c };
            let plain = text.chars().map(is_plain).take(MOST_TEXT);
            plain.collect::<String>()
        };
        let [family, problem, name] = [&self.family, &self.problem, &self.name].map(|t| text(t));
        format!(
            "{:016x}\t{:016x}\t{family}\t{problem}\t{name}\n",
            key.0, self.way
        )
    }

    fn parse(line: &str) -> Option<(TuningKey, Self)> {
        let mut fields = line.split('\t');
        let mut number = || u64::from_str_radix(fields.next()?, 16).ok();
        let (key, way) = (number()?, number()?);
        let mut text = || fields.next().map(str::to_owned);
        let tuned = Self {
            way,
            family: text()?,
            problem: text()?,
            name: text()?,
        };
        fields.next().is_none().then_some((TuningKey(key), tuned))
    }
}

/// Why bytes or a file were not taken into a [`TuningStore`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TuningRejected {
    /// The file cannot be read, or is absurdly large.
    Unreadable,
    /// It is something else, or of another format.
    Format,
    /// It was measured on another adapter, with another driver or for another version of the library.
    Foreign,
    /// It is cut off, too long, or its bytes changed.
    Corrupt,
}

impl From<Rejected> for TuningRejected {
    fn from(rejected: Rejected) -> Self {
        match rejected {
            #[cfg(not(target_arch = "wasm32"))]
            Rejected::Unreadable => Self::Unreadable,
            Rejected::Format => Self::Format,
            Rejected::Foreign => Self::Foreign,
            Rejected::Corrupt => Self::Corrupt,
        }
    }
}

impl fmt::Display for TuningRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable => "the tuning file cannot be read",
            Self::Format => "this is no tuning file, or one of another format",
            Self::Foreign => "measured on another adapter, with another driver or for another version of Ziggurat",
            Self::Corrupt => "the tuning file is damaged",
        })
    }
}

impl std::error::Error for TuningRejected {}

#[derive(Debug, Default)]
struct State {
    known: BTreeMap<TuningKey, Tuned>,
    rejected: Option<TuningRejected>,
}

/// What was measured on one adapter: [`Pipelines::tuning`](crate::Pipelines::tuning).
///
/// It starts empty. Tuning fills it, [`import`](Self::import) takes what was measured before, perhaps elsewhere on the same
/// model of adapter, [`export`](Self::export) gives it away.
#[derive(Debug)]
pub struct TuningStore {
    identity: String,
    state: RwLock<State>,
    len: AtomicUsize,
    generation: AtomicU64,
}

impl TuningStore {
    pub(crate) fn new(adapter: &wgpu::AdapterInfo) -> Self {
        Self::of(format!(
            "{}\n{}\n{}\n{:?}\nziggurat {}",
            adapter.name,
            adapter.driver,
            adapter.driver_info,
            adapter.backend,
            env!("CARGO_PKG_VERSION"),
        ))
    }

    pub(super) fn of(identity: String) -> Self {
        Self {
            identity,
            state: RwLock::default(),
            len: AtomicUsize::new(0),
            generation: AtomicU64::new(0),
        }
    }

    /// Whose measurements these are: adapter, driver, interface and version of the library, a line each.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Choices in the store.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Whether everything is chosen as it is without measurements.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Changes whenever a choice may: what was planned before such a change is not what would be planned after it.
    #[must_use]
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Makes plans that were made before out of date.
    pub fn touch(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// The way that was chosen for a problem.
    #[must_use]
    pub fn way(&self, key: TuningKey) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        self.state.read().known.get(&key).map(|tuned| tuned.way)
    }

    /// Every choice, by key.
    #[must_use]
    pub fn entries(&self) -> Vec<(TuningKey, Tuned)> {
        let state = self.state.read();
        let entries = state.known.iter();
        entries.map(|(key, tuned)| (*key, tuned.clone())).collect()
    }

    /// Sets a choice.
    pub fn insert(&self, key: TuningKey, tuned: Tuned) {
        self.extend(std::iter::once((key, tuned)));
    }

    fn extend(&self, entries: impl IntoIterator<Item = (TuningKey, Tuned)>) {
        let mut state = self.state.write();
        state.known.extend(entries);
        self.len.store(state.known.len(), Ordering::Relaxed);
        self.touch();
    }

    /// Forgets every choice.
    pub fn clear(&self) {
        let mut state = self.state.write();
        *state = State::default();
        self.len.store(0, Ordering::Relaxed);
        self.touch();
    }

    /// Why the last bytes or file that came were ignored, if they were.
    #[must_use]
    pub fn rejected(&self) -> Option<TuningRejected> {
        self.state.read().rejected.clone()
    }

    /// Everything as bytes, for [`import`](Self::import) on the same model of adapter with the same driver and version.
    #[must_use]
    pub fn export(&self) -> Vec<u8> {
        encode(&self.identity, &self.state.read().known)
    }

    /// Adds the choices of exported bytes, which win over those that are there; says how many there were.
    ///
    /// # Errors
    /// The reason, if they do not match in full. Nothing changes then, and [`rejected`](Self::rejected) keeps it: whoever can
    /// go on without may ignore this.
    pub fn import(&self, bytes: &[u8]) -> Result<usize, TuningRejected> {
        let decoded = decode(&self.identity, bytes);
        self.take(decoded)
    }

    pub(super) fn take(
        &self,
        decoded: Result<Entries, TuningRejected>,
    ) -> Result<usize, TuningRejected> {
        self.state.write().rejected = decoded.as_ref().err().cloned();
        let entries = decoded?;
        let count = entries.len();
        self.extend(entries);
        Ok(count)
    }
}

/// Choices by key.
pub(super) type Entries = BTreeMap<TuningKey, Tuned>;

pub(super) fn encode(identity: &str, entries: &Entries) -> Vec<u8> {
    let lines = entries.iter().map(|(key, tuned)| tuned.line(*key));
    KIND.encode(identity, lines.collect::<String>().as_bytes())
}

pub(super) fn decode(identity: &str, bytes: &[u8]) -> Result<Entries, TuningRejected> {
    let data = KIND.decode(identity, bytes)?;
    let text = std::str::from_utf8(data).map_err(|_| TuningRejected::Corrupt)?;
    let entries = text.lines().map(Tuned::parse);
    entries
        .collect::<Option<_>>()
        .ok_or(TuningRejected::Corrupt)
}

#[cfg(test)]
mod tests;
