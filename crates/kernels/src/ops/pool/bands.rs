//! Planes that one binding cannot hold: bands of windows, and of the plane what each needs.

use ziggurat_core::DType;

use super::{Call, Range, Window};
use crate::compose::assemble::narrow;
use crate::fused::{Expression, FusedOp};
use crate::limits::split::middle;
use crate::ops::conv::bands::Windows;
use crate::ops::elementwise::binary::Binary;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

impl Executor {
    /// Pools band by band if the plane is too large to be bound; whether it did. `out` shares no memory with `x`.
    pub(super) fn pool_bands(&self, call: Call, x: &View, out: &View) -> Result<bool, KernelError> {
        let op = call.window.name(call.range);
        if !self.exceeds_binding(&[x]) && !self.exceeds_dense(out) {
            return Ok(false);
        }
        if !self.exceeds_dense(x) && !self.exceeds_dense(out) {
            let x = self.to_dense(op, x)?;
            return self.launch_pool(call, &x, out).map(|_| true);
        }
        let g = call.geometry;
        // Places of maxima are row-major: bands of the outermost axis count from their first row.
        let long = |extents: [usize; 3]| extents.iter().position(|&extent| extent > 1);
        let (Some(axis), outermost) = (long(g.output), long(g.input)) else {
            return Ok(false);
        };
        let places = call.window == Window::MaxIndex;
        if call.range == Range::Adaptive || (places && outermost != Some(axis)) {
            return Ok(false);
        }
        let own = (x.rank() + axis).saturating_sub(3);
        let windows = Windows {
            input: g.input[axis],
            kernel: g.kernel[axis],
            stride: g.stride[axis],
            dilation: g.dilation[axis],
            pad: g.padding_begin[axis],
        };
        let row: usize = g.input.iter().skip(axis + 1).product();
        let at = middle(g.output[axis]);
        for (start, len) in [(0, at), (at, g.output[axis] - at)] {
            let Some(band) = windows.band(start, len) else {
                return Ok(false);
            };
            let mut part = call;
            let own_g = &mut part.geometry;
            own_g.input[axis] = band.input;
            own_g.output[axis] = len;
            own_g.padding_begin[axis] = band.pad;
            if band.from + band.input < g.input[axis] {
                own_g.padding_end[axis] = 0;
            }
            let x = narrow(op, x, own, band.from, band.input)?;
            let out = narrow(op, out, own, start, len)?;
            if !places || band.from == 0 {
                let _pooled = self.launch_pool(part, &x, &out)?;
                continue;
            }
            let counted = self.alloc(out.shape(), DType::I32)?;
            let _pooled = self.launch_pool(part, &x, &counted)?;
            let mut e = Expression::new();
            let (counted, before) = (
                e.input(counted),
                e.scalar(DType::I32, (band.from * row) as f64),
            );
            let place = e.op(FusedOp::Binary(Binary::Add), &[counted, before])?;
            let _moved = self.written(e, place, &out)?;
        }
        Ok(true)
    }
}
