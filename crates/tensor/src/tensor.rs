//! [`Tensor`]: values of one dtype in a shape, on a device.
//!
//! A tensor is a handle: cloning it copies no values, and every operation makes a new tensor. Operations return as soon
//! as they are recorded, elementwise ones, matrix products and reductions without running anything; only reading waits. Whatever a caller
//! gets wrong is an [`Error`].
//!
//! Invariant: this file is the only one that touches a tensor's fields; operations use [`Tensor::stored`] to get at memory,
//! and to make new tensors [`Tensor::record`] if they are elementwise, [`Tensor::produce_call`] if the executor has a
//! [`Call`] for them, else [`Tensor::produce`].

mod construct;
mod eval;
mod read;
mod shape;
mod views;

use std::fmt;
use std::sync::Arc;

use ziggurat_core::{DType, Layout, Shape, ShapeError};
use ziggurat_kernels::{Call, Executor, FusedOp, KernelError, View};

use crate::lazy::{self, FusionPolicy};
use crate::node::{Handle, Input, Inputs, KernelCall, Node, same_shape};
use crate::observe::{self, Operation, What};
use crate::{Device, Error};

pub(crate) use construct::new_shape;
#[cfg(not(target_arch = "wasm32"))]
pub use read::read_many_blocking;
pub use read::{Nested, read_many};
pub(crate) use views::diagonal;

/// What a kernel that waits to be run may keep alive, whatever it makes: one more kernel behind it costs as much as reading
/// about this much.
const HELD_BYTES: u64 = 4 << 20;
/// Bytes that it may keep alive for each byte that it makes.
const HELD_FOR_EACH: u64 = 4;

/// Values of one [`DType`] in a shape of rank 0 to 8, on a device.
///
/// Cheap to clone, `Send` and `Sync`. Methods never change a tensor, they make new ones; shape methods share its memory.
///
/// ```
/// use ziggurat_tensor::{Device, DeviceOptions, Tensor, scalar};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let b = Tensor::from_slice(&device, &[3.0f32, 0.0], &[2])?;
/// let c = (&a * &b + scalar(1.0))?.sqrt()?;
/// assert_eq!(c.to_vec_blocking::<f32>()?, [2.0, 1.0, 3.1622777, 1.0]);
/// println!("{c}");
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    device: Device,
    node: Handle,
}

impl Tensor {
    /// The shape.
    pub fn shape(&self) -> &Shape {
        self.node.shape()
    }

    /// The extents, one per axis.
    #[doc(alias = "size")]
    pub fn dims(&self) -> &[usize] {
        self.node.shape().dims()
    }

    /// The number of axes.
    #[doc(alias = "dim", alias = "ndim")]
    pub fn rank(&self) -> usize {
        self.node.shape().rank()
    }

    /// The number of elements.
    #[doc(alias = "numel", alias = "nelement")]
    pub fn len(&self) -> usize {
        self.node.shape().len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.node.shape().is_empty()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.node.dtype()
    }

    /// The device that holds the values.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A tensor over memory that is (or will be, in queue order) filled.
    pub(crate) fn from_view(device: &Device, view: View) -> Self {
        Self {
            device: device.clone(),
            node: Handle::new(Node::ready(view)),
        }
    }

