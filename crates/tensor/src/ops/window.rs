//! Windows sliding over an axis, for convolution and pooling: a pure function over extents.
//!
//! Position `o` covers inputs `o * stride + j * dilation - begin` for `j < kernel`. See V. Dumoulin and F. Visin,
//! "A guide to convolution arithmetic for deep learning", and PyTorch's `ceil_mode`.

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
    pub(crate) ceil: bool,
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
        let steps = if self.ceil {
            room.div_ceil(self.stride)
        } else {
            room / self.stride
        };
        // With `ceil`, a last window that would start in the padding at the end is dropped.
        let starts_in_padding =
            self.ceil && steps.saturating_mul(self.stride) >= self.input + self.begin;
        steps
            .checked_add(usize::from(!starts_in_padding))
            .ok_or_else(too_large)
    }

    /// Whether each of `positions` windows covers at least one element of the input: with a dilation, a window longer than
    /// the padding can still step over the whole input.
    ///
    /// Only windows that begin in the padding before the input can miss it, because none begins behind it.
    pub(crate) fn cover_input(&self, positions: usize) -> bool {
        // One of any `dilation` neighbours is a window's element.
        self.dilation <= self.input
            || (0..positions)
                .map_while(|position| self.begin.checked_sub(position.checked_mul(self.stride)?))
                .all(|before| {
                    let outside = before.div_ceil(self.dilation);
                    outside < self.kernel && outside * self.dilation - before < self.input
                })
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
    let (input, output) = (x.view()?, middle.view()?);
    let _recorded = x
        .device()
        .executor()
        .copy(input, output)
        .map_err(|error| Error::from_kernel(op, error))?;

    let view = base.view()?;
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
        ceil: false,
    };

    #[test]
    fn counts_positions_as_pytorch_does() {
        assert_eq!(UNIT.positions("pool").unwrap(), 3);
        assert_eq!(
            Window {
                begin: 0,
                end: 0,
                ..UNIT
            }
            .positions("pool")
            .unwrap(),
            2
        );
        assert_eq!(
            Window {
                begin: 0,
                end: 0,
                ceil: true,
                ..UNIT
            }
            .positions("pool")
            .unwrap(),
            3
        );
        assert_eq!(
            Window {
                kernel: 3,
                dilation: 2,
                stride: 1,
                ..UNIT
            }
            .positions("pool")
            .unwrap(),
            3
        );
    }

    #[test]
    fn drops_a_window_that_starts_in_the_padding() {
        let window = Window {
            input: 2,
            kernel: 1,
            stride: 2,
            begin: 0,
            end: 0,
            ceil: true,
            ..UNIT
        };
        assert_eq!(window.positions("pool").unwrap(), 1);
        let window = Window {
            input: 4,
            kernel: 3,
            stride: 2,
            begin: 1,
            end: 1,
            ceil: true,
            ..UNIT
        };
        assert_eq!(window.positions("pool").unwrap(), 3);
    }

    #[test]
    fn finds_windows_that_step_over_the_whole_input() {
        let covers = |input, dilation, begin, end| {
            let window = Window {
                input,
                kernel: 2,
                stride: 1,
                dilation,
                begin,
                end,
                ceil: false,
            };
            window.cover_input(window.positions("pool").unwrap())
        };
        // One window: elements -1 and 2 of 2, or of 3.
        assert!(!covers(2, 3, 1, 1));
        assert!(covers(3, 3, 1, 1));
        // Elements -2 and 1, then -1 and 2.
        assert!(!covers(2, 3, 2, 1));
        assert!(covers(2, 3, 2, 0));
        assert!(!covers(0, 1, 1, 1));
        assert!(covers(1, 1, 1, 1));
    }

    #[test]
    fn refuses_kernels_that_do_not_fit_and_zeros() {
        assert!(
            Window { kernel: 8, ..UNIT }
                .positions("pool")
                .unwrap_err()
                .is_shape()
        );
        assert!(
            Window { stride: 0, ..UNIT }
                .positions("pool")
                .unwrap_err()
                .is_argument()
        );
        assert!(
            Window {
                kernel: usize::MAX,
                dilation: 3,
                ..UNIT
            }
            .positions("pool")
            .unwrap_err()
            .is_shape()
        );
        assert!(
            Window {
                end: usize::MAX,
                ..UNIT
            }
            .positions("pool")
            .unwrap_err()
            .is_shape()
        );
    }
}
