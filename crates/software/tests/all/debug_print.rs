//! `debug_print(value);` in WGSL: collected here, in order and with its place, and absent elsewhere.
use ziggurat_device::{Device, DeviceOptions};
use ziggurat_memory::{Memory, MemoryOptions};
use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, PipelineError, Pipelines, ShaderSource};
use ziggurat_software::{DebugPrints, Profile, Value};

fn pipelines(device: &Device) -> Pipelines {
    Pipelines::new(&Memory::new(device, MemoryOptions::default()))
}

/// Runs `body` in `groups` workgroups of 4, with `x` a buffer of `u32`; gives `x` and the prints.
fn run(device: &Device, body: &str, groups: u32) -> Result<(Vec<u8>, DebugPrints), PipelineError> {
    let pipelines = pipelines(device);
    let text = format!(
        "struct Pair {{ a: u32, b: vec2<f32> }}
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(4)
        fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) wid: vec3<u32>) {{
        let i = id.x; {body}
        }}"
    );
    let kernel = pipelines.kernel(&KernelDescriptor::new(ShaderSource::wgsl("printer", text)))?;
    let words = (0..16_u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    let x = pipelines.memory().upload(&words).unwrap();
    pipelines.dispatch(
        &kernel,
        &[Arg::write(&x)],
        &[],
        Grid::Workgroups([groups, 1, 1]),
    )?;
    let bytes = pipelines.memory().read(&x, 0..64).unwrap().wait().unwrap();
    Ok((bytes, device.take_debug_prints()))
}

fn software() -> Device {
    Device::software(Profile::nvidia(), DeviceOptions::default()).unwrap()
}

fn lines(body: &str, groups: u32) -> Vec<String> {
    let (_, printed) = run(&software(), body, groups).unwrap();
    assert_eq!(printed.dropped, 0);
    printed.prints.iter().map(ToString::to_string).collect()
}

#[test]
fn each_active_invocation_prints_in_order() {
    let got = lines("if i % 2u == 1u {\n debug_print(x[i] * 10u); }", 2);
    let want = [
        "printer:6: workgroup (0, 0, 0), invocation (1, 0, 0): 10",
        "printer:6: workgroup (0, 0, 0), invocation (3, 0, 0): 30",
        "printer:6: workgroup (1, 0, 0), invocation (1, 0, 0): 50",
        "printer:6: workgroup (1, 0, 0), invocation (3, 0, 0): 70",
    ];
    assert_eq!(got, want);
}

#[test]
fn values_of_every_type_are_spelled_out() {
    for (value, text) in [
        ("-3", "-3"),
        ("7u", "7"),
        ("1.5", "1.5"),
        ("i == 0u", "true"),
        ("vec2(1, -1)", "vec2<i32>(1, -1)"),
        ("vec3<f32>(0.5, 1.0, -2.0)", "vec3<f32>(0.5, 1.0, -2.0)"),
        (
            "mat2x2<f32>(1.0, 2.0, 3.0, 4.0)",
            "mat2x2<f32>(1.0, 2.0, 3.0, 4.0)",
        ),
        ("array<u32, 3>(4, 5, i)", "array<u32, 3>(4, 5, 0)"),
        ("Pair(9u, vec2(1.0, 2.0))", "Pair(9, 1.0, 2.0)"),
        ("bitcast<f32>(0x7fc00000u | i)", "NaN"),
        ("x[2]", "2"),
    ] {
        let got = lines(&format!("if i == 0u {{ debug_print({value}); }}"), 1);
        assert_eq!(got.len(), 1, "{value}: {got:?}");
        assert!(got[0].ends_with(&format!(": {text}")), "{value}: {got:?}");
    }
}

#[test]
fn several_values_and_a_label_are_one_print() {
    let body = "if i == 1u { debug_print(\"sum, of // {\", x[i] + 1u, vec2(i, 7u), -1.5); debug_print(\"here\"); debug_print(i, i); }";
    let texts: Vec<String> = lines(body, 1)
        .iter()
        .map(|line| line.split_once("): ").unwrap().1.to_owned())
        .collect();
    assert_eq!(
        texts,
        ["sum, of // {: 2, vec2<u32>(1, 7), -1.5", "here", "1, 1"]
    );
}

