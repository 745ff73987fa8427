//! Copies between buffers by a kernel.
//!
//! On large data a kernel moves several times as many bytes per second as the driver's copy, and it does not end the
//! compute pass. It moves whole 16-byte vectors of the target; up to 12 bytes before the first and after the last one
//! go by the driver's copy, and so does everything small, odd, or within one buffer. Invariants: each byte is copied
//! once; a copy that [`Memory::copy`](ziggurat_memory::Memory::copy) refuses is refused here with the same error,
//! before anything is recorded.

use ziggurat_memory::Buffer;

use crate::arguments::Arg;
use crate::descriptor::{KernelDescriptor, KernelKey};
use crate::error::PipelineError;
use crate::grid::Grid;
use crate::params::{own_part, params_part};
use crate::pipelines::Pipelines;
use crate::source::ShaderSource;

/// Fewer bytes than this are the driver's.
const SMALLEST: u64 = 16 << 10;

/// A vector of the kernel.
const VECTOR: u64 = 16;

const PARAMS: (&str, &str) = own_part("copy/params.wgsl");
const ALIGNED: (&str, &str) = own_part("copy/aligned.wgsl");
const SHIFTED: (&str, &str) = own_part("copy/shifted.wgsl");

/// The kernel's parameters, all `u32` and in this order.
pub const COPY_PARAMS: [&str; 3] = ["first_a", "first_out", "len"];

/// The copy kernels with their parameters declared by `params`, for checks that need no device.
pub fn copy_kernels(
    params: (&'static str, &'static str),
    workgroup_size: u32,
) -> [KernelDescriptor; 2] {
    [ALIGNED, SHIFTED].map(|body| descriptor(params, body, workgroup_size))
}

fn descriptor(
    params: (&'static str, &'static str),
    body: (&'static str, &'static str),
    workgroup_size: u32,
) -> KernelDescriptor {
    let source = ShaderSource::new(body.0.trim_end_matches(".wgsl"))
        .part(params.0, params.1)
        .part(PARAMS.0, PARAMS.1)
        .part(body.0, body.1);
    KernelDescriptor::new(source).constant("WG", f64::from(workgroup_size))
}

/// One dispatch: a range of each buffer to bind, and where in it to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    source: (u64, u64),
    target: (u64, u64),
    /// In elements of the binding, and the number of vectors.
    params: [u32; 3],
}

/// How a copy is carried out; offsets relative to its start.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plan {
    /// Bytes before the first vector.
    head: u64,
    runs: Vec<Run>,
    /// Where the bytes after the last vector begin.
    tail: u64,
    shifted: bool,
}

/// Plans a copy from word-aligned offsets; `None` if a binding cannot hold a single vector.
fn plan(from: u64, to: u64, bytes: u64, alignment: u64, max_binding: u64) -> Option<Plan> {
    let alignment = alignment.max(VECTOR);
    let head = (to.next_multiple_of(VECTOR) - to).min(bytes);
    let body = (bytes - head) / VECTOR * VECTOR;
    let shifted = !(from + head).is_multiple_of(VECTOR);
    // A binding begins up to `alignment` before its data.
    let longest = max_binding.checked_sub(alignment)? / VECTOR * VECTOR;
    if longest == 0 {
        return None;
    }
    let element = if shifted { 4 } else { VECTOR };
    let mut runs = Vec::new();
    let mut done = 0;
    while done < body {
        let length = longest.min(body - done);
        let span = |start: u64| {
            let first = start / alignment * alignment;
            (first, start + length - first)
        };
        let source = span(from + head + done);
        let target = span(to + head + done);
        runs.push(Run {
            source,
            target,
            params: [
                u32::try_from((source.1 - length) / element).ok()?,
                u32::try_from((target.1 - length) / VECTOR).ok()?,
                u32::try_from(length / VECTOR).ok()?,
            ],
        });
        done += length;
    }
    Some(Plan {
        head,
        runs,
        tail: head + body,
        shifted,
    })
}

