//! Running a recording on another device, and comparing.
//!
//! Each operation is given what was recorded of its inputs, not what this device computed before: a difference is
//! of the operation that has it.

use std::fmt;
use std::path::Path;

use serde_json::Value;
use ziggurat_core::{DType, Layout, Shape, decode};
use ziggurat_kernels::{Call, FusedOp, KernelError, Operands, Sink, Source, View};
use ziggurat_pipeline::{
    Arg, Grid, IMMEDIATE_PART, KernelDescriptor, PipelineError, ShaderSource, UNIFORM_PART,
    params_part,
};

use super::compare::{Bound, compare};
use super::files::{Folder, form};
use super::record::{FILE, VERSION};
use crate::lazy::record_alone;
use crate::{Device, Error};

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

/// Why an operation gave no result.
enum Stop {
    /// The recording is at fault.
    Recording(Error),
    /// The device.
    Device(Error),
}

impl From<KernelError> for Stop {
    fn from(error: KernelError) -> Self {
        Self::Device(Error::from_kernel(OP, error))
    }
}

impl From<PipelineError> for Stop {
    fn from(error: PipelineError) -> Self {
        Self::Device(Error::from_pipeline(OP, error))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Recording(error)
    }
}

/// What an operation is.
enum How {
    Elementwise(FusedOp),
    Call(Box<Call>),
    Dispatches,
}

/// Runs one operation.
struct Player<'a> {
    folder: &'a Folder,
    device: &'a Device,
    line: &'a Value,
}

impl<'a> Player<'a> {
    fn wrong(&self, detail: impl fmt::Display) -> Error {
        let (call, op) = (&self.line["call"], &self.line["op"]);
        Error::format(format!("operation {call}, {op}: {detail}")).in_file(&self.folder.path(FILE))
    }

