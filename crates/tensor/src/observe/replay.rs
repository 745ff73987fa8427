//! Running a recording on another device, and comparing.
//!
//! Each operation is given what was recorded of its inputs, not what this device computed before: a difference is
//! of the operation that has it.

mod player;

use std::fmt;
use std::path::Path;

use serde_json::Value;
use ziggurat_core::{DType, Layout, Shape};
use ziggurat_kernels::FusedOp;

use super::compare::compare;
use super::files::Folder;
use super::record::{FILE, VERSION};
use crate::{Device, Error};
use player::{Player, Stop};

const OP: &str = "replay";

/// What an elementwise operation is documented to be exact to: units in the last place of an f32, more of them for each unit of
/// the last operand, and an absolute error; `None` if that is not known.
pub type Accuracy = fn(FusedOp) -> Option<[f64; 3]>;

/// What operations may differ by.
///
/// A result of integers or bool may not differ. Of floats each element may differ by twice the error that the operation is
/// documented to have, as both devices may be so far from the true one: for elementwise operations by
/// [`ReplayOptions::accuracy`], or 16 units in the last place; for sums of `n` products `(n / 16 + 48) ε √n` times the
/// greatest result, as matrix units promise.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayOptions {
    exact: bool,
    accuracy: Option<Accuracy>,
}

impl ReplayOptions {
    /// Results must be the same bits.
    #[must_use]
    pub fn exact(self) -> Self {
        Self {
            exact: true,
            ..self
        }
    }

    /// What elementwise operations are documented to be exact to.
    #[must_use]
    pub fn accuracy(self, accuracy: Accuracy) -> Self {
        Self {
            accuracy: Some(accuracy),
            ..self
        }
    }
}

/// An operation whose result differs from the recorded one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallDifference {
    /// Which operation of the recording, from 0.
    pub call: usize,
    /// Its name.
    pub op: String,
    /// The function of the program that called it, where it was known.
    pub caller: Option<String>,
    /// Which of its results.
    pub output: usize,
    /// Shape and dtype of the result.
    pub form: (Shape, DType),
    /// How many elements differ by more than they may.
    pub beyond: usize,
    /// The position of the element that differs most, an index for each axis.
    pub worst: Vec<usize>,
    /// What was recorded there.
    pub recorded: f64,
    /// What came out here.
    pub replayed: f64,
    /// What they may differ by.
    pub allowed: f64,
}

impl fmt::Display for CallDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, dtype) = &self.form;
        write!(
            f,
            "operation {}, {}: {} of {} elements of result {} ({dtype} {shape}) differ, most at {:?}: recorded {}, here {}, which may differ by {:.3e}",
            self.call,
            self.op,
            self.beyond,
            shape.len(),
            self.output,
            self.worst,
            self.recorded,
            self.replayed,
            self.allowed
        )?;
        match &self.caller {
            Some(caller) => write!(f, "; called by {caller}"),
            None => Ok(()),
        }
    }
}

/// An operation that cannot run here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallNotRun {
    /// Which operation of the recording, from 0.
    pub call: usize,
    /// Its name.
    pub op: String,
    /// Why: a kernel of the other device that this one does not compile, say.
    pub reason: String,
}

/// What [`RecordedCalls::replay`] found.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ReplayReport {
    /// Operations that ran and were compared.
    pub compared: usize,
    /// Those with a difference, in order.
    pub differences: Vec<CallDifference>,
    /// Those that cannot run here.
    pub not_run: Vec<CallNotRun>,
}

impl ReplayReport {
    /// The first operation whose result differs.
    #[must_use]
    pub fn first(&self) -> Option<&CallDifference> {
        self.differences.first()
    }
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first() {
            Some(first) => writeln!(f, "{first}")?,
            None => writeln!(f, "no difference in {} operations", self.compared)?,
        }
        if let [_, rest @ ..] = &self.differences[..]
            && !rest.is_empty()
        {
            writeln!(f, "{} more operations differ", rest.len())?;
        }
        for CallNotRun { call, op, reason } in &self.not_run {
            writeln!(f, "operation {call}, {op}, cannot run here: {reason}")?;
        }
        Ok(())
    }
}

/// One recorded operation.
#[derive(Debug)]
struct Recorded {
    op: String,
    line: Value,
}

/// A recording that is complete: see [`Device::record_calls`].
#[derive(Debug)]
pub struct RecordedCalls {
    folder: Folder,
    adapter: String,
    calls: Vec<Recorded>,
}