impl Pipelines {
    /// Records a copy of `bytes` from one buffer to another, or within one, by a kernel where that is faster.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::copy`](ziggurat_memory::Memory::copy), as [`PipelineError::Memory`]: offsets must be
    /// multiples of four and so must `bytes`, unless the range ends where the target ends. Those of
    /// [`kernel`](Self::kernel) and [`dispatch`](Self::dispatch).
    pub fn copy(
        &self,
        source: &Buffer,
        source_offset: u64,
        target: &Buffer,
        target_offset: u64,
        bytes: u64,
    ) -> Result<(), PipelineError> {
        let driver = |skip: u64, bytes: u64| {
            let (from, to) = (source_offset + skip, target_offset + skip);
            self.memory().copy(source, from, target, to, bytes)
        };
        let plan = self.copy_plan(source, source_offset, target, target_offset, bytes);
        let Some(plan) = plan else {
            return Ok(self
                .memory()
                .copy(source, source_offset, target, target_offset, bytes)?);
        };
        let body = if plan.shifted { SHIFTED } else { ALIGNED };
        let workgroup_size = self.caps().workgroup_size;
        let key = KernelKey::new("copy")
            .tag(body.0)
            .number(workgroup_size.into());
        let kernel = self.kernel_for(&key, || {
            let params = params_part(self.caps(), 4 * COPY_PARAMS.len());
            descriptor(params, body, workgroup_size)
        })?;
        if plan.head > 0 {
            driver(0, plan.head)?;
        }
        for run in &plan.runs {
            let args = [
                Arg::read(source).range(run.source.0, run.source.1),
                Arg::write(target).range(run.target.0, run.target.1),
            ];
            let [a, out, len] = run.params.map(u32::to_le_bytes);
            let params = [a, out, len];
            let grid = Grid::stride(u64::from(run.params[2]), 1);
            self.dispatch(&kernel, &args, params.as_flattened(), grid)?;
        }
        if plan.tail < bytes {
            driver(plan.tail, bytes - plan.tail)?;
        }
        Ok(())
    }

    /// The kernel's way, if this copy is legal and worth it.
    fn copy_plan(
        &self,
        source: &Buffer,
        from: u64,
        target: &Buffer,
        to: u64,
        bytes: u64,
    ) -> Option<Plan> {
        let within = |offset: u64, buffer: &Buffer| {
            let end = offset.checked_add(bytes);
            offset.is_multiple_of(4) && end.is_some_and(|end| end <= buffer.bytes())
        };
        // A tape holds dispatches only, and a wrapped buffer may lack a usage or end within a word.
        let plain = !source.is_wrapped() && !target.is_wrapped() && !self.is_taping();
        let whole = bytes.is_multiple_of(4) || to.checked_add(bytes) == Some(target.bytes());
        let legal = within(from, source) && within(to, target) && whole;
        if !legal || !plain || bytes < SMALLEST || source.same_memory(target) {
            return None;
        }
        let caps = self.caps();
        plan(
            from,
            to,
            bytes,
            caps.storage_alignment.into(),
            caps.max_binding_bytes,
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Carries a plan out on host memory.
    fn carry_out(
        plan: &Plan,
        from: usize,
        to: usize,
        bytes: usize,
        old: &[u8],
        data: &[u8],
    ) -> Vec<u8> {
        let mut out = old.to_vec();
        let head = plan.head as usize;
        out[to..to + head].copy_from_slice(&data[from..from + head]);
        for run in &plan.runs {
            let element = if plan.shifted { 4 } else { 16 };
            let [a, o, len] = run.params.map(|param| param as usize);
            let source = run.source.0 as usize + a * element;
            let target = run.target.0 as usize + o * 16;
            assert_eq!(source + len * 16, (run.source.0 + run.source.1) as usize);
            assert_eq!(target + len * 16, (run.target.0 + run.target.1) as usize);
            out[target..target + len * 16].copy_from_slice(&data[source..source + len * 16]);
        }
        let tail = plan.tail as usize;
        out[to + tail..to + bytes].copy_from_slice(&data[from + tail..from + bytes]);
        out
    }

    #[test]
    fn plans_copy_each_byte_and_no_other() {
        let data: Vec<u8> = (0..2000_usize).map(|i| (i * 31 % 251) as u8).collect();
        let old = vec![0xEE; 2000];
        for from in (0..80).step_by(4) {
            for to in (0..80).step_by(4) {
                for bytes in [1, 4, 12, 16, 20, 31, 64, 100, 1000, 1501] {
                    for max_binding in [96, 256, 10_000] {
                        let plan = plan(from, to, bytes, 32, max_binding).unwrap();
                        let (f, t, n) = (from as usize, to as usize, bytes as usize);
                        let got = carry_out(&plan, f, t, n, &old, &data);
                        let mut want = old.clone();
                        want[t..t + n].copy_from_slice(&data[f..f + n]);
                        assert!(got == want, "{from} {to} {bytes} {max_binding}");
                        for run in &plan.runs {
                            for (offset, length) in [run.source, run.target] {
                                assert!(offset % 32 == 0 && length <= max_binding);
                            }
                            assert_eq!(run.target.1 % 16, 0);
                            assert!(plan.shifted || run.source.1 % 16 == 0);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn bindings_too_small_for_a_vector_are_the_drivers() {
        assert_eq!(plan(0, 0, 100, 256, 256), None);
        assert!(plan(0, 0, 100, 256, 272).is_some());
    }
}
