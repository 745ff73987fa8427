//! How many elements are no finite numbers, and where the first one is: what a search for the origin of a NaN asks of
//! each value.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::ops::elementwise::dispatch::count;
use crate::ops::elementwise::row::FLOAT;
use crate::ops::elementwise::unary::check_dtype;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};

const OP: &str = "count_non_finite";

params! {
    /// Parameters of the count.
    pub(crate) struct NonFiniteParams {
        len: u32,
        offset: u32,
        offset_out: u32,
        first: u32,
    }
}

fn choose(dtype: DType) -> KernelChoice {
    let infinity: u32 = match dtype {
        DType::F16 => 0x7c00,
        DType::BF16 => 0x7f80,
        _ => 0x7f80_0000,
    };
    KernelChoice::new(OP)
        .name(dtype.name())
        .part("elementwise/non_finite.wgsl")
        .constant("IS_HALF", u32::from(dtype.bytes() == 2))
        .constant("INFINITY", infinity)
}

/// Catalogue entries.
pub(crate) fn variants() -> Vec<Candidate> {
    let variant = |&dtype: &DType| Candidate::new(choose(dtype), NonFiniteParams::FIELDS);
    FLOAT.iter().map(variant).collect()
}

impl Executor {
    /// Adds the number of NaNs of `a` to the first element of `out`, that of infinities to the second, and lowers the third
    /// to the least row-major position of one.
    ///
    /// ```no_run
    /// # fn example(exec: &ziggurat_kernels::Executor) -> Result<(), Box<dyn std::error::Error>> {
    /// use ziggurat_kernels::{Element, Shape};
    ///
    /// let a = exec.upload(&[1.0_f32, f32::NAN, f32::INFINITY], &Shape::new([3])?)?;
    /// let found = exec.upload(&[0, 0, u32::MAX], &Shape::new([3])?)?;
    /// let _ = exec.count_non_finite(&a, &found)?;
    /// assert_eq!(exec.download(&found)?.wait()?, *u32::write_bytes(&[1, 1, 1]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless `a` is of floats and `out` of u32; [`KernelError::Operand`] unless `out` has three
    /// elements, one behind the other; and the errors of the layers below.
    pub fn count_non_finite(&self, a: &View, out: &View) -> Result<Completion, KernelError> {
        check_dtype(OP, FLOAT, a)?;
        check_dtype(OP, &[DType::U32], out)?;
        a.check()?;
        if out.len() != 3 || !out.layout.is_contiguous() {
            return Err(KernelError::operand(
                OP,
                "out",
                "must be three words, one behind the other",
                *out.shape(),
            ));
        }
        if a.is_empty() {
            return Ok(self.completion());
        }
        let dense = if a.layout.is_contiguous() {
            a.clone()
        } else {
            self.to_dense(OP, a)?
        };
        let start = dense.layout.offset();
        self.in_parts(OP, &[&dense], &mut |part| {
            let [part] = part else { return Ok(()) };
            let (read, write) = (self.bind_read(OP, part)?, self.bind_write(OP, out)?);
            let params = NonFiniteParams {
                len: count(OP, part.len())?,
                offset: read.offset,
                offset_out: write.offset,
                first: count(OP, part.layout.offset().saturating_sub(start))?,
            };
            let grid = Grid::stride(u64::from(params.len), 1);
            self.launch(&choose(part.dtype), &[read.arg, write.arg], &params, grid)
        })?;
        Ok(self.completion())
    }
}
