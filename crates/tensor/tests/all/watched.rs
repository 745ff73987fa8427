//! Kernels whose file changes while the program runs.

use crate::common;
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};
use ziggurat_tensor::{CustomKernel, DType, Sequence, Tensor};

fn text(body: &str) -> String {
    format!(
        "@group(0) @binding(0) var<storage, read> x: array<f32>;
         @group(0) @binding(1) var<storage, read_write> y: array<f32>;
         @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
             if id.x < arrayLength(&y) {{ y[id.x] = {body}; }}
         }}"
    )
}

/// With the feature `watch` a call may come before the system tells of a change.
fn soon(is_seen: &dyn Fn() -> bool) {
    let most = if cfg!(feature = "watch") { 10_000 } else { 0 };
    let start = Instant::now();
    while !is_seen() && start.elapsed() < Duration::from_millis(most) {
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_error_of_a_mistake_is_printed_once() {
    let test = "watched::what_is_saved_is_called_and_mistakes_are_not";
    let mut this = process::Command::new(env::current_exe().unwrap());
    let output = this
        .args(["--exact", test, "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    for mistake in ["expected expression, found", "unknown"] {
        assert!(said.contains(mistake), "{said}");
    }
    let times = said.matches("calls go on with the text before").count();
    // The system may tell of a file that is not yet written to its end.
    let most = if cfg!(feature = "watch") { 20 } else { 2 };
    assert!((2..=most).contains(&times), "{said}");
}

#[test]
fn what_is_saved_is_called_and_mistakes_are_not() {
    let folder = env::temp_dir().join(format!("ziggurat-watched-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("wave.wgsl");
    let missing = CustomKernel::watch(folder.join("none.wgsl")).unwrap_err();
    assert!(missing.to_string().contains("none.wgsl"), "{missing}");
    let device = common::device();
    let x = Tensor::from_slice(&device, &[1.0f32, 2.0], [2]).unwrap();
    fs::write(&path, text("x[id.x] + 1.0")).unwrap();
    let kernel = CustomKernel::watch(&path).unwrap().input("x", DType::F32);
    let called = || {
        kernel
            .call(&[&x])
            .run()
            .unwrap()
            .to_vec_blocking::<f32>()
            .unwrap()
    };
    assert_eq!(called(), [2.0, 3.0]);
    let steps = || {
        let mut steps = Sequence::new(&device, "steps");
        let (x, y) = (
            steps.read(&x).unwrap(),
            steps.scratch([2], DType::F32).unwrap(),
        );
        steps.step(&kernel, [x, y]).elements(2).run().unwrap();
        steps.finish(y).unwrap().to_vec_blocking::<f32>().unwrap()
    };
    for (body, expected) in [
        ("x[id.x] + 5.0", [6.0, 7.0]),
        ("x[id.x] + ;", [6.0, 7.0]),
        ("unknown(x[id.x])", [6.0, 7.0]),
        ("x[id.x] * 3.0", [3.0, 6.0]),
    ] {
        fs::write(&path, text(body)).unwrap();
        if cfg!(feature = "watch") {
            // Of mistakes nothing can be seen from here.
            thread::sleep(Duration::from_millis(300));
        }
        soon(&|| called() == expected);
        assert_eq!(called(), expected, "{body}");
        assert_eq!(steps(), expected, "{body}");
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(called(), [3.0, 6.0], "a file that is away for a moment");
    // As editors save: another file in its place.
    let new = folder.join("new");
    fs::write(&new, text("x[id.x] * 4.0")).unwrap();
    fs::rename(&new, &path).unwrap();
    soon(&|| called() == [4.0, 8.0]);
    assert_eq!(called(), [4.0, 8.0]);
    fs::write(&path, "no text").unwrap();
    let error = CustomKernel::watch(&path)
        .unwrap()
        .input("x", DType::F32)
        .call(&[&x])
        .run()
        .unwrap_err();
    assert!(error.to_string().contains("wave:1"), "{error}");
    fs::remove_dir_all(&folder).unwrap();
}