impl RecordedCalls {
    /// Opens the folder of a recording.
    ///
    /// # Errors
    /// If there is none, it is of a version that this program does not read, or it is not complete.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = Folder::new(folder.as_ref());
        let path = folder.path(FILE);
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| Error::io("read", &path, error))?;
        let wrong = |detail: String| Error::format(detail).in_file(&path);
        let mut lines = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let parsed: Value = serde_json::from_str(line)
                .map_err(|error| wrong(format!("line {}: {error}", number + 1)))?;
            lines.push(parsed);
        }
        let head = lines.first().unwrap_or(&Value::Null);
        match head["ziggurat_recording"].as_u64() {
            Some(VERSION) => {}
            Some(version) => {
                let detail =
                    format!("a recording of version {version}: this program reads {VERSION}");
                return Err(wrong(detail));
            }
            None => return Err(wrong("it does not begin as a recording".to_owned())),
        }
        let adapter = head["adapter"].as_str().unwrap_or_default().to_owned();
        let end = lines.last().and_then(|line| line["end"].as_u64());
        if end != Some((lines.len() as u64).saturating_sub(2)) {
            return Err(wrong("the recording is not complete".to_owned()));
        }
        let middle = lines.drain(1..lines.len().saturating_sub(1));
        let calls = middle.map(|line| Recorded {
            op: line["op"].as_str().unwrap_or("?").to_owned(),
            line,
        });
        Ok(Self {
            adapter,
            calls: calls.collect(),
            folder,
        })
    }

    /// The adapter that it was recorded on.
    pub fn adapter(&self) -> &str {
        &self.adapter
    }

    /// The names of its operations, in order.
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().map(|call| &*call.op)
    }

    /// Runs each operation on a device, on what was recorded of its inputs, and compares what comes out with what was
    /// recorded. Waits for each.
    ///
    /// # Errors
    /// If a file of the recording is missing or not as it was written, or an operation of it is not known; if the device fails.
    pub fn replay(&self, device: &Device, options: &ReplayOptions) -> Result<ReplayReport, Error> {
        if device.executor().is_capturing() || device.watch().is_on() {
            let rule = "recordings are not replayed in a capture, nor on a device that is traced or recorded";
            return Err(Error::argument(OP, rule));
        }
        let mut report = ReplayReport::default();
        for (at, call) in self.calls.iter().enumerate() {
            let player = Player {
                folder: &self.folder,
                device,
                line: &call.line,
            };
            let how = player.how()?;
            let results = match player.run(&how) {
                Ok(results) => results,
                Err(Stop::Recording(error)) => return Err(error),
                Err(Stop::Device(error)) if error.is_device_lost() => return Err(error),
                Err(Stop::Device(error)) => {
                    report.not_run.push(CallNotRun {
                        call: at,
                        op: call.op.clone(),
                        reason: error.to_string(),
                    });
                    continue;
                }
            };
            report.compared += 1;
            let bound = player.bound(&how, options)?;
            for (output, (value, got)) in player.outputs().zip(&results).enumerate() {
                let (dtype, layout, wanted) = self.folder.view(value)?;
                let wanted = in_order(&layout, dtype, &wanted);
                let Some(found) = compare(bound, dtype, &wanted, got) else {
                    continue;
                };
                report.differences.push(CallDifference {
                    call: at,
                    op: call.op.clone(),
                    caller: call.line["caller"].as_str().map(str::to_owned),
                    output,
                    form: (*layout.shape(), dtype),
                    beyond: found.beyond,
                    worst: position(layout.dims(), found.worst),
                    recorded: found.wanted,
                    replayed: found.got,
                    allowed: found.allowed,
                });
                break;
            }
        }
        Ok(report)
    }
}

/// The indices of an element.
fn position(dims: &[usize], at: usize) -> Vec<usize> {
    let mut rest = at;
    let mut place: Vec<usize> = Vec::with_capacity(dims.len());
    for &dim in dims.iter().rev() {
        place.push(rest % dim.max(1));
        rest /= dim.max(1);
    }
    place.reverse();
    place
}

/// Elements in row-major order.
fn in_order(layout: &Layout, dtype: DType, bytes: &[u8]) -> Vec<u8> {
    let width = dtype.bytes();
    let element = |at: usize| {
        let indices = position(layout.dims(), at);
        let axes = indices.iter().zip(layout.strides());
        let offset = axes.fold(layout.offset() as isize, |sum, (index, stride)| {
            sum.saturating_add(stride.saturating_mul(*index as isize))
        });
        let start = offset.cast_unsigned().saturating_mul(width);
        bytes
            .get(start..start.saturating_add(width))
            .unwrap_or_default()
    };
    if layout.is_contiguous() && layout.offset() == 0 {
        return bytes.to_vec();
    }
    (0..layout.len()).flat_map(element).copied().collect()
}
