//! Texts that are written together: sequences join and leave while others go on.
//!
//! Invariant: a sequence's text depends on its prompt and options alone, not on its neighbours.

mod event;

use std::collections::VecDeque;
use std::task::{Poll, ready};

use ziggurat_tensor::{DType, Tensor, read_many};

#[cfg(feature = "chat")]
use crate::chat::Message;
use crate::decoder::DecoderSlots;
use crate::device_sampler::{DeviceSampler, Draw};
use crate::generation::{Finish, GenerateOptions, Piece};
use crate::sequence::{Pending, Sequence};
use crate::{Error, Model};

pub use event::{Event, SequenceId};

/// How a [`Batch`] is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchOptions {
    /// The most tokens of each sequence; without, the model's context.
    pub context: Option<usize>,
    /// The dtype of the caches of keys and values: f32, f16 or i8; without, that of the model's activations.
    pub cache: Option<DType>,
}

/// A sequence in its slot.
#[derive(Debug)]
struct Running {
    id: SequenceId,
    sequence: Sequence,
    /// What the model is to be shown of it; while a prompt is read, the rest of it.
    unread: Vec<u32>,
    /// Whether a part of the tokens that are shown together is read.
    begun: bool,
    /// What the next token comes from.
    pending: Option<Pending>,
}

/// Several texts that a model writes together, each in a slot of its own: a step of all of them reads the weights once.
///
/// A sequence joins when there is a free slot, with options and a seed of its own, and leaves when its text is complete, it fails, or
/// [`Batch::leave`] says so; the others do not notice. Its text is the one that it gives alone. The prompts of those that join are
/// read in pieces of 256 tokens, one piece per step, so that the others go on meanwhile. The step of all slots is captured
/// once, and memory is allocated when the batch is made, and not when a sequence joins.
///
/// ```no_run
/// use ziggurat_models::{Batch, BatchOptions, Event, GenerateOptions, Model};
///
/// let model = Model::open("model.gguf")?;
/// let mut batch = Batch::new(&model, 8, BatchOptions::default())?;
/// let first = batch.join("Once upon a time", &GenerateOptions::default())?;
/// batch.join("The fox", &GenerateOptions { max_tokens: Some(20), ..GenerateOptions::default() })?;
/// while !batch.is_empty() {
///     for (id, event) in batch.step()? {
///         match event {
///             Event::Piece(piece) if id == first => print!("{}", piece.text),
///             Event::Piece(_) => {}
///             Event::Finished(finish) => println!("{id}: {finish:?}"),
///             Event::Failed(error) => println!("{id}: {error}"),
///         }
///     }
/// }
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
pub struct Batch {
    model: Model,
    slots: DecoderSlots,
    cache: DType,
    /// Where the device draws: for one sequence that has read its prompt, and for all slots.
    samplers: [DeviceSampler; 2],
    /// One for each slot.
    running: Vec<Option<Running>>,
    /// Slots whose prompts are being read, the first that came first.
    reading: VecDeque<usize>,
    /// What nobody was told yet.
    events: Vec<(SequenceId, Event)>,
    next: u64,
}

impl Batch {
    /// Room for so many sequences.
    ///
    /// # Errors
    /// If there are no slots, the context is longer than the model's, or the device has not enough memory
    /// ([`Error::OutOfMemory`] where that is known before).
    pub fn new(model: &Model, slots: usize, options: BatchOptions) -> Result<Self, Error> {
        let decoder = model.decoder();
        let context = options.context.unwrap_or(decoder.config().context);
        let cache = options.cache.unwrap_or(decoder.dtype());
        let vocabulary = decoder.config().vocabulary;
        let sampler = |rows| DeviceSampler::new(decoder.device(), rows, vocabulary);
        Ok(Self {
            slots: DecoderSlots::with_cache(decoder, slots, context, cache)?,
            cache,
            samplers: [sampler(1), sampler(slots)],
            model: model.clone(),
            running: (0..slots).map(|_| None).collect(),
            reading: VecDeque::new(),
            events: Vec::new(),
            next: 0,
        })
    }

    /// How many sequences there is room for.
    pub const fn slots(&self) -> usize {
        self.slots.slots()
    }

    /// How many sequences are under way.
    pub fn len(&self) -> usize {
        self.running.iter().flatten().count()
    }

