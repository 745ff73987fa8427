//! `debug_print` and `assert`: said on every adapter where the device is opened for it, and gone elsewhere.

use super::*;
use ziggurat_pipeline::{DebugPrints, LimitError, PipelineError};

fn debugging() -> DeviceOptions {
    DeviceOptions {
        debug_kernels: true,
        ..DeviceOptions::default()
    }
}

/// The adapter that a program gets, and the software device.
fn devices() -> Vec<Pipelines> {
    #[allow(unused_mut, reason = "without the feature there is one")]
    let mut all = vec![open(debugging())];
    #[cfg(feature = "software")]
    {
        use ziggurat_pipeline::device::ziggurat_software::Profile;
        let software = Device::software(Profile::nvidia(), debugging()).unwrap();
        all.push(Pipelines::new(&Memory::new(
            &software,
            MemoryOptions::default(),
        )));
    }
    all
}

const HEAD: &str = "struct Pair { a: u32, b: vec2<f32> }
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
";

/// Runs `main` with this body in workgroups of four, on a buffer of the numbers from 0.
fn run(pipelines: &Pipelines, body: &str, groups: u32) -> Result<Vec<u32>, PipelineError> {
    let text = format!(
        "{HEAD}@compute @workgroup_size(4)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
let i = id.x;
{body}
}}"
    );
    run_text(pipelines, text, groups)
}

fn run_text(pipelines: &Pipelines, text: String, groups: u32) -> Result<Vec<u32>, PipelineError> {
    let source = ShaderSource::wgsl("talker", text);
    let kernel = pipelines.kernel(&KernelDescriptor::new(source))?;
    let numbers: Vec<u32> = (0..16).collect();
    let x = pipelines.memory().upload(bytemuck::cast_slice(&numbers))?;
    let grid = Grid::Workgroups([groups, 1, 1]);
    pipelines.dispatch(&kernel, &[Arg::write(&x)], &[], grid)?;
    Ok(words(pipelines, &x))
}

fn said(pipelines: &Pipelines) -> Vec<String> {
    let DebugPrints {
        prints, dropped, ..
    } = pipelines.take_debug_prints_blocking().unwrap();
    assert_eq!(dropped, 0);
    prints.iter().map(ToString::to_string).collect()
}

#[test]
fn every_device_prints_the_same_in_order() {
    for pipelines in devices() {
        let body = "if i % 2u == 1u { debug_print(\"ten\", x[i] * 10u, vec2(-1, 2)); } x[i] += 1u;";
        let x = run(&pipelines, body, 2).unwrap();
        assert_eq!(x[..4], [1, 2, 3, 4]);
        let place = |group: u32, at: u32| {
            format!("talker:6: workgroup ({group}, 0, 0), invocation ({at}, 0, 0): ten: ")
        };
        let expected: Vec<String> = [(0, 1, 10), (0, 3, 30), (1, 1, 50), (1, 3, 70)]
            .iter()
            .map(|(group, at, ten)| format!("{}{ten}, vec2<i32>(-1, 2)", place(*group, *at)))
            .collect();
        assert_eq!(said(&pipelines), expected);
        assert!(said(&pipelines).is_empty(), "they are taken once");
    }
}

#[test]
fn values_of_every_type_are_told() {
    for pipelines in devices() {
        for (value, text) in [
            ("-3", "-3"),
            ("7u", "7"),
            ("1.5", "1.5"),
            ("i == 0u", "true"),
            ("vec3<f32>(0.5, 1.0, -2.0)", "vec3<f32>(0.5, 1.0, -2.0)"),
            (
                "mat2x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)",
                "mat2x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)",
            ),
            ("array<u32, 3>(4, 5, i)", "array<u32, 3>(4, 5, 0)"),
            ("Pair(9u, vec2(1.0, 2.0))", "Pair(9, 1.0, 2.0)"),
            ("bitcast<f32>(0x7fc00000u | i)", "NaN"),
        ] {
            let body = format!("if i == 0u {{ debug_print({value}); }}");
            run(&pipelines, &body, 1).unwrap();
            let got = said(&pipelines);
            assert_eq!(got.len(), 1, "{value}: {got:?}");
            assert!(got[0].ends_with(&format!(": {text}")), "{value}: {got:?}");
        }
    }
}

