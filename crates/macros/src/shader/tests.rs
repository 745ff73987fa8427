//! What is read of a file, and every mistake with its place.

#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;

const BLUR: &str = "struct Params { sigma: f32, size: vec2<u32>, colour: mat4x3<f32> }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;
    @group(0) @binding(1) var<storage> image: array<u32>;
    @group(1) @binding(0) var<uniform> gain: f32;
    @compute @workgroup_size(64) fn main() { out[0] = vec4(gain * params.sigma); }";

fn read(path: &str, text: &str, wanted: Option<&str>) -> Result<Shader, String> {
    let parts = vec![(path.to_owned(), text.to_owned())];
    super::read(&Source::of(parts), wanted)
}

#[test]
fn what_a_file_declares_is_found_in_order() {
    let found = read("blur.wgsl", BLUR, None).unwrap();
    assert_eq!(found.entry, "main");
    let buffers: Vec<_> = found
        .buffers
        .iter()
        .map(|b| (b.name.as_str(), b.writes, b.scalar))
        .collect();
    assert_eq!(
        buffers,
        [("image", false, Some("u32")), ("out", true, Some("f32"))]
    );
    let field = |name: &str, ty: &str| (name.to_owned(), ty.to_owned());
    assert_eq!(
        found.params[0].fields,
        [
            field("sigma", "f32"),
            field("size", "[u32; 2]"),
            field("colour", "[[f32; 3]; 4]")
        ]
    );
    assert_eq!(found.params[1].fields, [field("gain", "f32")]);
}

