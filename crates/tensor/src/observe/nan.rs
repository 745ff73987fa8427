//! The search for the first operation whose finite inputs gave a NaN or an infinity.
//!
//! Each value of floats is counted on the device, before whatever comes next can write over it; nothing waits for the
//! counts but the report. What an operation is given that is no finite number (an uploaded NaN, a mask of -infinity) is no
//! fault of it, and infinities from which a later operation gets finite numbers (a mask below a softmax, the branch of a
//! `where` that is not taken) are findings that do not count as the first.

mod report;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use parking_lot::Mutex;
use ziggurat_core::{DType, Shape};
use ziggurat_kernels::{Executor, View};
use ziggurat_pipeline::DispatchObserver;

use super::place::Place;
use super::seen::Seen;
use super::{Mode, Operation, Watched, Watcher};
use crate::once::once;
use crate::{Device, Error};

pub use report::{NanReport, NonFinite};

const OP: &str = "trace_nan";

/// Values of one table of counts. When one is full, it is read, so that what is kept of finite values does not grow; in a
/// browser, where nothing can wait, another one is begun.
const ROWS: usize = 1024;

/// What became of a value.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    nans: u32,
    infinities: u32,
    first: u32,
}

impl Counts {
    const FINITE: Self = Self {
        nans: 0,
        infinities: 0,
        first: u32::MAX,
    };

    const fn is_finite(self) -> bool {
        self.nans == 0 && self.infinities == 0
    }
}

/// A value that is counted.
#[derive(Debug)]
struct Counted {
    shape: Shape,
    dtype: DType,
    /// Its row in the open tables; none for dtypes that have only finite numbers.
    row: Option<usize>,
    counts: Counts,
    /// The operation that wrote an input.
    from: Option<usize>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    inputs: Vec<Counted>,
    outputs: Vec<Counted>,
    is_given_non_finite: bool,
    place: Option<Place>,
}

impl Entry {
    fn values(&mut self) -> impl Iterator<Item = &mut Counted> {
        self.inputs.iter_mut().chain(&mut self.outputs)
    }

    fn reads_finite(&self) -> bool {
        !self.is_given_non_finite && self.inputs.iter().all(|input| input.counts.is_finite())
    }

    fn is_finite(&self) -> bool {
        self.outputs.iter().all(|output| output.counts.is_finite())
    }
}

#[derive(Debug, Default)]
struct Books {
    entries: Vec<Entry>,
    /// The first entry with rows in open tables.
    open: usize,
    /// Tables that are open, and how many of their rows are taken.
    tables: Vec<View>,
    rows: usize,
    /// The operation that wrote a buffer last.
    writers: HashMap<u64, usize>,
    failure: Option<Error>,
}

/// Counts what operations read and write.
#[derive(Debug, Default)]
pub(super) struct Tracer(Mutex<Books>);

impl Books {
    /// Counts a value; what it is comes with the table.
    fn count(&mut self, executor: &Executor, view: &View) -> Counted {
        let mut counted = Counted {
            shape: *view.shape(),
            dtype: view.dtype,
            row: None,
            counts: Counts::FINITE,
            from: self.writers.get(&view.buffer.id()).copied(),
        };
        if view.dtype.is_float() && !view.is_empty() && self.failure.is_none() {
            match self.row(executor, view) {
                Ok(row) => counted.row = Some(row),
                Err(error) => self.failure = Some(error),
            }
        }
        counted
    }

    fn row(&mut self, executor: &Executor, view: &View) -> Result<usize, Error> {
        let fail = |error| Error::from_kernel(OP, error);
        let wrong = |error| Error::from_shape(OP, error);
        let row = self.rows;
        if row == self.tables.len() * ROWS {
            let shape = Shape::new([ROWS, 3]).map_err(wrong)?;
            let none = [[0, 0, u32::MAX]; ROWS];
            let table = executor.upload(none.as_flattened(), &shape);
            self.tables.push(table.map_err(fail)?);
        }
        let Some(table) = self.tables.last() else {
            return Err(Error::internal(OP, "a row has a table"));
        };
        let layout = table.layout.select(0, (row % ROWS) as isize);
        let out = table.with_layout(layout.map_err(wrong)?).map_err(fail)?;
        let _counted = executor.count_non_finite(view, &out).map_err(fail)?;
        self.rows += 1;
        Ok(row)
    }

