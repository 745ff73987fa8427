//! [`Program`]: the dispatches of a piece of work, noted once, to be run again on other memory.
//!
//! While a [`Noting`] lives, the executor's dispatches on that thread are checked and noted instead of recorded.
//! What comes out does not know buffers but places: one of those that were given, memory between dispatches, or a table
//! of the library. Numbers of expressions are parameters of a kernel, and stay parameters of the program.
//!
//! Invariants: whoever runs a program gives memory like that of the noting: the same layouts and dtypes, the same buffers
//! where there they were the same. All device work of an op is dispatches, as [`capture`](crate::run::capture) needs too.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use ziggurat_core::DType;
use ziggurat_memory::Buffer;
use ziggurat_pipeline::{Arg, Grid, Kernel, PreparedDispatch};

use crate::fused::number_bits;
use crate::run::error::KernelError;
use crate::run::executor::Executor;

const OP: &str = "program";

/// Where a dispatch finds a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// One of those that are given.
    Given(usize),
    /// Memory between dispatches.
    Scratch(usize),
    /// What the program holds itself.
    Own(usize),
    /// A buffer with one of the numbers that are given.
    Number(usize),
}

#[derive(Clone, Debug)]
struct Step {
    dispatch: PreparedDispatch,
    places: Box<[Place]>,
    params: Box<[u32]>,
    /// Words of the parameters that are numbers.
    numbers: Box<[(usize, usize)]>,
    /// Numbers that are read from a buffer.
    number_buffers: Box<[usize]>,
}

/// Dispatches without their memory: see [`Executor::note`].
#[derive(Clone, Debug)]
pub struct Program {
    steps: Vec<Step>,
    /// Bytes of each buffer between dispatches.
    scratch: Vec<u64>,
    own: Vec<Buffer>,
}

impl Program {
    /// Dispatches of one run.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is nothing to dispatch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether both do the same.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        let steps = self.steps.iter().zip(&other.steps);
        self.len() == other.len()
            && self.scratch == other.scratch
            && steps.into_iter().all(|(a, b)| {
                let like = a.places == b.places && a.params == b.params;
                like && a.numbers == b.numbers && a.dispatch.same(&b.dispatch)
            })
    }
}

/// What a thread notes.
#[derive(Debug, Default)]
struct Notes {
    given: Vec<u64>,
    numbers: Vec<(DType, u64)>,
    /// Buffers that hold one of the numbers.
    number_buffers: Vec<(u64, usize)>,
    scratch: Vec<(u64, u64)>,
    program_steps: Vec<Step>,
    own: Vec<Buffer>,
    /// Whether something came up that a program cannot have.
    is_foreign: bool,
}

thread_local! {
    static IS_NOTING: Cell<bool> = const { Cell::new(false) };
    static NOTES: RefCell<Option<Box<Notes>>> = const { RefCell::new(None) };
}

/// Keeps this thread noting until it is finished or dropped. See [`Executor::note`].
#[derive(Debug)]
#[must_use = "nothing is noted once it is dropped"]
pub struct Noting(PhantomData<*const ()>);

impl Drop for Noting {
    fn drop(&mut self) {
        IS_NOTING.set(false);
        NOTES.set(None);
    }
}

impl Noting {
    /// Says that a buffer holds a number of the expression: a program looks for the buffer of its own number there.
    pub fn holds_number(&self, buffer: &Buffer, dtype: DType, value: f64) {
        with_notes(|notes| {
            match number(&notes.numbers, dtype, value.to_bits()) {
                Some(at) => notes.number_buffers.push((buffer.id(), at)),
                None => notes.is_foreign = true,
            };
        });
    }

    /// The program of what was dispatched, `outputs` being given behind what was given at the beginning. `None` if it does
    /// something that no program can repeat.
    #[must_use]
    pub fn finish(self, outputs: &[&Buffer]) -> Option<Program> {
        let notes = NOTES.take()?;
        if notes.is_foreign {
            return None;
        }
        let known = notes.given.len();
        let output = |scratch: usize| {
            let (id, _) = notes.scratch.get(scratch)?;
            // What was given back and handed out again is a buffer of its own.
            let is_last = notes.scratch.iter().rposition(|(other, _)| other == id) == Some(scratch);
            let at = outputs.iter().position(|output| output.id() == *id)?;
            is_last.then_some(known + at)
        };
        let steps = || notes.program_steps.iter();
        let is_used = |at: usize| steps().any(|step| step.places.contains(&Place::Scratch(at)));
        // Outputs were allocated like memory between dispatches.
        let mut scratch = Vec::new();
        let mut places = Vec::with_capacity(notes.scratch.len());
        for (at, (_, bytes)) in notes.scratch.iter().enumerate() {
            places.push(match output(at) {
                Some(given) => Place::Given(given),
                None => {
                    if is_used(at) {
                        scratch.push(*bytes);
                    }
                    Place::Scratch(scratch.len().saturating_sub(1))
                }
            });
        }
        let mut steps = notes.program_steps;
        for place in steps.iter_mut().flat_map(|step| &mut step.places) {
            if let Place::Scratch(at) = *place {
                *place = places.get(at).copied()?;
            }
        }
        Some(Program {
            steps,
            scratch,
            own: notes.own,
        })
    }
}

