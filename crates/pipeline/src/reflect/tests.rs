//! What reflection finds, and which sources and limits it refuses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::*;
use crate::error::LimitError;
use crate::error::shown::tests::shows_its_code;
use crate::source::ShaderSource;
use ziggurat_device::ShaderFeature;

mod barriers;
mod constants;
mod plain;
mod text;
mod variables;

/// A prelude of five lines before the body, so that lines of the whole and of the file differ.
const PRELUDE: &str = "// one\nconst ONE: u32 = 1u;\n\nfn same(x: u32) -> u32 {\n    return x;\n}";

fn kernel(body: &str) -> KernelDescriptor {
    KernelDescriptor::new(
        ShaderSource::new("probe")
            .part("prelude.wgsl", PRELUDE)
            .part("body.wgsl", body.to_owned()),
    )
}

fn plain(body: &str) -> Result<Reflection, PipelineError> {
    reflect(&kernel(body), ShaderFeatures::NONE).inspect_err(shows_its_code)
}

const BODY: &str = "struct Params { len: u32, scale: f32, shape: vec4<u32> }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(3) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage> a: array<u32>;
@group(0) @binding(2) var<storage, read> b: array<atomic_free>;
alias atomic_free = i32;
var<workgroup> tile: array<f32, WG>;
override WG: u32 = 64u;
@compute @workgroup_size(WG, 2) fn main(@builtin(local_invocation_index) i: u32) {
    tile[i] = params.scale * f32(a[i] + same(ONE));
    out[i] = vec4(tile[i] + f32(b[i]));
}
";

#[test]
fn finds_bindings_in_order_with_file_and_line() {
    let found = plain(BODY).unwrap();
    let seen: Vec<_> = found
        .bindings
        .iter()
        .map(|b| {
            (
                b.binding,
                b.name.as_str(),
                b.place.file.as_str(),
                b.place.line,
                b.access,
                b.scalar,
                b.stride,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (1, "a", "body.wgsl", 4, Access::Read, Scalar::U32, Some(4)),
            (2, "b", "body.wgsl", 5, Access::Read, Scalar::I32, Some(4)),
            (
                3,
                "out",
                "body.wgsl",
                3,
                Access::ReadWrite,
                Scalar::F32,
                Some(16)
            ),
        ]
    );
    assert_eq!(found.bindings[2].min_bytes, 16);
    assert_eq!((found.entry.as_str(), found.place.line), ("main", 9));
}

#[test]
fn finds_the_parameter_struct() {
    let params = plain(BODY).unwrap().params.unwrap();
    assert_eq!(
        params.space,
        ParamSpace::Uniform {
            group: 0,
            binding: 0
        }
    );
    assert_eq!(
        (params.name.as_str(), params.place.line, params.bytes),
        ("params", 2, 32)
    );
    let members: Vec<_> = params
        .members
        .iter()
        .map(|m| (m.name.as_str(), m.offset, m.bytes, m.scalar))
        .collect();
    assert_eq!(
        members,
        [
            ("len", 0, 4, Scalar::U32),
            ("scale", 4, 4, Scalar::F32),
            ("shape", 16, 16, Scalar::U32)
        ]
    );
}

#[test]
fn overrides_drive_workgroup_size_and_memory() {
    let found = plain(BODY).unwrap();
    assert_eq!(found.workgroup_size, [64, 2, 1]);
    assert_eq!(found.workgroup_bytes(), 256);
    assert_eq!(found.invocations(), 128);
    assert_eq!(found.overrides.len(), 1);
    assert_eq!(
        (
            found.overrides[0].name.as_str(),
            found.overrides[0].place.line
        ),
        ("WG", 8)
    );

    let found = reflect(&kernel(BODY).constant("WG", 100.0), ShaderFeatures::NONE).unwrap();
    assert_eq!(found.workgroup_size, [100, 2, 1]);
    assert_eq!(found.workgroup_bytes(), 400);
    assert_eq!(found.bindings.len(), 3);
    assert_eq!(found.bindings[0].place.line, 4);
}

#[test]
fn unused_bindings_of_an_only_entry_point_count_but_unused_workgroup_memory_does_not() {
    let text = "@group(0) @binding(0) var<storage> a: array<f32>;
         @group(1) @binding(0) var<uniform> b: u32;
         var<workgroup> tile: array<f32, 64>;
         @compute @workgroup_size(1) fn main() {}";
    // Resolving overrides drops what is not used.
    for text in [text.to_owned(), format!("override C: u32 = 1;\n{text}")] {
        let found = plain(&text).unwrap();
        assert_eq!((found.bindings.len(), found.params_bytes()), (1, 4));
        assert_eq!(found.workgroup_bytes(), 0);
    }
}

const TWO: &str = "@group(0) @binding(0) var<storage> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
@group(0) @binding(0) var<storage, read_write> c: array<u32>;
@compute @workgroup_size(1) fn first() { b[0] = a[0]; }
@compute @workgroup_size(2) fn second() { c[0] = 1u; }
";

#[test]
fn of_several_entry_points_the_chosen_one_decides() {
    let names = |entry: &'static str| {
        let found = reflect(&kernel(TWO).entry(entry), ShaderFeatures::NONE).unwrap();
        let names: Vec<_> = found.bindings.iter().map(|b| b.name.clone()).collect();
        (names, found.workgroup_size)
    };
    assert_eq!(
        names("first"),
        (vec!["a".to_owned(), "b".to_owned()], [1, 1, 1])
    );
    assert_eq!(names("second"), (vec!["c".to_owned()], [2, 1, 1]));
}

