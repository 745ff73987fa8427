//! Imports of named pieces: their order, and every refusal with both places.

use ziggurat_pipeline::{KernelDescriptor, ShaderFeatures, ShaderLibrary, reflect};

use super::*;

const MAIN: &str = "@compute @workgroup_size(1) fn main() { }";

fn library(pieces: &[(&'static str, &'static str)]) -> ShaderLibrary {
    let start = ShaderLibrary::ziggurat();
    let all = pieces.iter();
    all.fold(start, |all, (name, text)| all.with(*name, *text).unwrap())
}

fn refused(pieces: &[(&'static str, &'static str)], text: &str) -> String {
    let text = format!("{text}\n{MAIN}");
    library(pieces).source("top", text).unwrap_err().to_string()
}

#[test]
fn every_piece_is_imported_once_ahead_of_its_users_and_lines_stay() {
    let library = library(&[
        (
            "a.wgsl",
            "import \"b.wgsl\"\nimport \"c.wgsl\"\nfn a() -> u32 { return b() + c(); }",
        ),
        (
            "b.wgsl",
            "import \"c.wgsl\";\nfn b() -> u32 { return c(); }",
        ),
        ("c.wgsl", "fn c() -> u32 { return 1u; }"),
    ]);
    let text = "import \"a.wgsl\"\n@group(0) @binding(0) var<storage, read_write> y: array<u32>;\n\
        @compute @workgroup_size(1) fn main() { y[0] = a(); wrong(); }";
    let source = library.source("top", text).unwrap();
    let files: Vec<_> = source
        .parts()
        .iter()
        .map(|part| part.file.to_string())
        .collect();
    assert_eq!(files, ["c.wgsl", "b.wgsl", "a.wgsl", "top"]);
    let error = reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE).unwrap_err();
    assert!(error.to_string().starts_with("top: top:3:53"), "{error}");
    let right = library
        .source("top", text.replace(" wrong();", ""))
        .unwrap();
    reflect(&KernelDescriptor::new(right), ShaderFeatures::NONE).unwrap();
}

#[test]
fn circles_name_every_place() {
    let pieces = [
        ("a.wgsl", "\nimport \"b.wgsl\""),
        ("b.wgsl", "import \"a.wgsl\""),
    ];
    let error = refused(&pieces, "import \"a.wgsl\"");
    assert!(
        error.contains("b.wgsl:1:1: `a.wgsl` imports itself: by way of a.wgsl:2, then b.wgsl:1"),
        "{error}"
    );
    let error = refused(&[("s.wgsl", "import \"s.wgsl\"")], "import \"s.wgsl\"");
    assert!(error.contains("s.wgsl:1"), "{error}");
}

#[test]
fn unknown_duplicate_and_shadowing_names_are_refused_with_both_places() {
    let error = refused(&[], "\nimport \"nowhere.wgsl\"");
    assert!(
        error.contains("top:2:1: there is no piece `nowhere.wgsl`")
            && error.contains("ziggurat/erf.wgsl"),
        "{error}"
    );
    let error = refused(
        &[("a.wgsl", "// one\nfn twice() {}")],
        "import \"a.wgsl\"\nfn twice() {}",
    );
    assert!(
        error.contains("top:2:1: `twice` is declared here and in a.wgsl:2"),
        "{error}"
    );
    let twice = ShaderLibrary::new().with("a", "fn a() {}").unwrap();
    assert!(twice.clone().with("a", "fn a() {}").is_ok());
    assert!(
        twice
            .with("a", "fn b() {}")
            .unwrap_err()
            .to_string()
            .contains("another text")
    );
}

#[test]
fn every_piece_of_the_own_library_compiles_alone() {
    let library = ShaderLibrary::ziggurat();
    for name in library.names() {
        let text = format!("import \"{name}\"\n{MAIN}");
        let source = library.source("alone", text).unwrap();
        let read = reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE);
        read.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let all: String = library
        .names()
        .map(|name| format!("import \"{name}\"\n"))
        .collect();
    let source = library.source("all", all + MAIN).unwrap();
    reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE).unwrap();
}

