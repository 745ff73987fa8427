//! One call of a [`TensorKernel`]: its tensors, checked, and its dispatch.

use ziggurat_core::{Shape, broadcast_shapes};
use ziggurat_kernels::View;
use ziggurat_pipeline::with_flops;

use super::{KernelParam, OP, Param, TensorKernel, check};
use crate::named::Listed;
use crate::observe::{self, Operation, What};
use crate::tensor::new_shape;
use crate::{Device, Error, Tensor};

/// One call of a [`TensorKernel`], being put together.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct TensorCall<'a> {
    kernel: &'a TensorKernel,
    device: Option<&'a Device>,
    inputs: Listed<'a, &'a Tensor>,
    shapes: Vec<(String, Vec<usize>)>,
    params: Vec<Param>,
    elements: Option<u64>,
    flops: Option<u64>,
}

impl<'a> TensorCall<'a> {
    pub(super) fn new(kernel: &'a TensorKernel, inputs: Listed<'a, &'a Tensor>) -> Self {
        Self {
            kernel,
            device: inputs.device(),
            inputs,
            shapes: Vec::new(),
            params: Vec::new(),
            elements: None,
            flops: None,
        }
    }

    pub(super) fn on(mut self, device: &'a Device) -> Self {
        self.device = Some(device);
        self
    }

    /// The shape of an output; that of the input which it is [`like`](crate::like) unless said, or else of the first input.
    pub fn shape(mut self, output: impl Into<String>, dims: impl AsRef<[usize]>) -> Self {
        self.shapes.push((output.into(), dims.as_ref().to_vec()));
        self
    }

    /// The value of a parameter, of the type that it was declared with.
    pub fn param(mut self, name: impl Into<String>, value: impl KernelParam) -> Self {
        self.params.push(Param {
            name: name.into(),
            ty: value.ty(),
            words: value.words(),
        });
        self
    }

    /// How many elements `kernel` is called for, if not for each of the first output (or else of the first tensor that is
    /// changed in place).
    pub fn elements(mut self, elements: u64) -> Self {
        self.elements = Some(elements);
        self
    }

    /// States how many arithmetic operations the call does, a multiply-add counted as two, instead of those that the kernel
    /// states of each element ([`TensorKernel::flops_per_element`]).
    pub fn flops(mut self, flops: u64) -> Self {
        self.flops = Some(flops);
        self
    }

    /// Records the call of a kernel with one output.
    ///
    /// # Errors
    /// Those of [`Self::run_all`]; and if the kernel has several outputs.
    pub fn run(self) -> Result<Tensor, Error> {
        let kernel = self.kernel;
        if kernel.outputs.len() > 1 {
            return Err(kernel.error("it has several outputs: use run_all"));
        }
        let only = self.run_all()?.pop();
        only.ok_or_else(|| Error::internal(OP, "a kernel without outputs ran"))
    }

    /// Records the call: the outputs, in the order of their declaration.
    ///
    /// # Errors
    /// If number, dtypes or ranks of the inputs are not those of the signature, the inputs are on different devices or
    /// cannot be broadcast, an output's shape is missing, a parameter is unknown or of another type, the text does not use
    /// what is declared, or the shader is refused; the text then names the WGSL line.
    pub fn run_all(self) -> Result<Vec<Tensor>, Error> {
        if !self.kernel.updates.is_empty() {
            let detail = "it changes tensors in place: use run_in_place";
            return Err(self.kernel.error(detail));
        }
        self.run_in_place(&mut [])
    }

