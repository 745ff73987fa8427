//! What a [`TensorKernel`](super::TensorKernel) says of its tensors and parameters.

use ziggurat_core::DType;
use ziggurat_kernels::ElementParam;

/// Sets of dtypes that an input may have.
#[derive(Clone, Copy, Debug)]
pub struct Any;

impl Any {
    /// f32, f16 and bf16, all of which kernels compute in f32.
    #[must_use]
    pub fn floats() -> InputType {
        InputType::of(&[DType::F32, DType::F16, DType::BF16])
    }

    /// i32, u32, i8 and u8, which kernels compute in 32 bits.
    #[must_use]
    pub fn integers() -> InputType {
        InputType::of(&[DType::I32, DType::U32, DType::I8, DType::U8])
    }

    /// Floats and integers.
    #[must_use]
    pub fn numbers() -> InputType {
        let all: Vec<DType> = DType::ALL
            .into_iter()
            .filter(|dtype| *dtype != DType::Bool)
            .collect();
        InputType::of(&all)
    }

    /// Every dtype.
    #[must_use]
    pub fn dtype() -> InputType {
        InputType::of(&DType::ALL)
    }
}

/// The dtypes, and perhaps the rank, that an input may have.
#[derive(Clone, Debug)]
pub struct InputType {
    dtypes: Vec<DType>,
    rank: Option<usize>,
}

impl InputType {
    fn of(dtypes: &[DType]) -> Self {
        Self {
            dtypes: dtypes.to_vec(),
            rank: None,
        }
    }

    /// Only tensors with so many axes.
    #[must_use]
    pub fn rank(mut self, rank: usize) -> Self {
        self.rank = Some(rank);
        self
    }

    pub(crate) fn dtypes(&self) -> &[DType] {
        &self.dtypes
    }

    pub(crate) fn wanted_rank(&self) -> Option<usize> {
        self.rank
    }
}

impl From<DType> for InputType {
    fn from(dtype: DType) -> Self {
        Self::of(&[dtype])
    }
}

impl<const N: usize> From<[DType; N]> for InputType {
    fn from(dtypes: [DType; N]) -> Self {
        Self::of(&dtypes)
    }
}

/// The dtype of an output, and where its shape comes from.
#[derive(Clone, Debug)]
pub struct OutputType(Of);

#[derive(Clone, Debug)]
enum Of {
    DType(DType),
    Input(String),
}

/// The dtype of an input, and its shape unless a call gives another.
#[must_use]
pub fn like(input: impl Into<String>) -> OutputType {
    OutputType(Of::Input(input.into()))
}

impl From<DType> for OutputType {
    fn from(dtype: DType) -> Self {
        Self(Of::DType(dtype))
    }
}

impl OutputType {
    /// The name of the input that it is like.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.0 {
            Of::DType(_) => None,
            Of::Input(name) => Some(name),
        }
    }

    /// The number of the input that it is like.
    pub(super) fn input(&self, inputs: &[(String, InputType)]) -> Option<usize> {
        let name = self.name()?;
        inputs.iter().position(|(input, _)| input == name)
    }

    /// Its dtype; `like` is that of the input it is like.
    pub(super) fn dtype(&self, like: Option<DType>) -> DType {
        match self.0 {
            Of::DType(dtype) => dtype,
            Of::Input(_) => like.unwrap_or(DType::F32),
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A number that a kernel takes as a parameter: `f32`, `i32`, `u32`, or an array of two to four of them (a vector in WGSL).
pub trait KernelParam: sealed::Sealed {
    #[doc(hidden)]
    fn ty(&self) -> ElementParam;
    #[doc(hidden)]
    fn words(&self) -> [u32; 4];
}

macro_rules! kernel_param {
    ($($number:ty, $variant:ident, $bits:expr;)*) => {$(
        impl sealed::Sealed for $number {}
        impl KernelParam for $number {
            fn ty(&self) -> ElementParam {
                ElementParam::$variant(1)
            }
            fn words(&self) -> [u32; 4] {
                [$bits(*self), 0, 0, 0]
            }
        }
        kernel_param!(@vector $number, $variant, $bits, 2);
        kernel_param!(@vector $number, $variant, $bits, 3);
        kernel_param!(@vector $number, $variant, $bits, 4);
    )*};
    (@vector $number:ty, $variant:ident, $bits:expr, $lanes:literal) => {
        impl sealed::Sealed for [$number; $lanes] {}
        impl KernelParam for [$number; $lanes] {
            fn ty(&self) -> ElementParam {
                ElementParam::$variant($lanes)
            }
            fn words(&self) -> [u32; 4] {
                let mut words = [0; 4];
                for (word, number) in words.iter_mut().zip(self) {
                    *word = $bits(*number);
                }
                words
            }
        }
    };
}

kernel_param! {
    f32, F32, f32::to_bits;
    i32, I32, i32::cast_unsigned;
    u32, U32, u32::from;
}
