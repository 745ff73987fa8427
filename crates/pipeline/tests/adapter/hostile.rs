//! Texts that no person writes: each becomes a kernel or a typed error with a short text, in little time, on a thread
//! with the usual stack of 2 MiB.

use std::time::{Duration, Instant};

use ziggurat_pipeline::device::{Device, DeviceError, DeviceOptions, ziggurat_software::Profile};
use ziggurat_pipeline::memory::{Memory, MemoryError, MemoryOptions};
use ziggurat_pipeline::{
    Arg, Grid, KernelDescriptor, PipelineError, Pipelines, ShaderLimits, ShaderSource,
};

const HEAD: &str = "@group(0) @binding(0) var<storage, read_write> a: array<u32>;\n";
const MAIN: &str = "@compute @workgroup_size(1) fn main()";

fn body(text: &str) -> String {
    format!("{HEAD}{MAIN} {{\n{text}\n}}\n")
}

/// `piece` of each number, and what stands around.
fn repeated(before: &str, n: usize, piece: impl Fn(usize) -> String, after: &str) -> String {
    let mut text = before.to_owned();
    (0..n).for_each(|i| text.push_str(&piece(i)));
    text + after
}

fn chain(terms: usize) -> String {
    body(&repeated(
        "a[0] = a[1]",
        terms,
        |_| " + a[2]".to_owned(),
        ";",
    ))
}

fn else_ifs(arms: usize) -> String {
    let arm = |i| format!(" else if a[0] == {i}u {{ a[1] = {i}u; }}\n");
    body(&repeated("if a[0] == 7u { a[1] = 0u; }", arms, arm, ""))
}

fn statements(n: usize, end: &str) -> String {
    let one = |i| format!("a[{}] = a[{}] + {i}u;{end}", i % 100, (i + 7) % 100);
    body(&repeated("", n, one, ""))
}

fn entries(n: usize) -> String {
    let one = |i| format!("@compute @workgroup_size(1) fn main{i}() {{ a[{i}] = 1u; }}\n");
    repeated(HEAD, n, one, "")
}

/// Each function calls the one before twice.
fn doubling(levels: usize) -> String {
    let one = |i| format!("fn f{}() {{ f{i}(); f{i}(); }}\n", i + 1);
    let first = format!("{HEAD}fn f0() {{ a[0] = a[0] + 1u; }}\n");
    repeated(&first, levels, one, &format!("{MAIN} {{ f{levels}(); }}"))
}

/// Each type has two members of the type before.
fn doubling_types(levels: usize) -> String {
    let one = |i| format!("struct S{} {{ x: S{i}, y: S{i} }}\n", i + 1);
    let last = format!("var<private> p: S{levels};\n{MAIN} {{ a[0] = 1u; }}");
    repeated(
        &format!("{HEAD}struct S0 {{ x: u32 }}\n"),
        levels,
        one,
        &last,
    )
}

fn descriptor(text: String) -> KernelDescriptor {
    KernelDescriptor::new(ShaderSource::wgsl("hostile", text))
}

/// The kernel, or its error with its text, and not too late.
fn attempt(pipelines: &Pipelines, descriptor: &KernelDescriptor) -> Result<(), PipelineError> {
    let start = Instant::now();
    let result = pipelines.kernel(descriptor).map(drop);
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
    if let Err(error) = &result {
        let text = error.to_string();
        assert!(text.len() <= 1024, "{} bytes: {text}", text.len());
    }
    result
}

fn software() -> Pipelines {
    let device = Device::software(Profile::webgpu_default(), DeviceOptions::default()).unwrap();
    Pipelines::new(&Memory::new(&device, MemoryOptions::default()))
}

fn devices() -> [Pipelines; 2] {
    [super::open(DeviceOptions::default()), software()]
}

#[test]
fn long_texts_that_people_may_write_are_accepted() {
    for pipelines in devices() {
        for (what, text) in [
            ("a chain of 4,000 terms", chain(4_000)),
            ("200 else ifs", else_ifs(200)),
            ("400 else ifs", else_ifs(400)),
            (
                "9,000 signs",
                body(&format!("a[0] = u32({}1);", "- ".repeat(9_000))),
            ),
            ("500 statements in one line", statements(500, " ")),
            (
                "a comment of 500 KB",
                body(&format!("/*{}*/", "x".repeat(500_000))),
            ),
        ] {
            let result = attempt(&pipelines, &descriptor(text));
            assert!(result.is_ok(), "{what}: {}", result.unwrap_err());
        }
        let one_of_many = descriptor(entries(10_000)).entry("main7777");
        attempt(&pipelines, &one_of_many).unwrap();
    }
}

#[test]
fn what_is_too_large_is_refused_by_the_limit_that_it_is_over() {
    for pipelines in devices() {
        for (wanted, text) in [
            ("function_tokens", chain(100_000)),
            (
                "operations",
                body(&repeated("a[0] = 1u", 11_000, |_| "+1u".to_owned(), ";")),
            ),
            ("blocks", else_ifs(2_500)),
            ("function_tokens", else_ifs(10_000)),
            ("function_tokens", statements(10_000, "\n")),
            ("text_bytes", statements(100_000, "\n")),
            ("function_tokens", statements(40_000, " ")),
            ("inlined", doubling(24)),
            ("inlined", doubling(62)),
            ("type_members", doubling_types(24)),
            (
                "variable_bytes",
                body("var x: array<u32, 1000000>; a[0] = x[a[1]];"),
            ),
            (
                "variable_bytes",
                body("let x = array<u32, 100000000>(); a[0] = x[a[1]];"),
            ),
            ("text_bytes", body(&" ".repeat(10 << 20))),
        ] {
            match attempt(&pipelines, &descriptor(text)) {
                Err(PipelineError::ShaderTooLarge { option, .. }) => assert_eq!(option, wanted),
                other => panic!("{wanted}: {other:?}"),
            }
        }
    }
}

