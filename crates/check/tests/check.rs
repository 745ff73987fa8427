//! The checker on good shaders and on planted mistakes: what is found, where, and what the program says.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use ziggurat_check::{Checker, Class, Language, Level, Report, build};

#[path = "check/foreign.rs"]
mod foreign;

/// A folder that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path =
            std::env::temp_dir().join(format!("ziggurat-check-{}-{name}", std::process::id()));
        for (file, text) in files {
            let file = path.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        Self(path)
    }

    fn check(&self) -> Report {
        Checker::new().check(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const GOOD: &str = "import \"lib/scale.wgsl\"
import \"ziggurat/sigmoid.wgsl\"
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn first(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    let i = id.x + (id.y + id.z * n.y) * n.x * 64u;
    if i >= arrayLength(&y) { return; }
    assert(y[i] >= 0.0, \"positive\", y[i]);
    y[i] = scaled(sigmoid_f32(y[i]));
}
@compute @workgroup_size(64)
fn second(@builtin(local_invocation_index) i: u32) { y[i] = 0.0; }
";

const SCALE: &str = "const FACTOR = 2.0;
fn scaled(x: f32) -> f32 { return FACTOR * x; }
";

fn shown(report: &Report, folder: &Folder) -> Vec<String> {
    let root = format!("{}/", folder.0.display());
    let problems = report.problems.iter();
    problems
        .map(|problem| problem.to_string().replace(&root, ""))
        .collect()
}

#[test]
fn good_shaders_with_imports_are_accepted_and_counted() {
    let folder = Folder::new("good", &[("main.wgsl", GOOD), ("lib/scale.wgsl", SCALE)]);
    let report = folder.check();
    assert!(report.is_good(), "{report}");
    assert_eq!(
        (report.files.len(), report.accepted, report.refused),
        (2, 2, 0)
    );
    assert_eq!(report.within[&Class::Mobile], 2);
    assert_eq!(report.problems, []);
}

#[test]
fn each_mistake_has_its_place_and_its_line_of_code() {
    let entry = "@compute @workgroup_size(1) fn main() { y[0] = 1.0; }";
    let buffer = "@group(0) @binding(0) var<storage, read_write> y: array<f32>;";
    let with = |text: &str| format!("{buffer}\n{text}\n");
    for (name, text, expected) in [
        (
            "parse",
            with("@compute @workgroup_size(1) fn main() { y[0] = wrong; }"),
            "a.wgsl:2:48: error: no definition in scope for identifier: `wrong`\n2 | @compute @workgroup_size(1) fn main() { y[0] = wrong; }\n  |                                                ^^^^^",
        ),
        (
            "types",
            with("@compute @workgroup_size(1) fn main() { let i = 1u + y[0]; y[0] = f32(i); }"),
            "a.wgsl:2:49: error: ",
        ),
        (
            "brace",
            with("@compute @workgroup_size(1) fn main() { y[0] = 1.0;"),
            "a.wgsl:2:52: error: expected ",
        ),
        (
            "memory",
            with(&format!(
                "var<workgroup> tile: array<f32, 9999>;\n{}",
                entry.replace("1.0", "tile[0]")
            )),
            "a.wgsl:2:1: error: ",
        ),
        (
            "buffers",
            (0..9)
                .map(|at| {
                    format!(
                        "@group(0) @binding({at}) var<storage, read_write> b{at}: array<f32>;\n"
                    )
                })
                .collect::<String>()
                + "@compute @workgroup_size(1) fn main() { b0[0] = b1[0]+b2[0]+b3[0]+b4[0]+b5[0]+b6[0]+b7[0]+b8[0]; }",
            "a.wgsl:9:23: error: ",
        ),
        (
            "size",
            with(&entry.replace("size(1)", "size(512)")),
            "a.wgsl:2:34: error: workgroup size",
        ),
        (
            "override",
            with("override N: u32;\n@compute @workgroup_size(N) fn main() { y[0] = 1.0; }"),
            "a.wgsl:2:1: error: ",
        ),
        (
            "import",
            with(&format!("import \"absent.wgsl\"\n{entry}")),
            "a.wgsl:2:1: error: there is no file `absent.wgsl`",
        ),
        (
            "assert",
            with("@compute @workgroup_size(1) fn main() { assert(y[0] > nothing, \"text\"); }"),
            "a.wgsl:2:55: error: ",
        ),
        (
            "f64",
            with("@compute @workgroup_size(1) fn main() { y[0] = f32(f64(y[1]) * 2.0lf); }"),
            "a.wgsl:2:32: error: `main` cannot be written in MSL",
        ),
    ] {
        let folder = Folder::new(name, &[("a.wgsl", &text)]);
        let report = folder.check();
        assert_eq!(
            (report.accepted, report.refused),
            (0, 1),
            "{name}: {report}"
        );
        let found = shown(&report, &folder);
        assert!(
            found.iter().any(|problem| problem.starts_with(expected)),
            "{name}: {found:#?}"
        );
        for problem in &report.problems {
            assert!(problem.column > 0, "{name}: {problem}");
            assert!(problem.snippet.contains('^'), "{name}: {problem}");
        }
    }
}

#[test]
fn what_compiles_and_goes_wrong_is_a_warning() {
    let text = "@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(1) var<storage, read> unread: array<f32>;
var<workgroup> tile: array<f32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) i: u32) {
    tile[i] = y[id.x];
    if tile[i] > 1.0 { workgroupBarrier(); }
    let x = tile[63u - i];
    y[id.x] = select(x, 0.0, x != x);
    y[id.x + 1u] = f32(i | id.x << 8u);
}
";
    let folder = Folder::new("warnings", &[("w.wgsl", text)]);
    let report = folder.check();
    assert!(report.is_good(), "{report}");
    let found = shown(&report, &folder);
    for expected in [
        "w.wgsl:2:23: warning: `unread` is used by no entry point\n",
        "w.wgsl:5:4: warning: `main` cannot tell the rows of a grid apart",
        "w.wgsl:7:24: warning: not every invocation of the workgroup reaches this barrier",
        "w.wgsl:9:30: warning: a value compared with itself",
        "w.wgsl:10:28: warning: put parentheses around this",
    ] {
        assert!(
            found.iter().any(|problem| problem.starts_with(expected)),
            "{expected}: {found:#?}"
        );
    }
    assert_eq!(found.len(), 5, "{found:#?}");
}

#[test]
fn a_mistake_in_a_piece_is_told_once_and_by_its_own_line() {
    let scale = SCALE.replace("FACTOR * x", "FACTOR * wrong");
    let main = "import \"lib/scale.wgsl\"\n@group(0) @binding(0) var<storage, read_write> y: array<f32>;\n@compute @workgroup_size(1) fn main() { y[0] = scaled(1.0); }";
    let files = [
        ("a.wgsl", main),
        ("b.wgsl", main),
        ("lib/scale.wgsl", scale.as_str()),
    ];
    let folder = Folder::new("piece", &files);
    let report = folder.check();
    let found = shown(&report, &folder);
    assert_eq!(report.refused, 2);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0].starts_with("lib/scale.wgsl:2:44: error: "),
        "{found:?}"
    );
}

