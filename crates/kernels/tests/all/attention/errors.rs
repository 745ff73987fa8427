//! Calls of attention that are refused, by the rule that they break.

use super::*;

#[test]
fn wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let (q, k) = (
        view(DType::F32, &[2, 4, 3, 8]),
        view(DType::F32, &[2, 2, 5, 8]),
    );
    let operands = AttentionOperands {
        q: &q,
        k: &k,
        v: &k,
        mask: None,
        lengths: None,
        factors: None,
    };
    let call =
        |operands: &AttentionOperands<'_>| exec.attention(operands, &scaled(1.0), &q).unwrap_err();
    let three = view(DType::F32, &[2, 3, 5, 8]);
    let error = call(&AttentionOperands {
        k: &three,
        v: &three,
        ..operands
    });
    assert_eq!(
        error.to_string(),
        "attention: the heads of k do not divide those of q: left is [2, 4, 3, 8], right is [2, 3, 5, 8]"
    );
    let narrow = view(DType::F32, &[2, 2, 5, 7]);
    assert!(matches!(
        call(&AttentionOperands {
            k: &narrow,
            ..operands
        }),
        KernelError::Operands { .. }
    ));
    assert!(matches!(
        call(&AttentionOperands { v: &q, ..operands }),
        KernelError::Operands { .. }
    ));
    let half = view(DType::F16, &[2, 2, 5, 8]);
    assert!(matches!(
        call(&AttentionOperands {
            v: &half,
            ..operands
        }),
        KernelError::Dtype { operand: "v", .. }
    ));
    let flat = view(DType::F32, &[3, 8]);
    assert!(matches!(
        call(&AttentionOperands {
            q: &flat,
            ..operands
        }),
        KernelError::Operand { .. }
    ));
    let mask = view(DType::I32, &[3, 5]);
    assert!(matches!(
        call(&AttentionOperands {
            mask: Some(&mask),
            ..operands
        }),
        KernelError::Dtype {
            operand: "mask",
            ..
        }
    ));
    let mask = view(DType::Bool, &[3, 6]);
    assert!(matches!(
        call(&AttentionOperands {
            mask: Some(&mask),
            ..operands
        }),
        KernelError::Operands { .. }
    ));
    let lengths = view(DType::I32, &[3]);
    assert!(matches!(
        call(&AttentionOperands {
            lengths: Some(&lengths),
            ..operands
        }),
        KernelError::Operand {
            operand: "lengths",
            ..
        }
    ));
    let error = exec
        .attention(&operands, &scaled(1.0), &view(DType::F32, &[2, 4, 3, 7]))
        .unwrap_err();
    assert!(matches!(error, KernelError::Output { .. }), "{error}");
    for shift in [i32::MIN, i32::MAX, (1 << 30) + 1] {
        let options = AttentionOptions {
            shift,
            ..scaled(1.0)
        };
        let out = view(DType::F32, &[2, 4, 3, 8]);
        let error = exec.attention(&operands, &options, &out).unwrap_err();
        assert!(
            matches!(&error, KernelError::Option { got, .. } if *got == i64::from(shift)),
            "{error}"
        );
    }
}

#[test]
fn integers_need_factors_that_fit_them() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let q = view(DType::F32, &[2, 4, 3, 8]);
    let k = view(DType::I8, &[2, 2, 5, 8]);
    let floats = view(DType::F32, &[2, 2, 5, 8]);
    let factors = view(DType::F32, &[2, 2, 5, 2]);
    let [flat, half] = [
        view(DType::F32, &[2, 2, 5]),
        view(DType::F16, &[2, 2, 5, 2]),
    ];
    let operands = AttentionOperands {
        q: &q,
        k: &k,
        v: &k,
        mask: None,
        lengths: None,
        factors: Some(&factors),
    };
    let of = |factors| AttentionOperands {
        factors,
        ..operands
    };
    let result = |operands: AttentionOperands<'_>| {
        let done = exec.attention(&operands, &scaled(1.0), &q);
        done.map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert_eq!(result(operands), "");
    for (operands, message) in [
        (
            of(None),
            "attention: k is i8, but it must have the dtype of q, or be i8 with factors",
        ),
        (
            AttentionOperands {
                v: &floats,
                ..operands
            },
            "attention: v is f32, but with factors it must be i8",
        ),
        (
            AttentionOperands {
                k: &floats,
                v: &floats,
                ..operands
            },
            "attention: k is f32, but with factors it must be i8",
        ),
        (
            AttentionOperands { q: &k, ..operands },
            "attention: q is i8, but it must be a float",
        ),
        (
            of(Some(&half)),
            "attention: factors is f16, but factors are f32",
        ),
        (
            of(Some(&flat)),
            "attention: factors must be [batch, key heads, keys, 2], but its shape is [2, 2, 5]",
        ),
        (
            of(Some(&floats)),
            "attention: factors must be [batch, key heads, keys, 2], but its shape is [2, 2, 5, 8]",
        ),
    ] {
        assert_eq!(result(operands), message);
    }
}