/// The functions of the own library that no kernel of Ziggurat's runs as they are.
#[test]
fn functions_of_the_own_library_give_what_they_say() {
    let pipelines = &open(DeviceOptions::default());
    let text = "import \"ziggurat/halves.wgsl\"
        import \"ziggurat/hash.wgsl\"
        import \"ziggurat/erf.wgsl\"
        import \"ziggurat/reduce256.wgsl\"
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(256) fn main(@builtin(local_invocation_index) i: u32) {
            let v = bitcast<f32>(x[i]);
            y[i] = f32_to_f16(v);
            y[256u + i] = bitcast<u32>(f16_to_f32(y[i]));
            y[512u + i] = bitcast<u32>(bf16_to_f32(f32_to_bf16(v)));
            y[768u + i] = hash_u32(x[i]);
            y[1024u + i] = bitcast<u32>(erf_f32(v));
            y[1280u + i] = bitcast<u32>(workgroup_sum(f32(i), i));
            y[1536u + i] = bitcast<u32>(workgroup_max(f32(i * 7u % 256u), i));
        }";
    let source = ShaderLibrary::ziggurat().source("own", text).unwrap();
    let kernel = kernel(pipelines, source);
    // All magnitudes, both signs, ties between two f16, subnormals, infinities and NaN.
    let mut values: Vec<f32> = (0..240u32)
        .map(|i| f32::from_bits(i.wrapping_mul(0x0113_9973) ^ ((i & 1) << 31)))
        .collect();
    values.extend([
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        65504.0,
        65519.9,
        65520.0,
    ]);
    values.extend([
        1.000_488_3,
        1.001_464_8,
        6.0e-8,
        2.98e-8,
        3.0e-5,
        -0.5,
        0.999_9,
        3.0,
    ]);
    let x = pipelines
        .memory()
        .upload(bytemuck::cast_slice(&values))
        .unwrap();
    let y = pipelines.memory().alloc_zeroed(7 * 1024).unwrap();
    let args = [Arg::read(&x), Arg::write(&y)];
    pipelines
        .dispatch(&kernel, &args, &[], Grid::Workgroups([1, 1, 1]))
        .unwrap();
    let found = words(pipelines, &y);
    let mut hashes: Vec<u32> = Vec::new();
    for (i, value) in values.iter().enumerate() {
        let half = half::f16::from_f32(*value);
        let wide = f32::from_bits(found[256 + i]);
        if value.is_nan() {
            assert!(
                wide.is_nan() && f32::from_bits(found[512 + i]).is_nan(),
                "{value}"
            );
            continue;
        }
        // Drivers may flush subnormal floats that a shader reads or gives.
        if value.is_normal() || *value == 0.0 || value.is_infinite() {
            assert_eq!(found[i], u32::from(half.to_bits()), "{value:e}");
            let brain = half::bf16::from_f32(*value).to_f32();
            assert_eq!(f32::from_bits(found[512 + i]), brain, "{value:e}");
            assert_eq!(wide, half.to_f32(), "{value:e}");
        }
        hashes.push(found[768 + i]);
        let erf = f32::from_bits(found[1024 + i]);
        assert!(
            erf.abs() <= 1.0 && erf.is_sign_negative() == value.is_sign_negative(),
            "{value}: {erf}"
        );
        assert_eq!(f32::from_bits(found[1280 + i]), 32640.0);
        assert_eq!(f32::from_bits(found[1536 + i]), 255.0);
    }
    let half = values.iter().position(|v| *v == -0.5).unwrap();
    assert!((f32::from_bits(found[1024 + half]) + 0.520_499_9).abs() < 1e-6);
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert!(hashes.len() + 4 >= count, "{} of {count}", hashes.len());
}
