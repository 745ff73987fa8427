//! Capture and replay: same results as recording, with new inputs, and with memory that nobody else gets.

use crate::common;
use ziggurat_kernels::{DType, Element, Executor, KernelError, Reduce, Shape, View};

fn view(exec: &Executor, dims: &[usize]) -> View {
    exec.alloc(&Shape::new(dims).unwrap(), DType::F32).unwrap()
}

fn read(exec: &Executor, view: &View) -> Vec<f32> {
    f32::read_bytes(&exec.download(view).unwrap().wait().unwrap())
}

fn write(exec: &Executor, view: &View, values: &[f32]) {
    exec.memory()
        .write(&view.buffer, 0, &f32::write_bytes(values))
        .unwrap();
}

/// `relu(x · w) + row`, then the sum of each row: matmul, elementwise, broadcast, reduction.
fn network(exec: &Executor, [x, w, row, out]: [&View; 4]) -> Result<(), KernelError> {
    let (hidden, active) = (
        exec.alloc(x.shape(), DType::F32)?,
        exec.alloc(x.shape(), DType::F32)?,
    );
    drop(exec.matmul(x, w, &hidden)?);
    drop(exec.relu(&hidden, &active)?);
    drop(exec.add(&active, row, &hidden)?);
    exec.reduce(Reduce::Sum, &hidden, &[1], out).map(drop)
}

fn input(round: usize) -> Vec<f32> {
    (0..64_u8)
        .map(|i| f32::from(i % 7) - 3.0 + round as f32)
        .collect()
}

fn replays_like_it_records(exec: &Executor) {
    let [x, w, row] = [&[8, 8][..], &[8, 8], &[8]].map(|dims| view(exec, dims));
    let (out, eager) = (view(exec, &[8]), view(exec, &[8]));
    write(exec, &w, &input(1));
    write(exec, &row, &[0.5; 8]);
    let captured = exec
        .capture(|exec| network(exec, [&x, &w, &row, &out]))
        .unwrap();
    assert!(captured.len() >= 4, "{}", captured.len());
    let mut seen = Vec::new();
    for round in 0..3 {
        write(exec, &x, &input(round));
        captured.replay().unwrap().wait().unwrap();
        network(exec, [&x, &w, &row, &eager]).unwrap();
        let replayed = read(exec, &out);
        assert_eq!(replayed, read(exec, &eager), "round {round}");
        seen.push(replayed);
    }
    assert_ne!(seen[0], seen[1], "the replay must see new inputs");
}

#[test]
fn a_replay_computes_what_recording_computes_with_new_inputs() {
    let exec = common::executor();
    replays_like_it_records(&exec);
}

#[test]
fn a_replay_works_with_parameters_in_uniform_memory() {
    let exec = common::plain_executor();
    replays_like_it_records(&exec);
}

#[test]
fn nothing_runs_before_the_replay() {
    let exec = common::fresh_executor();
    let out = view(&exec, &[16]);
    write(&exec, &out, &[1.0; 16]);
    let before = exec.device().queue_stats().dispatches;
    let captured = exec.capture(|exec| exec.fill(&out, 2.0).map(drop)).unwrap();
    assert_eq!(exec.device().queue_stats().dispatches, before);
    assert_eq!(read(&exec, &out), [1.0; 16]);
    drop(captured.replay().unwrap());
    assert_eq!(read(&exec, &out), [2.0; 16]);
}

#[test]
fn memory_of_a_capture_is_not_given_to_others() {
    let exec = common::executor();
    let (x, out) = (view(&exec, &[1000]), view(&exec, &[1000]));
    write(&exec, &x, &[3.0; 1000]);
    let captured = exec
        .capture(|exec| {
            let between = exec.alloc(x.shape(), DType::F32)?;
            drop(exec.square(&x, &between)?);
            exec.neg(&between, &out).map(drop)
        })
        .unwrap();
    // Whoever allocates now must not get the memory between the two ops.
    let others: Vec<View> = (0..8)
        .map(|_| {
            let other = view(&exec, &[1000]);
            drop(exec.fill(&other, 7.0).unwrap());
            other
        })
        .collect();
    drop(captured.replay().unwrap());
    assert_eq!(read(&exec, &out), [-9.0; 1000]);
    for other in &others {
        assert_eq!(read(&exec, other), [7.0; 1000]);
    }
}

#[test]
fn what_cannot_be_replayed_is_refused_while_capturing() {
    let exec = common::executor();
    let x = view(&exec, &[4]);
    let refused = |result: Result<(), KernelError>, wanted: &str| match result {
        Err(KernelError::InCapture { op }) => assert_eq!(op, wanted),
        other => panic!("{wanted}: {other:?}"),
    };
    let shape = *x.shape();
    refused(
        exec.capture(|exec| exec.upload(&[0.0_f32; 4], &shape).map(drop))
            .map(drop),
        "upload",
    );
    refused(
        exec.capture(|exec| exec.download(&x).map(drop)).map(drop),
        "download",
    );
    refused(
        exec.capture(|exec| exec.capture(|_| Ok(())).map(drop))
            .map(drop),
        "capture",
    );
    // Outside everything works as before.
    drop(exec.fill(&x, 1.0).unwrap());
    assert_eq!(read(&exec, &x), [1.0; 4]);
}

#[test]
fn an_executor_kept_beyond_its_capture_records_nothing() {
    let exec = common::executor();
    let x = view(&exec, &[4]);
    let mut kept = None;
    let captured = exec
        .capture(|exec| {
            kept = Some(exec.clone());
            Ok(())
        })
        .unwrap();
    assert!(captured.is_empty());
    let error = kept.unwrap().fill(&x, 1.0).unwrap_err();
    assert!(error.to_string().contains("already finished"), "{error}");
}

#[test]
fn replays_from_many_threads_do_not_mix() {
    let exec = common::executor();
    let (x, y) = (view(&exec, &[64]), view(&exec, &[64]));
    let one = exec.scalar(DType::F32, 1.0).unwrap();
    // Counts to 100 from whatever is there: a mixed replay would go on from another one's number.
    let captured = exec
        .capture(|exec| {
            drop(exec.fill(&x, 0.0)?);
            for step in 0..100 {
                let (from, to) = if step % 2 == 0 { (&x, &y) } else { (&y, &x) };
                drop(exec.add(from, &one, to)?);
            }
            Ok(())
        })
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    drop(captured.replay().unwrap());
                }
            });
        }
    });
    assert_eq!(read(&exec, &x), [100.0; 64]);
}
