//! Reductions, softmax and scans.

use crate::expect;
use crate::reducing;
use ziggurat_kernels::{Reduce, Scan};
use ziggurat_tensor::{DType, ScanOptions};

use super::{FLOATS, agrees, refused};
use crate::problems::{Values, axis_of, extents, fuzz, given};

#[test]
fn reductions_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = rng.below(5);
        let x = given(device, dtype, &extents(rank, rng), Values::Special, rng);
        let dims = x.dims().to_vec();
        let axes: Vec<usize> = (0..rank).filter(|_| rng.below(2) == 0).collect();
        if axes.is_empty() {
            return;
        }
        let signed: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
        let keepdim = rng.below(2) == 0;
        let mut out = reducing::kept(&dims, &axes);
        if keepdim {
            out = dims.clone();
            axes.iter().for_each(|&axis| out[axis] = 1);
        }
        let op = rng.pick(&Reduce::ALL);
        let (t, argument) = (&x.tensor, op.default_argument());
        let result = match op {
            Reduce::Sum => t.sum(&signed, keepdim),
            Reduce::Mean => t.mean(&signed, keepdim),
            Reduce::Max => t.amax(&signed, keepdim),
            Reduce::Min => t.amin(&signed, keepdim),
            Reduce::Prod => t.prod(&signed, keepdim),
            Reduce::LogSumExp if dtype.is_float() => t.logsumexp(&signed, keepdim),
            Reduce::Norm2 if dtype.is_float() => t.norm(2.0, &signed, keepdim),
            Reduce::Var => t.var(&signed, 1.0, keepdim),
            Reduce::Std => t.std(&signed, 1.0, keepdim),
            _ => return,
        };
        let what = format!("{op:?} {dtype} {dims:?} over {axes:?}");
        let empty = axes.iter().any(|&axis| dims[axis] == 0);
        if op.needs_floats() && !dtype.is_float()
            || matches!(op, Reduce::Max | Reduce::Min) && empty && out.iter().product::<usize>() > 0
        {
            return refused(&what, result);
        }
        let Ok(tensor) = &result else {
            // Of nothing there is no extreme, even where nothing would be written.
            assert!(empty, "{what}: {}", result.unwrap_err());
            return;
        };
        let to = tensor.dtype();
        let expected = reducing::expected(op, f64::from(argument), &x.values, &dims, &axes, to);
        agrees(&what, result, &out, &expected);
    });
}

#[test]
fn rows_and_scans_agree_with_the_reference() {
    fuzz(|device, rng| {
        let rank = 1 + rng.below(4);
        let dims = extents(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        let kind = rng.below(3);
        let dtype = if kind == 2 {
            rng.pick(&DType::ALL)
        } else {
            rng.pick(&FLOATS)
        };
        let x = given(device, dtype, &dims, Values::Special, rng);
        let what = format!("{dtype} {dims:?} along {axis}");
        match kind {
            0 => agrees(
                &format!("softmax {what}"),
                x.tensor.softmax(signed),
                &dims,
                &expect::softmax(&x.values, &dims, axis, dtype),
            ),
            1 => agrees(
                &format!("log_softmax {what}"),
                x.tensor.log_softmax(signed),
                &dims,
                &expect::log_softmax(&x.values, &dims, axis, dtype),
            ),
            _ => {
                let options = ScanOptions {
                    exclusive: rng.below(2) == 0,
                    reverse: rng.below(2) == 0,
                };
                let sum = x.tensor.cumsum_with(signed, options).unwrap();
                let to = sum.dtype();
                let wanted = expect::scan(Scan::Sum, &x.values, &dims, axis, options, to);
                agrees(
                    &format!("cumsum {options:?} {what}"),
                    Ok(sum),
                    &dims,
                    &wanted,
                );
                let (_, places) = x.tensor.cummax(signed).unwrap();
                let plain = ScanOptions::default();
                let wanted = expect::scan(Scan::ArgMax, &x.values, &dims, axis, plain, DType::I32);
                agrees(&format!("cummax {what}"), Ok(places), &dims, &wanted);
            }
        }
    });
}
