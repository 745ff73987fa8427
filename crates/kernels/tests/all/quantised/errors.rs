//! Malformed calls on blocks: each is an error that says operation, rule and what was given.

use super::*;
use ziggurat_kernels::{Call, CallKind, Operands};

fn text(result: Result<impl Sized, KernelError>) -> String {
    result.err().unwrap().to_string()
}

#[test]
fn blocks_that_do_not_fit_are_refused() {
    let exec = common::executor();
    let rows = BlockShape::new(BlockFormat::Q4_K, [3, 128]);
    assert_eq!(
        text(rows),
        "blocks: rows of Q4_K must be whole blocks of 256 elements, but they have 128"
    );
    let many = BlockShape::new(BlockFormat::Q4_0, [usize::MAX, 64]);
    assert!(matches!(many, Err(KernelError::Shape { .. })));
    let shape = BlockShape::new(BlockFormat::Q4_0, [3, 64]).unwrap();
    for got in [0, 107, 109] {
        let error = exec.upload_blocks(shape, &vec![0; got]).unwrap_err();
        assert!(error.is_shape());
        assert_eq!(
            error.to_string(),
            format!(
                "upload_blocks: 3 × 64 elements of Q4_0 must have 108 bytes, but there are {got}"
            )
        );
    }
    let small = common::limited_executor(4096, 1 << 15);
    let shape = BlockShape::new(BlockFormat::Q4_0, [300, 64]).unwrap();
    let error = small.upload_blocks(shape, &vec![0; 10_800]).unwrap_err();
    assert!(matches!(
        error,
        KernelError::BindingTooLarge {
            bytes: 10_800,
            limit: 4096,
            ..
        }
    ));
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let exec = common::executor();
    let mut random = Random(20);
    let (weight, _) = matrix(&exec, BlockFormat::Q8_0, [6, 64], &USUAL, &mut random);
    let view = |dims: &[usize], dtype| exec.alloc(&shape(dims), dtype).unwrap();
    let f = |dims: &[usize]| view(dims, DType::F32);
    let linear =
        |x: &View, weight: &Blocks, out: &View| text(exec.quantized_linear(x, weight, out));
    assert_eq!(
        linear(&f(&[2, 96]), &weight, &f(&[2, 6])),
        "quantized_linear: inner dimensions differ: left is [2, 96], right is [6, 64]"
    );
    assert_eq!(
        linear(&f(&[64]), &weight, &f(&[6])),
        "quantized_linear: x must have rank 2 or more, but its shape is [64]"
    );
    assert_eq!(
        linear(&f(&[2, 64]), &weight, &f(&[6, 2])),
        "quantized_linear: the output must be [2, 6], but it is [6, 2]"
    );
    assert_eq!(
        linear(&view(&[2, 64], DType::I32), &weight, &f(&[2, 6])),
        "quantized_linear: x is i32, but it must be a float"
    );
    assert_eq!(
        linear(&f(&[2, 64]), &weight, &view(&[2, 6], DType::F16)),
        "quantized_linear: out is f16, but it must have the dtype of x, or f32"
    );
    let other = |words: View| Blocks {
        words,
        shape: weight.shape,
    };
    assert_eq!(
        linear(&f(&[2, 64]), &other(f(&[102])), &f(&[2, 6])),
        "quantized_linear: the memory of the blocks is f32, but planes are words: u32"
    );
    assert_eq!(
        linear(&f(&[2, 64]), &other(view(&[101], DType::U32)), &f(&[2, 6])),
        "quantized_linear: the memory of the blocks must be the dense words that their shape says, but its shape is [101]"
    );
    let ids = view(&[2], DType::F32);
    assert_eq!(
        text(exec.quantized_embedding(&ids, &weight, &f(&[2, 64]))),
        "quantized_embedding: indices is f32, but indices are i32 or u32"
    );
    assert_eq!(
        text(exec.dequantize(&weight, &view(&[6, 64], DType::I8))),
        "dequantize: out is i8, but the numbers of blocks are floats"
    );
    assert_eq!(
        text(exec.dequantize(&weight, &f(&[5, 64]))),
        "dequantize: the output must be [6, 64], but it is [5, 64]"
    );
    let beyond = Call::new(CallKind::Dequantize {
        blocks: weight.shape,
        rows: [4, 3],
    });
    assert_eq!(
        text(exec.run(
            &beyond,
            &Operands::one(&weight.words),
            (&f(&[3, 64])).into()
        )),
        "dequantize: the end of the rows must not be behind the last row of the blocks, but it is 7"
    );
    let none = BlockShape::new(BlockFormat::Q8_0, [0, 64]).unwrap();
    let none = exec.upload_blocks(none, &[]).unwrap();
    let ids = view(&[2], DType::I32);
    assert_eq!(
        text(exec.quantized_embedding(&ids, &none, &f(&[2, 64]))),
        "quantized_embedding: the table must have rows, but its shape is [0, 64]"
    );
}
