//! What a WGSL file declares, as naga reads it.

use std::collections::HashSet;

use crate::source::Source;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{
    AddressSpace, GlobalVariable, Module, Scalar, ScalarKind, ShaderStage, StorageAccess, TypeInner,
};
use ziggurat_core::wgsl::errors::{in_wgsl, said};
use ziggurat_core::wgsl::mistakes::{Refusal, read_all};

/// One entry point of a file with what it binds.
#[derive(Debug)]
pub(crate) struct Shader {
    pub(crate) entry: String,
    /// Storage buffers, textures and samplers, each kind by group and binding index.
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) resources: Vec<Resource>,
    /// The immediate variable first, then uniforms by group and binding index.
    pub(crate) params: Vec<Params>,
}

#[derive(Debug)]
pub(crate) struct Buffer {
    place: (u32, u32),
    pub(crate) name: String,
    pub(crate) writes: bool,
    /// The scalar that it is made of, if there is one.
    pub(crate) scalar: Option<&'static str>,
}

#[derive(Debug)]
pub(crate) struct Resource {
    place: (u32, u32),
    pub(crate) name: String,
    pub(crate) is_sampler: bool,
}

#[derive(Debug)]
pub(crate) struct Params {
    place: (u32, u32),
    pub(crate) name: String,
    pub(crate) is_immediate: bool,
    /// Names and types of Rust.
    pub(crate) fields: Vec<(String, String)>,
}

/// Reads a shader; file, line and column begin each error.
pub(crate) fn read(source: &Source, wanted: Option<&str>) -> Result<Shader, String> {
    let text = source.text.as_str();
    let path = source.path();
    let parse = |left: &str| {
        naga::front::wgsl::parse_str(left).map_err(|error| {
            let mut words = error.message().to_owned();
            for note in error.notes() {
                words.push_str("; ");
                words.push_str(note);
            }
            let at = error.location(text);
            Refusal {
                at: at.and_then(|at| usize::try_from(at.offset).ok()),
                error: source.located(at, &in_wgsl(&words)),
                words,
            }
        })
    };
    let module = read_all(text, parse).map_err(|mistakes| mistakes.errors.join("\n"))?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator
        .validate(&module)
        .map_err(|error| source.located(error.location(text), &said(error.as_inner())))?;
    let points = module.entry_points.iter().enumerate();
    let compute: Vec<_> = points
        .filter(|(_, point)| point.stage == ShaderStage::Compute)
        .collect();
    let names: Vec<&str> = compute
        .iter()
        .map(|(_, point)| point.name.as_str())
        .collect();
    let found = match (wanted, compute.as_slice()) {
        (Some(wanted), all) => all.iter().find(|(_, point)| point.name == wanted),
        (None, [only]) => Some(only),
        (None, []) => return Err(format!("{path}: no `@compute` entry point")),
        (None, _) => {
            let names = names.join("`, `");
            return Err(format!(
                "{path}: choose one of the entry points `{names}`: kernel!(\"…\", entry = \"…\")"
            ));
        }
    };
    let Some(&(index, point)) = found else {
        let wanted = wanted.unwrap_or_default();
        return Err(format!(
            "{path}: no compute entry point `{wanted}`; there are `{}`",
            names.join("`, `")
        ));
    };
    let mut shader = Shader {
        entry: point.name.clone(),
        buffers: Vec::new(),
        resources: Vec::new(),
        params: Vec::new(),
    };
    let uses = info.get_entry_point(index);
    let only = module.entry_points.len() == 1;
    let bound = |variable: &GlobalVariable| {
        let place = variable.binding.as_ref()?;
        Some((place.group, place.binding))
    };
    // Of the variables at one place an entry point uses at most one, which counts; else the first does.
    let variables = module.global_variables.iter();
    let used = variables.filter(|(handle, _)| !uses[*handle].is_empty());
    let mut taken: HashSet<(u32, u32)> = used.filter_map(|(_, used)| bound(used)).collect();
    for (handle, variable) in module.global_variables.iter() {
        let unused = uses[handle].is_empty();
        if unused && (!only || bound(variable).is_some_and(|place| !taken.insert(place))) {
            continue;
        }
        let place = module.global_variables.get_span(handle).location(text);
        let at = |message: String| source.located(Some(place), &message);
        let name = variable.name.clone().unwrap_or_default();
        let place = bound(variable).unwrap_or_default();
        let inner = &module.types[variable.ty].inner;
        match variable.space {
            AddressSpace::Storage { access } => shader.buffers.push(Buffer {
                place,
                name,
                writes: access.contains(StorageAccess::STORE),
                scalar: scalar_of(&module, inner),
            }),
            AddressSpace::Handle => match inner {
                TypeInner::Image { .. } | TypeInner::Sampler { .. } => {
                    shader.resources.push(Resource {
                        place,
                        name,
                        is_sampler: matches!(inner, TypeInner::Sampler { .. }),
                    });
                }
                _ => return Err(at(format!("`{name}` is of a kind that no argument is for"))),
            },
            AddressSpace::Uniform | AddressSpace::Immediate => {
                let fields = fields(&module, &name, inner).map_err(at)?;
                shader.params.push(Params {
                    place,
                    name,
                    is_immediate: variable.space == AddressSpace::Immediate,
                    fields,
                });
            }
            _ => {}
        }
    }
    shader.buffers.sort_by_key(|buffer| buffer.place);
    shader.resources.sort_by_key(|resource| resource.place);
    shader
        .params
        .sort_by_key(|params| (!params.is_immediate, params.place));
    Ok(shader)
}

