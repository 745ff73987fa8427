//! Forms with a trailing underscore, which change the tensor they are called on.
//!
//! Tensors are values: the variable gets the result, and clones and views made before keep what they had (PyTorch's would
//! change too). The result is written over the old memory where nothing else holds it and it fits; else it is new memory.
//! Shape and dtype stay: a result of another shape, or of a higher category, is an error and changes nothing.

use crate::operand::{Operand, Side};
use crate::scalar::category;
use crate::{Error, Scalar, Tensor};

impl Tensor {
    /// Takes a result's place, in the dtype of before.
    fn become_(&mut self, op: &'static str, result: &Self) -> Result<(), Error> {
        if result.shape() != self.shape() {
            let rule = "the result must have the shape of the tensor that it is written to";
            let given = format!("{:?} is written to {:?}", result.dims(), self.dims());
            return Err(Error::shape(op, format!("{rule}: {given}")));
        }
        if category(result.dtype()) > category(self.dtype()) {
            let rule =
                "the result must not be of a higher category than the tensor that it is written to";
            let given = format!("{} is written to {}", result.dtype(), self.dtype());
            return Err(Error::dtype(op, format!("{rule}: {given}")));
        }
        *self = result.converted(op, self.dtype())?;
        Ok(())
    }

    /// Every element becomes `value`.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn fill_(&mut self, value: impl Into<Scalar>) -> Result<(), Error> {
        let result = self.full_like(value)?;
        self.become_("fill_", &result)
    }

    /// Every element becomes 0 (false).
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn zero_(&mut self) -> Result<(), Error> {
        self.fill_(0)
    }

    /// [`Tensor::clamp`] of `self`, in place.
    ///
    /// # Errors
    /// As [`Tensor::add_`].
    pub fn clamp_(&mut self, low: impl Operand, high: impl Operand) -> Result<(), Error> {
        let result = self.clamp(low, high)?;
        self.become_("clamp_", &result)
    }

    /// [`Tensor::lerp`] of `self`, in place.
    ///
    /// # Errors
    /// As [`Tensor::lerp`] and [`Tensor::add_`].
    pub fn lerp_(&mut self, end: &Self, weight: impl Operand) -> Result<(), Error> {
        let result = self.lerp(end, weight)?;
        self.become_("lerp_", &result)
    }

    /// [`Tensor::addcmul`] of `self`, in place.
    ///
    /// # Errors
    /// As [`Tensor::addcmul`] and [`Tensor::add_`].
    pub fn addcmul_(&mut self, a: &Self, b: &Self, value: impl Into<Scalar>) -> Result<(), Error> {
        let result = self.addcmul(a, b, value)?;
        self.become_("addcmul_", &result)
    }

    /// [`Tensor::addcdiv`] of `self`, in place.
    ///
    /// # Errors
    /// As [`Tensor::addcdiv`] and [`Tensor::add_`].
    pub fn addcdiv_(&mut self, a: &Self, b: &Self, value: impl Into<Scalar>) -> Result<(), Error> {
        let result = self.addcdiv(a, b, value)?;
        self.become_("addcdiv_", &result)
    }

    /// [`Tensor::masked_fill`] of `self`, in place.
    ///
    /// # Errors
    /// As [`Tensor::masked_fill`]; the mask must broadcast to the shape of `self`.
    pub fn masked_fill_(&mut self, mask: &Self, value: impl Operand) -> Result<(), Error> {
        let result = self.masked_fill(mask, value)?;
        self.become_("masked_fill_", &result)
    }
}

macro_rules! numbered_in_place {
    ($($name:ident, $method:ident($($number:ident),*);)*) => {
        impl Tensor {
            $(#[doc = concat!("[`Tensor::", stringify!($method), "`] of `self`, in place.")]
            ///
            /// # Errors
            #[doc = concat!("As [`Tensor::", stringify!($method), "`]; and for integers where that gives floats.")]
            pub fn $name(&mut self, $($number: f64),*) -> Result<(), Error> {
                let result = self.$method($($number),*)?;
                self.become_(stringify!($name), &result)
            })*
        }
    };
}

numbered_in_place! {
    leaky_relu_, leaky_relu(slope);
    elu_, elu(alpha);
    celu_, celu(alpha);
    softplus_, softplus(beta, threshold);
    hard_sigmoid_, hard_sigmoid(alpha, beta);
    hard_tanh_, hard_tanh(low, high);
    thresholded_relu_, thresholded_relu(alpha);
}

