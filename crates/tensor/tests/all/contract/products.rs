//! What the contract says of products, windows and losses.

use super::*;

#[test]
fn products_windows_and_losses() {
    let mut c = Contract::new();
    for t in [DType::F32, DType::F16, DType::I32, DType::U8] {
        let (a, b) = (c.zeros(&[2, 0], t), c.zeros(&[0, 3], t));
        c.gives("K = 0", &[2, 3], &[0.0; 6], a.matmul(&b));
    }
    let (zero, infinite) = (
        c.zeros(&[1, 1], DType::F32),
        c.floats(&[INF]).reshape([1, 1]).unwrap(),
    );
    c.gives("0 · inf", &[1, 1], &[NAN], zero.matmul(&infinite));
    c.gives(
        "beta 0",
        &[1, 1],
        &[0.0],
        infinite.addmm(&zero, &zero, 0.0, 1.0),
    );
    c.refuses("rank 0", Error::is_shape, c.ones(&[]).matmul(&c.ones(&[1])));
    let row = c
        .floats(&[1.0, 2.0, 3.0, 4.0, 5.0])
        .reshape([1, 1, 5])
        .unwrap();
    let plain = Conv1dOptions::default();
    let pair = c.ones(&[1, 1, 2]);
    c.gives(
        "same",
        &[1, 1, 5],
        &[3.0, 5.0, 7.0, 9.0, 5.0],
        row.conv1d(&pair, None, &plain.same()),
    );
    c.gives(
        "no batch",
        &[0, 1, 4],
        &[],
        c.zeros(&[0, 1, 5], DType::F32).conv1d(&pair, None, &plain),
    );
    c.gives(
        "no channels",
        &[1, 1, 4],
        &[0.0; 4],
        c.zeros(&[1, 0, 5], DType::F32)
            .conv1d(&c.ones(&[1, 0, 2]), None, &plain),
    );
    c.refuses(
        "a larger kernel",
        Error::is_shape,
        row.conv1d(&c.ones(&[1, 1, 6]), None, &plain),
    );
    let two = PoolOptions::<1>::new([2]);
    let ceil = PoolOptions {
        ceil_mode: true,
        ..two
    };
    let counted = PoolOptions {
        count_include_pad: true,
        ..two.padding([1])
    };
    c.gives("ceil", &[1, 1, 3], &[1.5, 3.5, 5.0], row.avg_pool1d(&ceil));
    c.gives(
        "padding counts",
        &[1, 1, 3],
        &[0.5, 2.5, 4.5],
        row.avg_pool1d(&counted),
    );
    let low = c.floats(&[-INF, -INF]).reshape([1, 1, 2]).unwrap();
    c.gives(
        "padding never wins",
        &[1, 1, 2],
        &[-INF; 2],
        low.max_pool1d(&two.padding([1])),
    );
    c.gives(
        "adaptive",
        &[1, 1, 3],
        &[1.5, 3.0, 4.5],
        row.adaptive_avg_pool1d([3]),
    );
    let linear = InterpolateOptions {
        mode: InterpolateMode::Linear,
        ..InterpolateOptions::default()
    };
    let ends = c.floats(&[0.0, 1.0]).reshape([1, 1, 2]).unwrap();
    c.gives(
        "linear",
        &[1, 1, 4],
        &[0.0, 0.25, 0.75, 1.0],
        ends.interpolate(&[4], &linear),
    );
    let (q, no_keys) = (c.ones(&[1, 1, 2, 1]), c.zeros(&[1, 1, 0, 1], DType::F32));
    for (masked_rows, value) in [(MaskedRows::Nan, NAN), (MaskedRows::Zero, 0.0)] {
        let options = Attention {
            masked_rows,
            ..Attention::default()
        };
        let y = q.scaled_dot_product_attention(&no_keys, &no_keys, &options);
        c.gives("no keys", &[1, 1, 2, 1], &[value; 2], y);
    }
    let logits = c.zeros(&[2, 2], DType::F32);
    for (reduction, value) in [(Reduction::Mean, NAN), (Reduction::Sum, 0.0)] {
        let options = CrossEntropyOptions {
            reduction,
            ..CrossEntropyOptions::default()
        };
        let loss = logits.cross_entropy(&c.ints(&[-100, -100]), &options);
        c.gives("all ignored", &[], &[value], loss);
    }
    let plain = CrossEntropyOptions::default();
    c.gives(
        "no class",
        &[],
        &[NAN],
        logits.cross_entropy(&c.ints(&[2, 0]), &plain),
    );
    c.gives("no rows", &[], &[1.0], c.zeros(&[0, 0], DType::F32).det());
    c.gives("singular", &[], &[0.0], c.zeros(&[3, 3], DType::F32).det());
    c.finish(23);
}
