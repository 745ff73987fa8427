//! [`ElementKernel`]: a body of the user's own WGSL, with everything around it.
//!
//! The user's text computes one element; how tensors lie in memory, how elements are packed, the grid and its end are
//! generated around it for the dtypes and layout classes of a call. Shapes, strides and offsets are parameters: one pipeline
//! serves all tensors of the same dtypes of which the same are dense.
//!
//! Invariants: what is generated reads nothing beyond an operand's last element (0 there) and writes nothing beyond an
//! output's; an output's elements are whole words in memory, of which no invocation loses another's.

mod text;

use std::borrow::Cow;
use std::collections::HashMap;
use std::iter;
use std::sync::{Arc, Mutex, PoisonError};

use ziggurat_core::DType;
use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, ShaderSource};

use crate::ops::numerics::halves::natively;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

pub use text::SHADER_NAMES;

/// The op's name in errors about operands.
const OP: &str = "custom";

/// Elements of one call: a multiple of the workgroup's never wraps.
const MOST_ELEMENTS: u64 = 1 << 31;

/// The type of a parameter: a scalar, or a vector of two to four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParamType {
    /// `f32`, or a vector of so many.
    F32(u32),
    /// `i32`, or a vector of so many.
    I32(u32),
    /// `u32`, or a vector of so many.
    U32(u32),
}

/// A kernel of which the user writes what happens to one element.
///
/// The text defines `fn kernel(i: u32)`, which is called once for each element of the call. By the names of the inputs and
/// outputs it finds, for an input `a`: `a_at(i)`, `a_load(index)`, `a_len()`, `a_rank()`, `a_shape(axis)` and the type
/// `a_t`; for an output `y`: `y_store(i, value)`, `y_store_at(index, value)` and the same about its shape; for what is
/// changed in place all of these. Parameters are variables of their names.
#[derive(Clone, Debug)]
pub struct ElementKernel {
    name: Cow<'static, str>,
    text: Cow<'static, str>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    updates: Vec<String>,
    params: Vec<(String, ParamType)>,
    writes_all: bool,
    made: Arc<Mutex<HashMap<Class, KernelDescriptor>>>,
}

/// What the text around the body depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Class {
    /// Of each input the dtype, and whether its elements lie one behind the other.
    inputs: Vec<(DType, bool)>,
    outputs: Vec<DType>,
    /// What is changed in place.
    updates: Vec<DType>,
    workgroup: u32,
}

impl Class {
    pub(crate) fn operands(&self) -> usize {
        self.inputs.len() + self.outputs.len() + self.updates.len()
    }

    /// Elements that one invocation computes: those of a word of the narrowest dtype that is written, so that words are
    /// written whole.
    pub(crate) fn per_invocation(&self) -> u32 {
        let written = self.outputs.iter().chain(&self.updates);
        let lanes = written.map(|dtype| dtype.lanes());
        lanes.max().unwrap_or(1) as u32
    }
}

impl ElementKernel {
    /// The same, which writes every element of every output: a sanitizer finds those that it does not write.
    #[must_use]
    pub fn writing_all(self) -> Self {
        Self {
            writes_all: true,
            made: Arc::default(),
            ..self
        }
    }

    /// A kernel of this text. Names are WGSL identifiers, which the caller checks.
    #[must_use]
    pub fn new(
        name: Cow<'static, str>,
        text: Cow<'static, str>,
        [inputs, outputs, updates]: [Vec<String>; 3],
        params: Vec<(String, ParamType)>,
    ) -> Self {
        Self {
            name,
            text,
            inputs,
            outputs,
            updates,
            writes_all: false,
            params,
            made: Arc::default(),
        }
    }

    fn describe(&self, class: &Class) -> Result<KernelDescriptor, KernelError> {
        let source = ShaderSource::new(self.name.clone());
        let source = text::before(source, self, class)?
            .part(self.name.clone(), self.text.clone())
            .part("the end of a custom kernel", text::behind(self, class));
        Ok(KernelDescriptor::new(source)
            .entry(text::ENTRY)
            .constant(text::WORKGROUP, f64::from(class.workgroup)))
    }

