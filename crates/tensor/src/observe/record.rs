//! Recording what a program computes into a folder: each operation with what it reads and what comes out.
//!
//! `calls.jsonl` has a line for the recording, one for each operation, and one at the end; values and the texts of kernels are
//! files in the same folder. An elementwise op, and everything that is a [`Call`](ziggurat_kernels::Call), is written as what it is,
//! so that another device computes it in its own way; other operations are written as what they dispatch.
//!
//! Invariants: what is read is what the operation read, also where it writes over it; a recording without its last line is
//! not complete.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use ziggurat_kernels::View;
use ziggurat_memory::Buffer;
use ziggurat_pipeline::{DispatchObserver, ObservedDispatch, ObservedWorkgroups};

use super::files::Folder;
use super::place::Place;
use super::{Mode, Operation, Watched, Watcher, What};
use crate::{Device, Error};

const OP: &str = "record_calls";
pub(super) const VERSION: u64 = 1;
pub(super) const FILE: &str = "calls.jsonl";

/// Writes a recording.
#[derive(Debug)]
pub(super) struct Recorder {
    folder: Folder,
    books: Mutex<Books>,
}

#[derive(Debug)]
struct Books {
    lines: BufWriter<File>,
    calls: usize,
    failure: Option<Error>,
}

impl Recorder {
    fn start(device: &Device, folder: &Path) -> Result<Self, Error> {
        let (folder, path) = (Folder::new(folder), folder.join(FILE));
        folder.make()?;
        let file = File::create_new(&path).map_err(|error| Error::io("create", &path, error))?;
        let adapter = device.adapter();
        let recorder = Self {
            folder,
            books: Mutex::new(Books {
                lines: BufWriter::new(file),
                calls: 0,
                failure: None,
            }),
        };
        recorder.write(&json!({
            "ziggurat_recording": VERSION,
            "adapter": adapter.name,
            "driver": adapter.driver,
            "backend": adapter.backend.to_string(),
        }))?;
        Ok(recorder)
    }

    fn write(&self, line: &Value) -> Result<(), Error> {
        let written = writeln!(self.books.lock().lines, "{line}");
        written.map_err(|error| Error::io("write", &self.folder.path(FILE), error))
    }

    fn has_failed(&self) -> bool {
        self.books.lock().failure.is_some()
    }

    /// The value, or nothing and the recording has failed.
    fn kept<T>(&self, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.books.lock().failure.get_or_insert(error);
                None
            }
        }
    }

    /// Writes the line of an operation.
    fn call(&self, mut line: Value) {
        let mut books = self.books.lock();
        if books.failure.is_some() {
            return;
        }
        line["call"] = json!(books.calls);
        books.calls += 1;
        if let Err(error) = writeln!(books.lines, "{line}") {
            books.failure = Some(Error::io("write", &self.folder.path(FILE), error));
        }
    }
}

impl What<'_> {
    /// What it is as a text, and of which kind; `None` for what is only known by its dispatches.
    fn text(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Elementwise(op) => Some(("elementwise", op.to_text()?)),
            Self::Call(call) => Some(("operation", call.to_text()?)),
            Self::Dispatches | Self::Replay => None,
        }
    }
}

impl Watcher for Recorder {
    fn begin<'a>(
        self: Arc<Self>,
        device: &'a Device,
        operation: Operation<'a>,
    ) -> Box<dyn Watched + 'a> {
        let text = operation.what.text();
        let save = |view: &Option<&View>| match view {
            Some(view) if !self.has_failed() => self
                .kept(self.folder.keep_view(device, view))
                .unwrap_or_default(),
            _ => Value::Null,
        };
        let inputs = operation.inputs.iter().flatten().map(save).collect();
        let log = text.is_none().then(|| {
            // Memory that was allocated for the result has nothing in it that is read.
            let new = operation
                .outputs
                .iter()
                .filter(|_| operation.inputs.is_none());
            Rc::new(Log {
                recorder: Arc::clone(&self),
                device: device.clone(),
                new: new.map(|view| view.buffer.id()).collect(),
                pages: RefCell::default(),
            })
        });
        Box::new(Recorded {
            recorder: self,
            device,
            operation,
            text,
            inputs,
            log,
        })
    }
}