/// The fields of a parameter variable: its members, or itself.
fn fields(module: &Module, name: &str, inner: &TypeInner) -> Result<Vec<(String, String)>, String> {
    let TypeInner::Struct { members, .. } = inner else {
        let ty = rust_type(module, inner)
            .ok_or_else(|| format!("`{name}` is of a type that a Rust field cannot be"))?;
        return Ok(vec![(name.to_owned(), ty)]);
    };
    let one = |member: &naga::StructMember| {
        let field = member.name.clone().unwrap_or_default();
        let ty = rust_type(module, &module.types[member.ty].inner).ok_or_else(|| {
            format!("`{name}.{field}` is of a type that a Rust field cannot be: use scalars, vectors and matrices of 32 bits")
        })?;
        Ok((field, ty))
    };
    members.iter().map(one).collect()
}

fn scalar_name(scalar: Scalar) -> Option<&'static str> {
    match (scalar.kind, scalar.width) {
        (ScalarKind::Float, 4) => Some("f32"),
        (ScalarKind::Float, 2) => Some("f16"),
        (ScalarKind::Sint, 4) => Some("i32"),
        (ScalarKind::Uint, 4) => Some("u32"),
        _ => None,
    }
}

fn rust_type(_: &Module, inner: &TypeInner) -> Option<String> {
    let wide = |scalar: Scalar| scalar_name(scalar).filter(|name| *name != "f16");
    match *inner {
        TypeInner::Scalar(scalar) => wide(scalar).map(str::to_owned),
        TypeInner::Vector { size, scalar } => Some(format!("[{}; {}]", wide(scalar)?, size as u8)),
        TypeInner::Matrix {
            columns,
            rows,
            scalar,
        } => {
            (wide(scalar)? == "f32").then(|| format!("[[f32; {}]; {}]", rows as u8, columns as u8))
        }
        _ => None,
    }
}

fn scalar_of(module: &Module, inner: &TypeInner) -> Option<&'static str> {
    match inner {
        TypeInner::Scalar(scalar)
        | TypeInner::Atomic(scalar)
        | TypeInner::Vector { scalar, .. }
        | TypeInner::Matrix { scalar, .. } => scalar_name(*scalar),
        TypeInner::Array { base, .. } => scalar_of(module, &module.types[*base].inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
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
            ("array<u32>;", "array<u32>", "blur.wgsl:5:9"),
            ("gain * params", "wrong * params", "blur.wgsl:6:"),
            ("vec4(gain", "vec3(gain", "blur.wgsl:6:"),
            (
                "size: vec2<u32>",
                "size: array<vec4<u32>, 2>",
                "blur.wgsl:2:31: `params.size`",
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
                .contains("choose one")
        );
        assert!(
            read("a.wgsl", "fn f() {}", None)
                .unwrap_err()
                .contains("no `@compute`")
        );
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
            error.starts_with("shaders/more/scale.wgsl:2: there is no file `absent.wgsl`"),
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
        assert!(error.starts_with("shaders/main.wgsl:5:42: "), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