    /// The memory with the values, which are computed if they are not yet. The only way for an operation to reach it.
    pub(crate) fn stored(&self) -> Result<&View, Error> {
        if self.node.value().is_none() {
            lazy::evaluate(&self.device, &[self.node.node()])?;
        }
        match self.node.value() {
            Some(Ok(view)) => Ok(view),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::internal("eval", "the value was not computed")),
        }
    }

    /// How the values lie, or will lie, in memory.
    pub(crate) fn layout(&self) -> Layout {
        self.node.layout()
    }

    /// Computes what is pending of several tensors, together where their shapes agree.
    pub(crate) fn evaluate_all(tensors: &[&Self]) -> Result<(), Error> {
        let Some(first) = tensors.first() else {
            return Ok(());
        };
        let (own, others): (Vec<&Self>, Vec<&Self>) = tensors
            .iter()
            .partition(|tensor| tensor.device.same_lazy(&first.device));
        let nodes: Vec<&Arc<Node>> = own.iter().map(|tensor| tensor.node.node()).collect();
        lazy::evaluate(&first.device, &nodes)?;
        others
            .iter()
            .try_for_each(|other| other.stored().map(|_| ()))
    }

    /// A new tensor whose values an elementwise op will give; nothing runs yet.
    #[inline]
    pub(crate) fn record(
        device: &Device,
        name: &'static str,
        op: FusedOp,
        shape: &Shape,
        inputs: impl Into<Inputs>,
    ) -> Result<Self, Error> {
        Ok(Self {
            device: device.clone(),
            node: Handle::new(lazy::record(device, name, op, shape, inputs.into())?),
        })
    }

    /// [`Tensor::record`] of an op whose operands have this tensor's dtype and broadcast to its shape.
    #[inline]
    pub(crate) fn record_like(
        &self,
        name: &'static str,
        op: FusedOp,
        inputs: impl Into<Inputs>,
    ) -> Result<Self, Error> {
        self.record_under(self.device.lazy().policy(), (name, op), inputs)
    }

    /// [`Tensor::record_like`] under the policy that the caller looked up.
    #[inline]
    fn record_under(
        &self,
        policy: FusionPolicy,
        op: (&'static str, FusedOp),
        inputs: impl Into<Inputs>,
    ) -> Result<Self, Error> {
        let node = lazy::record_like(&self.device, policy, op, &self.node, inputs.into())?;
        Ok(Self {
            device: self.device.clone(),
            node: Handle::new(node),
        })
    }

    /// An op of this tensor and one of its device, dtype and shape. Where ops run one by one, most often one like it ran
    /// lately.
    #[inline]
    pub(crate) fn record_alike(
        &self,
        name: &'static str,
        op: FusedOp,
        other: &Self,
    ) -> Result<Self, Error> {
        let policy = self.device.lazy().policy();
        if policy == FusionPolicy::Unfused {
            let nodes = [Some(self.node.node()), Some(other.node.node()), None];
            if let Some(node) = lazy::again(&self.device, (name, op), self.shape(), nodes) {
                return Ok(Self {
                    device: self.device.clone(),
                    node: Handle::new(node?),
                });
            }
        }
        let inputs = [Some(self.as_own_input()), Some(other.as_own_input()), None];
        self.record_under(policy, (name, op), inputs)
    }

    /// This tensor as an operand of an op to be recorded on its own device.
    #[inline]
    pub(crate) fn as_own_input(&self) -> Input {
        Input::Node(Arc::clone(self.node.node()))
    }

    /// This tensor as an operand of an op to be recorded on `device`.
    pub(crate) fn as_input(&self, device: &Device) -> Result<Input, Error> {
        if !self.device.same_lazy(device) {
            self.stored()?;
        }
        Ok(Input::Node(Arc::clone(self.node.node())))
    }

    /// A new tensor whose values `record` writes at once.
    pub(crate) fn produce<C>(
        device: &Device,
        op: &'static str,
        shape: Shape,
        dtype: DType,
        record: impl FnOnce(&Executor, &View) -> Result<C, KernelError>,
    ) -> Result<Self, Error> {
        Self::produce_with((device, op), shape, dtype, 0.0, record)
    }

    /// [`Tensor::produce`] of an operation that may write `number`.
    pub(crate) fn produce_with<C>(
        (device, op): (&Device, &'static str),
        shape: Shape,
        dtype: DType,
        number: f64,
        record: impl FnOnce(&Executor, &View) -> Result<C, KernelError>,
    ) -> Result<Self, Error> {
        let out = device.alloc(op, &shape, dtype)?;
        let describe = || Operation {
            name: op.into(),
            what: What::Dispatches,
            inputs: None,
            is_given_non_finite: !number.is_finite(),
            outputs: vec![&out],
        };
        // The completion is not needed: later commands are ordered behind this one, and reads report its failure.
        let run = || record(device.executor(), &out).map(drop);
        observe::operation(device, describe, run).map_err(|error| Error::from_kernel(op, error))?;
        Ok(Self::from_view(device, out))
    }

    /// A new tensor of what a call computes of this tensor's values, its first operand, and of others.
    ///
    /// Where the call reads expressions, the pending expression that computes the values is part of its kernels, if they can
    /// read it. Where it writes expressions, it waits for what is done with its result, unless it makes something small of
    /// something large, which it would keep alive. `also` is a second output.
    pub(crate) fn produce_call(
        &self,
        name: &'static str,
        (shape, dtype): (Shape, DType),
        call: Call,
        others: &[&Self],
        also: Option<&View>,
    ) -> Result<Self, Error> {
        let device = &self.device;
        for other in others {
            other.stored()?;
        }
        // Results that one binding cannot hold are made in parts, of what is in memory.
        let made = (shape.len() as u64).saturating_mul(dtype.bytes() as u64);
        let whole = made <= device.caps().max_binding_bytes.saturating_sub(512);
        let mut read = None;
        if call.reads_expressions() && whole {
            let views = others.len() + 1 + usize::from(also.is_some());
            let reader = lazy::read(device, self.node.node(), &call, views);
            read = reader.map_err(|error| Error::from_kernel(name, error))?;
        }
        let kernel = KernelCall::new(name, &call, |kernel| {
            match read {
                Some(read) => {
                    kernel.before = read.names;
                    kernel.set_reader(read.reader, &read.forms);
                }
                None => kernel.push(self.stored()?.clone(), lazy::form(device, &self.node)),
            }
            for other in others {
                kernel.push(other.stored()?.clone(), lazy::form(device, &other.node));
            }
            Ok(())
        })?;
        if call.writes_expressions() {
            let held: u64 = kernel.memory().map(|view| view.buffer.bytes()).sum();
            let most = HELD_BYTES.max(made.saturating_mul(HELD_FOR_EACH));
            if !call.reads_expressions() || held <= most {
                return Ok(Self {
                    device: device.clone(),
                    node: Handle::new(lazy::defer(device, &shape, dtype, kernel, held)?),
                });
            }
        }
        let out = lazy::plain(device, &shape, dtype, &kernel, also)?;
        kernel.release();
        Ok(Self::from_view(device, out))
    }

    /// The same memory seen through another layout.
    pub(crate) fn with_layout(
        &self,
        op: &'static str,
        change: impl FnOnce(&Layout) -> Result<Layout, ShapeError>,
    ) -> Result<Self, Error> {
        let before = self.layout();
        let layout = change(&before).map_err(|error| Error::from_shape(op, error))?;
        if layout == before {
            return Ok(self.clone());
        }
        Ok(Self {
            device: self.device.clone(),
            node: Handle::new(lazy::view(self.node.node(), layout)?),
        })
    }

    /// Whether `other` has the same shape and dtype, and can stand in one expression with this.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.device.same_lazy(&other.device)
            && self.dtype() == other.dtype()
            && same_shape(self.shape(), other.shape())
    }

    /// An error unless `other` lives on the same device.
    pub(crate) fn same_device(&self, op: &'static str, other: &Self) -> Result<(), Error> {
        if self.device.same_lazy(&other.device) || self.device.same(&other.device) {
            return Ok(());
        }
        let (here, there) = (self.device.name(), other.device.name());
        Err(Error::argument(
            op,
            format!(
                "all tensors must be on one device: one is on `{here}`, one on `{there}`, opened separately"
            ),
        ))
    }
}

/// Shape, dtype and device; never reads values.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("shape", self.shape())
            .field("dtype", &self.dtype())
            .field("device", &self.device.name())
            .finish()
    }
}

/// The values, laid out as NumPy does, large tensors by their corners.
///
/// On native targets this waits for the device; a failed read prints as the error's text. In a browser nothing can wait,
/// so shape and dtype are printed: use [`Tensor::display`] there.
impl fmt::Display for Tensor {
    #[cfg(not(target_arch = "wasm32"))]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.display_blocking() {
            Ok(printed) => fmt::Display::fmt(&printed, f),
            Err(error) => write!(f, "<{error}>"),
        }
    }

    #[cfg(target_arch = "wasm32")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
