//! `kernel!("blur.wgsl")`: a typed struct of a WGSL file.

use std::path::{Path, PathBuf};

use proc_macro::{Delimiter, Literal, TokenStream, TokenTree};

use crate::params::implementation;
use crate::shader::{self, Shader, field_name};
use crate::source::Source;

/// What the kernel runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Tensors,
    Buffers,
}

/// `[visibility] [Name =] "path" [, entry = "name"]`
struct Input {
    visibility: String,
    name: Option<String>,
    path: String,
    entry: Option<String>,
    /// The file that the macro is in.
    from: Option<PathBuf>,
}

pub(crate) fn expand(input: TokenStream, target: Target) -> Result<TokenStream, String> {
    let input = Input::read(input)?;
    let file = input.file()?;
    let source = Source::read(&input.path, &file)?;
    let shader = shader::read(&source, input.entry.as_deref())?;
    let name = match &input.name {
        Some(name) => name.clone(),
        None => type_name(&file)?,
    };
    let code = match target {
        Target::Tensors => tensors(&input, &source, &name, &shader)?,
        Target::Buffers => buffers(&input, &source, &name, &shader)?,
    };
    let files = source.files(&file);
    let files = files.iter().map(|file| file.to_string_lossy());
    // The texts are in the code; these are for the compiler to notice changes.
    let files = files.map(|file| format!("const _: &str = include_str!({file:?});"));
    let code = files.fold(code, |code, file| code + &file);
    code.parse()
        .map_err(|error| format!("{}: {error}", input.path))
}

impl Input {
    fn read(input: TokenStream) -> Result<Self, String> {
        const USAGE: &str =
            "usage: kernel!(\"file.wgsl\"), kernel!(pub Name = \"file.wgsl\", entry = \"main\")";
        let mut visibility = String::new();
        let mut name = None;
        let mut texts: Vec<(String, Option<PathBuf>)> = Vec::new();
        let mut key = None;
        for token in input {
            match token {
                TokenTree::Ident(word) if texts.is_empty() => {
                    let word = word.to_string();
                    if word == "pub" {
                        visibility.push_str("pub");
                    } else {
                        name = Some(word);
                    }
                }
                TokenTree::Ident(word) => key = Some(word.to_string()),
                TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                    visibility.push_str(&group.to_string());
                }
                TokenTree::Literal(literal) => {
                    let from = literal.span().local_file();
                    texts.push((text_of(&literal).ok_or(USAGE)?, from));
                }
                TokenTree::Punct(mark) if ['=', ','].contains(&mark.as_char()) => {}
                _ => return Err(USAGE.to_owned()),
            }
        }
        let mut texts = texts.into_iter();
        let (path, from) = texts.next().ok_or(USAGE)?;
        let entry = texts.next().map(|(entry, _)| entry);
        if texts.next().is_some() || entry.is_some() != (key.as_deref() == Some("entry")) {
            return Err(USAGE.to_owned());
        }
        Ok(Self {
            visibility,
            name,
            path,
            entry,
            from,
        })
    }

    /// Relative to the file that the macro is in, as in `include_str!`, else to the package.
    fn file(&self) -> Result<PathBuf, String> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let beside = self.from.as_deref().and_then(Path::parent);
        let beside = beside.map(|folder| folder.join(&self.path));
        let below = package.as_deref().map(|folder| folder.join(&self.path));
        let mut places = beside.into_iter().chain(below);
        let found = places.find(|place| place.is_file());
        let found = found.ok_or_else(|| {
            format!(
                "{}: there is no such file in the folder of the source file, nor in that of the package",
                self.path
            )
        })?;
        std::path::absolute(&found).map_err(|error| format!("{}: {error}", self.path))
    }
}

/// The text of a plain string literal.
fn text_of(literal: &Literal) -> Option<String> {
    let text = literal.to_string();
    let inside = text.strip_prefix('"')?.strip_suffix('"')?;
    Some(inside.replace("\\\\", "\\").replace("\\\"", "\""))
}

/// `gaussian_blur.wgsl` is `GaussianBlur`.
fn type_name(file: &Path) -> Result<String, String> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let words = stem.split(|c: char| !c.is_ascii_alphanumeric());
    let mut name = String::new();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.extend(letters);
    }
    // Of Rust's keywords, one is a name of this shape.
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name != "Self" {
        return Ok(name);
    }
    Err(format!(
        "`{stem}` makes no name of a type: give one, kernel!(Name = \"…\")"
    ))
}