#[test]
fn mistakes_are_told_with_file_line_and_column() {
    for (from, to, words) in [
        ("array<u32>;", "array<u32>", "blur.wgsl:5:5"),
        ("gain * params", "wrong * params", "blur.wgsl:6:"),
        ("vec4(gain", "vec3(gain", "blur.wgsl:6:"),
        (
            "size: vec2<u32>",
            "size: array<vec4<u32>, 2>",
            "blur.wgsl:2:27: `params.size`",
        ),
    ] {
        let text = BLUR.replacen(from, to, 1);
        let error = read("blur.wgsl", &text, None).unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
    let error = read("blur.wgsl", BLUR, Some("first")).unwrap_err();
    assert!(
        error.contains("no compute entry point `first`; there are `main`"),
        "{error}"
    );
    let two = format!("{BLUR} @compute @workgroup_size(1) fn other() {{}}");
    assert!(
        read("blur.wgsl", &two, None)
            .unwrap_err()
            .starts_with("blur.wgsl:6:37: choose one")
    );
    assert!(
        read("a.wgsl", "fn f() {}", None)
            .unwrap_err()
            .starts_with("a.wgsl:1:4: no `@compute`")
    );
}

#[test]
fn all_mistakes_of_a_text_are_told_at_once() {
    let lines = |text: &str| -> Vec<String> {
        let error = read("t.wgsl", text, None).unwrap_err();
        let lines = error.lines().filter(|line| line.starts_with("t.wgsl:"));
        let carets = error.lines().filter(|line| line.ends_with('^')).count();
        let lines: Vec<String> = lines
            .map(|line| line.split(": ").next().unwrap().to_owned())
            .collect();
        assert_eq!(lines.len(), carets, "{error}");
        lines
    };
    // What does not parse, what is unknown, and what breaks rules, as the library tells it of the same text.
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> only: array<f32>;
fn a() -> f32 { let y = missing; return y; }
fn b() -> f32 { let y: u32 = 1.5; let z = unknown; return f32(y) + 1u; }
fn c() { only[0] = 1.0; }
fn d() -> f32 { }
fn good(x: f32) -> f32 { return x; }
struct Odd { x: float }
fn e(odd: Odd) { }
@compute @workgroup_size(1) fn main() { x[0] = a() + b() + good(other); c(); e(Odd()); }
";
    let found = lines(text);
    let numbers: Vec<&str> = found
        .iter()
        .map(|place| place.split(':').nth(1).unwrap())
        .collect();
    assert_eq!(numbers, ["3", "4", "4", "5", "6", "8", "10"], "{found:?}");
    let text = "@group(0) @binding(1) var<storage, read> only: array<f32>;
fn a() { only[0] = 1.0; }
fn b() -> f32 { }
@compute @workgroup_size(1) fn main() { only[1] = b(); a(); }
";
    assert_eq!(lines(text), ["t.wgsl:2:10", "t.wgsl:3:1", "t.wgsl:4:41"]);
    // Parameters that no field can be, all of them.
    let text = "struct Params { a: array<vec4f, 2>, b: f32, c: mat4x4<f16> }
enable f16;
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> other: array<vec4f, 2>;
@compute @workgroup_size(1) fn main() { _ = params.b; _ = other[0]; }
";
    let text = text.replace("enable f16;\n", "");
    let text = format!("enable f16;\n{text}");
    let found = lines(&text);
    assert_eq!(found.len(), 3, "{found:?}");
    // Attributes of an entry point, of which naga keeps no place.
    let text = "@compute @workgroup_size(0) fn main() { }";
    assert_eq!(lines(text), ["t.wgsl:1:32"]);
}

#[test]
fn imports_are_files_beside_the_file_and_the_librarys() {
    let folder = std::env::temp_dir().join(format!("ziggurat-macros-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("more")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let main = "import \"more/scale.wgsl\"
        import \"ziggurat/sigmoid.wgsl\"
        @group(0) @binding(0) var<storage, read_write> y: array<f32>;
        @compute @workgroup_size(1) fn main() {
            debug_print(\"y\", y[0], twice(y[1])); assert(y[0] > 0.0, \"positive\");
            y[0] = twice(sigmoid_f32(y[0]));
        }";
    write("main.wgsl", main);
    write(
        "more/scale.wgsl",
        "import \"two.wgsl\"\nfn twice(x: f32) -> f32 { return TWO * x; }",
    );
    write("more/two.wgsl", "const TWO = 2.0;");
    let file = folder.join("main.wgsl");
    let read = || {
        let source = Source::read("shaders/main.wgsl", &file)?;
        super::read(&source, None).map(|_| source)
    };
    let source = read().unwrap();
    let names: Vec<&str> = source.parts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names[..2],
        ["shaders/more/two.wgsl", "shaders/more/scale.wgsl"]
    );
    assert_eq!(names.last(), Some(&"shaders/main.wgsl"));
    assert!(names.contains(&"ziggurat/sigmoid.wgsl"));
    assert_eq!(source.files(&file).len(), 3);

    write(
        "more/scale.wgsl",
        "import \"two.wgsl\"\nfn twice(x: f32) -> f32 { return wrong * x; }",
    );
    let error = read().unwrap_err();
    assert!(
        error.starts_with("shaders/more/scale.wgsl:2:34: "),
        "{error}"
    );
    assert!(error.ends_with("\n2 | fn twice(x: f32) -> f32 { return wrong * x; }\n  |                                  ^^^^^"), "{error}");
    write("more/scale.wgsl", "\nimport \"absent.wgsl\"");
    let error = read().unwrap_err();
    assert!(
        error.starts_with("shaders/more/scale.wgsl:2:1: there is no file `absent.wgsl`")
            && error.ends_with("\n2 | import \"absent.wgsl\"\n  | ^^^^^^^^^^^^^^^^^^^^"),
        "{error}"
    );
    write("more/scale.wgsl", "import \"../main.wgsl\"");
    assert!(read().unwrap_err().contains("imports itself"));
    write(
        "main.wgsl",
        &main
            .replace("import \"more/scale.wgsl\"", "")
            .replace("twice(y[1])", "y[wrong]"),
    );
    let error = read().unwrap_err();
    assert!(error.starts_with("shaders/main.wgsl:5:38: "), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
