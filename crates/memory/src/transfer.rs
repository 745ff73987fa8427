//! Moves bytes between host slices and mapped staging memory, on several threads when there are many.
//!
//! One thread moves 8 to 10 GB/s and takes the page faults of a fresh destination one by one; from
//! [`PARALLEL`] bytes the work is cut into jobs that scoped threads take from a queue. The calling
//! thread works too, so that a host that refuses new threads is only slower.

use crate::error::MemoryError;
use crate::span::{WORD, host_len};
use ziggurat_device::Device;

/// From this many bytes several threads share the work.
const PARALLEL: usize = 8 << 20;

/// Bytes of one job.
const JOB: usize = 1 << 20;

/// More threads than this no longer help: memory is the bound.
#[cfg(not(target_arch = "wasm32"))]
const MAX_THREADS: usize = 12;

/// Writes `data` at `offset` of a buffer mapped for writing, and zeros up to the next whole word.
///
/// `offset` is a multiple of `wgpu::MAP_ALIGNMENT`.
pub(crate) fn write_mapped(
    device: &Device,
    buffer: &wgpu::Buffer,
    offset: u64,
    data: &[u8],
) -> Result<(), MemoryError> {
    let job_bytes = if data.len() < PARALLEL {
        data.len()
    } else {
        JOB
    };
    if job_bytes == 0 {
        return Ok(());
    }
    let gone = || MemoryError::Map {
        bytes: buffer.size(),
    };
    let mut at = offset;
    let mut jobs = Vec::with_capacity(data.len().div_ceil(job_bytes));
    for part in data.chunks(job_bytes) {
        let end = at + (part.len() as u64).next_multiple_of(WORD);
        let view = buffer.get_mapped_range_mut(at..end).map_err(|_| gone())?;
        jobs.push((view, part));
        at = end;
    }
    let write = |(mut view, part): (wgpu::BufferViewMut, &[u8])| {
        view.slice(..part.len()).copy_from_slice(part);
        view.slice(part.len()..).fill(0);
    };
    device
        .while_mapped(buffer, || for_each_parallel(jobs, write))
        .ok_or_else(gone)
}

/// Copies pairs of equally long slices.
pub(crate) fn copy_all<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a mut [u8])>) {
    let mut jobs = Vec::new();
    for (from, to) in pairs {
        if from.len() < PARALLEL {
            jobs.push((from, to));
        } else {
            jobs.extend(from.chunks(JOB).zip(to.chunks_mut(JOB)));
        }
    }
    for_each_parallel(jobs, |(from, to)| {
        let len = from.len().min(to.len());
        if let (Some(from), Some(to)) = (from.get(..len), to.get_mut(..len)) {
            to.copy_from_slice(from);
        }
    });
}

/// A vector of `bytes` zeros whose pages are not touched yet, or an error where `vec!` would abort.
///
/// ```
/// assert_eq!(ziggurat_memory::zeroed(3)?, [0; 3]);
/// assert!(ziggurat_memory::zeroed(u64::MAX).is_err());
/// # Ok::<(), ziggurat_memory::MemoryError>(())
/// ```
///
/// # Errors
/// [`MemoryError::HostMemory`] when the host has no room.
pub fn zeroed(bytes: u64) -> Result<Vec<u8>, MemoryError> {
    let len = host_len(bytes)?;
    // `vec!` aborts when there is no memory: ask first, give back, then take zeroed pages.
    Vec::<u8>::new()
        .try_reserve_exact(len)
        .map_err(|_| MemoryError::HostMemory { requested: bytes })?;
    Ok(vec![0; len])
}

/// Does jobs that move bytes on as many threads as there are processors, at most one for two jobs and twelve in all; on the web
/// one after the other. The calling thread works too, so that a host that refuses new threads is only slower.
///
/// A job should take some tens of microseconds, next to what starting a thread takes.
///
/// ```
/// let mut squares = vec![0; 100];
/// let jobs = squares.chunks_mut(10).enumerate().collect();
/// ziggurat_memory::for_each_parallel(jobs, |(ten, chunk): (usize, &mut [usize])| {
///     for (one, square) in chunk.iter_mut().enumerate() {
///         *square = (10 * ten + one).pow(2);
///     }
/// });
/// assert_eq!((squares[7], squares[99]), (49, 9801));
/// ```
#[cfg(not(target_arch = "wasm32"))]
pub fn for_each_parallel<J: Send>(jobs: Vec<J>, work: impl Fn(J) + Sync) {
    use std::sync::OnceLock;
    use std::thread;

    static THREADS: OnceLock<usize> = OnceLock::new();
    let available =
        *THREADS.get_or_init(|| thread::available_parallelism().map_or(1, std::num::NonZero::get));
    let threads = available.min(MAX_THREADS).min(jobs.len() / 2);
    if threads < 2 {
        jobs.into_iter().for_each(work);
        return;
    }
    let queue = parking_lot::Mutex::new(jobs.into_iter());
    let worker = || {
        loop {
            let job = queue.lock().next();
            match job {
                Some(job) => work(job),
                None => break,
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // A host that has no thread to spare leaves the jobs to the others.
            let _unspawned = thread::Builder::new().spawn_scoped(scope, worker).is_err();
        }
        worker();
    });
}

/// Does jobs that move bytes, one after the other.
#[cfg(target_arch = "wasm32")]
pub fn for_each_parallel<J>(jobs: Vec<J>, work: impl Fn(J)) {
    jobs.into_iter().for_each(work);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_every_byte_on_several_threads() {
        let from: Vec<u8> = (0..PARALLEL + 12_345).map(|i| (i % 253) as u8).collect();
        let mut to = vec![0; from.len()];
        copy_all(std::iter::once((from.as_slice(), to.as_mut_slice())));
        assert!(from == to);
    }

    #[test]
    fn every_job_is_done_once() {
        let done = parking_lot::Mutex::new(vec![0; 1000]);
        for_each_parallel((0..1000_usize).collect(), |job| done.lock()[job] += 1);
        assert!(done.lock().iter().all(|&n| n == 1));
    }

    #[test]
    fn absurd_sizes_are_an_error_and_not_an_abort() {
        assert!(matches!(
            zeroed(u64::MAX),
            Err(MemoryError::HostMemory {
                requested: u64::MAX
            })
        ));
    }
}