    fn list(&self, value: &'a Value, name: &str) -> Result<&'a [Value], Error> {
        let list = value[name].as_array().map(Vec::as_slice);
        list.ok_or_else(|| self.wrong(format!("there are no `{name}`")))
    }

    fn outputs(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.line["outputs"].as_array().into_iter().flatten()
    }

    fn how(&self) -> Result<How, Error> {
        let line = self.line;
        if let Some(text) = line["elementwise"].as_str() {
            let op = FusedOp::from_text(text).map_err(|error| self.wrong(error))?;
            return Ok(How::Elementwise(op));
        }
        if let Some(text) = line["operation"].as_str() {
            let call = Call::from_text(text).map_err(|error| self.wrong(error))?;
            return Ok(How::Call(Box::new(call)));
        }
        self.list(line, "dispatches").map(|_| How::Dispatches)
    }

    fn input(&self, value: &Value) -> Result<Option<View>, Stop> {
        if value.is_null() {
            return Ok(None);
        }
        let (dtype, layout, bytes) = self.folder.view(value)?;
        let buffer = self.device.executor().memory().upload(&bytes);
        let buffer = buffer.map_err(KernelError::from)?;
        Ok(Some(View::new(buffer, layout, dtype)?))
    }

    /// The results, in row-major order.
    fn run(&self, how: &How) -> Result<Vec<Vec<u8>>, Stop> {
        let executor = self.device.executor();
        let outputs = match how {
            How::Dispatches => self.dispatch()?,
            How::Elementwise(_) | How::Call(_) => {
                let inputs = self.list(self.line, "inputs")?.iter();
                let inputs: Vec<Option<View>> = inputs
                    .map(|value| self.input(value))
                    .collect::<Result<_, _>>()?;
                let mut outputs = Vec::new();
                for value in self.outputs() {
                    let (dtype, layout) = form(value)?;
                    outputs.push(executor.alloc(layout.shape(), dtype)?);
                }
                self.call(how, &inputs, &outputs)?;
                outputs
            }
        };
        let views: Vec<&View> = outputs.iter().collect();
        Ok(executor.download_many(&views)?.wait()?)
    }

    fn call(&self, how: &How, inputs: &[Option<View>], outputs: &[View]) -> Result<(), Stop> {
        let executor = self.device.executor();
        let ([out, also @ ..], [Some(first), others @ ..]) = (outputs, inputs) else {
            return Err(self.wrong("it has no operands or no results").into());
        };
        match how {
            How::Elementwise(op) => {
                let operands: Vec<View> = inputs.iter().flatten().cloned().collect();
                match record_alone(executor, *op, &operands, out) {
                    Some(recorded) => drop(recorded?),
                    None => return Err(self.wrong("it has other operands than it needs").into()),
                }
            }
            How::Call(call) => {
                let mut others = others.iter().map(Option::as_ref);
                let operands = Operands {
                    first: Source::View(first),
                    others: [(); 4].map(|()| others.next().flatten()),
                };
                let sink = Sink {
                    also: also.first(),
                    ..Sink::new(out)
                };
                drop(executor.run(call, &operands, sink)?);
            }
            How::Dispatches => {}
        }
        Ok(())
    }

    fn dispatch(&self) -> Result<Vec<View>, Stop> {
        let executor = self.device.executor();
        let mut buffers = Vec::new();
        for value in self.list(self.line, "buffers")? {
            let (bytes, content) = self.folder.buffer(value)?;
            let buffer = match content {
                Some(content) => executor.memory().upload(&content),
                None => executor.memory().alloc(bytes),
            };
            buffers.push(buffer.map_err(KernelError::from)?);
        }
        for dispatch in self.list(self.line, "dispatches")? {
            let missing = || self.wrong("a dispatch of it is not whole");
            let texts = ["kernel", "wgsl", "immediates"].map(|name| dispatch[name].as_str());
            let [Some(name), Some(file), Some(immediates)] = texts else {
                return Err(missing().into());
            };
            let immediates = unhex(immediates).ok_or_else(missing)?;
            let mut text = self.folder.kernel(file)?;
            if params_part(executor.device().caps(), immediates.len()) == UNIFORM_PART {
                // As kernels of these layers are written for a device that has no immediates.
                let line = |(_, text): (_, &'static str)| text.lines().last().unwrap_or(text);
                text = text.replacen(line(IMMEDIATE_PART), line(UNIFORM_PART), 1);
            }
            let source = ShaderSource::wgsl(name.to_owned(), text);
            let zeroed = dispatch["zeroed"].as_bool().unwrap_or(true);
            let mut descriptor = KernelDescriptor::new(source).zero_workgroup_memory(zeroed);
            descriptor.entry = dispatch["entry"]
                .as_str()
                .map(|entry| entry.to_owned().into());
            for constant in self.list(dispatch, "constants")? {
                let value = constant[1].as_u64().map(f64::from_bits);
                let (Some(name), Some(value)) = (constant[0].as_str(), value) else {
                    return Err(missing().into());
                };
                descriptor = descriptor.constant(name.to_owned(), value);
            }
            let kernel = executor.pipelines().kernel(&descriptor)?;
            let mut args = Vec::new();
            for binding in self.list(dispatch, "bindings")? {
                let number = binding[0].as_u64().and_then(|at| usize::try_from(at).ok());
                let buffer = number.and_then(|at| buffers.get(at)).ok_or_else(missing)?;
                let (Some(offset), Some(bytes)) = (binding[1].as_u64(), binding[2].as_u64()) else {
                    return Err(missing().into());
                };
                let arg = match binding[3].as_bool() {
                    Some(true) => Arg::write(buffer),
                    _ => Arg::read(buffer),
                };
                args.push(arg.range(offset, bytes));
            }
            let mut uniforms = Vec::new();
            for uniform in self.list(dispatch, "uniforms")? {
                let [group, binding] =
                    [0, 1].map(|at| uniform[at].as_u64().and_then(|n| u32::try_from(n).ok()));
                let bytes = uniform[2].as_str().and_then(unhex);
                let (Some(group), Some(binding), Some(bytes)) = (group, binding, bytes) else {
                    return Err(missing().into());
                };
                uniforms.push((group, binding, bytes));
            }
            args.extend(
                (uniforms.iter())
                    .map(|(group, binding, bytes)| Arg::uniform(bytes).at(*group, *binding)),
            );
            let workgroups = [0, 1, 2].map(|axis| {
                let count = dispatch["workgroups"][axis].as_u64();
                count.and_then(|count| u32::try_from(count).ok())
            });
            let [Some(x), Some(y), Some(z)] = workgroups else {
                return Err(missing().into());
            };
            let grid = Grid::Workgroups([x, y, z]);
            executor
                .pipelines()
                .dispatch(&kernel, &args, &immediates, grid)?;
        }
        let view = |value: &Value| {
            let (dtype, layout) = form(value)?;
            let buffer = value["buffer"]
                .as_u64()
                .and_then(|at| usize::try_from(at).ok());
            let start = value["start"]
                .as_u64()
                .and_then(|at| usize::try_from(at).ok());
            let Some(buffer) = buffer.and_then(|at| buffers.get(at)) else {
                if layout.is_empty() {
                    return Ok(executor.alloc(layout.shape(), dtype)?);
                }
                return Err(self.wrong("nothing writes a result of it").into());
            };
            let offset = start.unwrap_or(0).saturating_add(layout.offset());
            let moved = Layout::new(*layout.shape(), layout.strides(), offset);
            let moved = moved.map_err(|error| self.wrong(error))?;
            Ok(View::new(buffer.clone(), moved, dtype)?)
        };
        self.outputs().map(view).collect()
    }

    /// The greatest finite number of the last operand.
    fn greatest_of_last(&self) -> Result<f64, Error> {
        let Some(value) = self.list(self.line, "inputs")?.last() else {
            return Ok(0.0);
        };
        let (dtype, _, bytes) = self.folder.view(value)?;
        let numbers = decode(dtype, &bytes).into_iter().map(f64::abs);
        Ok(numbers
            .filter(|number| number.is_finite())
            .fold(0.0, f64::max))
    }

    /// What its results may differ by.
    fn bound(&self, how: &How, options: &ReplayOptions) -> Result<Bound, Error> {
        if options.exact {
            return Ok(Bound::Exact);
        }
        let lens = |values: &[Value]| -> Result<Vec<(usize, usize)>, Error> {
            let given = values.iter().filter(|value| !value.is_null());
            given
                .map(|value| {
                    let (_, layout) = form(value)?;
                    Ok((layout.len(), layout.dims().last().copied().unwrap_or(1)))
                })
                .collect()
        };
        let inputs = lens(self.list(self.line, "inputs")?)?;
        let outputs = lens(self.list(self.line, "outputs")?)?;
        let of = |at: usize| inputs.get(at).copied().unwrap_or((1, 1));
        let results = outputs.first().map_or(1, |(len, _)| *len).max(1);
        Ok(match how {
            How::Elementwise(op) => {
                let accuracy = options.accuracy.and_then(|accuracy| accuracy(*op));
                let [ulps, per_input, absolute] = accuracy.unwrap_or([16.0, 0.0, 0.0]);
                let most = match per_input > 0.0 {
                    true => self.greatest_of_last()?,
                    false => 0.0,
                };
                Bound::Function([ulps + per_input * most, absolute])
            }
            How::Call(call) => match **call {
                Call::Matmul | Call::QuantizedLinear { .. } => Bound::Sums(of(0).1),
                Call::Conv { .. } | Call::ConvTranspose { .. } => Bound::Sums(of(1).0),
                Call::Attention { .. } => Bound::Sums(of(0).1 + of(1).0 / of(1).1.max(1)),
                Call::Softmax { .. } | Call::Norm { .. } => Bound::Sums(of(0).1),
                _ => Bound::Sums(of(0).0.div_ceil(results)),
            },
            How::Dispatches => {
                let read: usize = inputs.iter().map(|(len, _)| *len).sum();
                Bound::Sums(read.div_ceil(results))
            }
        })
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok();
    let bytes = pairs.iter().map(byte).collect::<Option<Vec<u8>>>();
    bytes.filter(|_| rest.is_empty())
}