fn number(numbers: &[(DType, u64)], dtype: DType, bits: u64) -> Option<usize> {
    numbers.iter().position(|known| *known == (dtype, bits))
}

fn with_notes(f: impl FnOnce(&mut Notes)) {
    NOTES.with_borrow_mut(|notes| {
        if let Some(notes) = notes {
            f(notes);
        }
    });
}

impl Notes {
    fn place(&mut self, buffer: &Buffer) -> Place {
        let id = buffer.id();
        if let Some(at) = self.given.iter().position(|known| *known == id) {
            return Place::Given(at);
        }
        if let Some(at) = self.scratch.iter().rposition(|(known, _)| *known == id) {
            return Place::Scratch(at);
        }
        if let Some((_, at)) = self.number_buffers.iter().find(|(known, _)| *known == id) {
            return Place::Number(*at);
        }
        let known = self.own.iter().position(|own| own.id() == id);
        Place::Own(known.unwrap_or_else(|| {
            self.own.push(buffer.clone());
            self.own.len() - 1
        }))
    }
}

/// Calls `f` as if this thread noted nothing: for work that is done once and is no part of what is noted.
pub(crate) fn unnoted<R>(f: impl FnOnce() -> R) -> R {
    struct Restored(bool);
    impl Drop for Restored {
        fn drop(&mut self) {
            IS_NOTING.set(self.0);
        }
    }
    let _restored = Restored(IS_NOTING.replace(false));
    f()
}

/// A word of a dispatch's parameters that is a number of an expression, as its dtype holds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberAt {
    pub(crate) word: usize,
    pub(crate) dtype: DType,
    pub(crate) bits: u64,
}

