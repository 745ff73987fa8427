//! Windows sliding over images, as an overlapping view.
//!
//! Position `o` covers inputs `o * stride + j * dilation - begin` for `j < kernel`. See V. Dumoulin and F. Visin,
//! "A guide to convolution arithmetic for deep learning".

use ziggurat_core::Layout;
use ziggurat_kernels::View;

use crate::tensor::new_shape;
use crate::{Error, Tensor};

/// One spatial axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) input: usize,
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) dilation: usize,
    pub(crate) begin: usize,
    pub(crate) end: usize,
}

impl Window {
    /// The number of positions.
    pub(crate) fn positions(&self, op: &'static str) -> Result<usize, Error> {
        for (name, value) in [
            ("kernel", self.kernel),
            ("stride", self.stride),
            ("dilation", self.dilation),
        ] {
            if value == 0 {
                return Err(Error::argument(
                    op,
                    format!("the {name} must be at least 1: 0 given"),
                ));
            }
        }
        let too_large = || Error::shape(op, format!("extents must be addressable: {self:?}"));
        let padded = [self.begin, self.end]
            .iter()
            .try_fold(self.input, |sum, &pad| sum.checked_add(pad));
        let reach = (self.kernel - 1)
            .checked_mul(self.dilation)
            .and_then(|reach| reach.checked_add(1));
        let (padded, reach) = padded.zip(reach).ok_or_else(too_large)?;
        let Some(room) = padded.checked_sub(reach) else {
            return Err(Error::shape(
                op,
                format!(
                    "the kernel must fit the padded input: kernel reaches {reach}, padded input has {padded}"
                ),
            ));
        };
        (room / self.stride).checked_add(1).ok_or_else(too_large)
    }
}

/// Every window of `[N, C, H, W]` as `[N, C, H', W', KH, KW]`, an overlapping view of a copy padded with zeros.
pub(crate) fn windows(op: &'static str, x: &Tensor, axes: [Window; 2]) -> Result<Tensor, Error> {
    let &[n, c, h, w] = x.dims() else {
        return Err(Error::shape(op, "the input must be [N, C, H, W]"));
    };
    let [rows, cols] = axes;
    let counts = [rows.positions(op)?, cols.positions(op)?];
    let padded = [n, c, h + rows.begin + rows.end, w + cols.begin + cols.end];
    let base = Tensor::zeros(x.device(), padded, x.dtype())?;
    let middle = base.narrow(2, rows.begin, h)?.narrow(3, cols.begin, w)?;
    let (input, output) = (x.stored()?, middle.stored()?);
    let _recorded = x
        .device()
        .executor()
        .copy(input, output)
        .map_err(|error| Error::from_kernel(op, error))?;

    let view = base.stored()?;
    let &[sn, sc, sh, sw] = view.layout.strides() else {
        return Err(Error::shape(op, "the input must be [N, C, H, W]"));
    };
    let times = |stride: isize, by: usize| stride * isize::try_from(by).unwrap_or(isize::MAX);
    let shape = new_shape(op, &[n, c, counts[0], counts[1], rows.kernel, cols.kernel])?;
    let strides = [
        sn,
        sc,
        times(sh, rows.stride),
        times(sw, cols.stride),
        times(sh, rows.dilation),
        times(sw, cols.dilation),
    ];
    let layout = Layout::new(shape, &strides, view.layout.offset())
        .map_err(|error| Error::from_shape(op, error))?;
    let windows = View::new(view.buffer.clone(), layout, view.dtype)
        .map_err(|error| Error::from_kernel(op, error))?;
    Ok(Tensor::from_view(x.device(), windows))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const UNIT: Window = Window {
        input: 5,
        kernel: 2,
        stride: 2,
        dilation: 1,
        begin: 1,
        end: 1,
    };

    #[test]
    fn counts_positions_as_pytorch_does() {
        assert_eq!(UNIT.positions("im2col").unwrap(), 3);
        let bare = Window {
            begin: 0,
            end: 0,
            ..UNIT
        };
        assert_eq!(bare.positions("im2col").unwrap(), 2);
        let wide = Window {
            kernel: 3,
            dilation: 2,
            stride: 1,
            ..UNIT
        };
        assert_eq!(wide.positions("im2col").unwrap(), 3);
    }

    #[test]
    fn refuses_kernels_that_do_not_fit_and_zeros() {
        let error = |window: Window| window.positions("im2col").unwrap_err();
        assert!(error(Window { kernel: 8, ..UNIT }).is_shape());
        assert!(error(Window { stride: 0, ..UNIT }).is_argument());
        let long = Window {
            kernel: usize::MAX,
            dilation: 3,
            ..UNIT
        };
        assert!(error(long).is_shape());
        assert!(
            error(Window {
                end: usize::MAX,
                ..UNIT
            })
            .is_shape()
        );
    }
}
