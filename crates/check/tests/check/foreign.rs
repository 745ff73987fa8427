//! Shaders that come from elsewhere: pipelines on the software device, texts on which naga panics, and the time that a file has.

use std::time::Duration;

use super::{Folder, run, shown};
use ziggurat_check::Checker;

/// A kernel that is good WGSL, with a texture that the software device does not run.
const CUBE: &str = "@group(0) @binding(0) var sky: texture_cube<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1) fn first() { y[0] = textureDimensions(sky).x; }
@compute @workgroup_size(1) fn second() { y[0] = 1u; }
";

#[test]
fn pipelines_are_created_on_the_software_device_if_asked() {
    let folder = Folder::new("software", &[("a.wgsl", CUBE)]);
    let none = |checker: Checker| checker.classes([]).languages([]).check(&folder.0);
    let report = none(Checker::new());
    assert_eq!((report.accepted, report.refused), (2, 0), "{report}");
    let report = none(Checker::new().on_software_device());
    assert_eq!((report.accepted, report.refused), (1, 1), "{report}");
    let found = shown(&report, &folder).join("\n");
    assert!(found.contains("a.wgsl:3:32: error: "), "{found}");
    assert!(found.contains("line 1: texture_cube"), "{found}");
}

#[test]
fn a_text_that_makes_the_compiler_panic_is_refused_by_its_line_and_the_others_are_checked() {
    // naga 30's validator reaches an `unreachable!` here.
    let panicking = "enable wgpu_ray_query;
enable wgpu_binding_array;
@group(0) @binding(0) var scenes: binding_array<acceleration_structure>;
@group(0) @binding(1) var<storage, read_write> which: array<u32>;
fn look(i: u32) {
    var query: ray_query;
    rayQueryInitialize(&query, scenes[i], RayDesc(0u, 255u, 0.0, 9.0, vec3f(), vec3f(0.0, 0.0, 1.0)));
}
@compute @workgroup_size(1) fn first() { look(which[0]); }
@compute @workgroup_size(1) fn second() { look(which[1]); }
";
    let good = "@compute @workgroup_size(1) fn main() {}";
    let folder = Folder::new("panics", &[("a.wgsl", panicking), ("b.wgsl", good)]);
    let report = folder.check();
    assert_eq!((report.accepted, report.refused), (1, 2), "{report}");
    let found = shown(&report, &folder);
    assert!(
        found[0].starts_with("a.wgsl:3:23: error: `scenes` is an array of bindings"),
        "{found:#?}"
    );
}

#[test]
fn a_file_has_the_time_that_it_is_given() {
    // Long enough that no thread is through with it before its time is looked at.
    let long = format!("fn f() {{ {} }}", "_ = sin(1.0) + cos(2.0); ".repeat(4_000));
    let folder = Folder::new("time", &[("a.wgsl", &long)]);
    let report = Checker::new()
        .time_limit(Duration::from_nanos(1))
        .check(&folder.0);
    let found = shown(&report, &folder);
    assert_eq!(report.refused, 1);
    assert_eq!(
        found,
        ["a.wgsl: error: checking it was given up: it took longer than 1ns"]
    );
}

#[test]
fn the_program_creates_pipelines_and_shows_no_panic() {
    // naga 30's writer of SPIR-V panics on a pointer to a part of a parameter.
    let pointer = "fn change(p: ptr<function, i32>) { *p = 1; }
fn second(p: ptr<function, array<i32, 4>>) { change(&p[1]); }
@compute @workgroup_size(1) fn main() { var all: array<i32, 4>; second(&all); }";
    let pointer = Folder::new("pointer", &[("a.wgsl", pointer)]);
    let (code, said) = run(&["check", &pointer.0.display().to_string()]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("a.wgsl:3:32: error: `main` cannot be"),
        "{said}"
    );

    let cube = Folder::new("cube", &[("a.wgsl", CUBE)]);
    let path = cube.0.display().to_string();
    let all = ["--class", "none", "--language", "none", "--seconds", "60"];
    let with = |more: &[&str]| run(&[&["check"], &all[..], more, &[&path]].concat());
    assert_eq!(with(&[]).0, Some(0), "{:?}", with(&[]));
    let (code, said) = with(&["--software"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("1 entry points accepted, 1 refused"),
        "{said}"
    );
}

#[test]
fn all_mistakes_are_told_and_every_entry_point_is_counted() {
    let text = "fn f() -> f32 { return missing; }
fn g() { let x = 1u; x[0] = 2u; }
@compute @workgroup_size(1) fn first() { f() = 1.0; }
@compute @workgroup_size(1) fn second() { g(); }
";
    let rules = "@group(0) @binding(0) var<storage, read> x: array<u32>;
fn f() -> f32 { }
@compute @workgroup_size(1) fn first() { x[0] = 1u; }
@compute @workgroup_size(1) fn second() { }
";
    let folder = Folder::new("all", &[("a.wgsl", text), ("b.wgsl", rules)]);
    let report = folder.check();
    assert_eq!((report.accepted, report.refused), (0, 4), "{report}");
    let places: Vec<String> = shown(&report, &folder)
        .iter()
        .map(|problem| {
            problem
                .split(": error")
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    let expected = [
        "a.wgsl:1:24",
        "a.wgsl:2:22",
        "a.wgsl:3:46",
        "b.wgsl:2:1",
        "b.wgsl:3:42",
    ];
    assert_eq!(places, expected, "{report}");
}
