//! The table of reductions.

use super::*;

#[test]
fn sums_widen_and_extrema_keep_their_dtype() {
    assert!(
        Reduce::Sum.accepts(DType::Bool, DType::I32)
            && !Reduce::Sum.accepts(DType::Bool, DType::Bool)
    );
    assert!(
        Reduce::Sum.accepts(DType::F16, DType::F32) && !Reduce::Sum.accepts(DType::F32, DType::F16)
    );
    assert!(
        !Reduce::Mean.accepts(DType::I32, DType::I32)
            && Reduce::Mean.accepts(DType::BF16, DType::BF16)
    );
    for dtype in DType::ALL {
        assert!(Reduce::Max.accepts(dtype, dtype));
        assert_eq!(Reduce::Min.accepts(dtype, DType::F32), dtype == DType::F32);
    }
}

#[test]
fn pairs_of_dtypes_are_those_of_the_documentation() {
    let pairs = |op: Reduce, input: DType| -> Vec<DType> {
        let all = DType::ALL.into_iter();
        all.filter(|&output| op.accepts(input, output)).collect()
    };
    let sum = |input| pairs(Reduce::Sum, input);
    assert_eq!(sum(DType::F32), [DType::F32]);
    assert_eq!(sum(DType::BF16), [DType::F32, DType::BF16]);
    assert_eq!(sum(DType::I32), [DType::I32]);
    assert_eq!(sum(DType::U32), [DType::U32]);
    assert_eq!(sum(DType::I8), [DType::I32, DType::I8]);
    assert_eq!(sum(DType::U8), [DType::I32, DType::U32, DType::U8]);
    assert_eq!(sum(DType::Bool), [DType::I32, DType::U32]);
    assert_eq!(pairs(Reduce::Prod, DType::Bool), []);
    assert_eq!(pairs(Reduce::SumAbs, DType::U8), sum(DType::U8));
    assert_eq!(pairs(Reduce::Var, DType::F16), [DType::F32, DType::F16]);
    assert_eq!(pairs(Reduce::Var, DType::I8), []);
}

#[test]
fn every_row_has_an_operator_and_a_reference_for_each_dtype() {
    for op in Reduce::ALL {
        for dtype in DType::ALL {
            let accepted = DType::ALL.into_iter().any(|to| op.accepts(dtype, to));
            if accepted {
                assert!(!op.operator(dtype).is_empty(), "{op:?} of {dtype}");
                assert!(dtype.is_float() || op.spec().integers.is_some(), "{op:?}");
            }
        }
    }
}
