//! Images that one binding cannot hold: bands of the result, and of the image what each needs.

use super::Images;
use super::geometry::{Direction, Geometry};
use crate::compose::assemble::narrow;
use crate::limits::split::middle;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

/// What `len` neighbouring results along an axis need: elements from `from` on, as many as `input`, of which the first lies
/// `pad` behind where the first window begins, and the last `over` before where the last one ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    pub(crate) from: usize,
    pub(crate) input: usize,
    pub(crate) pad: usize,
    pub(crate) over: usize,
}

/// Windows along an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    pub(crate) input: usize,
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) dilation: usize,
    pub(crate) pad: usize,
}

impl Windows {
    /// The band of results from `start` on. `None` if their windows hold nothing but padding behind the end.
    pub(crate) fn band(&self, start: usize, len: usize) -> Option<Band> {
        let span = self.dilation * (self.kernel - 1);
        // Positions in the padded input.
        let (first, last) = (start * self.stride, (start + len - 1) * self.stride + span);
        let from = first.saturating_sub(self.pad);
        let end = (last + 1)
            .saturating_sub(self.pad)
            .clamp(from + 1, self.input.max(from + 1));
        (from < self.input).then_some(Band {
            from,
            input: end - from,
            pad: (from + self.pad) - first,
            over: (last + 1).saturating_sub(self.pad + end),
        })
    }

    /// As [`Self::band`], where a window is what an element adds to.
    pub(crate) fn transposed_band(&self, start: usize, len: usize) -> Band {
        let span = self.dilation * (self.kernel - 1);
        let last = (start + len - 1 + self.pad) / self.stride;
        let end = (last + 1).min(self.input);
        let from = (start + self.pad).saturating_sub(span) / self.stride;
        let from = from.min(end.saturating_sub(1));
        Band {
            from,
            input: end - from,
            pad: start + self.pad - from * self.stride,
            over: 0,
        }
    }
}

impl Geometry {
    /// The geometry of `len` results from `start` on along a spatial axis, and the band they need.
    fn of_band(&self, axis: usize, start: usize, len: usize) -> Option<(Self, Band)> {
        let windows = Windows {
            input: *self.input.get(axis)?,
            kernel: *self.kernel.get(axis)?,
            stride: *self.stride.get(axis)?,
            dilation: *self.dilation.get(axis)?,
            pad: *self.pads.get(axis)?,
        };
        let band = match self.direction {
            Direction::Forward => windows.band(start, len)?,
            Direction::Transposed => windows.transposed_band(start, len),
        };
        let mut own = *self;
        *own.input.get_mut(axis)? = band.input;
        *own.output.get_mut(axis)? = len;
        *own.pads.get_mut(axis)? = band.pad;
        *own.padding_end.get_mut(axis)? = band.over;
        Some((own, band))
    }
}

impl Executor {
    /// Convolves band by band if the image or its result is too large to be bound; whether it did. `out` shares no memory
    /// with the operands.
    pub(super) fn conv_bands(
        &self,
        op: &'static str,
        images: Images<'_>,
        g: &Geometry,
        axes: usize,
        out: &View,
    ) -> Result<bool, KernelError> {
        let Images { x, w, bias } = images;
        if !self.exceeds_binding(&[x]) && !self.exceeds_dense(out) {
            return Ok(false);
        }
        if !self.exceeds_dense(x) && !self.exceeds_dense(out) {
            let x = &self.to_dense(op, x)?;
            self.with_dense_out(op, out, &[], |out| {
                self.convolve(op, Images { x, w, bias }, g, out)
            })?;
            return Ok(true);
        }
        let Some(axis) = g.output.iter().position(|&extent| extent > 1) else {
            return Ok(false);
        };
        let own = (axis + axes).saturating_sub(1);
        let len = g.output.get(axis).copied().unwrap_or(0);
        let at = middle(len);
        for (start, len) in [(0, at), (at, len - at)] {
            let Some((g, band)) = g.of_band(axis, start, len) else {
                return Ok(false);
            };
            let x = &narrow(op, x, own, band.from, band.input)?;
            let out = &narrow(op, out, own, start, len)?;
            let images = Images { x, w, bias };
            if !self.conv_bands(op, images, &g, axes, out)? {
                self.with_dense_out(op, out, &[], |out| self.convolve(op, images, &g, out))?;
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_hold_what_their_windows_touch() {
        for (kernel, stride, dilation, pad) in
            [(3, 1, 1, 1), (5, 2, 3, 4), (1, 3, 1, 0), (4, 3, 2, 6)]
        {
            let windows = Windows {
                input: 40,
                kernel,
                stride,
                dilation,
                pad,
            };
            let outputs = (40 + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
            for start in 0..outputs {
                for len in 1..=outputs - start {
                    let band = windows.band(start, len).map(|band| (band, start * stride));
                    let Some((band, first)) = band else { continue };
                    assert!(band.from + band.input <= 40);
                    // Every tap of every window, in both coordinates.
                    for tap in
                        (0..len).flat_map(|o| (0..kernel).map(move |k| o * stride + k * dilation))
                    {
                        let whole = (first + tap).checked_sub(pad).filter(|&at| at < 40);
                        let own = tap.checked_sub(band.pad).filter(|&at| at < band.input);
                        assert_eq!(whole, own.map(|at| at + band.from));
                    }
                }
            }
        }
    }

    #[test]
    fn transposed_bands_hold_what_adds_to_them() {
        for (kernel, stride, dilation, pad) in
            [(3, 1, 1, 1), (5, 2, 3, 4), (1, 3, 1, 0), (4, 3, 2, 6)]
        {
            let windows = Windows {
                input: 20,
                kernel,
                stride,
                dilation,
                pad,
            };
            let outputs = 19 * stride + dilation * (kernel - 1) + 1 - 2 * pad;
            for start in 0..outputs {
                for len in 1..=outputs - start {
                    let band = windows.transposed_band(start, len);
                    assert!(band.from + band.input <= 20);
                    for (i, k) in (0..20).flat_map(|i| (0..kernel).map(move |k| (i, k))) {
                        let hit = (i * stride + k * dilation).checked_sub(pad + start);
                        if hit.is_some_and(|o| o < len) {
                            let own = (i - band.from) * stride + k * dilation;
                            assert!(i >= band.from && i < band.from + band.input);
                            assert_eq!(own.checked_sub(band.pad), hit);
                        }
                    }
                }
            }
        }
    }
}