#[test]
fn nesting_that_naga_refuses_is_an_error_and_no_abort() {
    for pipelines in devices() {
        for text in [
            body(&format!(
                "a[0] = {}1u{};",
                "(".repeat(9_000),
                ")".repeat(9_000)
            )),
            body(&format!("{}{}", "{".repeat(900), "}".repeat(900))),
            body(&"debug_print(".repeat(9_000)),
            body(&format!("a[0] = 1u;{}", "/*".repeat(100_000))),
        ] {
            let start: String = text.chars().skip(HEAD.len()).take(80).collect();
            let result = attempt(&pipelines, &descriptor(text));
            assert!(
                matches!(result, Err(PipelineError::Parse { .. })),
                "{start}: {result:?}"
            );
        }
    }
}

#[test]
fn errors_stay_short_whatever_they_name() {
    let pipelines = software();
    let name = "n".repeat(200_000);
    let mut texts = vec![
        body(&format!("a[0] = {name};")),
        body(&format!("let {name} = 1u; let {name} = 2u;")),
        format!("{HEAD}fn {name}() {{}} fn {name}() {{}}"),
        format!("{HEAD}override {name}: u32;\n{MAIN} {{ a[0] = {name}; }}"),
        format!(
            "@group(1000) @binding(0) var<storage> {name}: array<u32>;\n{MAIN} {{ _ = {name}[0]; }}"
        ),
        format!("@group(0) @binding(100000) var {name}: sampler;\n{MAIN} {{ _ = {name}; }}"),
        format!(
            "{HEAD}@compute @workgroup_size(1) fn {name}() {{}}\n@compute @workgroup_size(1) fn b() {{}}"
        ),
        format!("{HEAD}var<workgroup> {name}: array<u32, 60000>;\n{MAIN} {{ {name}[0] = 1u; }}"),
        entries(10_000),
        body(&format!("a[0] = 1u; {} wrong;", " ".repeat(200_000))),
    ];
    let mut errors: Vec<_> = texts
        .drain(..)
        .map(|text| attempt(&pipelines, &descriptor(text)).unwrap_err())
        .collect();
    for text in [body("wrong"), entries(2)] {
        let source = ShaderSource::new(name.clone()).part(name.clone(), text);
        let descriptor = KernelDescriptor::new(source).constant(name.clone(), 1.0);
        errors.push(attempt(&pipelines, &descriptor).unwrap_err());
        let entry = descriptor.entry(name.clone());
        errors.push(attempt(&pipelines, &entry).unwrap_err());
    }
    for error in &errors {
        let text = error.to_string();
        assert!(text.len() <= 1024, "{}", text.len());
        // What is wrong comes after the names and is still told.
        let mut rest = text.clone();
        rest.retain(|c| c != 'n' && !c.is_whitespace());
        assert!(rest.len() > 20, "{text}");
    }
    let listed = errors[8].to_string();
    assert!(listed.contains(", 9992 more\n3 | "), "{listed}");
}

#[test]
fn limits_are_checked_and_take_effect() {
    let pipelines = software();
    let default = ShaderLimits::default;
    let (mut none, mut many, mut at_once) = (default(), default(), default());
    none.text_bytes = 0;
    many.blocks = 1 << 40;
    at_once.time = Duration::ZERO;
    for limits in [none, many, at_once] {
        let refused = pipelines.set_shader_limits(limits);
        assert!(
            matches!(refused, Err(PipelineError::ShaderLimit { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(pipelines.shader_limits(), ShaderLimits::default());
    let mut limits = ShaderLimits::default();
    limits.blocks = 100;
    pipelines.set_shader_limits(limits).unwrap();
    let error = attempt(&pipelines, &descriptor(else_ifs(200))).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("hostile: hostile:"), "{text}");
    assert!(
        text.contains("at most 100 are allowed (`ShaderLimits::blocks`)"),
        "{text}"
    );
    limits.blocks = 1_000;
    limits.time = Duration::from_millis(1);
    pipelines.set_shader_limits(limits).unwrap();
    let error = attempt(&pipelines, &descriptor(chain(4_500))).unwrap_err();
    assert!(
        matches!(error, PipelineError::ShaderTooSlow { .. }),
        "{error:?}"
    );
}

#[test]
fn an_endless_loop_on_the_software_device_is_told_with_kernel_and_line() {
    let mut profile = Profile::webgpu_default();
    profile.workgroup_steps = Some(1 << 20);
    let device = Device::software(profile, DeviceOptions::default()).unwrap();
    let pipelines = Pipelines::new(&Memory::new(&device, MemoryOptions::default()));
    let source = ShaderSource::new("spin").part("head.wgsl", HEAD).part(
        "spin.wgsl",
        format!("{MAIN} {{\n  loop {{\n a[0] += 1u; }}\n}}"),
    );
    let kernel = pipelines.kernel(&KernelDescriptor::new(source)).unwrap();
    let buffer = pipelines.memory().alloc_zeroed(16).unwrap();
    pipelines
        .dispatch(
            &kernel,
            &[Arg::write(&buffer)],
            &[],
            Grid::Workgroups([1, 1, 1]),
        )
        .unwrap();
    let read = pipelines.memory().read(&buffer, 0..16);
    let error = read.and_then(|read| read.wait()).map(drop).unwrap_err();
    let MemoryError::Device(DeviceError::Poisoned { message }) = &error else {
        panic!("{error:?}");
    };
    assert!(
        message.contains("kernel 'spin' was stopped at spin.wgsl:2 (`loop {`)"),
        "{message}"
    );
    assert!(error.to_string().len() <= 1024);
}