/// The struct with its fields, and one hidden struct of parameters for each uniform.
fn structs(input: &Input, name: &str, path: &str, shader: &Shader) -> Result<String, String> {
    let mut all: Vec<&str> = Vec::new();
    let mut code = String::new();
    let mut fields = String::new();
    for (at, params) in shader.params.iter().enumerate() {
        let hidden = format!("{name}Params{at}");
        let mut list = String::new();
        for (field, ty) in &params.fields {
            if all.contains(&field.as_str()) {
                return Err(format!(
                    "{}: `{field}` is a parameter of two variables: rename one",
                    input.path
                ));
            }
            all.push(field);
            list.push_str(&format!("{field}: {ty},"));
            fields.push_str(&format!(
                "#[doc = \"`{}` of `{}`.\"] pub {field}: {ty},",
                field.trim_start_matches("r#"),
                params.name
            ));
        }
        code.push_str(&format!("struct {hidden} {{ {list} }}"));
        code.push_str(&implementation(path, &hidden, &params.fields));
    }
    let visibility = &input.visibility;
    let body = if fields.is_empty() {
        ";".to_owned()
    } else {
        format!("{{ {fields} }}")
    };
    Ok(format!(
        "#[doc = \"The kernel `{}` of `{}`, with its parameters.\"]
        #[derive(Clone, Copy, Debug)] {visibility} struct {name} {body} {code}",
        shader.entry,
        input.path.escape_default()
    ))
}

/// The expressions of the hidden structs of each variable of parameters.
fn values(name: &str, shader: &Shader) -> Vec<String> {
    let all = shader.params.iter().enumerate();
    all.map(|(at, params)| {
        let fields = params.fields.iter();
        let fields: String = fields
            .map(|(field, _)| format!("{field}: self.{field},"))
            .collect();
        format!("&{name}Params{at} {{ {fields} }}")
    })
    .collect()
}

/// What a method takes for the shader's variables: one is an argument, several are the fields of a struct, because arguments
/// of one type could be given in the wrong order.
struct Taken {
    /// The struct, if there is one.
    declared: String,
    /// The method's parameter.
    parameter: String,
    /// The parameter's name.
    given: &'static str,
    /// The expression of each variable.
    values: Vec<String>,
}

impl Taken {
    /// Of these names and types.
    fn new(input: &Input, name: &str, all: &[(&str, &str)]) -> Self {
        let (visibility, given) = (&input.visibility, "kernel_args");
        match all {
            [] => Self {
                declared: String::new(),
                parameter: String::new(),
                given,
                values: Vec::new(),
            },
            [(_, ty)] => Self {
                declared: String::new(),
                parameter: format!("{given}: &'a {ty},"),
                given,
                values: vec![given.to_owned()],
            },
            _ => {
                let field = |(variable, ty): &(&str, &str)| {
                    let field = field_name(variable);
                    format!("#[doc = \"`{variable}` of the shader.\"] pub {field}: &'a {ty},")
                };
                let fields: String = all.iter().map(field).collect();
                let values = all
                    .iter()
                    .map(|(variable, _)| format!("{given}.{}", field_name(variable)));
                Self {
                    declared: format!(
                        "#[doc = \"What [`{name}`] is called with, by the names of the shader's variables.\"]
                        #[derive(Clone, Copy, Debug)] {visibility} struct {name}Args<'a> {{ {fields} }}"
                    ),
                    parameter: format!("{given}: {name}Args<'a>,"),
                    given,
                    values: values.collect(),
                }
            }
        }
    }
}