/// An operation that is recorded.
struct Recorded<'a> {
    recorder: Arc<Recorder>,
    device: &'a Device,
    operation: Operation<'a>,
    text: Option<(&'static str, String)>,
    inputs: Vec<Value>,
    log: Option<Rc<Log>>,
}

impl Watched for Recorded<'_> {
    fn observer(&self) -> Option<Rc<dyn DispatchObserver>> {
        Some(Rc::clone(self.log.as_ref()?) as Rc<_>)
    }

    fn end(self: Box<Self>, ran: bool) {
        let recorder = &self.recorder;
        if !ran || recorder.has_failed() {
            return;
        }
        let mut outputs = Vec::with_capacity(self.operation.outputs.len());
        for view in &self.operation.outputs {
            let kept = recorder.folder.keep_view(self.device, view);
            let Some(mut value) = recorder.kept(kept) else {
                return;
            };
            if let Some(log) = &self.log {
                // Where in the memory of the dispatches it lies.
                value["buffer"] = json!(log.number(&view.buffer));
                value["start"] = json!(view.layout.span().map_or(0, |(low, _)| low));
            }
            outputs.push(value);
        }
        let mut line = json!({
            "op": self.operation.name,
            "inputs": self.inputs,
            "outputs": outputs,
            "caller": Place::here().caller(),
        });
        match (&self.text, &self.log) {
            (Some((kind, text)), _) => line[*kind] = json!(text),
            (None, Some(log)) => {
                let pages = log.pages.take();
                line["dispatches"] = json!(pages.dispatches);
                line["buffers"] = pages.buffers.into_iter().map(|(_, value)| value).collect();
            }
            (None, None) => {}
        }
        recorder.call(line);
    }
}

/// What an operation dispatches, and what is in the memory that it binds before that.
struct Log {
    recorder: Arc<Recorder>,
    device: Device,
    /// Buffers in which nothing is yet.
    new: Vec<u64>,
    pages: RefCell<Pages>,
}

#[derive(Default)]
struct Pages {
    /// Kept until the end, so that each has a number of its own.
    buffers: Vec<(Buffer, Value)>,
    dispatches: Vec<Value>,
}

impl Log {
    /// Which of the buffers it is.
    fn number(&self, buffer: &Buffer) -> Option<usize> {
        let pages = self.pages.borrow();
        let mut buffers = pages.buffers.iter();
        buffers.position(|(known, _)| known.id() == buffer.id())
    }