    /// Takes over the tables, which were read.
    fn fill(&mut self, read: &[Vec<u8>]) {
        let words = read.iter().flat_map(|bytes| bytes.as_chunks::<4>().0);
        let words: Vec<u32> = words.map(|word| u32::from_le_bytes(*word)).collect();
        let (rows, _) = words.as_chunks::<3>();
        for entry in self.entries.iter_mut().skip(self.open) {
            for value in entry.values() {
                if let Some(&[nans, infinities, first]) =
                    value.row.take().and_then(|row| rows.get(row))
                {
                    value.counts = Counts {
                        nans,
                        infinities,
                        first,
                    };
                }
            }
            if entry.is_finite() {
                entry.place = None;
            }
        }
        self.open = self.entries.len();
        (self.tables, self.rows) = (Vec::new(), 0);
    }

    /// Reads a full table before the next operation.
    #[cfg(not(target_arch = "wasm32"))]
    fn make_room(&mut self, executor: &Executor) {
        if self.rows < ROWS {
            return;
        }
        let tables: Vec<&View> = self.tables.iter().collect();
        match executor.download_many(&tables).and_then(|read| read.wait()) {
            Ok(read) => self.fill(&read),
            Err(error) => {
                self.failure = Some(Error::from_kernel(OP, error));
                (self.tables, self.rows) = (Vec::new(), 0);
            }
        }
    }

    fn report(&self) -> NanReport {
        // Whether what is not finite has come to the end, or every reader of it gave finite numbers.
        let mut readers: Vec<Vec<usize>> = self.entries.iter().map(|_| Vec::new()).collect();
        for (at, entry) in self.entries.iter().enumerate() {
            for from in entry.inputs.iter().filter_map(|input| input.from) {
                if let Some(readers) = readers.get_mut(from) {
                    readers.push(at);
                }
            }
        }
        let mut lasts = vec![false; self.entries.len()];
        for (at, entry) in self.entries.iter().enumerate().rev() {
            let readers = readers.get(at).map_or(&[][..], Vec::as_slice);
            let is_left = readers.is_empty()
                || readers
                    .iter()
                    .any(|reader| lasts.get(*reader) == Some(&true));
            if let Some(lasts) = lasts.get_mut(at) {
                *lasts = !entry.is_finite() && is_left;
            }
        }
        let found = (self.entries.iter().enumerate())
            // What has no inputs is what the program asked for.
            .filter(|(_, entry)| entry.reads_finite() && !entry.inputs.is_empty())
            .filter_map(|(at, entry)| entry.finding(at, lasts.get(at) == Some(&true)));
        let given = self.entries.iter().find(|entry| {
            let is_new = |input: &Counted| input.from.is_none() && !input.counts.is_finite();
            entry.is_given_non_finite || entry.inputs.iter().any(is_new)
        });
        NanReport {
            found: found.collect(),
            given: given.map(|entry| entry.name.clone()),
            operations: self.entries.len(),
        }
    }
}

impl Entry {
    fn finding(&self, call: usize, lasts: bool) -> Option<NonFinite> {
        let output = self
            .outputs
            .iter()
            .find(|output| !output.counts.is_finite())?;
        let mut rest = output.counts.first as usize;
        let mut first: Vec<usize> = Vec::with_capacity(output.shape.rank());
        for &dim in output.shape.dims().iter().rev() {
            first.push(rest % dim.max(1));
            rest /= dim.max(1);
        }
        first.reverse();
        let inputs = self.inputs.iter();
        Some(NonFinite {
            op: self.name.clone(),
            call,
            inputs: inputs.map(|input| (input.shape, input.dtype)).collect(),
            output: (output.shape, output.dtype),
            nans: output.counts.nans.into(),
            infinities: output.counts.infinities.into(),
            first,
            caller: self.place.as_ref().and_then(Place::caller),
            is_absorbed: !lasts,
        })
    }
}

impl Watcher for Tracer {
    fn begin<'a>(
        self: Arc<Self>,
        device: &'a Device,
        operation: Operation<'a>,
    ) -> Box<dyn Watched + 'a> {
        let executor = device.executor();
        let mut books = self.0.lock();
        #[cfg(not(target_arch = "wasm32"))]
        books.make_room(executor);
        // Before the operation, which may write over them.
        let known = operation.inputs.iter().flatten().flatten();
        let inputs = known.map(|input| books.count(executor, input)).collect();
        drop(books);
        Box::new(Traced {
            tracer: self,
            seen: operation.inputs.is_none().then(Rc::default),
            device,
            operation,
            inputs,
        })
    }
}

/// An operation whose values are counted.
struct Traced<'a> {
    tracer: Arc<Tracer>,
    device: &'a Device,
    operation: Operation<'a>,
    inputs: Vec<Counted>,
    seen: Option<Rc<Seen>>,
}

