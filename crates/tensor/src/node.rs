//! What a tensor's value is made of.
//!
//! Today a node is always a finished [`View`]: memory on the device and how to walk it. Operations nevertheless see nodes
//! only through [`Node::view`], which may fail, and shape and dtype only through [`Node::shape`] and [`Node::dtype`], which
//! may not. A node that stands for a whole elementwise expression, launched when somebody asks for its view, can
//! therefore be added here without a change to any operation or to users' code.
//!
//! Invariant: shape and dtype of a node never change.

use ziggurat_core::{DType, Shape};
use ziggurat_kernels::View;

use crate::Error;

/// One value, shared by all clones of a tensor.
#[derive(Debug)]
pub(crate) struct Node {
    value: Value,
}

#[derive(Debug)]
enum Value {
    /// In device memory, or recorded to be there when a later command reads it.
    Materialised(View),
}

impl Node {
    pub(crate) fn materialised(view: View) -> Self {
        Self {
            value: Value::Materialised(view),
        }
    }

    pub(crate) fn shape(&self) -> &Shape {
        match &self.value {
            Value::Materialised(view) => view.layout.shape(),
        }
    }

    pub(crate) fn dtype(&self) -> DType {
        match &self.value {
            Value::Materialised(view) => view.dtype,
        }
    }

    /// The memory holding the value.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "a deferred value is launched here, which can fail"
    )]
    pub(crate) fn view(&self) -> Result<&View, Error> {
        match &self.value {
            Value::Materialised(view) => Ok(view),
        }
    }
}