    fn meet(&self, buffer: &Buffer) -> Option<usize> {
        if let Some(number) = self.number(buffer) {
            return Some(number);
        }
        let value = if self.new.contains(&buffer.id()) {
            json!({ "bytes": buffer.bytes() })
        } else {
            let folder = &self.recorder.folder;
            self.recorder
                .kept(folder.keep_buffer(&self.device, buffer))?
        };
        let mut pages = self.pages.borrow_mut();
        pages.buffers.push((buffer.clone(), value));
        Some(pages.buffers.len() - 1)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl DispatchObserver for Log {
    fn dispatch(&self, dispatch: &ObservedDispatch<'_>) {
        if self.recorder.has_failed() {
            return;
        }
        let descriptor = dispatch.descriptor();
        let text = descriptor.source.text();
        let Some(file) = self.recorder.kept(self.recorder.folder.keep_kernel(&text)) else {
            return;
        };
        let mut bindings = Vec::new();
        for bound in dispatch.buffers() {
            let Some(number) = self.meet(bound.buffer) else {
                return;
            };
            bindings.push(json!([number, bound.offset, bound.bytes, bound.writes]));
        }
        let workgroups = match dispatch.workgroups() {
            ObservedWorkgroups::Counts(counts) => json!(counts),
            ObservedWorkgroups::Indirect(buffer, offset) => {
                let Some(number) = self.meet(buffer) else {
                    return;
                };
                json!({ "buffer": number, "offset": offset })
            }
        };
        let constants: Vec<Value> = (descriptor.constants.iter())
            .map(|(name, value)| json!([name, value.to_bits()]))
            .collect();
        let uniforms = dispatch.uniforms();
        let uniforms: Vec<Value> = uniforms
            .map(|(group, binding, bytes)| json!([group, binding, hex(bytes)]))
            .collect();
        self.pages.borrow_mut().dispatches.push(json!({
            "kernel": descriptor.source.name(),
            "wgsl": file,
            "entry": descriptor.entry,
            "constants": constants,
            "zeroed": descriptor.zero_workgroup_memory,
            "ordered": descriptor.ordered_loads,
            "immediates": hex(dispatch.immediates()),
            "uniforms": uniforms,
            "workgroups": workgroups,
            "bindings": bindings,
        }));
    }
}

/// A recording that [`Device::record_calls`] began. It is complete when it is finished.
#[derive(Debug)]
#[must_use = "the recording ends when this is dropped, without its last line"]
pub struct CallRecording {
    device: Device,
    recorder: Arc<Recorder>,
}

impl CallRecording {
    /// Ends the recording: how many operations it has.
    ///
    /// # Errors
    /// If a file could not be written, or a value not be read.
    pub fn finish(self) -> Result<usize, Error> {
        let recorder = Arc::clone(&self.recorder);
        drop(self);
        let mut books = recorder.books.lock();
        if let Some(error) = &books.failure {
            return Err(error.clone());
        }
        let calls = books.calls;
        let written = writeln!(books.lines, "{}", json!({ "end": calls }));
        let written = written.and_then(|()| books.lines.flush());
        written.map_err(|error| Error::io("write", &recorder.folder.path(FILE), error))?;
        Ok(calls)
    }
}

impl Drop for CallRecording {
    fn drop(&mut self) {
        self.device.watch().end();
    }
}

impl Device {
    /// Records every operation that runs on this device, on any thread, into a new folder, until the returned guard is
    /// finished: what it is, what it reads, what comes out. [`RecordedCalls`](crate::RecordedCalls) and `cargo xtask replay`
    /// run that on another device and say which operation gives something else there.
    ///
    /// Operations run one by one when they are called, as under [`Device::trace_nan`], and each waits for its values: a
    /// recording is for one evaluation, not for a day. [`Device::record_kernels`] records fused kernels as they are.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, RecordedCalls, ReplayOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let folder = std::env::temp_dir().join(format!("recording-{}", std::process::id()));
    /// let recording = device.record_calls(&folder)?;
    /// let x = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
    /// let y = x.matmul(&x)?.softmax(-1)?;
    /// assert_eq!(recording.finish()?, 2);
    /// let recorded = RecordedCalls::open(&folder)?;
    /// let report = recorded.replay(&device, &ReplayOptions::default().exact())?;
    /// assert_eq!((report.compared, report.first()), (2, None));
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the folder has a recording or cannot be written, if the device is traced or recorded already, or this thread is in a
    /// capture.
    pub fn record_calls(&self, folder: impl AsRef<Path>) -> Result<CallRecording, Error> {
        self.record(folder.as_ref(), Mode::Recorded)
    }

    /// [`Device::record_calls`] with operations fused as always: what is recorded of a fused kernel is its WGSL.
    ///
    /// # Errors
    /// As [`Device::record_calls`].
    pub fn record_kernels(&self, folder: impl AsRef<Path>) -> Result<CallRecording, Error> {
        self.record(folder.as_ref(), Mode::RecordedFused)
    }

    fn record(&self, folder: &Path, mode: Mode) -> Result<CallRecording, Error> {
        if self.executor().is_capturing() {
            let rule = "a capture cannot be recorded: nothing runs in it";
            return Err(Error::argument(OP, rule));
        }
        self.watch().refuse_second(OP)?;
        let recorder = Arc::new(Recorder::start(self, folder)?);
        self.watch()
            .begin(OP, mode, Arc::clone(&recorder) as Arc<_>)?;
        Ok(CallRecording {
            device: self.clone(),
            recorder,
        })
    }
}
