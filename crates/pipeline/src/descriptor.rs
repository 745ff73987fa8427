//! What a kernel is made from: text, entry point, constants. Also the structural keys of hot kernels.
//!
//! A pipeline is cached under its complete [`KernelDescriptor`], text included, so that an edited kernel can never
//! meet an old pipeline. Assembling and hashing some 10 KiB of text for each call of an op would cost more than the
//! dispatch, hence [`KernelKey`]: a short list of the choices that led to the text. In debug builds every hit
//! compares the descriptor with the one the key stood for before.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

#[cfg(not(target_arch = "wasm32"))]
use crate::ordered_loads::writable;
use crate::source::ShaderSource;

/// Which of the checks that wgpu compiles into a shader a kernel has.
///
/// Checks turn mistakes of a shader into defined behaviour, and take time: a counter in every loop, a comparison for every
/// index and every integer division.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Checks {
    /// All of them: for text that nobody vouches for.
    #[default]
    All,
    /// Those of integer division, which gives what WGSL says for a divisor of 0. Loops are not counted, and indices are
    /// not compared where the driver itself keeps shaders within the bound buffers
    /// ([`Caps::robust_buffers`](ziggurat_device::Caps::robust_buffers)).
    Divisions,
    /// None, as far as the driver keeps shaders within the bound buffers.
    None,
}

/// A kernel to be: shader source, entry point and constants.
#[derive(Clone, Debug)]
pub struct KernelDescriptor {
    /// The WGSL.
    pub source: ShaderSource,
    /// The entry point; `None` if the shader has only one.
    pub entry: Option<Cow<'static, str>>,
    /// Values of `override`s, by name (or by number for those with `@id`).
    pub constants: Vec<(Cow<'static, str>, f64)>,
    /// Whether workgroup memory starts as zeros, as WGSL says. Kernels that write before they read may switch it
    /// off, which is faster.
    pub zero_workgroup_memory: bool,
    /// Whether loads from storage buffers keep their place among barriers, also where the shader only reads the buffer.
    /// See [`Self::ordered_loads`].
    pub ordered_loads: bool,
    /// Set by [`Self::with_checks`], whose caller vouches for the text.
    pub(crate) checks: Checks,
}

impl KernelDescriptor {
    /// The shader's only entry point, without constants.
    pub fn new(source: ShaderSource) -> Self {
        Self {
            source,
            entry: None,
            constants: Vec::new(),
            zero_workgroup_memory: true,
            ordered_loads: false,
            checks: Checks::All,
        }
    }

    /// Which checks the shader is compiled with.
    pub fn checks(&self) -> Checks {
        self.checks
    }

    /// Leaves out none of wgpu's checks, which is how a descriptor begins.
    #[must_use]
    pub fn with_all_checks(mut self) -> Self {
        self.checks = Checks::All;
        self
    }

    /// Leaves out some of wgpu's checks.
    ///
    /// # Safety
    ///
    /// Of every dispatch of the kernel the following must hold. With [`Checks::Divisions`]: all its loops end, and all
    /// indices into workgroup and private arrays and into vectors are within bounds; indices into bound buffers need not
    /// be, because they remain checked where the driver does not check them. With [`Checks::None`] also: no integer is
    /// divided by 0, and no signed quotient overflows.
    #[expect(
        unsafe_code,
        reason = "wgpu asks for a promise about the text, which only the caller can give"
    )]
    #[must_use]
    pub unsafe fn with_checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// Chooses an entry point.
    #[must_use]
    pub fn entry(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.entry = Some(name.into());
        self
    }

    /// Gives an `override` a value.
    #[must_use]
    pub fn constant(mut self, name: impl Into<Cow<'static, str>>, value: f64) -> Self {
        self.constants.push((name.into(), value));
        self
    }

    /// Says whether workgroup memory must start as zeros.
    #[must_use]
    pub fn zero_workgroup_memory(mut self, zero: bool) -> Self {
        self.zero_workgroup_memory = zero;
        self
    }

    /// Says whether loads from storage buffers are to keep their place among barriers.
    ///
    /// A driver may move a load from memory that nobody writes across a barrier. NVIDIA's compiler moves loads that are
    /// meant to be under way while something else is computed behind it, to where their values are used, and then
    /// nothing hides the time that they take. With ordered loads the driver is told that the buffers might be written.
    /// That makes a kernel faster which loads the next tile before it computes the present one; on other kernels it is
    /// a loss. Browsers are not told. Nothing else changes: arguments are still given by [`Arg::read`](crate::Arg::read), and may be the same buffer.
    #[must_use]
    pub fn ordered_loads(mut self, ordered: bool) -> Self {
        self.ordered_loads = ordered;
        self
    }

    /// A text of the kernel as drivers get it: with ordered loads, buffers that it reads are declared as writable.
    #[must_use]
    pub fn as_compiled(&self, text: String) -> String {
        #[cfg(not(target_arch = "wasm32"))]
        if self.orders_loads() {
            return writable(&text);
        }
        text
    }

    /// Whether loads are ordered: browsers have compilers of their own in between, and are not told.
    pub(crate) fn orders_loads(&self) -> bool {
        cfg!(not(target_arch = "wasm32")) && self.ordered_loads
    }
}