#[test]
fn a_failed_assertion_is_an_error_with_its_place_and_values() {
    for pipelines in devices() {
        let body = "assert(x[i] < 6u, \"x is small\", x[i], f32(i) / 2.0);";
        run(&pipelines, body, 1).unwrap();
        pipelines.check_asserts_blocking().unwrap();
        run(&pipelines, body, 2).unwrap();
        let error = pipelines.check_asserts_blocking().unwrap_err();
        let PipelineError::AssertionFailed {
            kernel,
            place,
            workgroup,
            invocation,
            message,
            others,
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(
            (kernel.as_str(), place.file.as_str(), place.line),
            ("talker", "talker", 6)
        );
        assert_eq!((workgroup, invocation), ([1, 0, 0], [2, 0, 0]));
        assert_eq!((message.as_str(), others), ("x is small, 6, 3.0", 1));
        pipelines.check_asserts_blocking().unwrap();
        // Without a text.
        run(&pipelines, "assert(i == 0u);", 1).unwrap();
        let error = pipelines.check_asserts_blocking().unwrap_err().to_string();
        assert!(error.contains("talker:6:1: assertion failed"), "{error}");
    }
}

#[test]
fn functions_and_entry_points_of_every_form_know_who_they_are() {
    for pipelines in devices() {
        for entry in [
            "fn main()",
            "fn main(@builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_index) l: u32)",
            "fn main(in: In)",
            "fn main(@builtin(local_invocation_id) me: vec3<u32>,)",
        ] {
            let text = format!(
                "{HEAD}struct In {{ @builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_id) l: vec3<u32> }}
fn helper(a: u32) -> u32 {{
    debug_print(a); // in a function
    return a;
}}
@compute @workgroup_size(1, 2) {entry} {{ x[0] = helper(7u); }}"
            );
            run_text(&pipelines, text, 2).unwrap();
            let expected: Vec<String> = [(0, 0), (0, 1), (1, 0), (1, 1)]
                .iter()
                .map(|(group, at)| {
                    format!("talker:5: workgroup ({group}, 0, 0), invocation (0, {at}, 0): 7")
                })
                .collect();
            assert_eq!(said(&pipelines), expected, "{entry}");
        }
    }
}

#[test]
fn dispatches_come_in_order_also_when_replayed() {
    for pipelines in devices() {
        let text = format!(
            "{HEAD}@compute @workgroup_size(4) fn main() {{ debug_print(x[0]); x[0] += 1u; }}"
        )
        .replace("@workgroup_size(4)", "@workgroup_size(1)");
        let kernel = kernel(&pipelines, ShaderSource::wgsl("counter", text));
        let x = pipelines.memory().alloc_zeroed(4).unwrap();
        let grid = Grid::Workgroups([1, 1, 1]);
        for _ in 0..10 {
            pipelines
                .dispatch(&kernel, &[Arg::write(&x)], &[], grid)
                .unwrap();
        }
        let values = |pipelines: &Pipelines| -> Vec<String> {
            let last = |line: &String| line.rsplit(' ').next().unwrap().to_owned();
            said(pipelines).iter().map(last).collect()
        };
        let expected: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        assert_eq!(values(&pipelines), expected);
        let taping = pipelines.taping();
        for _ in 0..3 {
            taping
                .dispatch(&kernel, &[Arg::write(&x)], &[], grid)
                .unwrap();
        }
        let tape = taping.take_tape().unwrap();
        tape.replay().unwrap();
        assert_eq!(values(&pipelines), ["10", "11", "12"]);
    }
}

#[test]
fn what_does_not_fit_is_counted() {
    for pipelines in devices() {
        run(
            &pipelines,
            "for (var k = 0u; k < 20000u; k++) { debug_print(k); }",
            2,
        )
        .unwrap();
        let all = pipelines.take_debug_prints_blocking().unwrap();
        // A part of 1 MiB holds so many with eight words each.
        let most = ((1 << 20) - 8) / 32;
        assert_eq!(all.prints.len(), most);
        assert_eq!(all.dropped, 8 * 20_000 - most as u64);
        run(&pipelines, "if i == 0u { debug_print(i); }", 1).unwrap();
        assert_eq!(said(&pipelines).len(), 1);
    }
}

#[test]
fn without_the_option_statements_are_gone_and_their_mistakes_are_not() {
    let pipelines = open(DeviceOptions::default());
    let body = "assert(x[i] > 100u, \"never\"); debug_print(\"now\", i);";
    assert_eq!(run(&pipelines, body, 1).unwrap()[..3], [0, 1, 2]);
    pipelines.check_asserts_blocking().unwrap();
    for pipelines in [pipelines, open(debugging())] {
        for (body, place, word) in [
            ("  assert(wrong > 1u, \"text\", i);", "talker:6:10", "wrong"),
            (
                "  assert(i > 1u, \"text\", i, wrong);",
                "talker:6:29",
                "wrong",
            ),
            (
                "  debug_print(\"text, a\", i, wrong);",
                "talker:6:29",
                "wrong",
            ),
            ("  assert(i, \"text\");", "talker:6:", ""),
        ] {
            let error = run(&pipelines, body, 1).unwrap_err().to_string();
            assert!(
                error.contains(place) && error.contains(word),
                "{body}: {error}"
            );
            assert!(error.contains("^"), "{error}");
        }
    }
}

#[test]
fn a_kernel_without_a_spare_binding_is_refused() {
    for pipelines in devices() {
        let most = pipelines.caps().limits.max_storage_buffers_per_shader_stage;
        let declared: String = (0..most)
            .map(|at| {
                format!("@group(0) @binding({at}) var<storage, read_write> b{at}: array<u32>;")
            })
            .collect();
        let text =
            format!("{declared}\n@compute @workgroup_size(1) fn main() {{ assert(b0[0] == 0u); }}");
        if most > 64 {
            continue; // No driver is asked for thousands of buffers.
        }
        let descriptor = KernelDescriptor::new(ShaderSource::wgsl("full", text));
        let error = pipelines.kernel(&descriptor).unwrap_err();
        assert!(
            matches!(error, PipelineError::Limit(LimitError::DebugBinding { limit, .. }) if limit == most),
            "{error}"
        );
    }
    let limited = open(DeviceOptions {
        default_limits: true,
        ..debugging()
    });
    let declared: String = (0..8)
        .map(|at| format!("@group(0) @binding({at}) var<storage, read_write> b{at}: array<u32>;"))
        .collect();
    let text =
        format!("{declared}\n@compute @workgroup_size(1) fn main() {{ assert(b0[0] == 0u); }}");
    let descriptor = KernelDescriptor::new(ShaderSource::wgsl("full", text));
    let error = limited.kernel(&descriptor).unwrap_err();
    assert!(
        matches!(
            error,
            PipelineError::Limit(LimitError::DebugBinding {
                count: 9,
                limit: 8,
                ..
            })
        ),
        "{error}"
    );
}