impl Executor {
    /// Notes what this thread dispatches with this executor, instead of recording it, until [`Noting::finish`]. `given` is
    /// the memory that a repetition brings along, `numbers` are those of the expressions, each once. `None` while the
    /// thread notes already or captures.
    pub fn note<'a>(
        &self,
        given: impl Iterator<Item = &'a Buffer>,
        numbers: &[(DType, f64)],
    ) -> Option<Noting> {
        if IS_NOTING.get() || self.is_capturing() {
            return None;
        }
        let numbers = numbers
            .iter()
            .map(|(dtype, value)| (*dtype, value.to_bits()));
        NOTES.set(Some(Box::new(Notes {
            given: given.map(Buffer::id).collect(),
            numbers: numbers.collect(),
            ..Notes::default()
        })));
        IS_NOTING.set(true);
        Some(Noting(PhantomData))
    }

    /// Records a program with this memory, by its place among what was given, outputs behind it, and with these numbers.
    ///
    /// # Errors
    /// [`KernelError::Memory`] if there is no room for memory between dispatches, [`KernelError::Internal`] if memory or
    /// numbers are fewer than the program needs, and the errors of the layers below.
    pub fn run_program<'a>(
        &self,
        program: &'a Program,
        given: impl Fn(usize) -> Option<&'a Buffer>,
        numbers: &[(DType, f64)],
    ) -> Result<(), KernelError> {
        let mut scratch = Vec::with_capacity(program.scratch.len());
        for bytes in &program.scratch {
            scratch.push(self.memory().alloc(*bytes)?);
        }
        for step in &program.steps {
            let mut number_buffers = Vec::new();
            for at in &step.number_buffers {
                let (dtype, value) = *numbers.get(*at).ok_or_else(missing)?;
                number_buffers.push((*at, self.scalar(dtype, value)?.buffer));
            }
            let buffer = |place: &Place| match *place {
                Place::Given(at) => given(at),
                Place::Scratch(at) => scratch.get(at),
                Place::Own(at) => program.own.get(at),
                Place::Number(at) => {
                    let mut number_buffers = number_buffers.iter();
                    number_buffers
                        .find(|(number, _)| *number == at)
                        .map(|(_, buffer)| buffer)
                }
            };
            let [first, rest @ ..] = &*step.places else {
                self.dispatch_step(step, &[], numbers)?;
                continue;
            };
            let mut few = [buffer(first).ok_or_else(missing)?; FEW_BUFFERS];
            let mut many = Vec::new();
            let len = step.places.len();
            let buffers = match few.get_mut(1..len) {
                Some(slots) => {
                    for (slot, place) in slots.iter_mut().zip(rest) {
                        *slot = buffer(place).ok_or_else(missing)?;
                    }
                    few.get(..len).unwrap_or_default()
                }
                None => {
                    for place in &step.places {
                        many.push(buffer(place).ok_or_else(missing)?);
                    }
                    &many
                }
            };
            self.dispatch_step(step, buffers, numbers)?;
        }
        Ok(())
    }

    #[inline]
    fn dispatch_step(
        &self,
        step: &Step,
        buffers: &[&Buffer],
        numbers: &[(DType, f64)],
    ) -> Result<(), KernelError> {
        let (params, dispatch) = (&*step.params, &step.dispatch);
        let dispatch = |words: &[u32]| {
            let words = bytemuck::cast_slice(words);
            self.pipelines().dispatch_prepared(dispatch, buffers, words)
        };
        if step.numbers.is_empty() {
            return Ok(dispatch(params)?);
        }
        let mut few = [0; FEW_WORDS];
        let mut many = Vec::new();
        let words = match few.get_mut(..params.len()) {
            Some(words) => words,
            None => {
                many.resize(params.len(), 0);
                &mut many[..]
            }
        };
        words.copy_from_slice(params);
        for (word, at) in &step.numbers {
            let number = numbers.get(*at).zip(words.get_mut(*word));
            let ((dtype, value), word) = number.ok_or_else(missing)?;
            *word = number_bits(*dtype, *value);
        }
        Ok(dispatch(words)?)
    }

    /// Records a dispatch, or notes it: every dispatch of this crate goes through here. `numbers` says which parameters are
    /// numbers of an expression.
    pub(crate) fn dispatch(
        &self,
        kernel: &Kernel,
        args: &[Arg<'_>],
        params: &[u32],
        grid: Grid,
        numbers: impl Iterator<Item = NumberAt>,
    ) -> Result<(), KernelError> {
        let bytes = bytemuck::cast_slice(params);
        if !IS_NOTING.get() {
            return Ok(self.pipelines().dispatch(kernel, args, bytes, grid)?);
        }
        let Some(dispatch) = self.pipelines().prepare(kernel, args, bytes, grid)? else {
            return Ok(());
        };
        with_notes(|notes| {
            let places = args.iter().filter_map(Arg::buffer);
            let places: Box<[Place]> = places.map(|buffer| notes.place(buffer)).collect();
            let number_buffers = places.iter().filter_map(|place| match place {
                Place::Number(at) => Some(*at),
                _ => None,
            });
            let mut known = Vec::new();
            let mut params: Box<[u32]> = params.into();
            for at in numbers {
                match (
                    number(&notes.numbers, at.dtype, at.bits),
                    params.get_mut(at.word),
                ) {
                    (Some(number), Some(word)) => {
                        known.push((at.word, number));
                        *word = 0;
                    }
                    _ => notes.is_foreign = true,
                }
            }
            notes.program_steps.push(Step {
                dispatch,
                number_buffers: number_buffers.collect(),
                places,
                params,
                numbers: known.into(),
            });
        });
        Ok(())
    }

    /// What kernels depend on and what may change while a device is open: what was noted before such a change is not what
    /// would be dispatched after it.
    #[inline]
    #[must_use]
    pub fn kernel_state(&self) -> u64 {
        self.pipelines().tuning().generation() << 1 | u64::from(self.has_native_halves())
    }

    /// Notes memory that was allocated for an op.
    pub(crate) fn note_alloc(&self, buffer: &Buffer) {
        if IS_NOTING.get() {
            with_notes(|notes| notes.scratch.push((buffer.id(), buffer.bytes())));
        }
    }
}

#[cold]
fn missing() -> KernelError {
    KernelError::internal(OP, "a program gets all its memory and numbers")
}

/// Words of parameters that need no allocation.
const FEW_WORDS: usize = 128;
/// Buffers of a dispatch that need no allocation.
const FEW_BUFFERS: usize = 8;
