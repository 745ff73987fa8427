//! Every call reads back; what is no call says why.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::run::call::Axes;
use ziggurat_core::BlockFormat;

fn calls() -> Vec<Call> {
    let rope = |rows| {
        Call::new(CallKind::Rope {
            options: RopeOptions {
                interleaved: true,
                positions_before_heads: false,
            },
            rows,
        })
    };
    let blocks = BlockShape::new(BlockFormat::Q8_0, [3, 64]).unwrap();
    let conv = ConvOptions {
        stride: [1, 2, 3],
        padding_begin: [0, 1, 0],
        padding_end: [4, 1, 0],
        dilation: [1, 1, 2],
        groups: 5,
        same: true,
    };
    let transposed = ConvTransposeOptions {
        stride: [1, 2, 3],
        padding_begin: [0, 1, 0],
        padding_end: [4, 1, 0],
        dilation: [1, 1, 2],
        output_padding: [0, 1, 2],
        groups: 5,
    };
    let mut calls: Vec<Call> = Reduce::ALL.map(|op| Call::reduce(op, &[0, 2])).into();
    calls.extend([
        Call::reduce(Reduce::Norm.with(f32::NAN), &[]),
        Call::new(CallKind::VarMean {
            correction: 0.5.into(),
            axes: Axes::from(&[1][..]),
        }),
        Call::new(CallKind::Search {
            op: ArgReduce::Min,
            axes: Axes::from(&[1][..]),
            select_last: true,
        }),
        Call::new(CallKind::Softmax {
            kind: SoftmaxKind::LogSoftmax,
            axis: 3,
        }),
        rope(RopeRows::From(7)),
        rope(RopeRows::PerBatch),
        rope(RopeRows::Given),
        Call::matmul(),
        Call::new(CallKind::Matmul {
            precision: MatmulPrecision::High,
        }),
        Call::new(CallKind::QuantizedLinear {
            weight: blocks,
            form: LinearForm::default(),
        }),
        Call::new(CallKind::QuantizedLinear {
            weight: blocks,
            form: LinearForm {
                rms_norm: Some(1e-5.into()),
                swiglu: true,
            },
        }),
        Call::new(CallKind::QuantizedEmbedding {
            table: blocks.with_f16(true),
        }),
        Call::new(CallKind::Dequantize {
            blocks,
            rows: [1, 2],
        }),
        Call::new(CallKind::QuantizeRows),
        Call::new(CallKind::Attention {
            options: AttentionOptions {
                scale: 0.1,
                softcap: 30.0,
                causal: true,
                shift: -3,
                left_window: Some(4),
                right_window: None,
                zero_masked_rows: true,
            },
        }),
        Call::new(CallKind::Conv {
            axes: 2,
            options: conv,
        }),
        Call::new(CallKind::ConvTranspose {
            axes: 3,
            options: transposed,
        }),
    ]);
    for op in Norm::ALL {
        calls.push(Call::new(CallKind::Norm {
            op,
            axes: 2,
            eps: 1e-5.into(),
            channels: Channels {
                period: 3,
                step: 4,
                span: 5,
            },
        }));
    }
    calls
}

#[test]
fn calls_and_ops_read_back_as_they_were() {
    for call in calls() {
        let text = call.to_text().unwrap();
        assert_eq!(Call::from_text(&text), Ok(call), "{text}");
        // A word less, and it is none.
        if let Some((less, _)) = text.rsplit_once(' ')
            && !matches!(call.kind(), CallKind::Attention { .. })
        {
            assert!(Call::from_text(less).is_err(), "{less}");
        }
    }
    let mut ops = vec![FusedOp::Where, FusedOp::Cast(DType::BF16)];
    ops.extend(Unary::ALL.iter().copied().map(FusedOp::Unary));
    ops.extend(Binary::ALL.iter().copied().map(FusedOp::Binary));
    ops.extend(Compare::ALL.iter().copied().map(FusedOp::Compare));
    ops.extend(Predicate::ALL.iter().copied().map(FusedOp::Predicate));
    for op in ops {
        assert_eq!(FusedOp::from_text(&op.to_text().unwrap()), Ok(op));
    }
}

#[test]
fn what_is_no_call_says_why() {
    let because = |text: &str| Call::from_text(text).unwrap_err().to_string();
    assert_eq!(because("frobnicate"), "there is no call `frobnicate`");
    assert_eq!(because("softmax op=softmax"), "`softmax` needs `axis`");
    assert_eq!(
        because("softmax op=max axis=1"),
        "`softmax` cannot have `op=max`"
    );
    assert_eq!(
        because("softmax op=softmax axis=-1"),
        "`softmax` cannot have `axis=-1`"
    );
    assert_eq!(because("matmul now"), "`now` is no `option=value`");
    assert_eq!(because(" "), "the text is empty");
    assert!(FusedOp::from_text("unary op=frob").is_err());
}