#[test]
fn entry_points_must_be_clear() {
    let at = |error: &PipelineError| error.place().map(ToString::to_string).unwrap();
    let error = plain(TWO).unwrap_err();
    assert!(
        matches!(&error, PipelineError::AmbiguousEntryPoint { have, .. }
            if *have == ["`first` (body.wgsl:4:32)", "`second` (body.wgsl:5:32)"]),
        "{error}"
    );
    assert_eq!(at(&error), "body.wgsl:5:32");
    let error = reflect(&kernel(TWO).entry("third"), ShaderFeatures::NONE).unwrap_err();
    shows_its_code(&error);
    assert!(
        matches!(&error, PipelineError::UnknownEntryPoint { wanted, have, .. }
            if wanted == "third" && have.len() == 2),
        "{error}"
    );
    assert_eq!(at(&error), "body.wgsl:4:32");
    for text in [
        "fn f() {}",
        "@fragment fn f() {}",
        "// fn main()\nfn f() {}",
    ] {
        let error = plain(text).unwrap_err();
        assert!(
            matches!(error, PipelineError::NoEntryPoint { .. }),
            "{error}"
        );
        assert!(error.to_string().ends_with('^'), "{error}");
    }
    let nothing = reflect(
        &KernelDescriptor::new(ShaderSource::wgsl("k", "// nothing")),
        ShaderFeatures::NONE,
    );
    assert_eq!(
        nothing.unwrap_err().to_string(),
        "k: k: no `@compute` entry point"
    );
}

#[test]
fn parse_errors_name_file_line_and_column() {
    let error = plain("fn f() {\n    let x = ;\n}\n").unwrap_err();
    let PipelineError::Parse {
        kernel,
        place,
        message,
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!(
        (kernel.as_str(), place.to_string().as_str()),
        ("probe", "body.wgsl:2:13")
    );
    assert!(!message.is_empty());
    assert_eq!(place.snippet, "2 |     let x = ;\n  |             ^");
    assert!(
        error.to_string().starts_with("probe: body.wgsl:2:13: "),
        "{error}"
    );
}

#[test]
fn an_error_in_the_first_file_is_not_blamed_on_the_second() {
    let source = ShaderSource::new("probe")
        .part("first.wgsl", "\nconst A: u32 = -1.5;")
        .part("second.wgsl", "@compute @workgroup_size(1) fn main() {}");
    let error = reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE).unwrap_err();
    assert!(
        matches!(&error, PipelineError::Parse { place, .. } if place.line == 2 && place.file == "first.wgsl"),
        "{error}"
    );
}