#[test]
fn a_print_stands_where_it_is_called() {
    // The variable changes before and after, and twice in a loop.
    let got = lines(
        "if i > 0u { return; } var v = 1u; debug_print(v); for (v = 5u; v < 7u; v++) { debug_print(v); } debug_print(v + 1u);",
        1,
    );
    let values: Vec<&str> = got
        .iter()
        .filter_map(|line| line.rsplit(' ').next())
        .collect();
    assert_eq!(values, ["1", "5", "6", "8"]);
}

#[test]
fn a_print_changes_no_result() {
    let device = software();
    let body = |print: &str| {
        format!(
            "var s = x[i]; for (var k = 0u; k < 3u; k++) {{ s = s * 3u + k; {print} }} x[i] = s;"
        )
    };
    let (without, none) = run(&device, &body(""), 2).unwrap();
    let (with, some) = run(&device, &body("debug_print(s);"), 2).unwrap();
    assert_eq!(without, with);
    assert_eq!((none.prints.len(), some.prints.len()), (0, 24));
    assert_eq!(some.prints[0].values[0].scalars, [Value::U32(0)]);
    assert!(
        device.take_debug_prints().prints.is_empty(),
        "they are taken once"
    );
}

#[test]
fn a_print_names_the_file_that_holds_it() {
    let device = software();
    let pipelines = pipelines(&device);
    let helper = "// Twice.\nfn twice(a: u32) -> u32 {\n    debug_print(a);\n    return a * 2u;\n}";
    let entry = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;

@compute @workgroup_size(1)
fn main() {
    x[0] = twice(x[1]); debug_print(x[0]);
}
";
    for (file, wanted) in [
        ("main.wgsl", "kernel doubling, main.wgsl:5: workgroup"),
        ("doubling", "doubling:5: workgroup"),
    ] {
        let source = ShaderSource::new("doubling")
            .part("lib/twice.wgsl", helper)
            .part(file, entry);
        let kernel = pipelines.kernel(&KernelDescriptor::new(source)).unwrap();
        let x = pipelines
            .memory()
            .upload(&[0, 0, 0, 0, 21, 0, 0, 0])
            .unwrap();
        let grid = Grid::Workgroups([1, 1, 1]);
        pipelines
            .dispatch(&kernel, &[Arg::write(&x)], &[], grid)
            .unwrap();
        let _ = pipelines.memory().read(&x, 0..8).unwrap().wait().unwrap();
        let prints = device.take_debug_prints().prints;
        let places: Vec<_> = prints
            .iter()
            .map(|print| (print.kernel.as_str(), print.file.as_str(), print.line))
            .collect();
        assert_eq!(
            places,
            [("doubling", "lib/twice.wgsl", 3), ("doubling", file, 5)]
        );
        let texts: Vec<String> = prints.iter().map(ToString::to_string).collect();
        assert!(texts[0].starts_with("kernel doubling, lib/twice.wgsl:3: workgroup"));
        assert!(texts[1].starts_with(wanted), "{texts:?}");
    }
}

#[test]
fn more_than_fit_are_counted() {
    let (_, printed) = run(
        &software(),
        "for (var k = 0u; k < 10000u; k++) { debug_print(k); }",
        2,
    )
    .unwrap();
    assert_eq!(printed.prints.len(), 1 << 16);
    assert_eq!(printed.dropped, 80_000 - (1 << 16));
}

#[test]
fn a_mistake_in_an_argument_is_an_error_with_its_line() {
    let error = run(&software(), "\n\n debug_print(nothing);", 1)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("printer:7:") && error.contains("nothing"),
        "{error}"
    );
}

#[test]
fn elsewhere_the_calls_are_removed() {
    let Ok(device) = Device::open_blocking(DeviceOptions::default()) else {
        return;
    };
    let body = "debug_print(x[i]);\n x[i] += 1u; debug_print(vec2(i, 1u));";
    let (bytes, printed) = run(&device, body, 2).unwrap();
    assert_eq!(bytes[..8], [1, 0, 0, 0, 2, 0, 0, 0]);
    let expected = if device.adapter().is_software_device() {
        16
    } else {
        0
    };
    assert_eq!(printed.prints.len(), expected, "{}", device.adapter());
    // A mistake is found there too.
    assert!(run(&device, "debug_print(nothing);", 1).is_err());
}