    fn descriptor(&self, class: Class) -> Result<KernelDescriptor, KernelError> {
        let made = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(descriptor) = made().get(&class) {
            return Ok(descriptor.clone());
        }
        let descriptor = self.describe(&class)?;
        made().insert(class, descriptor.clone());
        Ok(descriptor)
    }
}

impl Executor {
    /// Calls `kernel` for each of `elements` elements. `outputs`, and `updates`, which are changed in place, are dense from
    /// the beginning of buffers of their own; outputs hold what the kernel is to leave where it writes nothing. `params` are four words for each parameter.
    ///
    /// # Errors
    /// [`KernelError::Pipeline`] if the text is refused, with its line; if an operand, or the number of elements, is too
    /// large for one kernel; if the device fails.
    pub fn run_elements(
        &self,
        kernel: &ElementKernel,
        [inputs, outputs, updates]: [&[View]; 3],
        params: &[[u32; 4]],
        elements: u64,
    ) -> Result<(), KernelError> {
        let is_whole = inputs.len() == kernel.inputs.len()
            && outputs.len() == kernel.outputs.len()
            && updates.len() == kernel.updates.len()
            && params.len() == kernel.params.len();
        if !is_whole {
            return Err(KernelError::internal(
                OP,
                "a call has all operands and parameters of its kernel",
            ));
        }
        if elements > MOST_ELEMENTS {
            return Err(KernelError::IndexTooLarge {
                op: OP,
                elements,
                limit: MOST_ELEMENTS,
            });
        }
        let class = Class {
            inputs: inputs
                .iter()
                .map(|view| (view.dtype, view.layout.is_contiguous()))
                .collect(),
            outputs: outputs.iter().map(|view| view.dtype).collect(),
            updates: updates.iter().map(|view| view.dtype).collect(),
            workgroup: self.device().caps().workgroup_size,
        };
        let per = class.per_invocation();
        let native = self.has_native_halves();
        let (descriptor, converts) = natively(kernel.descriptor(class)?, native);
        if converts && !native {
            self.want_native_halves();
        }
        let compiled = self.pipelines().kernel(&descriptor)?;

        let mut words = vec![[u32::try_from(elements).unwrap_or(u32::MAX), 0, 0, 0]];
        let mut args: Vec<Arg<'_>> = Vec::new();
        let read = inputs.iter().map(|view| (view, false));
        let written = outputs.iter().chain(updates).map(|view| (view, true));
        for (view, is_written) in read.chain(written) {
            let bound = if is_written {
                self.bind_write(OP, view)?
            } else {
                self.bind_read(OP, view)?
            };
            args.push(bound.arg);
            words.extend(operand_words(view, bound.offset));
        }
        words.extend_from_slice(params);
        let params = words.as_flattened();
        let grid = Grid::elements(elements, per);
        self.dispatch(&compiled, &args, params, grid, iter::empty())
    }
}

/// What the shader is told of an operand: length, offset and rank, then extent and stride of eight axes.
fn operand_words(view: &View, offset: u32) -> [[u32; 4]; text::OPERAND_WORDS] {
    let word = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let mut words = [[0; 4]; text::OPERAND_WORDS];
    let mut axes = view.dims().iter().zip(view.layout.strides());
    if let Some((head, pairs)) = words.split_first_mut() {
        *head = [word(view.len()), offset, word(view.rank()), 0];
        for [extent_0, stride_0, extent_1, stride_1] in pairs {
            // A stride counts modulo 2^32, as the shader adds.
            if let Some((extent, stride)) = axes.next() {
                (*extent_0, *stride_0) = (word(*extent), *stride as u32);
            }
            if let Some((extent, stride)) = axes.next() {
                (*extent_1, *stride_1) = (word(*extent), *stride as u32);
            }
        }
    }
    words
}