impl Watched for Traced<'_> {
    fn observer(&self) -> Option<Rc<dyn DispatchObserver>> {
        Some(Rc::clone(self.seen.as_ref()?) as Rc<_>)
    }

    fn end(self: Box<Self>, ran: bool) {
        if !ran {
            return;
        }
        let (executor, operation) = (self.device.executor(), self.operation);
        let mut books = self.tracer.0.lock();
        let mut inputs = self.inputs;
        for input in self.seen.iter().flat_map(|seen| seen.inputs()) {
            inputs.push(books.count(executor, &input));
        }
        let outputs: Vec<Counted> = (operation.outputs.iter())
            .map(|output| books.count(executor, output))
            .collect();
        let at = books.entries.len();
        let writes = operation.outputs.iter().map(|view| (view.buffer.id(), at));
        books.writers.extend(writes);
        let is_counted = outputs.iter().any(|output| output.row.is_some());
        books.entries.push(Entry {
            name: operation.name.into_owned(),
            inputs,
            outputs,
            is_given_non_finite: operation.is_given_non_finite,
            place: is_counted.then(Place::here),
        });
    }
}

/// The search that [`Device::trace_nan`] began. It ends when it is finished or dropped.
#[derive(Debug)]
#[must_use = "the search ends when this is dropped"]
pub struct NanTrace {
    device: Device,
    tracer: Arc<Tracer>,
}

impl NanTrace {
    /// Ends the search: what was found, when the device has counted everything.
    ///
    /// # Errors
    /// If the device is lost, or has no memory for the counts.
    pub fn finish(self) -> impl Future<Output = Result<NanReport, Error>> {
        let tracer = Arc::clone(&self.tracer);
        let device = self.device.clone();
        drop(self);
        let tables = tracer.0.lock().tables.clone();
        let read = device
            .executor()
            .download_many(&tables.iter().collect::<Vec<_>>());
        once(async move {
            let fail = |error| Error::from_kernel(OP, error);
            let read = read.map_err(fail)?.await.map_err(fail)?;
            let mut books = tracer.0.lock();
            books.fill(&read);
            match &books.failure {
                Some(error) => Err(error.clone()),
                None => Ok(books.report()),
            }
        })
    }

    /// [`NanTrace::finish`], waiting in place.
    ///
    /// # Errors
    /// As [`NanTrace::finish`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn finish_blocking(self) -> Result<NanReport, Error> {
        let device = self.device.clone();
        device.block_on(self.finish())
    }
}

impl Drop for NanTrace {
    fn drop(&mut self) {
        self.device.watch().end();
    }
}

impl Device {
    /// Begins a search for the first operation whose finite inputs give a NaN or an infinity: whatever runs on this device,
    /// on any thread, until the returned guard is finished or dropped.
    ///
    /// Meanwhile operations run one by one when they are called, so that the one that is named is the one to blame and not
    /// the kernel it would be fused into; results are the same bits. A replay of a [`Captured`](crate::Captured) computation
    /// is one operation: trace the function itself to look into it. Values that nobody asked for by then are looked at when
    /// the operations that make them run, which for those recorded before is when they are asked for. What an operation is
    /// given that is not finite, as a mask of -infinity or an uploaded NaN, is not its finding; nor is what has no inputs,
    /// as [`Tensor::full`](crate::Tensor::full).
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::from_slice(&device, &[1.0f32, 100.0, -3.0, 0.5], [2, 2])?;
    /// let trace = device.trace_nan()?;
    /// let y = ((x.exp()? - 1.0)? / 2.0)?;
    /// let report = trace.finish_blocking()?;
    /// let found = report.first().unwrap();
    /// assert_eq!((found.op.as_str(), found.infinities, found.nans), ("exp", 1, 0));
    /// assert_eq!(found.first, [0, 1]);
    /// assert!(report.check().unwrap_err().is_non_finite());
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device is traced or recorded already, or this thread is in a capture.
    #[doc(alias = "detect_anomaly", alias = "set_detect_anomaly")]
    pub fn trace_nan(&self) -> Result<NanTrace, Error> {
        if self.executor().is_capturing() {
            return Err(Error::argument(
                OP,
                "a capture cannot be traced: nothing runs in it",
            ));
        }
        let tracer = Arc::new(Tracer::default());
        self.watch()
            .begin(OP, Mode::Traced, Arc::clone(&tracer) as Arc<_>)?;
        Ok(NanTrace {
            device: self.clone(),
            tracer,
        })
    }
}