/// On buffers of the pipeline layer.
fn buffers(input: &Input, source: &Source, name: &str, shader: &Shader) -> Result<String, String> {
    const P: &str = "::ziggurat_pipeline";
    let structs = structs(input, name, P, shader)?;
    let memory = |ty: &str| format!("{P}::memory::{ty}");
    let buffers = shader.buffers.iter().map(|buffer| {
        let way = if buffer.writes { "write" } else { "read" };
        (buffer.name.as_str(), memory("Buffer"), way)
    });
    let resources = shader.resources.iter().map(|resource| {
        let (ty, way) = match resource.is_sampler {
            true => ("Sampler", "sampler"),
            false => ("Texture", "texture"),
        };
        (resource.name.as_str(), memory(ty), way)
    });
    let bound: Vec<(&str, String, &str)> = buffers.chain(resources).collect();
    let all: Vec<(&str, &str)> = bound
        .iter()
        .map(|(name, ty, _)| (*name, ty.as_str()))
        .collect();
    let taken = Taken::new(input, name, &all);
    let mut args = String::new();
    for ((_, _, way), value) in bound.iter().zip(&taken.values) {
        args.push_str(&format!("{P}::Arg::{way}({value}),"));
    }
    let (declared, parameter) = (&taken.declared, &taken.parameter);
    let mut made = String::new();
    let mut immediate = "&[]";
    let all = values(name, shader);
    for (at, (value, params)) in all.iter().zip(&shader.params).enumerate() {
        made.push_str(&format!(
            "let kernel_params_{at} = {P}::KernelParams::to_bytes({value});"
        ));
        if params.is_immediate {
            immediate = "&kernel_params_0";
        } else {
            args.push_str(&format!("{P}::Arg::uniform(&kernel_params_{at}),"));
        }
    }
    let (visibility, entry) = (&input.visibility, &shader.entry);
    let parts = source.parts.iter();
    let parts: String = parts
        .map(|(file, text)| format!(".part({file:?}, {text:?})"))
        .collect();
    Ok(format!(
        "{structs} {declared}
        impl {name} {{
            /// The shader's text, and the entry point.
            {visibility} fn descriptor() -> {P}::KernelDescriptor {{
                let source = {P}::ShaderSource::new({name:?}){parts};
                {P}::KernelDescriptor::new(source).entry({entry:?})
            }}

            /// Records a dispatch. See `Pipelines::dispatch` for its errors.
            {visibility} fn dispatch<'a>(&self, pipelines: &{P}::Pipelines, {parameter} kernel_grid: {P}::Grid)
                -> ::core::result::Result<(), {P}::PipelineError> {{
                let kernel = pipelines.kernel(&Self::descriptor())?;
                {made}
                pipelines.dispatch(&kernel, &[{args}], {immediate}, kernel_grid)
            }}
        }}"
    ))
}

/// On tensors.
fn tensors(input: &Input, source: &Source, name: &str, shader: &Shader) -> Result<String, String> {
    const P: &str = "::ziggurat_tensor";
    let structs = structs(input, name, P, shader)?;
    let path = &input.path;
    if let Some(resource) = shader.resources.first() {
        return Err(format!(
            "{path}: `{}` is a texture or sampler: tensors are buffers, so use the kernel! of ziggurat_pipeline",
            resource.name
        ));
    }
    let outputs = shader.buffers.iter().filter(|buffer| buffer.writes).count();
    let Some((output, inputs)) = shader
        .buffers
        .split_last()
        .filter(|(last, _)| last.writes && outputs == 1)
    else {
        return Err(format!(
            "{path}: a kernel on tensors has one `read_write` buffer, which comes behind the others by group and binding"
        ));
    };
    let dtype = |buffer: &shader::Buffer| match buffer.scalar {
        Some(scalar) => Ok(format!("{P}::DType::{}", scalar.to_uppercase())),
        None => Err(format!(
            "{path}: `{}` holds elements that no dtype has",
            buffer.name
        )),
    };
    let mut signature = String::new();
    for buffer in inputs {
        signature.push_str(&format!(".input({:?}, {})", buffer.name, dtype(buffer)?));
    }
    signature.push_str(&format!(".output({:?}, {})", output.name, dtype(output)?));
    let tensor = format!("{P}::Tensor");
    let all = inputs
        .iter()
        .map(|buffer| (buffer.name.as_str(), tensor.as_str()));
    let taken = Taken::new(input, name, &all.collect::<Vec<_>>());
    let (declared, mut parameter, mut given) = (&taken.declared, taken.parameter, taken.given);
    let mut call = format!("call(&[{}])", taken.values.join(", "));
    if inputs.is_empty() {
        parameter = format!("kernel_device: &'a {P}::Device,");
        given = "kernel_device";
        call = "call_on(kernel_device, &[])".to_owned();
    }
    let made: String = values(name, shader)
        .iter()
        .map(|value| format!(".params({value})"))
        .collect();
    let (visibility, entry) = (&input.visibility, &shader.entry);
    let parts = source.parts.iter();
    let parts: String = parts
        .map(|(file, text)| format!("({file:?}, {text:?}),"))
        .collect();
    Ok(format!(
        "{structs} {declared}
        impl {name} {{
            /// The kernel without parameters.
            {visibility} fn kernel() -> &'static {P}::CustomKernel {{
                static KERNEL: ::std::sync::OnceLock<{P}::CustomKernel> = ::std::sync::OnceLock::new();
                KERNEL.get_or_init(|| {P}::CustomKernel::parts({name:?}, [{parts}])
                    .entry({entry:?}){signature})
            }}

            /// Starts a call with these parameters: the output's shape and the grid can be said before `run`.
            {visibility} fn call<'a>(&self, {parameter}) -> {P}::CustomCall<'a> {{
                Self::kernel().{call}{made}
            }}

            /// Records a call. See `CustomCall::run` for its errors.
            {visibility} fn run<'a>(&self, {parameter}) -> ::core::result::Result<{P}::Tensor, {P}::Error> {{
                self.call({given}).run()
            }}
        }}"
    ))
}
