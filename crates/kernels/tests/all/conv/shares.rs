//! Convolutions whose channels several workgroups share, without matrix units.

use super::axes::{run_forward, run_transposed};
use super::packed::{SHARES, ways_of};
use super::*;
use ziggurat_kernels::{ConvOptions, ConvTransposeOptions};

/// Gathered, and of kernels of one element in vec4 and in words; planes and volumes; images have all shares before the next one.
#[test]
fn planes_and_volumes_of_every_dtype_share_channels() {
    let exec = common::executor();
    let mut rng = Random(81);
    for dtype in FLOATS {
        let mut of = |dims: &[usize]| random(&exec, dtype, dims, Arrangement::Contiguous, &mut rng);
        let bias = of(&[20]);
        for bias in [None, Some(&bias)] {
            for (x, w, size) in [
                ([2, 64, 4, 5], [20, 64, 3, 3], [2, 3]),
                ([2, 512, 8, 9], [20, 512, 1, 1], [8, 9]),
                ([1, 520, 5, 7], [20, 520, 1, 1], [5, 7]),
            ] {
                let options = ConvOptions::default();
                let out = [x[0], 20, size[0], size[1]];
                let (x, w) = (of(&x), of(&w));
                let all = ways_of(&exec, &options.call(), (&x.view, &w.view), &out, SHARES);
                run_forward(&all[0], (&x, &w, bias), &options, size, 4);
            }
            for (x, w, size) in [
                ([2, 64, 3, 4, 3], [20, 64, 2, 2, 2], [2, 3, 2]),
                ([2, 512, 2, 4, 9], [20, 512, 1, 1, 1], [2, 4, 9]),
                ([1, 512, 2, 3, 5], [20, 512, 1, 1, 1], [2, 3, 5]),
            ] {
                let options = ConvOptions::default();
                let out = [x[0], 20, size[0], size[1], size[2]];
                let (x, w) = (of(&x), of(&w));
                let all = ways_of(&exec, &options.call(), (&x.view, &w.view), &out, SHARES);
                run_forward(&all[0], (&x, &w, bias), &options, size, 0);
            }
            let (x, w) = (of(&[2, 64, 2, 3]), of(&[64, 20, 3, 3]));
            let options = ConvTransposeOptions::default();
            let (call, out) = (options.call(), [2, 20, 4, 5]);
            let all = ways_of(&exec, &call, (&x.view, &w.view), &out, SHARES);
            run_transposed(&all[0], (&x, &w, bias), &options, [4, 5], 0);
            let (x, w) = (of(&[1, 64, 2, 3, 2]), of(&[64, 20, 2, 2, 2]));
            let options = ConvTransposeOptions::<3>::default();
            let (call, out) = (options.call(), [1, 20, 3, 4, 3]);
            let all = ways_of(&exec, &call, (&x.view, &w.view), &out, SHARES);
            run_transposed(&all[0], (&x, &w, bias), &options, [3, 4, 3], 0);
        }
    }
}
