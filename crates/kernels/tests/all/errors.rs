//! What users get wrong, and what they are told: operation, rule, and what was given.

use crate::common;
use ziggurat_kernels::{DType, Executor, KernelError, Layout, Shape, View};
use ziggurat_pipeline::ArgumentError;

fn view(exec: &Executor, dims: &[usize], dtype: DType) -> View {
    exec.alloc(&Shape::new(dims).unwrap(), dtype).unwrap()
}

#[test]
fn dtypes_that_do_not_fit_are_named() {
    let exec = common::executor();
    let (float, int, truth) = (
        view(&exec, &[2], DType::F32),
        view(&exec, &[2], DType::I32),
        view(&exec, &[2], DType::Bool),
    );
    let message =
        |result: Result<ziggurat_kernels::Completion, KernelError>| result.unwrap_err().to_string();
    assert_eq!(
        message(exec.exp(&int, &int)),
        "exp: a is i32, but only floating-point dtypes have this op"
    );
    assert_eq!(
        message(exec.logical_not(&int, &int)),
        "logical_not: a is i32, but only bool has this op"
    );
    assert_eq!(
        message(exec.bitwise_and(&float, &float, &float)),
        "bitwise_and: a is f32, but floating-point dtypes do not have this op"
    );
    assert_eq!(
        message(exec.sub(&truth, &truth, &truth)),
        "sub: a is bool, but bool does not have this op"
    );
    assert_eq!(
        message(exec.add(&float, &int, &float)),
        "add: b is i32, but it must have the dtype of the first input"
    );
    assert_eq!(
        message(exec.lt(&float, &float, &float)),
        "lt: out is f32, but it must be bool"
    );
    assert_eq!(
        message(exec.where_(&float, &float, &float, &float)),
        "where: cond is f32, but it must be bool"
    );
    assert_eq!(
        message(exec.copy(&int, &float)),
        "copy: a is i32, but it must have the output's dtype"
    );
}

#[test]
fn shapes_that_do_not_broadcast_are_named() {
    let exec = common::executor();
    let (a, out) = (
        view(&exec, &[3], DType::F32),
        view(&exec, &[2, 4], DType::F32),
    );
    let error = exec.relu(&a, &out).unwrap_err();
    assert!(
        matches!(error, KernelError::Operands { op: "relu", .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("[3]") && error.to_string().contains("[2, 4]"),
        "{error}"
    );
}

#[test]
fn outputs_that_overlap_themselves_are_refused() {
    let exec = common::executor();
    let one = view(&exec, &[1], DType::F32);
    let spread = one
        .with_layout(one.layout.expand(Shape::new([3]).unwrap()).unwrap())
        .unwrap();
    let error = exec.relu(&one, &spread).unwrap_err();
    assert!(
        matches!(error, KernelError::OverlappingOutput { op: "relu", .. }),
        "{error}"
    );
    assert!(exec.fill(&spread, 1.0).is_err());
}

#[test]
fn views_beyond_their_buffer_are_refused() {
    let exec = common::executor();
    let a = view(&exec, &[5], DType::F32);
    let long = Layout::contiguous(Shape::new([1000]).unwrap());
    let error = a.with_layout(long).unwrap_err();
    assert!(
        matches!(
            error,
            KernelError::OutOfBuffer {
                end: 4000,
                bytes: 20,
                ..
            }
        ),
        "{error}"
    );
    // The fields are public, so ops look again.
    let forged = View {
        layout: long,
        ..a.clone()
    };
    assert!(matches!(
        exec.relu(&forged, &forged).unwrap_err(),
        KernelError::OutOfBuffer { .. }
    ));
    assert!(exec.download(&forged).is_err());
}

#[test]
fn data_of_the_wrong_length_is_refused() {
    let exec = common::executor();
    let error = exec
        .upload(&[1.0_f32, 2.0], &Shape::new([3]).unwrap())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "data for shape [3] must have 12 bytes, but it has 8"
    );
}

#[test]
fn views_of_another_memory_are_refused_by_every_kind_of_op_and_the_device_lives_on() {
    use ziggurat_kernels::device::DeviceOptions;
    use ziggurat_memory::{Memory, MemoryError, MemoryOptions};
    use ziggurat_pipeline::{PipelineError, Pipelines};

    let ours = Executor::open_blocking(DeviceOptions::default()).unwrap();
    let memory = Memory::new(ours.device(), MemoryOptions::default());
    let same_device = Executor::new(&Pipelines::new(&memory));
    let other = ours.reopen_blocking().unwrap();
    let shape = Shape::new([2, 2]).unwrap();
    let a = ours.upload(&[1.0f32, 2.0, 3.0, 4.0], &shape).unwrap();
    let out = ours.alloc(&shape, DType::F32).unwrap();
    for stranger in [&same_device, &other] {
        let foreign = stranger.upload(&[5.0f32, 6.0, 7.0, 8.0], &shape).unwrap();
        let transposed = foreign
            .with_layout(foreign.layout.permute(&[1, 0]).unwrap())
            .unwrap();
        let refusals = [
            ours.add(&a, &foreign, &out).map(drop),
            ours.add(&foreign, &a, &out).map(drop),
            ours.add(&a, &a, &foreign).map(drop),
            ours.exp(&transposed, &out).map(drop),
            ours.matmul(&a, &foreign, &out).map(drop),
            ours.matmul(&a, &a, &foreign).map(drop),
            ours.copy(&foreign, &out).map(drop),
            ours.copy(&a, &transposed).map(drop),
            ours.fill(&foreign, 1.0).map(drop),
            ours.softmax(&foreign, 1, &out).map(drop),
            ours.download(&foreign).map(drop),
            ours.download(&transposed).map(drop),
        ];
        for (number, refusal) in refusals.into_iter().enumerate() {
            let error = refusal.unwrap_err();
            assert!(
                matches!(
                    &error,
                    KernelError::Pipeline(PipelineError::Argument(
                        ArgumentError::ForeignBuffer { .. }
                    )) | KernelError::Memory(MemoryError::ForeignBuffer { .. })
                ),
                "{number}: {error}"
            );
        }
        let bytes = stranger.download(&foreign).unwrap().wait().unwrap();
        assert_eq!(
            bytes,
            [5.0f32, 6.0, 7.0, 8.0].map(f32::to_le_bytes).concat()
        );
    }
    let _recorded = ours.add(&a, &a, &out).unwrap();
    let bytes = ours.download(&out).unwrap().wait().unwrap();
    assert_eq!(
        bytes,
        [2.0f32, 4.0, 6.0, 8.0].map(f32::to_le_bytes).concat()
    );
}
