//! Counting what is no finite number: dtypes, views, parts of what one binding cannot hold, refusals.

use crate::common;
use ziggurat_core::{DType, Element, Layout, Shape, encode};
use ziggurat_kernels::{Executor, KernelError, View};

fn counted(exec: &Executor, a: &View) -> [u32; 3] {
    let found = exec
        .upload(&[0, 0, u32::MAX], &Shape::new([3]).unwrap())
        .unwrap();
    let _counted = exec.count_non_finite(a, &found).unwrap();
    let bytes = exec.download(&found).unwrap().wait().unwrap();
    let words = bytes.as_chunks::<4>().0;
    [0, 1, 2].map(|at| u32::from_le_bytes(words[at]))
}

/// So many numbers with a NaN at some positions and infinities at others.
fn mixed(exec: &Executor, dtype: DType, len: usize, nans: &[usize], infinities: &[usize]) -> View {
    let value = |at: usize| match (nans.contains(&at), infinities.contains(&at)) {
        (true, _) => f64::NAN,
        (_, true) if at.is_multiple_of(2) => f64::NEG_INFINITY,
        (_, true) => f64::INFINITY,
        _ => at as f64 * 0.25 - 3.0,
    };
    let values: Vec<f64> = (0..len).map(value).collect();
    exec.upload_bytes(dtype, &encode(dtype, &values), &Shape::new([len]).unwrap())
        .unwrap()
}

#[test]
fn nans_and_infinities_are_counted_and_the_first_is_found() {
    count_everything(&common::executor());
    // Grids of 24 workgroups of 8 invocations.
    count_everything(&common::fresh_folded_executor());
}

fn count_everything(exec: &Executor) {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for len in [1, 2, 7, 300, 70_001] {
            assert_eq!(
                counted(exec, &mixed(exec, dtype, len, &[], &[])),
                [0, 0, u32::MAX]
            );
            let last = mixed(exec, dtype, len, &[len - 1], &[]);
            assert_eq!(
                counted(exec, &last),
                [1, 0, len as u32 - 1],
                "{dtype} {len}"
            );
        }
        let both = mixed(exec, dtype, 1000, &[900, 77], &[78, 80, 501]);
        assert_eq!(counted(exec, &both), [2, 3, 77], "{dtype}");
        // The greatest finite number is one.
        let most = match dtype {
            DType::F16 => 65504.0,
            _ => 3.3e38,
        };
        let bytes = encode(dtype, &[most, -most]);
        let view = exec
            .upload_bytes(dtype, &bytes, &Shape::new([2]).unwrap())
            .unwrap();
        assert_eq!(counted(exec, &view)[..2], [0, 0], "{dtype}");
    }
}

#[test]
fn only_what_a_view_shows_is_counted_in_its_own_order() {
    let exec = common::executor();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let base = mixed(&exec, dtype, 24, &[3], &[22]);
        let rows = Layout::contiguous(Shape::new([4, 6]).unwrap());
        let turned = rows.transpose(0, 1).unwrap();
        // Position 3 is [0, 3], 22 is [3, 4]: in the other order 12 and 19.
        assert_eq!(
            counted(&exec, &base.with_layout(turned).unwrap()),
            [1, 1, 12]
        );
        let behind = rows.slice(0, 1, None, 1).unwrap();
        assert_eq!(
            counted(&exec, &base.with_layout(behind).unwrap()),
            [0, 1, 16]
        );
        let odd = Layout::contiguous(Shape::new([24]).unwrap());
        let odd = odd.slice(0, 1, Some(20), 1).unwrap();
        assert_eq!(counted(&exec, &base.with_layout(odd).unwrap()), [1, 0, 2]);
    }
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let exec = common::executor();
    let three = Shape::new([3]).unwrap();
    let found = exec.upload(&[0_u32; 3], &three).unwrap();
    let ints = exec.upload(&[1_i32; 3], &three).unwrap();
    let floats = exec.upload(&[1_f32; 3], &three).unwrap();
    let of_ints = exec.count_non_finite(&ints, &found).map(drop);
    assert!(matches!(of_ints, Err(KernelError::Dtype { .. })));
    let into_floats = exec.count_non_finite(&floats, &floats).map(drop);
    assert!(matches!(into_floats, Err(KernelError::Dtype { .. })));
    let two = exec
        .upload(&u32::write_bytes(&[0])[..2], &Shape::new([2]).unwrap())
        .unwrap();
    let short = exec.count_non_finite(&floats, &two).map(drop);
    assert!(short.is_err());
}
