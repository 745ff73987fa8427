//! Grids over vectors: each vector along one axis of a common shape and repeated along all others, which is a view.

use ziggurat_core::{Layout, Shape, ShapeError};

use crate::compose::assemble::{check_dtype, check_shape};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

const OP: &str = "meshgrid";

/// The common shape of grids over vectors, and each grid as a layout: pure.
///
/// ```
/// use ziggurat_kernels::{Grids, Layout, Shape};
///
/// let vectors = [Shape::new([2])?, Shape::new([3])?];
/// let grids = Grids::new(&vectors, true)?;
/// assert_eq!(grids.shape().dims(), [2, 3]);
/// assert_eq!(grids.layout(1, &Layout::contiguous(vectors[1]))?.strides(), [0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grids {
    shape: Shape,
    ij: bool,
}

impl Grids {
    /// Grids over vectors (or single elements) of these shapes: with `ij`, grid `i` varies along axis `i`; without (NumPy's
    /// "xy") the first two axes are exchanged.
    ///
    /// # Errors
    /// [`KernelError::Operand`] for a shape of more than one axis; [`KernelError::Shape`] for too many vectors or elements.
    pub fn new(vectors: &[Shape], ij: bool) -> Result<Self, KernelError> {
        if let Some(wrong) = vectors.iter().find(|vector| vector.dims().len() > 1) {
            return Err(KernelError::Operand {
                op: OP,
                operand: "an operand",
                rule: "must be a vector",
                got: Box::new(*wrong),
            });
        }
        let mut dims: Vec<usize> = vectors.iter().map(Shape::len).collect();
        if !ij && dims.len() > 1 {
            dims.swap(0, 1);
        }
        let shape = Shape::new(dims).map_err(KernelError::shape(OP))?;
        Ok(Self { shape, ij })
    }

    /// The shape of every grid.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Grid `index` over the memory of its vector.
    ///
    /// # Errors
    /// None for a layout of the shape that the grids were made for.
    pub fn layout(&self, index: usize, vector: &Layout) -> Result<Layout, ShapeError> {
        let axis = match index {
            0 | 1 if !self.ij && self.shape.dims().len() > 1 => 1 - index,
            _ => index,
        };
        let stride = match vector.strides() {
            [stride] => *stride,
            _ => 0,
        };
        let strides: Vec<isize> = (0..self.shape.dims().len())
            .map(|own| if own == axis { stride } else { 0 })
            .collect();
        Layout::new(self.shape, &strides, vector.offset())
    }
}

impl View {
    /// The given vectors as grids over all of them, without copying: with `ij`, grid `i` varies along axis `i`; without
    /// (NumPy's "xy") the first two axes are exchanged. [`Executor::meshgrid`] writes them to memory of their own.
    ///
    /// # Errors
    /// [`KernelError::Operand`] for a view of more than one axis; [`KernelError::Shape`] for too many views or elements.
    pub fn meshgrid(vectors: &[&Self], ij: bool) -> Result<Vec<Self>, KernelError> {
        let shapes: Vec<Shape> = vectors.iter().map(|vector| *vector.shape()).collect();
        let grids = Grids::new(&shapes, ij)?;
        let mut views = Vec::with_capacity(vectors.len());
        for (index, vector) in vectors.iter().enumerate() {
            let layout = grids.layout(index, &vector.layout);
            views.push(vector.with_layout(layout.map_err(KernelError::shape(OP))?)?);
        }
        Ok(views)
    }
}

impl Executor {
    /// [`View::meshgrid`] into `outs`, one per vector and of its dtype.
    ///
    /// ```
    /// use ziggurat_kernels::{DType, Executor, Shape, device::DeviceOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let exec = Executor::open_blocking(DeviceOptions::default())?;
    /// let (x, y) = (exec.upload(&[1_u8, 2], &Shape::new([2])?)?, exec.upload(&[5_u8, 6], &Shape::new([2])?)?);
    /// let shape = Shape::new([2, 2])?;
    /// let outs = [exec.alloc(&shape, DType::U8)?, exec.alloc(&shape, DType::U8)?];
    /// let _done = exec.meshgrid(&[&x, &y], true, &[&outs[0], &outs[1]])?;
    /// assert_eq!(exec.download(&outs[0])?.wait()?, [1, 1, 2, 2]);
    /// assert_eq!(exec.download(&outs[1])?.wait()?, [5, 6, 5, 6]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`View::meshgrid`]; [`KernelError::Option`] unless there are as many outputs; [`KernelError::Output`] and
    /// [`KernelError::Dtype`] for one of another shape or dtype.
    pub fn meshgrid(
        &self,
        vectors: &[&View],
        ij: bool,
        outs: &[&View],
    ) -> Result<Completion, KernelError> {
        let grids = View::meshgrid(vectors, ij)?;
        if grids.len() != outs.len() {
            return Err(KernelError::Option {
                op: OP,
                option: "the number of outputs",
                rule: "must be that of the vectors",
                got: i64::try_from(outs.len()).unwrap_or(i64::MAX),
            });
        }
        for (grid, out) in grids.iter().zip(outs) {
            check_shape(OP, out, grid.shape())?;
            let rule = "it must have the dtype of its vector";
            check_dtype(OP, "out", out.dtype, out.dtype == grid.dtype, rule)?;
            crate::run::launch::check_output(OP, out)?;
        }
        // A vector that lies where a grid will be must be read before anything is written.
        let mut own = Vec::with_capacity(vectors.len());
        for vector in vectors {
            let shared = outs
                .iter()
                .any(|out| out.buffer.same_memory(&vector.buffer));
            own.push(if shared {
                self.to_dense(OP, vector)?
            } else {
                (*vector).clone()
            });
        }
        let grids = View::meshgrid(&own.iter().collect::<Vec<_>>(), ij)?;
        for (grid, out) in grids.iter().zip(outs) {
            let _copied = self.copy(grid, out)?;
        }
        Ok(self.completion())
    }
}
