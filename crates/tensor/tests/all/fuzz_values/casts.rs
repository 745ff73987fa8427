//! Conversions between all dtypes, one or two in a row, and the same bytes seen as another dtype.

use ziggurat_kernels::core::{decode, encode};
use ziggurat_tensor::{DType, bf16, f16};

use super::{moved, read};
use crate::problems::{Values, fuzz_few, given, modest};

/// PyTorch's conversion, but that floats saturate: NaN to 0, integers among each other modulo 2ⁿ, to the halves by way of f32.
pub(crate) fn cast(from: DType, to: DType, x: f64) -> f64 {
    let clipped = |low: f64, high: f64| {
        if x.is_nan() {
            0.0
        } else {
            x.trunc().clamp(low, high)
        }
    };
    let whole = x as i64;
    match (to, from.is_float()) {
        (DType::Bool, _) => f64::from(u8::from(x != 0.0)),
        (DType::I32, true) => clipped(-2_147_483_648.0, 2_147_483_647.0) + 0.0,
        (DType::U32, true) => clipped(0.0, 4_294_967_295.0) + 0.0,
        (DType::I8, true) => clipped(-128.0, 127.0) + 0.0,
        (DType::U8, true) => clipped(0.0, 255.0) + 0.0,
        (DType::I32, false) => f64::from(whole as i32),
        (DType::U32, false) => f64::from(whole as u32),
        (DType::I8, false) => f64::from(whole as i8),
        (DType::U8, false) => f64::from(whole as u8),
        (DType::F32, _) => f64::from(x as f32),
        (DType::F16, _) => f16::from_f32(x as f32).to_f64(),
        (DType::BF16, _) => bf16::from_f32(x as f32).to_f64(),
    }
}

#[test]
fn conversions_agree_with_their_rules() {
    fuzz_few(|device, rng| {
        let [from, to, last] = [(); 3].map(|()| rng.pick(&DType::ALL));
        let dims = modest(rng.below(4), rng);
        let x = given(device, from, &dims, Values::Extreme, rng);
        let once: Vec<f64> = x.values.iter().map(|&x| cast(from, to, x)).collect();
        let result = x.tensor.to_dtype(to).unwrap();
        let twice: Vec<f64> = once.iter().map(|&x| cast(to, last, x)).collect();
        // The second one is of a pending expression or of a stored tensor.
        let stored = rng.below(2) == 0;
        if stored {
            moved(
                &format!("{from} to {to} {dims:?}"),
                Ok(result.clone()),
                &dims,
                &once,
            );
        }
        let what = format!("{from} to {to} to {last} {dims:?} stored={stored}");
        moved(&what, result.to_dtype(last), &dims, &twice);
        moved(&what, Ok(result), &dims, &once);
    });
}

#[test]
fn bytes_seen_as_another_dtype_are_the_same_bytes() {
    fuzz_few(|device, rng| {
        let [from, to] = [(); 2].map(|()| rng.pick(&DType::ALL));
        let dims = modest(rng.below(4), rng);
        let x = given(device, from, &dims, Values::Extreme, rng);
        let bytes = encode(from, &x.values);
        let what = format!("{from} {dims:?} as {to}");
        let dense = rng.below(2) == 0;
        let result = if dense {
            x.tensor.contiguous().unwrap().bitcast(to)
        } else {
            x.tensor.bitcast(to)
        };
        let (narrow, wide) = (from.bytes(), to.bytes());
        let last = dims.last().copied();
        let fits = match last {
            _ if to.is_bool() => from.is_bool(),
            _ if narrow == wide => true,
            Some(last) => last * narrow % wide == 0,
            None => false,
        };
        match result {
            Ok(tensor) => {
                assert!(fits, "{what} was accepted");
                let mut out = dims.clone();
                if let Some(last) = out.last_mut() {
                    *last = *last * narrow / wide;
                }
                assert_eq!(tensor.dims(), out, "{what}");
                // As numbers, because a NaN may have any payload on the way to the host.
                let (got, wanted) = (read(&tensor), decode(to, &bytes));
                assert_eq!(
                    crate::fuzz_values::unlike(&got, &wanted),
                    None,
                    "{what}: {got:?}, not {wanted:?}"
                );
            }
            Err(error) => {
                // A view need not lie as the other dtype needs it; a dense tensor does.
                assert!(!(fits && dense), "{what}: {error}");
                assert!(error.is_shape() || error.is_dtype(), "{what}: {error}");
            }
        }
    });
}
