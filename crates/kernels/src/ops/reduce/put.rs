//! How kernels that keep rows write their results.

use ziggurat_core::DType;

use super::geometry::ReduceGeometry;
use super::kernel::sample;
use super::lanes::{self, Registers};
use crate::limits::ability::Ability;
use crate::source::choice::KernelChoice;

/// How rows of results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// One element at a time, of rows that lie in memory in any way.
    Elements,
    /// Four neighbours at a time, of rows of whole vectors.
    Vec4,
    /// Rows that lie one behind the other and are no whole vectors: all of a workgroup together, in vectors, by way of workgroup
    /// memory.
    Staged,
}

impl Put {
    /// How a kernel writes rows of `len` neighbours without workgroup memory.
    pub(crate) const fn direct(len: u64) -> Self {
        if len.is_multiple_of(4) {
            Self::Vec4
        } else {
            Self::Elements
        }
    }

    /// Whether kernels that write so, and read in vectors or not, take elements one by one: neighbours in memory are those of
    /// neighbouring lanes then.
    pub(crate) fn one_by_one(self, read: bool) -> bool {
        !read && self != Self::Vec4
    }

    /// Appends the parts that write results of a dtype.
    pub(crate) fn parts(self, choice: KernelChoice, dtype: DType) -> KernelChoice {
        let choice = choice.store(dtype);
        let direct = "reduce/put_direct.wgsl";
        match self {
            Self::Elements => choice
                .writes(dtype, false)
                .parts(&["reduce/put_elements.wgsl", direct]),
            Self::Vec4 => choice
                .writes(dtype, true)
                .parts(&["reduce/put_vec4.wgsl", direct]),
            Self::Staged => choice.part("reduce/put_staged.wgsl"),
        }
    }
}

/// How kernels with an epilogue read, four elements at a time or not, and write.
pub(crate) const BEFORE_EPILOGUES: [(bool, Put); 2] = [(false, Put::Elements), (true, Put::Vec4)];
/// The same of kernels without one.
pub(crate) const ACCESSES: [(bool, Put); 3] = [
    (false, Put::Elements),
    (true, Put::Vec4),
    (false, Put::Staged),
];

/// Rows of a sample that lanes keep in registers and write so, for catalogues.
pub(crate) fn sample_of(put: Put) -> (ReduceGeometry, Option<Registers>) {
    let (long, _) = sample();
    let geometry = match put {
        Put::Staged => ReduceGeometry::rows(64, 65),
        Put::Elements | Put::Vec4 => long,
    };
    let (outputs, len, side) = (geometry.outputs, geometry.len, geometry.side());
    let registers = lanes::registers(outputs, len, side, &Ability::WEBGPU);
    let registers = match put {
        Put::Staged => registers.and_then(|registers| registers.staged(len, true)),
        Put::Elements | Put::Vec4 => registers,
    };
    (geometry, registers)
}