    /// Whether no sequence is under way, and nothing is left to be told.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.events.is_empty()
    }

    /// Dispatches of a step of all slots; `None` before the first one, which captures it.
    pub fn dispatches(&self) -> Option<usize> {
        self.slots.dispatches()
    }

    /// The tokens of a sequence's prompt, and those that were drawn; `None` if it has left.
    pub fn tokens(&self, id: SequenceId) -> Option<&[u32]> {
        let mut running = self.running.iter().flatten();
        let running = running.find(|running| running.id == id);
        running.map(|running| running.sequence.tokens())
    }

    /// Lets a sequence join that goes on with a prompt, as [`Model::generate`] does.
    ///
    /// # Errors
    /// [`Error::BatchFull`] if all slots are taken; if the prompt has no tokens or more than the context, an option is out of its
    /// range, or the cache is to be of another dtype than the batch's.
    pub fn join(&mut self, prompt: &str, options: &GenerateOptions) -> Result<SequenceId, Error> {
        self.enter(self.model.prompt(prompt)?, options)
    }

    /// Lets a sequence join that answers messages, as [`Model::chat`] does.
    ///
    /// # Errors
    /// As [`Batch::join`], or if the model has no template or it refuses the messages.
    #[cfg(feature = "chat")]
    pub fn join_chat(
        &mut self,
        messages: &[Message],
        options: &GenerateOptions,
    ) -> Result<SequenceId, Error> {
        self.enter(self.model.chat_prompt(messages)?, options)
    }

    fn enter(&mut self, prompt: Vec<u32>, options: &GenerateOptions) -> Result<SequenceId, Error> {
        if let Some(asked) = options.cache.filter(|&asked| asked != self.cache) {
            let cache = self.cache;
            let text = format!("the cache must be of the batch's {cache}: {asked} is asked for");
            return Err(Error::Options(text));
        }
        let sequence = (self.model).sequence(prompt, self.slots.capacity(), options)?;
        let slots = self.slots();
        let free = self.running.iter().position(Option::is_none);
        let slot = free.ok_or(Error::BatchFull { slots })?;
        let unread = sequence.shown(0, self.slots.capacity())?.tokens;
        let id = SequenceId(self.next);
        self.next += 1;
        self.slots.clear(slot);
        if let Some(place) = self.running.get_mut(slot) {
            *place = Some(Running {
                id,
                sequence,
                unread,
                begun: false,
                pending: None,
            });
        }
        self.reading.push_back(slot);
        Ok(id)
    }

    /// Cancels a sequence: its slot is free, and nothing more is told of it. Its prompt and what was drawn; `None` if it has left
    /// already.
    pub fn leave(&mut self, id: SequenceId) -> Option<Vec<u32>> {
        let is = |place: &Option<Running>| place.as_ref().is_some_and(|running| running.id == id);
        let slot = self.running.iter().position(is)?;
        let tokens = self.tokens(id).map(<[u32]>::to_vec);
        self.events.retain(|(of, _)| *of != id);
        self.free(slot);
        tokens
    }

    /// Frees a slot.
    fn free(&mut self, slot: usize) {
        if let Some(place) = self.running.get_mut(slot) {
            *place = None;
        }
        self.reading.retain(|other| *other != slot);
        self.slots.clear(slot);
    }

    /// Goes on with all sequences: each whose prompt is read gets its next token, and of the prompts one piece is read. What
    /// happened, in no particular order; nothing if there are no sequences.
    ///
    /// # Errors
    /// If the device fails; what fails for one sequence alone is an [`Event`]. The sequences stay, and their tokens can be
    /// asked for ([`Batch::tokens`]).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn step(&mut self) -> Result<Vec<(SequenceId, Event)>, Error> {
        let device = self.slots.device().clone();
        device.block_on(self.advance())
    }

    /// As `step`, for asynchronous programs. A call that is dropped before it is ready loses nothing: the next one goes on where
    /// it was.
    ///
    /// # Errors
    /// As `step`.
    pub fn advance(
        &mut self,
    ) -> impl Future<Output = Result<Vec<(SequenceId, Event)>, Error>> + Send + Unpin + '_ {
        let mut step = Some(Box::pin(self.go_on()));
        std::future::poll_fn(move |context| {
            // Behind its result nothing happens.
            let Some(future) = &mut step else {
                return Poll::Ready(Ok(Vec::new()));
            };
            let events = ready!(future.as_mut().poll(context));
            step = None;
            Poll::Ready(events)
        })
    }

    async fn go_on(&mut self) -> Result<Vec<(SequenceId, Event)>, Error> {
        self.end_spent();
        self.read()?;
        self.decode()?;
        self.draw().await?;
        self.end_spent();
        Ok(std::mem::take(&mut self.events))
    }

    /// Completes sequences that have as many tokens as they may have.
    fn end_spent(&mut self) {
        for slot in 0..self.slots() {
            let Some(running) = self.running.get_mut(slot).and_then(Option::as_mut) else {
                continue;
            };
            if running.sequence.is_spent() && running.sequence.finish().is_none() {
                let rest = running.sequence.end(Finish::MaxTokens);
                self.told(slot, Ok(rest));
            }
        }
    }

    /// Notes what was given out of a sequence, and whether it leaves.
    fn told(&mut self, slot: usize, outcome: Result<Option<Piece>, Error>) {
        let Some(running) = self.running.get(slot).and_then(Option::as_ref) else {
            return;
        };
        let (id, finish) = (running.id, running.sequence.finish());
        match outcome {
            Ok(piece) => {
                let piece = piece.map(|piece| (id, Event::Piece(piece)));
                self.events.extend(piece);
                let Some(finish) = finish else {
                    return;
                };
                self.events.push((id, Event::Finished(finish)));
            }
            Err(error) => self.events.push((id, Event::Failed(error))),
        }
        self.free(slot);
    }

    /// Reads a piece of the prompt that came first.
    fn read(&mut self) -> Result<(), Error> {
        // One token alone is a step's, as in a generation of its own.
        let alone = |running: &Running| running.unread.len() == 1 && !running.begun;
        let running = &self.running;
        let at = |slot: usize| running.get(slot).and_then(Option::as_ref);
        self.reading
            .retain(|&slot| at(slot).is_some_and(|running| !alone(running)));
        let Some(&slot) = self.reading.front() else {
            return Ok(());
        };
        let Some(running) = self.running.get_mut(slot).and_then(Option::as_mut) else {
            return Ok(());
        };
        let count = running.unread.len().min(self.slots.chunk());
        let scores = (self.slots).extend(slot, running.unread.get(..count).unwrap_or_default())?;
        running.unread.drain(..count);
        running.begun = true;
        if running.unread.is_empty() {
            running.begun = false;
            let [one, _] = &mut self.samplers;
            running.pending = Some(match running.sequence.on_device() {
                Some(draw) => Pending::Token(one.draw(&scores.unsqueeze(0)?, &[Some(draw)])?),
                None => Pending::Scores(scores),
            });
            self.reading.pop_front();
        }
        Ok(())
    }

    /// Adds the last token of every sequence that the model has seen all others of.
    fn decode(&mut self) -> Result<(), Error> {
        let ready = |(slot, place): (usize, &Option<Running>)| match place.as_ref()?.unread[..] {
            [token] if !self.reading.contains(&slot) => Some((slot, token)),
            _ => None,
        };
        let tokens: Vec<(usize, u32)> = (self.running.iter().enumerate())
            .filter_map(ready)
            .collect();
        if tokens.is_empty() {
            return Ok(());
        }
        let scores = self.slots.step(&tokens)?;
        let mut draws: Vec<Option<Draw>> = (0..self.slots()).map(|_| None).collect();
        for (slot, _) in tokens {
            let running = self.running.get_mut(slot).and_then(Option::as_mut);
            let Some((running, place)) = running.zip(draws.get_mut(slot)) else {
                continue;
            };
            running.unread.clear();
            *place = running.sequence.on_device();
            running.pending = Some(Pending::Scores(scores.narrow(0, slot, 1)?));
        }
        if draws.iter().all(Option::is_none) {
            return Ok(());
        }
        let [_, all] = &mut self.samplers;
        let drawn = all.draw(&scores, &draws)?;
        for (slot, _) in draws.iter().enumerate().filter(|(_, draw)| draw.is_some()) {
            if let Some(running) = self.running.get_mut(slot).and_then(Option::as_mut) {
                running.pending = Some(Pending::Token(drawn.narrow(0, slot, 1)?));
            }
        }
        Ok(())
    }

    /// The next token of every sequence of which one is pending, all read at once.
    async fn draw(&mut self) -> Result<(), Error> {
        let mut waiting = Vec::new();
        for (slot, place) in self.running.iter().enumerate() {
            let pending = place.as_ref().and_then(|running| running.pending.clone());
            waiting.extend(pending.map(|pending| (slot, pending)));
        }
        let tensors: Vec<&Tensor> = waiting
            .iter()
            .map(|(_, pending)| pending.tensor())
            .collect();
        let all = read_many(&tensors).await?;
        // Nothing waits from here on.
        for ((slot, pending), bytes) in waiting.iter().zip(all) {
            let slot = *slot;
            let Some(running) = self.running.get_mut(slot).and_then(Option::as_mut) else {
                continue;
            };
            running.pending = None;
            let drawn = running.sequence.draw(pending, &bytes);
            let goes_on = drawn.is_ok() && running.sequence.finish().is_none();
            let goes_on = goes_on && !running.sequence.is_spent();
            self.told(slot, drawn);
            if goes_on {
                self.show(slot);
            }
        }
        Ok(())
    }

    /// Sets what the model is to be shown of a sequence next.
    fn show(&mut self, slot: usize) {
        let (known, room) = (self.slots.len(slot), self.slots.capacity());
        let Some(running) = self.running.get_mut(slot).and_then(Option::as_mut) else {
            return;
        };
        match running.sequence.shown(known, room) {
            Ok(shown) => {
                running.unread = shown.tokens;
                if shown.anew {
                    self.slots.clear(slot);
                    self.reading.push_back(slot);
                }
            }
            Err(error) => self.told(slot, Err(error)),
        }
    }
}