/// Constants are compared by bits: −0 and 0 differ, a NaN equals itself.
impl PartialEq for KernelDescriptor {
    fn eq(&self, other: &Self) -> bool {
        let bits = |a: &(Cow<'static, str>, f64), b: &(Cow<'static, str>, f64)| {
            a.0 == b.0 && a.1.to_bits() == b.1.to_bits()
        };
        self.entry == other.entry
            && self.zero_workgroup_memory == other.zero_workgroup_memory
            && self.ordered_loads == other.ordered_loads
            && self.checks == other.checks
            && self.constants.len() == other.constants.len()
            && self
                .constants
                .iter()
                .zip(&other.constants)
                .all(|(a, b)| bits(a, b))
            && self.source == other.source
    }
}

impl Eq for KernelDescriptor {}

impl Hash for KernelDescriptor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source.hash(state);
        self.entry.hash(state);
        for (name, value) in &self.constants {
            name.hash(state);
            value.to_bits().hash(state);
        }
        self.zero_workgroup_memory.hash(state);
        self.ordered_loads.hash(state);
        self.checks.hash(state);
    }
}

/// One word of a [`KernelKey`].
#[derive(Clone, Copy, Debug)]
enum Word {
    Tag(&'static str),
    Number(u64),
}

impl Word {
    /// Equal words have equal hashes; that others share one costs a comparison at worst. Tags are told apart by their
    /// ends, where paths differ.
    #[inline]
    fn hash(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Tag(tag) => {
                let bytes = tag.as_bytes();
                let end = bytes.last_chunk().map_or_else(
                    || {
                        let fold = |word: u64, byte: &u8| word << 8 | u64::from(*byte);
                        bytes.iter().fold(0, fold)
                    },
                    |last| u64::from_le_bytes(*last),
                );
                end ^ (bytes.len() as u64) << 56
            }
        }
    }
}

impl PartialEq for Word {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a == b,
            // Nearly always the same literal.
            (Self::Tag(a), Self::Tag(b)) => std::ptr::eq(*a, *b) || a == b,
            _ => false,
        }
    }
}

impl Eq for Word {}

/// How many words a key holds without allocating.
const INLINE: usize = 44;

/// A short structural name of a kernel variant: a family and the choices made within it, in a fixed order.
///
/// Words keep their boundaries and kinds, so that `("ab", "c")` and `("a", "bc")` are different keys.
///
/// ```
/// use ziggurat_pipeline::KernelKey;
/// let key = KernelKey::new("binary/flat").tag("add").tag("f32").number(256);
/// assert_eq!(key, KernelKey::new("binary/flat").tag("add").tag("f32").number(256));
/// assert_ne!(key, KernelKey::new("binary/flat").tag("add").tag("f32").number(128));
/// ```
#[derive(Clone)]
pub struct KernelKey {
    family: &'static str,
    words: [Word; INLINE],
    len: usize,
    more: Vec<Word>,
}

impl KernelKey {
    /// A key without choices.
    #[inline]
    pub const fn new(family: &'static str) -> Self {
        Self {
            family,
            words: [Word::Number(0); INLINE],
            len: 0,
            more: Vec::new(),
        }
    }

    /// Appends a name: of an op, a dtype, a variant.
    #[inline]
    #[must_use]
    pub fn tag(self, tag: &'static str) -> Self {
        self.word(Word::Tag(tag))
    }

    /// Appends a number: a rank, a tile size, an override's value.
    #[inline]
    #[must_use]
    pub fn number(self, number: u64) -> Self {
        self.word(Word::Number(number))
    }

    /// Appends a float by its bits.
    #[must_use]
    pub fn float(self, value: f64) -> Self {
        self.number(value.to_bits())
    }

    /// Appends a switch.
    #[must_use]
    pub fn flag(self, flag: bool) -> Self {
        self.number(u64::from(flag))
    }

    #[inline]
    fn word(mut self, word: Word) -> Self {
        self.push(word);
        self
    }

    /// [`tag`](Self::tag) in place: a long key is not moved once for each of its words.
    #[inline]
    pub fn push_tag(&mut self, tag: &'static str) {
        self.push(Word::Tag(tag));
    }

    /// [`number`](Self::number) in place.
    #[inline]
    pub fn push_number(&mut self, number: u64) {
        self.push(Word::Number(number));
    }

    #[inline]
    fn push(&mut self, word: Word) {
        match self.words.get_mut(self.len) {
            Some(slot) => {
                *slot = word;
                self.len += 1;
            }
            None => self.more.push(word),
        }
    }

    fn inline(&self) -> &[Word] {
        self.words.get(..self.len).unwrap_or_default()
    }

    fn all(&self) -> impl Iterator<Item = &Word> {
        self.inline().iter().chain(&self.more)
    }
}

impl PartialEq for KernelKey {
    fn eq(&self, other: &Self) -> bool {
        Word::Tag(self.family) == Word::Tag(other.family)
            && self.inline() == other.inline()
            && self.more == other.more
    }
}

impl Eq for KernelKey {}

impl Hash for KernelKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(Word::Tag(self.family).hash());
        state.write_usize(self.len + self.more.len());
        for word in self.inline() {
            state.write_u64(word.hash());
        }
        for word in &self.more {
            state.write_u64(word.hash());
        }
    }
}

impl std::fmt::Debug for KernelKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.family)?;
        for word in self.all() {
            match word {
                Word::Tag(tag) => write!(f, "/{tag}")?,
                Word::Number(number) => write!(f, "/{number}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