macro_rules! binary_in_place {
    ($($(#[$doc:meta])* $name:ident, $method:ident;)*) => {
        impl Tensor {
            $($(#[$doc])*
            ///
            /// # Errors
            #[doc = concat!("As [`Tensor::", stringify!($method), "`]; and if the result has another shape than `self`, or is of a higher")]
            /// category (a float for integers).
            pub fn $name(&mut self, other: impl Operand) -> Result<(), Error> {
                let result = self.$method(Ref(other.side()))?;
                self.become_(stringify!($name), &result)
            })*
        }
    };
}

/// A side as an operand again.
struct Ref<'a>(Side<'a>);

impl Operand for Ref<'_> {}
impl crate::operand::sealed::Sealed for Ref<'_> {
    fn side(&self) -> Side<'_> {
        self.0
    }
}

binary_in_place! {
    /// [`Tensor::add`] of `self`, in place: the variable gets the sum, clones and views made before keep what they had.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let mut a = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
    /// let before = a.clone();
    /// a.add_(10.0)?;
    /// assert_eq!(a.to_vec_blocking::<f32>()?, [11.0, 12.0]);
    /// assert_eq!(before.to_vec_blocking::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    add_, add;
    /// [`Tensor::sub`] of `self`, in place.
    sub_, sub;
    /// [`Tensor::mul`] of `self`, in place.
    mul_, mul;
    /// [`Tensor::div`] of `self`, in place.
    div_, div;
    /// [`Tensor::floor_divide`] of `self`, in place.
    floor_divide_, floor_divide;
    /// [`Tensor::remainder`] of `self`, in place.
    remainder_, remainder;
    /// [`Tensor::fmod`] of `self`, in place.
    fmod_, fmod;
    /// [`Tensor::pow`] of `self`, in place.
    pow_, pow;
    /// [`Tensor::div_trunc`] of `self`, in place.
    div_trunc_, div_trunc;
    /// [`Tensor::atan2`] of `self`, in place.
    atan2_, atan2;
    /// [`Tensor::hypot`] of `self`, in place.
    hypot_, hypot;
    /// [`Tensor::maximum`] of `self`, in place.
    maximum_, maximum;
    /// [`Tensor::minimum`] of `self`, in place.
    minimum_, minimum;
    /// [`Tensor::fmax`] of `self`, in place.
    fmax_, fmax;
    /// [`Tensor::fmin`] of `self`, in place.
    fmin_, fmin;
    /// [`Tensor::bitwise_and`] of `self`, in place.
    bitwise_and_, bitwise_and;
    /// [`Tensor::bitwise_or`] of `self`, in place.
    bitwise_or_, bitwise_or;
    /// [`Tensor::bitwise_xor`] of `self`, in place.
    bitwise_xor_, bitwise_xor;
    /// [`Tensor::shift_left`] of `self`, in place.
    shift_left_, shift_left;
    /// [`Tensor::shift_right`] of `self`, in place.
    shift_right_, shift_right;
}

macro_rules! unary_in_place {
    ($($name:ident, $method:ident;)*) => {
        impl Tensor {
            $(#[doc = concat!("[`Tensor::", stringify!($method), "`] of `self`, in place.")]
            ///
            /// # Errors
            #[doc = concat!("As [`Tensor::", stringify!($method), "`]; and for integers where that gives floats.")]
            pub fn $name(&mut self) -> Result<(), Error> {
                let result = self.$method()?;
                self.become_(stringify!($name), &result)
            })*
        }
    };
}

unary_in_place! {
    abs_, abs;
    neg_, neg;
    sign_, sign;
    square_, square;
    sqrt_, sqrt;
    rsqrt_, rsqrt;
    reciprocal_, reciprocal;
    exp_, exp;
    log_, log;
    sin_, sin;
    cos_, cos;
    tanh_, tanh;
    sigmoid_, sigmoid;
    relu_, relu;
    silu_, silu;
    gelu_, gelu;
    floor_, floor;
    ceil_, ceil;
    round_, round;
    trunc_, trunc;
    nan_to_num_, nan_to_num;
    exp2_, exp2;
    expm1_, expm1;
    log2_, log2;
    log10_, log10;
    log1p_, log1p;
    tan_, tan;
    asin_, asin;
    acos_, acos;
    atan_, atan;
    sinh_, sinh;
    cosh_, cosh;
    asinh_, asinh;
    acosh_, acosh;
    atanh_, atanh;
    erf_, erf;
    erfc_, erfc;
    frac_, frac;
    gelu_tanh_, gelu_tanh;
    gelu_quick_, gelu_quick;
    log_sigmoid_, log_sigmoid;
    softsign_, softsign;
    mish_, mish;
    hard_swish_, hard_swish;
    relu6_, relu6;
    selu_, selu;
    bitwise_not_, bitwise_not;
}
