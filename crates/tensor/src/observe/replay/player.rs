//! Runs one recorded operation.

use std::fmt;

use serde_json::Value;
use ziggurat_core::{Layout, decode};
use ziggurat_kernels::{
    Call, CallKind, FusedOp, KernelError, MatmulPrecision, Operands, Sink, Source, View,
};
use ziggurat_pipeline::{
    Arg, Grid, IMMEDIATE_PART, KernelDescriptor, PipelineError, ShaderSource, UNIFORM_PART,
    params_part,
};

use super::super::compare::Bound;
use super::super::files::{Folder, form};
use super::super::record::FILE;
use super::{OP, ReplayOptions};
use crate::lazy::record_alone;
use crate::{Device, Error};

/// Why an operation gave no result.
pub(super) enum Stop {
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
pub(super) enum How {
    Elementwise(FusedOp),
    Call(Box<Call>),
    Dispatches,
}

/// Runs one operation.
pub(super) struct Player<'a> {
    pub(super) folder: &'a Folder,
    pub(super) device: &'a Device,
    pub(super) line: &'a Value,
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

    pub(super) fn outputs(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.line["outputs"].as_array().into_iter().flatten()
    }

    pub(super) fn how(&self) -> Result<How, Error> {
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
    pub(super) fn run(&self, how: &How) -> Result<Vec<Vec<u8>>, Stop> {
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
                    others: [(); 5].map(|()| others.next().flatten()),
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
            let mut descriptor = KernelDescriptor::new(source)
                .zero_workgroup_memory(zeroed)
                .ordered_loads(dispatch["ordered"].as_bool().unwrap_or_default());
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
            let (pipelines, counts) = (executor.pipelines(), &dispatch["workgroups"]);
            if let Some(offset) = counts["offset"].as_u64() {
                let number = counts["buffer"].as_u64();
                let number = number.and_then(|at| usize::try_from(at).ok());
                let counts = number.and_then(|at| buffers.get(at)).ok_or_else(missing)?;
                pipelines.dispatch_indirect(&kernel, &args, &immediates, (counts, offset))?;
                continue;
            }
            let workgroups = [0, 1, 2].map(|axis| {
                let count = counts[axis].as_u64();
                count.and_then(|count| u32::try_from(count).ok())
            });
            let [Some(x), Some(y), Some(z)] = workgroups else {
                return Err(missing().into());
            };
            let grid = Grid::Workgroups([x, y, z]);
            pipelines.dispatch(&kernel, &args, &immediates, grid)?;
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
    pub(super) fn bound(&self, how: &How, options: &ReplayOptions) -> Result<Bound, Error> {
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
            How::Call(call) => match call.kind() {
                CallKind::Matmul { precision } => Bound::Sums(match precision {
                    MatmulPrecision::Highest => of(0).1,
                    // 2^-11 of the terms, in units of 2^-24.
                    _ => of(0).1 + (1 << 13),
                }),
                CallKind::QuantizedLinear { .. } => Bound::Sums(of(0).1),
                CallKind::Conv { .. } | CallKind::ConvTranspose { .. } => Bound::Sums(of(1).0),
                CallKind::Attention { .. } => Bound::Sums(of(0).1 + of(1).0 / of(1).1.max(1)),
                CallKind::Softmax { .. } | CallKind::Norm { .. } => Bound::Sums(of(0).1),
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
