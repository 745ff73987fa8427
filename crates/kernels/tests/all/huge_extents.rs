//! Views of extents that no device can hold: an answer or a typed error in short time, never a panic or an abort.

use crate::common;
use std::sync::mpsc;
use std::time::Duration;

use ziggurat_kernels::{DType, Executor, KernelError, Layout, Pad, Reduce, Scatter, Shape, View};

/// More than any of these takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

const HUGE: [usize; 5] = [
    1 << 31,
    (1 << 32) + 1,
    1 << 40,
    1 << 62,
    isize::MAX.cast_unsigned(),
];

/// One element seen by another layout.
fn seen(exec: &Executor, dims: &[usize]) -> View {
    let shape = Shape::new(dims).unwrap();
    if shape.is_empty() {
        return exec.alloc(&shape, DType::F32).unwrap();
    }
    let one = exec.upload(&[1.0_f32], &Shape::scalar()).unwrap();
    one.with_layout(one.layout.expand(shape).unwrap()).unwrap()
}

type Call = fn(&Executor, usize, &View, &View) -> Result<(), KernelError>;

/// Calls with a huge view and a small output of f32.
const CALLS: &[(&str, Call)] = &[
    ("alloc", |e, n, _, _| {
        e.alloc(&Shape::new([n]).unwrap(), DType::F32).map(drop)
    }),
    ("alloc beside 0", |e, n, _, _| {
        e.alloc(&Shape::new([n, 0]).unwrap(), DType::F32).map(drop)
    }),
    ("upload", |e, n, _, _| {
        e.upload(&[1.0_f32], &Shape::new([n]).unwrap()).map(drop)
    }),
    ("upload_bytes", |e, n, _, _| {
        e.upload_bytes(DType::Bool, &[], &Shape::new([0, n]).unwrap())
            .map(drop)
    }),
    ("download", |e, _, a, _| e.download(a)?.wait().map(drop)),
    ("download_many", |e, _, a, out| {
        e.download_many(&[a, out, a])?.wait().map(drop)
    }),
    ("fill", |e, _, a, _| e.fill(a, 1.0).map(drop)),
    ("arange", |e, _, a, _| e.arange(a, 0.0, 1.0).map(drop)),
    ("eye", |e, _, a, _| e.eye(a, i64::MIN).map(drop)),
    ("copy from", |e, _, a, out| e.copy(a, out).map(drop)),
    ("copy to", |e, _, a, out| e.copy(out, a).map(drop)),
    ("relu", |e, _, a, out| e.relu(a, out).map(drop)),
    ("relu in place", |e, _, a, _| e.relu(a, a).map(drop)),
    ("add", |e, _, a, out| e.add(a, a, out).map(drop)),
    ("add to", |e, _, a, out| e.add(out, out, a).map(drop)),
    ("cast", |e, _, a, out| e.cast(a, out).map(drop)),
    ("sum", |e, _, a, out| {
        let axes: Vec<usize> = (0..a.rank()).collect();
        e.reduce(Reduce::Sum, a, &axes, out).map(drop)
    }),
    ("max", |e, n, a, out| {
        // Some seconds of work, which the sum of as many has done.
        if n == HUGE[0] {
            return Ok(());
        }
        e.reduce(Reduce::Max, a, &[0], out).map(drop)
    }),
    ("matmul", |e, _, a, out| e.matmul(a, a, out).map(drop)),
    ("softmax", |e, _, a, out| e.softmax(a, 0, out).map(drop)),
    ("concat", |e, _, a, out| {
        e.concat(&[a, a, a], 0, out).map(drop)
    }),
    ("pad", |e, _, a, out| {
        let begin = vec![isize::MAX; a.rank()];
        e.pad(a, &begin, Pad::Constant, 0.0, out).map(drop)
    }),
    ("pad circular", |e, _, a, out| {
        let begin = vec![isize::MIN; a.rank()];
        e.pad(a, &begin, Pad::Circular, 0.0, out).map(drop)
    }),
    ("index_select", |e, _, a, out| {
        let index = e.upload(&[0_i32], &Shape::new([1]).unwrap())?;
        e.index_select(a, 0, &index, out).map(drop)
    }),
    ("index_scatter", |e, _, a, out| {
        let index = e.upload(&[0_i32], &Shape::new([1]).unwrap())?;
        e.index_scatter(Scatter::Add, a, 0, &index, out).map(drop)
    }),
    ("check_indices", |e, n, _, out| {
        let index = e.upload(&[0_i32], &Shape::new([1]).unwrap())?;
        e.check_indices(&index, &[n], out).map(drop)
    }),
    ("narrow layout", |_, n, a, _| {
        let narrowed = a.layout.narrow(0, n / 2, n - n / 2);
        a.with_layout(narrowed.unwrap_or(a.layout)).map(drop)
    }),
    ("layout of strides", |_, n, a, _| {
        let layout = Layout::new(Shape::new([n]).unwrap(), &[n.cast_signed()], n);
        a.with_layout(layout.unwrap_or(a.layout)).map(drop)
    }),
];

#[test]
fn huge_views_are_answered_or_refused() {
    let exec = common::executor();
    let mut found = Vec::new();
    for n in HUGE {
        for dims in [vec![n], vec![n, 0], vec![0, n], vec![1, n]] {
            for &(name, call) in CALLS {
                for small in [&[][..], &[1], &[2, 3], &[0]] {
                    let (exec, dims, small) = (exec.clone(), dims.clone(), small.to_vec());
                    let title = format!("{name} of {dims:?} and {small:?}");
                    let (done, wait) = mpsc::channel();
                    let thread = std::thread::spawn(move || {
                        let out = exec
                            .alloc(&Shape::new(&small).unwrap(), DType::F32)
                            .unwrap();
                        let result = call(&exec, n, &seen(&exec, &dims), &out);
                        done.send(result).ok();
                    });
                    match wait.recv_timeout(LIMIT) {
                        Ok(Ok(())) => {}
                        Ok(Err(error)) if error.is_internal() => {
                            found.push(format!("{title}: {error}"));
                        }
                        Ok(Err(_)) => {}
                        Err(mpsc::RecvTimeoutError::Timeout) => {
                            found.push(format!("{title}: does not end"));
                        }
                        Err(mpsc::RecvTimeoutError::Disconnected) => {
                            let text = thread.join().unwrap_err();
                            let text = text.downcast_ref::<String>().cloned();
                            found.push(format!("{title}: panics: {}", text.unwrap_or_default()));
                        }
                    }
                }
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} calls:\n{}",
        found.len(),
        found.join("\n")
    );
}