#[test]
fn validation_errors_name_the_line() {
    let error = plain(
        "@group(0) @binding(0) var<storage> a: array<f32>;
         @compute @workgroup_size(1) fn main() {
             a[0] = 1.0;
         }",
    )
    .unwrap_err();
    assert!(
        matches!(&error, PipelineError::Validation { place, message, .. } if place.line == 3 && place.file == "body.wgsl" && !message.is_empty()),
        "{error:?}"
    );
}

#[test]
fn an_illegal_workgroup_size_is_found_at_its_entry_point() {
    let error = plain("\n@compute @workgroup_size(0)\nfn main() {}").unwrap_err();
    assert!(
        matches!(&error, PipelineError::Validation { place, .. } if place.line == 3 && place.file == "body.wgsl" && place.snippet.contains("fn main()")),
        "{error:?}"
    );
}

#[test]
fn limits_are_checked_with_line_and_numbers() {
    let limits = wgpu::Limits::default();
    let check = |body: &str| check_limits(&plain(body).unwrap(), &limits);

    assert!(check("@compute @workgroup_size(256) fn main() {}").is_ok());
    let error = check("\n@compute @workgroup_size(257) fn main() {}").unwrap_err();
    assert!(
        matches!(
            &error,
            PipelineError::Limit(LimitError::WorkgroupTooLarge {
                size: [257, 1, 1],
                max_invocations: 256,
                place,
                ..
            }) if place.line == 2
        ),
        "{error:?}"
    );
    let error = check("@compute @workgroup_size(16, 17) fn main() {}").unwrap_err();
    assert!(
        matches!(
            &error,
            PipelineError::Limit(LimitError::WorkgroupTooLarge { .. })
        ),
        "{error:?}"
    );
    let error = check("@compute @workgroup_size(1, 1, 65) fn main() {}").unwrap_err();
    assert!(
        matches!(
            &error,
            PipelineError::Limit(LimitError::WorkgroupTooLarge { .. })
        ),
        "{error:?}"
    );

    let shared = |len: u32| {
        format!(
            "var<workgroup> small: u32;\nvar<workgroup> tile: array<f32, {len}>;
             @compute @workgroup_size(1) fn main() {{ tile[0] = f32(small); }}"
        )
    };
    assert!(check(&shared(4092)).is_ok());
    let error = check(&shared(4096)).unwrap_err();
    assert!(
        matches!(&error, PipelineError::Limit(LimitError::WorkgroupMemory { bytes: 16_400, limit: 16_384, place, name, .. }) if place.line == 2 && name == "tile"),
        "{error:?}"
    );

    let many = |count: usize| -> String {
        let bindings =
            (0..count).map(|i| format!("@group(0) @binding({i}) var<storage> b{i}: array<u32>;\n"));
        bindings.collect::<String>() + "@compute @workgroup_size(1) fn main() {}"
    };
    assert!(check(&many(8)).is_ok());
    let error = check(&many(9)).unwrap_err();
    assert!(
        matches!(
            &error,
            PipelineError::Limit(LimitError::TooManyStorageBuffers {
                count: 9,
                limit: 8,
                place,
                ..
            }) if place.line == 9
        ),
        "{error:?}"
    );

    let error = check(
        "@group(0) @binding(0) var<uniform> big: array<vec4<u32>, 5000>;
         @compute @workgroup_size(1) fn main() {}",
    )
    .unwrap_err();
    assert!(
        matches!(
            &error,
            PipelineError::Limit(LimitError::ParamsTooLarge {
                bytes: 80_000,
                limit: 65_536,
                place,
                ..
            }) if place.line == 1
        ),
        "{error:?}"
    );
}

#[test]
fn a_workgroup_size_of_zero_is_an_error() {
    let body = "override WG: u32 = 1u;\n@compute @workgroup_size(WG) fn main() {}";
    let zero = reflect(&kernel(body).constant("WG", 0.0), ShaderFeatures::NONE)
        .and_then(|found| check_limits(&found, &wgpu::Limits::default()));
    assert!(zero.is_err(), "{zero:?}");
}