#[test]
fn classes_and_languages_are_the_callers_choice() {
    let text = "@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(512) fn main(@builtin(local_invocation_index) i: u32) { y[i] = f32(f64(y[i]) * 2.0lf); }";
    let folder = Folder::new("classes", &[("a.wgsl", text)]);
    let desktop = Checker::new()
        .classes([Class::Desktop])
        .languages([Language::SpirV]);
    let report = desktop.check(&folder.0);
    assert!(report.is_good(), "{report}");
    assert_eq!(report.within[&Class::WebGpu], 0);
    assert_eq!(report.within[&Class::Desktop], 1);
    assert!(
        report
            .problems
            .iter()
            .all(|problem| problem.level == Level::Warning)
    );
    let report = Checker::new()
        .classes(Class::ALL)
        .languages([Language::SpirV])
        .check(&folder.0);
    assert_eq!(report.errors().count(), 2, "{report}");
}

#[test]
fn hostile_files_are_refused_within_a_second() {
    let deep = format!(
        "fn f() -> i32 {{ return {}1{}; }}",
        "(".repeat(10_000),
        ")".repeat(10_000)
    );
    let large = "// ten megabytes\n".repeat(10 << 16);
    for (name, text) in [
        ("deep", deep.as_str()),
        ("large", large.as_str()),
        ("braces", &"{".repeat(100_000)),
    ] {
        let folder = Folder::new(name, &[("a.wgsl", text)]);
        let start = Instant::now();
        let report = folder.check();
        assert!(!report.is_good(), "{name}: {report}");
        assert!(
            start.elapsed().as_secs() < 5,
            "{name}: {:?}",
            start.elapsed()
        );
        let length = report.to_string().len();
        assert!(length < 4_000, "{name}: {length} bytes");
    }
    let folder = Folder::new("bytes", &[("b.wgsl", "")]);
    fs::write(folder.0.join("a.wgsl"), [0xff, 0xfe, 0x00]).unwrap();
    assert_eq!(folder.check().refused, 1);
    assert!(!Checker::new().check("/no/such/folder").is_good());
}

/// Runs the program: how it ends, and what it says.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_cargo-ziggurat");
    let output = Command::new(program).args(arguments).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let said = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), said)
}

#[test]
fn the_program_says_what_it_found_and_ends_with_it() {
    let good = Folder::new("program", &[("main.wgsl", GOOD), ("lib/scale.wgsl", SCALE)]);
    let bad = Folder::new(
        "bad",
        &[(
            "main.wgsl",
            "@compute @workgroup_size(1) fn main() { wrong(); }",
        )],
    );
    let path = |folder: &Folder| folder.0.display().to_string();
    let (code, text) = run(&["ziggurat", "check", &path(&good)]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("2 entry points accepted, 0 refused"),
        "{text}"
    );
    let (code, text) = run(&["check", &path(&bad)]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("main.wgsl:1:41: error: ") && text.contains("^^^^^"),
        "{text}"
    );
    for wrong in [
        &["check", "--seconds", "0", "x"][..],
        &["check"],
        &["paint", "x"],
        &["check", "--class", "huge", "x"],
        &["check", "--constant", "N", "x"],
    ] {
        assert_eq!(run(wrong).0, Some(2), "{wrong:?}");
    }
    assert!(build::check_dir(&good.0).is_ok());
    let error = build::check_dir(&bad.0).unwrap_err();
    assert_eq!(format!("{error:?}"), "1 errors in WGSL shaders, told above");
}