    /// [`Self::run_all`] of a kernel that changes tensors in place: these, in the order of their declaration. What shares
    /// their memory (clones, views, values that are not computed yet) keeps what it has: a tensor that is not alone gets a
    /// copy first.
    ///
    /// # Errors
    /// Those of [`Self::run_all`]; nothing is changed then.
    pub fn run_in_place(self, updates: &mut [&mut Tensor]) -> Result<Vec<Tensor>, Error> {
        let kernel = self.kernel;
        let below = kernel.below()?;
        let first = updates.first().map(|tensor| tensor.device().clone());
        let device = self
            .device
            .or(first.as_ref())
            .ok_or_else(|| kernel.error("a call without inputs must name a device: use call_on"))?;
        let names = kernel.inputs.iter().map(|(name, _)| name.as_str());
        let given = self.inputs.by_declaration(names);
        let given = given.map_err(|detail| kernel.error(&format!("inputs: {detail}")))?;
        check::check_inputs(kernel, ("takes", &kernel.inputs), &given, device)?;
        let changed: Vec<&Tensor> = updates.iter().map(|tensor| &**tensor).collect();
        check::check_inputs(kernel, ("changes", &kernel.updates), &changed, device)?;
        check::check_shapes(kernel, &self.shapes)?;
        let params = check::values(kernel, &self.params)?;

        let expanded = expanded(kernel, &given, &changed)?;
        let inputs: Vec<&Tensor> = match &expanded {
            Some(expanded) => expanded.iter().collect(),
            None => given,
        };
        let mut outputs = Vec::with_capacity(kernel.outputs.len());
        for (name, ty) in &kernel.outputs {
            let like = ty
                .input(&kernel.inputs)
                .or((!inputs.is_empty()).then_some(0));
            let like = like.and_then(|index| inputs.get(index)).copied();
            let given = self.shapes.iter().rev().find(|(given, _)| given == name);
            let shape = match (given, like) {
                (Some((_, dims)), _) => new_shape(OP, dims)?,
                (None, Some(like)) => *like.shape(),
                (None, None) => {
                    let detail = format!("give the shape of `{name}`: .shape({name:?}, dims)");
                    return Err(kernel.error(&detail));
                }
            };
            let dtype = ty.dtype(like.map(Tensor::dtype));
            outputs.push(if kernel.writes_all {
                device.alloc(OP, &shape, dtype)?
            } else {
                device.alloc_zeroed(OP, &shape, dtype)?
            });
        }
        Tensor::evaluate_all(&inputs)?;
        let views = inputs
            .iter()
            .map(|tensor| tensor.stored().cloned())
            .collect::<Result<Vec<View>, Error>>()?;
        let stored = updates
            .iter_mut()
            .map(|tensor| tensor.storage_mut().cloned())
            .collect::<Result<Vec<View>, Error>>()?;
        let first = outputs.iter().chain(&stored).next();
        let elements = self.elements.unwrap_or(first.map_or(0, View::len) as u64);
        let describe = || Operation {
            name: kernel.name.clone(),
            what: What::Dispatches,
            inputs: Some(views.iter().chain(&stored).map(Some).collect()),
            is_given_non_finite: false,
            outputs: outputs.iter().chain(&stored).collect(),
        };
        let executor = device.executor();
        let flops = self.flops.unwrap_or(kernel.flops.saturating_mul(elements));
        let views_of = [&views[..], &outputs, &stored];
        let run = || {
            with_flops(flops, || {
                executor.run_elements(below, views_of, &params, elements)
            })
        };
        observe::operation(device, describe, run).map_err(|error| Error::from_kernel(OP, error))?;
        let tensors = outputs.into_iter();
        Ok(tensors
            .map(|view| Tensor::from_view(device, view))
            .collect())
    }
}

/// The inputs in the shape that they and what is changed have in common, where the kernel broadcasts.
fn expanded(
    kernel: &TensorKernel,
    inputs: &[&Tensor],
    changed: &[&Tensor],
) -> Result<Option<Vec<Tensor>>, Error> {
    if !kernel.broadcast {
        return Ok(None);
    }
    let all = inputs.iter().chain(changed);
    let shapes: Vec<Shape> = all.map(|tensor| *tensor.shape()).collect();
    let common = broadcast_shapes(&shapes).map_err(|error| Error::from_shape(OP, error))?;
    if let Some(other) = changed.iter().find(|tensor| *tensor.shape() != common) {
        let (name, have) = (&kernel.name, other.dims());
        let detail = format!(
            "`{name}`: inputs of shape {common} do not fit what is changed in place, {have:?}"
        );
        return Err(Error::shape(OP, detail));
    }
    let expand = |input: &&Tensor| input.with_layout(OP, |layout| layout.expand(common));
    inputs
        .iter()
        .map(expand)
        .collect::<Result<_, _>>()
        .map(Some)
}
