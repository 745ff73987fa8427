//! Errors of convolutions of f32 on matrix units, whose elements become two f16 each.

use super::packed::{PACKED, devices, ways};
use super::*;

/// Images, and filters of 3 × 3; workgroups share the channels of the second.
const HARD: [([usize; 4], usize); 2] = [([3, 20, 9, 10], 24), ([1, 128, 4, 6], 18)];

/// Images and filters of which f16 may not have room for everything.
fn hard(
    [images, channels, height, width]: [usize; 4],
    filters: usize,
) -> Vec<(&'static str, Vec<f64>, Vec<f64>)> {
    let plane = height * width;
    let mut rng = Random(54);
    let mut normal = || {
        let uniform = |rng: &mut Random| (rng.bits() % 1_000_003) as f64 / 1_000_003.0;
        (0..12).map(|_| uniform(&mut rng)).sum::<f64>() - 6.0
    };
    let (x, w) = (images * channels * plane, filters * channels * 9);
    let tens = |i: usize, most: usize| 10f64.powi((i * 7 % (2 * most + 1)) as i32 - most as i32);
    let channel = |i: usize| i / plane % channels;
    let filter = |i: usize| i / (channels * 9);
    let mut all = Vec::new();
    let mut add = |name, of_x: &dyn Fn(usize, f64) -> f64, of_w: &dyn Fn(usize, f64) -> f64| {
        let x = (0..x).map(|i| of_x(i, normal())).collect();
        let w = (0..w).map(|i| of_w(i, normal())).collect();
        all.push((name, x, w));
    };
    let plain = &|_: usize, v: f64| v;
    add("normal", plain, plain);
    add(
        "positive",
        &|_: usize, v: f64| v.abs() + 0.1,
        &|_: usize, v: f64| v.abs() + 0.1,
    );
    add(
        "images and filters of any size",
        &|i: usize, v: f64| v * tens(i / (channels * plane), 20),
        &|i: usize, v: f64| v * tens(filter(i), 15),
    );
    add("after relu", &|_: usize, v: f64| v.max(0.0), plain);
    add(
        "pixels from 1e-30 to 1e30",
        &|i: usize, v: f64| v * tens(i % plane, 30),
        plain,
    );
    add(
        "a dark half",
        &|i: usize, v: f64| if i % width < width / 2 { v } else { v * 1e-12 },
        plain,
    );
    add(
        "channels from 1e-30 to 1e30",
        &|i: usize, v: f64| v * tens(channel(i), 30),
        &|i: usize, v: f64| v / tens(i / 9 % channels, 30),
    );
    add(
        "one channel of each pixel",
        &|i: usize, v: f64| if channel(i) == i % channels { v } else { 0.0 },
        plain,
    );
    add(
        "few elements",
        &|i: usize, v: f64| if i.is_multiple_of(97) { v } else { 0.0 },
        plain,
    );
    add("one element of each filter", plain, &|i: usize, v: f64| {
        if i % (channels * 9) == filter(i) {
            v
        } else {
            0.0
        }
    });
    add(
        "subnormals",
        &|_: usize, v: f64| v * 1e-39,
        &|_: usize, v: f64| v * 1e3,
    );
    add(
        "an element too small",
        &|i: usize, v: f64| if i == 1234 { 1e-15 } else { v },
        plain,
    );
    all
}

/// Errors in units of 2^-24 of the sums of magnitudes, the root of the mean of their squares and the largest, are at most those
/// of plain sums of f32, on the adapter or one after the other by fused multiply-adds, or too small to count.
#[test]
fn no_data_gives_larger_errors_than_sums_one_after_the_other() {
    let options = Conv2dOptions::default().padding([1, 1]);
    let of_sizes = |exec: Executor| HARD.map(|sizes| (exec.clone(), sizes));
    for (exec, (of_x, filters)) in devices().into_iter().flat_map(of_sizes) {
        let [images, channels, height, width] = of_x;
        let of_w = [filters, channels, 3, 3];
        for (name, x, w) in hard(of_x, filters) {
            let (x, w) = (
                given(&exec, DType::F32, &of_x, &x),
                given(&exec, DType::F32, &of_w, &w),
            );
            let out_dims = [images, filters, height, width];
            let terms = conv(
                (&x.values, &of_x),
                (&w.values, &of_w),
                None,
                &options,
                [height, width],
            );
            let errors = |got: &mut dyn Iterator<Item = f64>| {
                let mut sums = [0.0f64; 2];
                for (got, term) in got.zip(&terms) {
                    let unit = (term.magnitude / 16_777_216.0).max(f64::from(f32::MIN_POSITIVE));
                    let error = (got - term.value).abs() / unit;
                    sums = [sums[0] + error * error, sums[1].max(error)];
                }
                [(sums[0] / terms.len() as f64).sqrt(), sums[1]]
            };
            let fused = errors(
                &mut (0..terms.len())
                    .map(|i| one_after_the_other((&x.values, of_x), (&w.values, filters), i)),
            );
            let results = |exec: &Executor| {
                let out = output(exec, DType::F32, &out_dims, 0);
                let _done = exec
                    .conv(&x.view, &w.view, None, &options, &out.view)
                    .unwrap();
                out.read(exec)
            };
            // What the adapter itself does with subnormals, and without fused multiply-adds: so little work is gathered.
            let gathered = ways(&exec, &x.view, &w.view, &options, "fn fetch_b4").swap_remove(0);
            let plain = errors(&mut results(&gathered).into_iter());
            let most = [fused[0].max(plain[0]), fused[1].max(plain[1])];
            // The tile, and where there are many channels their shares too.
            let packed = ways(&exec, &x.view, &w.view, &options, PACKED);
            let units = !packed.is_empty();
            assert!(!units || packed.len() == if channels == 128 { 2 } else { 1 });
            for exec in packed {
                let values = results(&exec);
                assert_eq!(values, results(&exec), "{name}");
                let own = errors(&mut values.into_iter());
                println!("{name}: {own:.2?}, plain {plain:.2?}, one after the other {fused:.2?}");
                assert!(own[0] <= most[0].max(0.25), "{name}: {own:?} {most:?}");
                assert!(own[1] <= most[1].max(8.0), "{name}: {own:?} {most:?}");
            }
        }
    }
}

/// An output as sums of f32 come to it.
fn one_after_the_other(
    (x, [_, channels, height, width]): (&[f64], [usize; 4]),
    (w, filters): (&[f64], usize),
    i: usize,
) -> f64 {
    let (rows, planes) = (i / width, i / (width * height));
    let (n, filter, row, col) = (planes / filters, planes % filters, rows % height, i % width);
    let mut sum = 0.0f32;
    for k in 0..channels * 9 {
        let (c, tap_y, tap_x) = (k / 9, k / 3 % 3, k % 3);
        let (y, x_at) = (row + tap_y, col + tap_x);
        if (1..=height).contains(&y) && (1..=width).contains(&x_at) {
            let from = ((n * channels + c) * height + y - 1) * width + x_at - 1;
            sum = (x[from] as f32).mul_add(w[filter * channels * 9 + k] as f32, sum);
        }
    }
    f64::from(sum)
}
