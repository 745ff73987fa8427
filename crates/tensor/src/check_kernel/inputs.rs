//! Inputs of a check: elements, and how they lie in memory.

use std::fmt;

use ziggurat_core::encode;

use super::HostValues;
use crate::{DType, Device, Error, Tensor};

/// What lies between the elements of a view.
const BETWEEN: f64 = 99.0;

/// Elements of an input: quarters from -4 to 4, or small whole numbers.
pub(super) fn host_values(number: usize, dims: &[usize], dtype: DType) -> HostValues {
    let mut state = 0x9e37_79b9_u32.wrapping_mul(number as u32 + 1);
    let len: usize = dims.iter().product();
    let values = (0..len).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let small = f64::from(state >> 24) - 128.0;
        match dtype {
            DType::Bool => f64::from(state >> 31),
            DType::U8 | DType::U32 => (small / 8.0 + 16.0).floor(),
            DType::I8 | DType::I32 => (small / 8.0).floor(),
            _ => (small / 8.0).floor() * 0.25,
        }
    });
    HostValues {
        dims: dims.to_vec(),
        values: values.collect(),
        dtype,
    }
}

/// How an input lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lies {
    Dense,
    Moved,
    Stepped,
    Reversed,
    Transposed,
}

impl Lies {
    pub(super) const ALL: [Self; 5] = [
        Self::Dense,
        Self::Moved,
        Self::Stepped,
        Self::Reversed,
        Self::Transposed,
    ];

    /// The elements, laid out so.
    pub(super) fn tensor(self, device: &Device, input: &HostValues) -> Result<Tensor, Error> {
        let (dims, dtype) = (&input.dims, input.dtype);
        let rank = dims.len();
        let make = |values: &[f64], dims: &[usize]| {
            Tensor::from_bytes(device, &encode(dtype, values), dims, dtype)
        };
        let (Some((first, _)), Some((last, outer))) = (dims.split_first(), dims.split_last())
        else {
            return make(&input.values, dims);
        };
        match self {
            Self::Dense => make(&input.values, dims),
            Self::Moved => {
                let row: usize = dims.iter().skip(1).product();
                let values = [&vec![BETWEEN; row], &input.values[..]].concat();
                let mut longer = dims.clone();
                longer.splice(..1, [first + 1]);
                make(&values, &longer)?.slice(0, 1..)
            }
            Self::Stepped => {
                let values: Vec<f64> = input.values.iter().flat_map(|x| [*x, BETWEEN]).collect();
                let longer = [outer, &[last * 2]].concat();
                make(&values, &longer)?.slice_step(-1, .., 2)
            }
            Self::Reversed => {
                let values: Vec<f64> = input.values.iter().rev().copied().collect();
                let axes: Vec<isize> = (0..).take(rank).collect();
                make(&values, dims)?.flip(&axes)
            }
            Self::Transposed => {
                let turned: Vec<usize> = dims.iter().rev().copied().collect();
                let axes: Vec<isize> = (0..).take(rank).collect();
                let back: Vec<isize> = axes.iter().rev().copied().collect();
                make(&input.values, dims)?
                    .permute(&back)?
                    .contiguous()?
                    .reshape(turned.iter().map(|n| n.cast_signed()).collect::<Vec<_>>())?
                    .permute(&back)
            }
        }
    }
}

impl fmt::Display for Lies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dense => "dense",
            Self::Moved => "behind other elements",
            Self::Stepped => "every second element",
            Self::Reversed => "reversed",
            Self::Transposed => "transposed",
        })
    }
}
