//! Dense layers of a [`QuantizedTensor`], with the norm in front and the gates behind that decoders have.

use ziggurat_core::DType;
use ziggurat_kernels::{Call, CallKind, LinearForm};

use super::{QuantizedTensor, float, joined};
use crate::tensor::new_shape;
use crate::{Error, GateHalf, Tensor};

/// What [`QuantizedTensor::linear_with`] does besides the product, in the order of the fields but for the bias, which is added
/// before gates.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuantizedLinearOptions<'a> {
    /// `x` is normalised first: [`Tensor::rms_norm`] over its last axis by a weight `[in]`, with this `eps`.
    pub rms_norm: Option<(&'a Tensor, f32)>,
    /// SwiGLU: the first half of the rows are gates of the second, and the result is `silu(x · gateᵀ) · (x · upᵀ)`, `[.., out / 2]`.
    pub swiglu: bool,
    /// `[out]`.
    pub bias: Option<&'a Tensor>,
}

impl QuantizedTensor {
    /// `x · selfᵀ + bias`, a dense layer: `x` is `[.., in]` of floats, this matrix `[out, in]`, `bias` `[out]`. The result has the
    /// dtype of `x`, promoted with that of the bias, and is rounded once, behind the sum.
    ///
    /// Up to 16 rows of `x`, of f32 up to 32, are multiplied by the numbers of the blocks. For more rows these are rounded to the dtype
    /// of `x`, unless it is f16 and its range does not have them.
    ///
    /// # Errors
    /// If `x` is no float or differs in the last extent, the bias does not broadcast, or the device has no memory.
    pub fn linear(&self, x: &Tensor, bias: Option<&Tensor>) -> Result<Tensor, Error> {
        let options = QuantizedLinearOptions {
            bias,
            ..QuantizedLinearOptions::default()
        };
        self.linear_with(x, &options)
    }

    /// [`QuantizedTensor::linear`], with the norm in front of it and the gates behind it that decoders have: of one row of `x`, in the
    /// same kernel. A GPU takes some microseconds for each kernel that waits for another one, so that a token takes less time.
    ///
    /// Of one row everything is computed in f32 and rounded once; of several, the norm's result is rounded to the dtype of `x`, and
    /// that of the product before gates.
    ///
    /// ```
    /// use ziggurat_tensor::{BlockFormat, DType, Device, DeviceOptions, QuantizedLinearOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let weight = Tensor::ones(&device, [2, 32], DType::F32)?.quantize_blocking(BlockFormat::Q8_0)?;
    /// let x = Tensor::full(&device, [1, 32], 5.0f32, DType::F32)?;
    /// let (norm, eps) = (Tensor::full(&device, [32], 0.25f32, DType::F32)?, 0.0);
    /// let options = QuantizedLinearOptions { rms_norm: Some((&norm, eps)), swiglu: true, ..Default::default() };
    /// let y = weight.linear_with(&x, &options)?.to_vec_blocking::<f32>()?;
    /// // Gate and value are 32 · 1 · 0.25 = 8, and 8 · silu(8) is 63.98.
    /// assert!((y[0] - 63.98).abs() < 0.1);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`QuantizedTensor::linear`]; if the norm's weight is not `[in]`, or the rows of a weight with gates are odd.
    pub fn linear_with(
        &self,
        x: &Tensor,
        options: &QuantizedLinearOptions<'_>,
    ) -> Result<Tensor, Error> {
        const OP: &str = "linear";
        let QuantizedLinearOptions {
            bias,
            rms_norm,
            swiglu,
        } = *options;
        if let Some(part) = self.parts.first() {
            part.words.same_device(OP, x)?;
        }
        float(OP, x.dtype())?;
        let [rows, cols] = self.dims;
        if x.dims().last() != Some(&cols) {
            let weight = new_shape(OP, &self.dims)?;
            let detail = format!(
                "input and weight differ in the last dimension: left is {}, right is {weight}",
                x.shape()
            );
            return Err(Error::shape(OP, detail));
        }
        if x.rank() == 1 {
            return self.linear_with(&x.unsqueeze(0)?, options)?.squeeze_axis(0);
        }
        let mut dtype = x.dtype();
        if let Some(bias) = bias {
            x.same_device(OP, bias)?;
            dtype = dtype.promote(bias.dtype());
            let fits = bias.rank() <= 1 && bias.dims().last().is_none_or(|&n| n == rows || n == 1);
            if !fits {
                let detail = format!("the bias must be [{rows}]: it is {}", bias.shape());
                return Err(Error::shape(OP, detail));
            }
        }
        let (form, norm) = self.form_in_one_kernel(x, options)?;
        if let (Some((weight, eps)), None) = (rms_norm, &norm) {
            let options = QuantizedLinearOptions {
                rms_norm: None,
                ..*options
            };
            return self.linear_with(&x.rms_norm([cols], Some(weight), eps)?, &options);
        }
        let written = if bias.is_some() { DType::F32 } else { dtype };
        let products = self.parts.iter().map(|part| {
            let outer = x.dims().iter().rev().skip(1).rev().copied();
            let [rows, _] = part.shape.dims();
            let columns = if form.swiglu { rows / 2 } else { rows };
            let dims: Vec<usize> = outer.chain([columns]).collect();
            let call = Call::new(CallKind::QuantizedLinear {
                weight: part.shape,
                form,
            });
            let shape = new_shape(OP, &dims)?;
            let others: Vec<&Tensor> = std::iter::once(&part.words).chain(&norm).collect();
            x.produce_call(OP, (shape, written), call, &others, None)
        });
        let product = joined(products, -1)?;
        let product = match bias {
            None => product,
            Some(bias) => {
                let sum = product.add(bias.converted(OP, DType::F32)?)?;
                sum.converted(OP, dtype)?
            }
        };
        if swiglu && !form.swiglu {
            return product.swiglu(-1, GateHalf::First);
        }
        Ok(product)
    }

    /// What of the options one kernel does, and the norm's weight as it reads it.
    fn form_in_one_kernel(
        &self,
        x: &Tensor,
        options: &QuantizedLinearOptions<'_>,
    ) -> Result<(LinearForm, Option<Tensor>), Error> {
        const OP: &str = "linear";
        let QuantizedLinearOptions {
            bias,
            rms_norm,
            swiglu,
        } = *options;
        let [rows, cols] = self.dims;
        let mut form = LinearForm::default();
        let ([part], true) = (
            &*self.parts,
            x.len() == cols && (swiglu || rms_norm.is_some()),
        ) else {
            return Ok((form, None));
        };
        let x = x.stored()?;
        let executor = self.device.executor();
        let fits = |form| executor.quantized_linear_is_one_kernel(x, &part.shape, form);
        let mut norm = None;
        if let Some((weight, eps)) = rms_norm {
            part.words.same_device(OP, weight)?;
            let ready = weight.converted(OP, x.dtype)?;
            form.rms_norm = Some(eps.into());
            if ready.dims() == [cols] && fits(form) && ready.stored()?.is_vec4() {
                norm = Some(ready);
            } else {
                form.rms_norm = None;
            }
        }
        // Biases are for gates, too, and in front of them.
        form.swiglu = swiglu && bias.is_none() && rows.is_multiple_of(2) && fits(form);
        Ok((form, norm))
    }
}
