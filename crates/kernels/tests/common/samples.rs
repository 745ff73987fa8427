//! Inputs of the elementwise tests: deterministic, within the row's range, exactly held by the dtype.

use ziggurat_kernels::reference::round_to;
use ziggurat_kernels::{Binary, DType, Samples, Unary};

/// A small deterministic generator (SplitMix64), giving numbers in [0, 1).
struct Unit(u64);

impl Unit {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A value that `dtype` holds: floats within the samples' range, integers over all that the dtype has.
fn value(dtype: DType, samples: Samples, unit: f64) -> f64 {
    let whole = |low: f64, high: f64| (low + unit * (high - low + 1.0)).floor().clamp(low, high);
    match dtype {
        DType::I32 => whole(f64::from(i32::MIN), f64::from(i32::MAX)),
        DType::U32 => whole(0.0, f64::from(u32::MAX)),
        DType::I8 => whole(-128.0, 127.0),
        DType::U8 => whole(0.0, 255.0),
        DType::Bool => whole(0.0, 1.0),
        DType::F32 | DType::F16 | DType::BF16 => {
            // Half of a wide range is spent on small values, where functions are at their most interesting.
            let span = samples.high - samples.low;
            let narrow = if samples.low < 0.0 {
                4.0f64.min(span / 2.0)
            } else {
                samples.high
            };
            let (low, high) = if unit < 0.5 {
                (samples.low.max(-narrow), samples.high.min(narrow))
            } else {
                (samples.low, samples.high)
            };
            let x = low + (unit * 2.0).fract() * (high - low);
            round_to(dtype, x.clamp(-60_000.0, 60_000.0))
        }
    }
}

/// Inputs of a unary op.
pub(crate) fn unary(op: Unary, dtype: DType, len: usize) -> Vec<f64> {
    let mut unit = Unit(op as u64 * 8 + dtype as u64);
    (0..len)
        .map(|_| value(dtype, op.spec().samples, unit.next()))
        .collect()
}

/// Pairs of inputs of a binary op. Second inputs of integer divisions are at times 0; exponents and most shifts are small;
/// the extremes see NaN.
pub(crate) fn binary(op: Binary, dtype: DType, len: usize) -> (Vec<f64>, Vec<f64>) {
    let mut unit = Unit(1000 + op as u64 * 8 + dtype as u64);
    let samples = op.spec().samples;
    let extreme = dtype.is_float()
        && matches!(
            op,
            Binary::Maximum | Binary::Minimum | Binary::Fmax | Binary::Fmin
        );
    let any = |unit: &mut Unit| {
        let x = value(dtype, samples, unit.next());
        if extreme && unit.next() < 0.1 {
            f64::NAN
        } else {
            x
        }
    };
    let a = (0..len).map(|_| any(&mut unit)).collect();
    let b = (0..len)
        .map(|_| match (op, dtype.is_float()) {
            (Binary::ShiftLeft | Binary::ShiftRight, _) => {
                let low = if dtype.is_signed() { -3.0 } else { 0.0 };
                (low + unit.next() * 40.0).floor()
            }
            (Binary::Pow, true) => round_to(dtype, unit.next() * 8.0 - 4.0),
            (Binary::Pow, false) if dtype.is_signed() => (unit.next() * 40.0).floor() - 5.0,
            (Binary::Pow, false) => (unit.next() * 40.0).floor(),
            (Binary::Div | Binary::FloorDivide | Binary::Remainder | Binary::Fmod, false) => {
                (value(dtype, samples, unit.next()) / 1e4f64.powf(unit.next() * 2.0)).trunc()
            }
            _ => any(&mut unit),
        })
        .collect();
    (a, b)
}

/// Inputs of a predicate: ordinary numbers, zeros, infinities, NaN.
pub(crate) fn special(dtype: DType, len: usize) -> Vec<f64> {
    let mut unit = Unit(3000 + dtype as u64);
    let samples = Samples {
        low: -4.0,
        high: 4.0,
    };
    (0..len)
        .map(|_| match (unit.next() * 12.0) as u32 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => 0.0,
            _ => value(dtype, samples, unit.next()),
        })
        .collect()
}

/// Pairs that are often equal, for comparisons; a few are NaN where the dtype has it.
pub(crate) fn pairs(dtype: DType, len: usize) -> (Vec<f64>, Vec<f64>) {
    let mut unit = Unit(2000 + dtype as u64);
    let samples = Samples {
        low: -4.0,
        high: 4.0,
    };
    let a: Vec<f64> = (0..len)
        .map(|_| {
            let x = value(dtype, samples, unit.next());
            if dtype.is_float() && unit.next() < 0.1 {
                f64::NAN
            } else {
                x
            }
        })
        .collect();
    let b = a
        .iter()
        .map(|&x| {
            let other = value(dtype, samples, unit.next());
            let choice = unit.next();
            if choice < 0.4 {
                x
            } else if dtype.is_float() && choice < 0.5 {
                f64::NAN
            } else {
                other
            }
        })
        .collect();
    (a, b)
}
