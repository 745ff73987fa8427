//! Execution: workgroups over threads, each workgroup in lockstep.
//!
//! The calling thread starts alone; other threads join only once a dispatch has taken a while, or at
//! once if the program's last run says that it will, so small dispatches cost no thread. Workgroups are
//! taken in order from a counter. What a workgroup computes does not depend on which thread runs it,
//! and programs that can see the order of workgroups through atomics run on one thread.

mod atomic;
mod check;
mod control;
mod lanes;
mod machine;
mod matrix;
mod memory;
mod print;
mod subgroup;
mod texture;
mod words;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::check::Watch;
use super::ir::Code;
use super::texture::{Handle, Sampler, View};
use super::{Bound, BoundHandle, RunLimits, Stop, Storage, Trap};
use machine::Machine;

/// After this time other threads join.
const ALONE: Duration = Duration::from_micros(150);

/// One binding's words.
#[derive(Clone, Copy, Debug)]
struct Buffer<'a> {
    storage: &'a Storage,
    words: &'a [std::sync::atomic::AtomicU32],
    /// Byte of the storage where the words begin.
    start: u64,
}

/// What the threads of a run share.
#[derive(Debug)]
struct Shared<'a> {
    buffers: Vec<Buffer<'a>>,
    textures: Vec<&'a View>,
    samplers: Vec<Sampler>,
    immediates: Vec<u32>,
    workgroups: [u32; 3],
    next: AtomicU64,
    total: u64,
    limits: RunLimits,
    steps: AtomicU64,
    stop: AtomicBool,
    trap: Mutex<Option<(u64, Trap)>>,
    watch: Option<&'a Watch>,
}

/// Runs a program.
pub(super) fn run(
    code: &Code,
    (bindings, handles): (&[Bound<'_>], &[BoundHandle]),
    immediates: &[u8],
    workgroups: [u32; 3],
    limits: &RunLimits,
    watch: Option<&Watch>,
) -> Result<(), Trap> {
    let unbound = |group: u32, binding: u32| Trap {
        stop: Stop::Unbound { group, binding },
        line: 0,
        workgroup: [0; 3],
    };
    let handle = |&(group, binding): &(u32, u32)| {
        let mut all = handles.iter();
        let found = all.find(|handle| (handle.group, handle.binding) == (group, binding));
        found.map(|found| &found.what)
    };
    let view = |place: &(u32, u32)| match handle(place) {
        Some(Handle::View(view)) => Ok(&**view),
        _ => Err(unbound(place.0, place.1)),
    };
    let sampler = |place: &(u32, u32)| match handle(place) {
        Some(Handle::Sampler(sampler)) => Ok(*sampler),
        _ => Err(unbound(place.0, place.1)),
    };
    let textures = code.textures.iter().map(view).collect::<Result<_, _>>()?;
    let samplers = code
        .samplers
        .iter()
        .map(sampler)
        .collect::<Result<_, _>>()?;
    let mut buffers = Vec::with_capacity(code.bindings.len());
    for (group, binding) in &code.bindings {
        let found = bindings
            .iter()
            .find(|b| b.group == *group && b.binding == *binding);
        let Some(bound) = found else {
            return Err(unbound(*group, *binding));
        };
        // Addresses beyond 2 GiB mean "out of bounds".
        let bytes = bound.bytes.min((1 << 31) - 4) / 4 * 4;
        let words = bound.storage.words(bound.offset, bytes);
        buffers.push(Buffer {
            storage: bound.storage,
            words,
            start: bound.offset,
        });
    }
    let immediates = immediates.chunks(4).map(|bytes| {
        let mut word = [0; 4];
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = *from;
        }
        u32::from_le_bytes(word)
    });
    let total = workgroups
        .iter()
        .fold(1u64, |total, n| total.saturating_mul(u64::from(*n)));
    let shared = Shared {
        buffers,
        textures,
        samplers,
        immediates: immediates.collect(),
        workgroups,
        next: AtomicU64::new(0),
        total,
        limits: *limits,
        steps: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        trap: Mutex::new(None),
        watch,
    };
    if total == 0 {
        return Ok(());
    }
    let threads = match limits.threads {
        0 => ziggurat_core::processors(),
        n => n,
    };
    // What a checked run finds depends on the order of workgroups: it has one thread.
    let helpers = if code.ordered || code.checked || total == 1 {
        0
    } else {
        threads - 1
    };
    let mut machine = Machine::new(code, &shared);
    let is_long = code.pace.load(Relaxed).saturating_mul(total) > 2 * nanoseconds(ALONE);
    if helpers == 0 {
        work(&mut machine, &shared, None);
    } else if is_long || work(&mut machine, &shared, Some(ALONE)) {
        let left = total.saturating_sub(shared.next.load(Relaxed));
        let helpers = helpers.min(usize::try_from(left).unwrap_or(usize::MAX));
        std::thread::scope(|scope| {
            for _ in 0..helpers {
                let work = || work(&mut Machine::new(code, &shared), &shared, None);
                // A thread that the system refuses is done without.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work(&mut machine, &shared, None);
        });
    }
    match shared.trap.into_inner() {
        Some((_, trap)) => Err(trap),
        None => Ok(()),
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Runs workgroups until none is left, or for so long; says whether some may be left, and remembers how
/// long each took.
fn work(machine: &mut Machine<'_>, shared: &Shared<'_>, most: Option<Duration>) -> bool {
    let start = Instant::now();
    let mut done = 0;
    loop {
        let group = shared.next.fetch_add(1, Relaxed);
        if group >= shared.total || shared.stop.load(Relaxed) {
            if let Some(pace) = nanoseconds(start.elapsed()).checked_div(done) {
                machine.code.pace.store(pace, Relaxed);
            }
            return false;
        }
        if let Some(trap) = machine.workgroup(group) {
            shared.stop.store(true, Relaxed);
            let mut first = shared.trap.lock();
            let cause = !matches!(trap.stop, Stop::Elsewhere);
            if cause && first.as_ref().is_none_or(|(other, _)| group < *other) {
                *first = Some((group, trap));
            }
            return false;
        }
        done += 1;
        if most.is_some_and(|most| start.elapsed() > most) {
            return true;
        }
    }
}
