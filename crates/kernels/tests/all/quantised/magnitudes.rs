//! Products of inputs that are very large or small, which kernels multiply by powers of two and back: as exact as others.

use super::products::expected;
use super::*;

/// How many results are further off than sums of so many terms may be, all divided by `unit`.
fn wrong(got: &[f64], want: &[(f64, f64)], k: usize, unit: f64) -> usize {
    let pairs = got.iter().zip(want);
    let far = |&(&got, &(sum, size)): &(&f64, &(f64, f64))| {
        let bound = (k + 3) as f64 * 2f64.powi(-24) * size;
        (got / unit - sum).abs().total_cmp(&bound).is_gt()
    };
    pairs.filter(far).count()
}

#[test]
fn inputs_of_any_magnitude_are_multiplied() {
    /// Scales with which sums of large inputs stay finite.
    const SCALES: [f32; 3] = [0.0625, -0.03, 0.007];
    let exec = common::executor();
    let random = &mut Random(21);
    for &format in BlockFormat::ALL {
        let (n, k) = (13, 2 * format.elements());
        let (weight, numbers) = matrix(&exec, format, [n, k], &SCALES, random);
        let numbers = rounded(DType::F32, &numbers);
        for (m, power) in [(1, 110), (1, -100), (3, 104), (5, -102), (16, 110)] {
            let unit = 2f64.powi(power);
            let x: Vec<f64> = (0..m * k).map(|_| random.number()).collect();
            let scaled: Vec<f64> = x.iter().map(|x| x * unit).collect();
            let bytes = encode(DType::F32, &scaled);
            let input = exec.upload_bytes(DType::F32, &bytes, &shape(&[m, k]));
            let out = exec.alloc(&shape(&[m, n]), DType::F32).unwrap();
            drop(
                exec.quantized_linear(&input.unwrap(), &weight, &out)
                    .unwrap(),
            );
            let want = expected(&x, &numbers, k);
            let got = read(&exec, &out);
            let what = format!("{format}, {m} rows of 2^{power}: {got:?}, not {want:?}");
            assert_eq!(wrong(&got, &want, k, unit), 0, "{what}");
            let off: Vec<f64> = got.iter().map(|got| got * (1.0 + 1e-3)).collect();
            assert!(wrong(&off, &want, k, unit) > 0, "{what}");
        }
    }
}
