//! What a decoder remembers of several sequences at once.

use std::sync::Arc;

use ziggurat_tensor::{AdapterKind, Captured, DType, Device, KvSlots, Tensor};

use super::Decoder;
use crate::blocks::Place;
use crate::{Error, memory};

/// Tokens that go through the model at once while a prompt is read: each time quantised weights are decoded once more, and what
/// waits for it, other sequences and a wish to stop, waits longer for more tokens.
const CHUNK: usize = 256;
/// The same on a GPU with memory of its own, whose products take less time for each token by then, too: docs/models.md has numbers.
const LONG_CHUNK: usize = 1024;

/// How many tokens go through the model at once while a prompt is read.
pub(crate) fn chunk(device: &Device) -> usize {
    match device.adapter().kind {
        AdapterKind::Discrete => LONG_CHUNK,
        _ => CHUNK,
    }
}

/// Sequences under way, each in a slot of its own: their keys and values, and the captured step that adds one token to each.
///
/// The first tokens of a sequence go through the model together ([`DecoderSlots::extend`]). Further ones are added to all
/// sequences at once ([`DecoderSlots::step`]): by replays of one captured pass, whatever their lengths are and whichever slots
/// are in use.
///
/// ```no_run
/// use ziggurat_models::{DecoderSlots, Model};
///
/// let model = Model::open("model.gguf")?;
/// let mut slots = DecoderSlots::new(model.decoder(), 2, 100)?;
/// slots.extend(0, &[1, 2, 3])?;
/// slots.extend(1, &[4])?;
/// // What follows [1, 2, 3, 5] and [4, 6].
/// let scores = slots.step(&[(0, 5), (1, 6)])?;
/// assert_eq!(scores.dims(), [2, model.decoder().config().vocabulary]);
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
pub struct DecoderSlots {
    decoder: Arc<Decoder>,
    caches: Vec<KvSlots>,
    step: Option<Captured>,
    lens: Vec<usize>,
    capacity: usize,
}

