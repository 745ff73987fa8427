//! What the contract says of operations along axes.

use super::*;

#[test]
fn along_axes() {
    let mut c = Contract::new();
    for t in FLOATS {
        let none = c.zeros(&[2, 0], t);
        for (rule, value, outcome) in [
            ("sum", 0.0, none.sum([1], false)),
            ("prod", 1.0, none.prod([1], false)),
            ("mean", NAN, none.mean([1], false)),
            ("var", NAN, none.var([1], 0, false)),
            ("logsumexp", -INF, none.logsumexp([1], false)),
            ("norm", 0.0, none.norm(3.0, [1], false)),
            ("any", 0.0, none.any([1], false)),
            ("all", 1.0, none.all([1], false)),
        ] {
            c.gives(rule, &[2], &[value; 2], outcome);
        }
        c.refuses(
            "the greatest of nothing",
            Error::is_shape,
            none.max([1], false),
        );
        c.refuses("its place", Error::is_shape, none.argmax(1, false));
        c.refuses(
            "norm inf of nothing",
            Error::is_shape,
            none.norm(INF, [1], false),
        );
        c.gives("along another axis", &[0], &[], none.max([0], false));
        c.refuses("an axis twice", Error::is_shape, none.sum([1, -1], false));
        let one = c.of(t, &[5.0]);
        c.gives("std of one", &[], &[NAN], one.std([0], 1, false));
        let low = c.of(t, &[-INF, -INF]);
        c.gives("logsumexp", &[], &[-INF], low.logsumexp([0], false));
        c.gives("softmax", &[2], &[NAN; 2], low.softmax(0));
        c.gives(
            "log_softmax",
            &[2],
            &[0.0, -INF],
            c.of(t, &[0.0, -INF]).log_softmax(0),
        );
        let x = c.of(t, &[2.0, NAN, 1.0, NAN, 1.0]);
        c.gives(
            "ascending",
            &[5],
            &[2.0, 4.0, 0.0, 1.0, 3.0],
            x.argsort(0, false),
        );
        c.gives(
            "descending",
            &[5],
            &[1.0, 3.0, 0.0, 2.0, 4.0],
            x.argsort(0, true),
        );
        c.gives("median", &[], &[1.0], x.median(0, false).map(|(_, at)| at));
        c.gives(
            "topk",
            &[2],
            &[NAN; 2],
            x.topk(2, 0, true).map(|(best, _)| best),
        );
        c.refuses(
            "more than there are",
            Error::is_shape,
            x.topk(6, 0, true).map(|(best, _)| best),
        );
        c.refuses(
            "k of 0",
            Error::is_argument,
            x.kthvalue(0, 0, false).map(|(value, _)| value),
        );
        let ties = c.of(t, &[1.0, 3.0, 3.0]);
        c.gives(
            "last of equals",
            &[3],
            &[0.0, 1.0, 2.0],
            ties.cummax(0).map(|(_, at)| at),
        );
        c.gives("NaN stays", &[5], &[2.0, NAN, NAN, NAN, NAN], x.cumsum(0));
        c.gives(
            "no length",
            &[2],
            &[0.0; 2],
            c.of(t, &[0.0; 2]).normalize(2.0, [0], 1e-12),
        );
        c.gives(
            "a constant row",
            &[2],
            &[0.0; 2],
            c.of(t, &[5.0; 2]).layer_norm([2], None, None, 1e-5),
        );
    }
    c.refuses("mean of integers", Error::is_dtype, c.ints(&[1]).mean_all());
    c.gives(
        "product of bytes",
        &[],
        &[400.0],
        c.of(DType::U8, &[200.0, 2.0]).prod_all(),
    );
    c.gives(
        "i32 wraps",
        &[],
        &[f64::from(i32::MIN)],
        c.ints(&[i32::MAX, 1]).sum_all(),
    );
    c.finish(84);
}
