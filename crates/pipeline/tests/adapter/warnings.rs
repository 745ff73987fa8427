//! What creating a kernel warns of: kept until somebody takes it, and shown where the program is being developed.

use std::env;
use std::process::Command;

use super::*;

const HALF: &str = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
    if i < 32u { storageBarrier(); }
    y[i] = i;
}";

fn warned(pipelines: &Pipelines, text: &str) -> Vec<String> {
    kernel(pipelines, ShaderSource::wgsl("half", text.to_owned()));
    let warnings = pipelines.take_warnings().into_iter();
    warnings.map(|warning| warning.to_string()).collect()
}

#[test]
fn a_barrier_that_some_do_not_reach_is_warned_of_when_the_kernel_is_created() {
    let pipelines = open(DeviceOptions::default());
    let expected = "half: half:3:18: warning: not every invocation of the workgroup reaches this barrier: browsers refuse the shader, GPUs may hang
3 |     if i < 32u { storageBarrier(); }
  |                  ^^^^^^^^^^^^^^";
    let found = warned(&pipelines, HALF);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(expected), "{}", found[0]);
    let again = warned(&pipelines, HALF);
    assert!(again.is_empty(), "once for each kernel: {again:?}");
    let uniform = HALF
        .replace("i < 32u", "y[0] < 32u")
        .replace("read_write", "read");
    let uniform = uniform.replace("    y[i] = i;\n", "");
    assert!(warned(&pipelines, &uniform).is_empty());

    // Nobody takes them: they are not kept without end.
    for k in 0..70 {
        kernel(
            &pipelines,
            ShaderSource::wgsl("half", format!("const K = {k};\n{HALF}")),
        );
    }
    assert_eq!(pipelines.take_warnings().len(), 64);
}

#[test]
fn a_warning_is_written_to_standard_error_in_builds_with_debug_assertions() {
    let test = "warnings::a_barrier_that_some_do_not_reach_is_warned_of_when_the_kernel_is_created";
    let mut this = Command::new(env::current_exe().unwrap());
    let output = this
        .args(["--exact", test, "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let times = said
        .matches("half:3:18: warning: not every invocation")
        .count();
    assert_eq!(times, usize::from(cfg!(debug_assertions)), "{said}");
}