impl DecoderSlots {
    /// The device that computes.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn device(&self) -> &Device {
        self.decoder.device()
    }

    /// Room for so many sequences of up to `capacity` tokens, in caches of the decoder's dtype.
    ///
    /// # Errors
    /// If the capacity is beyond the decoder's context, there are no slots, or the device has no memory
    /// ([`Error::OutOfMemory`] where that is known before).
    pub fn new(decoder: &Arc<Decoder>, slots: usize, capacity: usize) -> Result<Self, Error> {
        Self::with_cache(decoder, slots, capacity, decoder.dtype())
    }

    /// As [`DecoderSlots::new`], in caches of f32, f16 or i8 ([`KvSlots`] says what 8 bits are).
    ///
    /// # Errors
    /// As [`DecoderSlots::new`], or if the dtype is another one.
    pub fn with_cache(
        decoder: &Arc<Decoder>,
        slots: usize,
        capacity: usize,
        dtype: DType,
    ) -> Result<Self, Error> {
        let config = decoder.config();
        if capacity > config.context {
            let (needed, limit) = (capacity, config.context);
            return Err(Error::ContextFull { needed, limit });
        }
        if slots == 0 {
            let text = "there must be a slot at least: there are 0";
            return Err(Error::Options(text.to_owned()));
        }
        if !matches!(dtype, DType::F32 | DType::F16 | DType::I8) {
            let text = format!("the cache must be of f32, f16 or i8: it is {dtype}");
            return Err(Error::Options(text));
        }
        let device = decoder.device();
        memory::check(device, memory::of_caches(config, slots, capacity, dtype))?;
        let (heads, dim) = (config.key_heads, config.head_dim);
        let cache = |_| KvSlots::new(device, [slots, heads], capacity, [dim, dim], dtype);
        let caches = (0..config.layers).map(cache);
        Ok(Self {
            caches: caches.collect::<Result<_, _>>()?,
            decoder: Arc::clone(decoder),
            step: None,
            lens: vec![0; slots],
            capacity,
        })
    }

    /// How many sequences there is room for.
    pub const fn slots(&self) -> usize {
        self.lens.len()
    }

    /// How many tokens each of them may have.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// The tokens of a slot's sequence so far; 0 if there is no such slot.
    pub fn len(&self, slot: usize) -> usize {
        self.lens.get(slot).copied().unwrap_or(0)
    }

    /// How many tokens go through the model at once while a prompt is read.
    pub(crate) fn chunk(&self) -> usize {
        chunk(self.decoder.device())
    }

    /// Whether a slot's sequence has no tokens.
    pub fn is_empty(&self, slot: usize) -> bool {
        self.len(slot) == 0
    }

    /// Forgets the tokens of a slot, which is free for another sequence then. Nothing is allocated.
    pub fn clear(&mut self, slot: usize) {
        if let Some(len) = self.lens.get_mut(slot) {
            *len = 0;
        }
    }

    /// Dispatches of a step; `None` before the first one, which captures it.
    pub fn dispatches(&self) -> Option<usize> {
        self.step.as_ref().map(Captured::dispatches)
    }

    /// Adds tokens to one sequence, and gives the scores of what follows the last of them: f32 `[vocabulary]`.
    ///
    /// # Errors
    /// If there is no such slot, there are no tokens or no room for them, one is not of the vocabulary, or the device fails.
    pub fn extend(&mut self, slot: usize, tokens: &[u32]) -> Result<Tensor, Error> {
        self.check(slot, tokens)?;
        let mut scores = Err(Error::NoTokens);
        for chunk in tokens.chunks(self.chunk()) {
            scores = Ok(self.pass(slot, chunk, true)?);
        }
        Ok(scores?.reshape_to([self.decoder.config().vocabulary])?)
    }

    /// Adds tokens to one sequence in one pass, and gives the scores of what follows each of them: f32
    /// `[length, vocabulary]`.
    ///
    /// # Errors
    /// As [`DecoderSlots::extend`].
    pub fn scores(&mut self, slot: usize, tokens: &[u32]) -> Result<Tensor, Error> {
        self.check(slot, tokens)?;
        let scores = self.pass(slot, tokens, false)?;
        Ok(scores.reshape_to([tokens.len(), self.decoder.config().vocabulary])?)
    }

    /// Adds one token to each of these slots' sequences, and gives the scores of what follows: f32 `[slots, vocabulary]`, of
    /// which the rows of other slots mean nothing.
    ///
    /// # Errors
    /// As [`DecoderSlots::extend`], or if a slot is named twice; then no sequence has changed.
    pub fn step(&mut self, tokens: &[(usize, u32)]) -> Result<Tensor, Error> {
        let mut input = vec![0; self.slots()];
        for &(slot, token) in tokens {
            self.decoder.check_tokens(&[token])?;
            // Of a slot that there is not, something is said below.
            if let Some(input) = input.get_mut(slot) {
                *input = token.cast_signed();
            }
        }
        let named: Vec<usize> = tokens.iter().map(|&(slot, _)| slot).collect();
        self.check_step(&named)?;
        let input = Tensor::from_slice(self.decoder.device(), &input, [self.slots()])?;
        self.replay(&named, &input)
    }

    /// [`DecoderSlots::step`] of tokens that are on the device, i32 `[slots]`, such as a
    /// [`DeviceSampler`](crate::DeviceSampler) draws them: the host need not wait for them before the model reads them. What
    /// follows a token that is not of the vocabulary means nothing; whoever reads the tokens sees that.
    ///
    /// # Errors
    /// As [`DecoderSlots::step`], or if the tokens are of another dtype or shape.
    pub fn step_drawn(&mut self, slots: &[usize], tokens: &Tensor) -> Result<Tensor, Error> {
        if tokens.dtype() != DType::I32 || tokens.dims() != [self.slots()] {
            let (slots, dtype, shape) = (self.slots(), tokens.dtype(), tokens.shape());
            let text = format!("tokens of a step must be i32 [{slots}]: they are {dtype} {shape}");
            return Err(Error::Options(text));
        }
        self.check_step(slots)?;
        self.replay(slots, tokens)
    }

    /// An error unless each of these slots is there, is named once, and has room for a token.
    fn check_step(&self, slots: &[usize]) -> Result<(), Error> {
        if slots.is_empty() {
            return Err(Error::NoTokens);
        }
        for (at, &slot) in slots.iter().enumerate() {
            self.check_room(slot, 1)?;
            if slots.iter().skip(at + 1).any(|&other| other == slot) {
                let text = format!("a step must have one token of each slot: of {slot} it has two");
                return Err(Error::Options(text));
            }
        }
        Ok(())
    }

    /// A replay of the captured step, with these slots' tokens among those of all.
    fn replay(&mut self, named: &[usize], tokens: &Tensor) -> Result<Tensor, Error> {
        let device = self.decoder.device().clone();
        let (slots, last) = (self.slots(), self.capacity.saturating_sub(1));
        // Of slots that have no part in this, what is written behind their tokens is written over before anything reads it. One
        // that is full can have no token more, and nothing reads its last one.
        let positions = self.lens.iter().map(|&len| number(len.min(last)));
        let positions = positions.collect::<Result<Vec<_>, Error>>()?;
        let positions = Tensor::from_slice(&device, &positions, [slots])?;
        let inputs = [tokens, &positions];
        if self.step.is_none() {
            let (decoder, caches) = (&self.decoder, &mut self.caches);
            let captured = device.capture(&inputs, |inputs| {
                let ([tokens, positions], Some(cache)) = (inputs, caches.first()) else {
                    return Ok(Vec::new());
                };
                let place = Place::Each(&cache.positions(positions)?);
                let tokens = tokens.reshape_to([slots, 1])?;
                Ok(vec![decoder.pass(&tokens, &place, caches, true)?])
            })?;
            self.step = Some(captured);
        }
        let step = self.step.as_ref().ok_or(Error::NoTokens)?;
        let outputs = step.run(&inputs)?;
        let scores = outputs.into_iter().next().ok_or(Error::NoTokens)?;
        let scores = scores.reshape_to([slots, self.decoder.config().vocabulary])?;
        for &slot in named {
            if let Some(len) = self.lens.get_mut(slot) {
                *len += 1;
            }
        }
        Ok(scores)
    }

    fn check(&self, slot: usize, tokens: &[u32]) -> Result<(), Error> {
        self.check_room(slot, tokens.len())?;
        self.decoder.check_tokens(tokens)
    }

    /// An error unless there is this slot, and it has room for so many tokens, which are some.
    fn check_room(&self, slot: usize, tokens: usize) -> Result<(), Error> {
        let Some(&len) = self.lens.get(slot) else {
            let slots = self.slots();
            let text = format!("the slot must be below {slots}: it is {slot}");
            return Err(Error::Options(text));
        };
        let (needed, limit) = (len + tokens, self.capacity);
        if needed > limit {
            return Err(Error::ContextFull { needed, limit });
        }
        if tokens == 0 {
            return Err(Error::NoTokens);
        }
        Ok(())
    }

    /// Tokens of one slot through the model.
    fn pass(&mut self, slot: usize, tokens: &[u32], last: bool) -> Result<Tensor, Error> {
        let start = self.len(slot);
        let numbers: Vec<i32> = tokens.iter().map(|&token| token.cast_signed()).collect();
        let input = Tensor::from_slice(self.decoder.device(), &numbers, [1, tokens.len()])?;
        let place = Place::Slot { slot, start };
        let scores = (self.decoder).pass(&input, &place, &mut self.caches, last)?;
        if let Some(len) = self.lens.get_mut(slot) {
            *len += tokens.len();
        }
        Ok(scores)
    }
}

/// A position as kernels count them.
fn number(at: usize) -> Result<i32, Error> {
    let text = "positions beyond 2^31";
    i32::try_from(at).map_err(|_| Error::Unsupported(text.to_owned()))
}
