//! Shader modules: WGSL parsed and validated by naga, as wgpu-core does it.

use std::future::ready;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use naga::valid::{ModuleInfo, ValidationFlags};
use wgpu::custom::{ShaderCompilationInfoFuture, ShaderModuleInterface};
use ziggurat_core::debug_print::{self, Statement};
use ziggurat_core::large_stack::LargeStackError;
use ziggurat_core::wgsl::{Extent, Measured, measure};

use super::guard::{Panicked, contained, with_stack_for};
use super::object::{Object, ObjectError, debug_by_name};
use super::state::State;
use crate::sanitize::{Program, Text};

/// Why a shader module cannot be made.
#[derive(Debug, thiserror::Error)]
enum ShaderError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Panicked(#[from] Panicked),
    #[error("this text cannot be compiled: {0}")]
    Stack(#[from] LargeStackError),
    #[error("{count} {what} (line {line}); at most {limit} are compiled")]
    TooLarge {
        what: &'static str,
        count: usize,
        line: u32,
        limit: usize,
    },
    #[error("Shader '{label}' parsing error: {text}")]
    Parse { label: String, text: String },
    #[error("Shader validation error: {text}")]
    Validation { text: String },
    #[error("group {group} of binding {binding} is not below the limit max_bind_groups, {limit}")]
    GroupIndex {
        group: u32,
        binding: u32,
        limit: u32,
    },
}

/// A validated module with its text.
pub(super) struct ModuleData {
    pub(super) module: naga::Module,
    pub(super) info: ModuleInfo,
    pub(super) text: Arc<ModuleText>,
    pub(super) extent: Extent,
}

/// A module's text, which its pipelines keep.
pub(super) struct ModuleText {
    pub(super) source: String,
    pub(super) label: String,
    /// What it prints.
    pub(super) statements: Vec<Statement>,
    /// [`Program::hash`] of the text.
    pub(super) hash: u64,
    /// The files that the text is made of, with their lines.
    pub(super) parts: OnceLock<Vec<(String, u32)>>,
    /// Whether it is the library's own, not the program's.
    pub(super) own: AtomicBool,
}

impl ModuleText {
    /// For finding files and lines; a module without a name is called like its kernel.
    pub(super) fn text<'a>(&'a self, kernel: &'a str) -> Text<'a> {
        Text {
            source: &self.source,
            parts: self.parts.get().map_or(&[], Vec::as_slice),
            own: self.own.load(Ordering::Relaxed),
            label: if self.label.is_empty() {
                kernel
            } else {
                &self.label
            },
        }
    }
}

/// wgpu's handle.
pub(super) struct ShaderModule {
    state: Arc<State>,
    label: String,
    /// `None` if invalid.
    data: Option<Arc<ModuleData>>,
    messages: Vec<wgpu::CompilationMessage>,
}

debug_by_name!(ShaderModule);

impl Object for ShaderModule {
    const KIND: &'static str = "ShaderModule";
    fn state(&self) -> &Arc<State> {
        &self.state
    }
    fn label(&self) -> &str {
        &self.label
    }
    fn is_valid(&self) -> bool {
        self.data.is_some()
    }
}

impl ShaderModule {
    pub(super) fn create(state: &Arc<State>, desc: wgpu::ShaderModuleDescriptor<'_>) -> Self {
        let label = desc.label.unwrap_or_default().to_owned();
        let mut messages = Vec::new();
        let data = match read(state, &label, desc.source, &mut messages) {
            Ok(data) => Some(Arc::new(data)).filter(|_| !state.is_lost()),
            Err(error) => {
                state.invalid("Device::create_shader_module", &label, error);
                None
            }
        };
        Self {
            state: Arc::clone(state),
            label,
            data,
            messages,
        }
    }

    /// An invalid module in place of one in a language that is not supported.
    pub(super) fn unsupported(state: &Arc<State>, label: &str) -> Self {
        state.invalid(
            "Device::create_shader_module_passthrough",
            label,
            ObjectError::Unsupported {
                what: "shaders other than WGSL",
            },
        );
        Self {
            state: Arc::clone(state),
            label: label.to_owned(),
            data: None,
            messages: Vec::new(),
        }
    }

    pub(super) fn data(&self) -> Option<&Arc<ModuleData>> {
        self.data.as_ref()
    }
}

/// How far a text may nest, so that the stack holds it.
const MAX_BLOCKS: usize = 4_000;
const MAX_OPERATIONS: usize = 40_000;

/// Measures a text, and compiles it where there is stack enough for it.
fn read(
    state: &Arc<State>,
    label: &str,
    source: wgpu::ShaderSource<'_>,
    messages: &mut Vec<wgpu::CompilationMessage>,
) -> Result<ModuleData, ShaderError> {
    let wgpu::ShaderSource::Wgsl(source) = source else {
        return Err(ObjectError::Unsupported {
            what: "shaders other than WGSL",
        }
        .into());
    };
    let statements = debug_print::statements(&source);
    let source = debug_print::expanded(&source).text.into_owned();
    let extent = measure(&source);
    for (what, Measured { count, line }, limit) in [
        ("blocks within each other", extent.blocks, MAX_BLOCKS),
        (
            "operations within each other",
            extent.operations,
            MAX_OPERATIONS,
        ),
    ] {
        if count > limit {
            return Err(ShaderError::TooLarge {
                what,
                count,
                line,
                limit,
            });
        }
    }
    let (state, label) = (Arc::clone(state), label.to_owned());
    let (compiled, said) = with_stack_for(&extent, move || {
        let mut messages = Vec::new();
        let compiled = contained(|| {
            let read = (source, statements);
            compile(&state, &label, read, extent, &mut messages)
        });
        (compiled, messages)
    })?;
    messages.extend(said);
    compiled?
}

fn compile(
    state: &State,
    label: &str,
    (source, statements): (String, Vec<Statement>),
    extent: Extent,
    messages: &mut Vec<wgpu::CompilationMessage>,
) -> Result<ModuleData, ShaderError> {
    let capabilities =
        wgpu_naga_bridge::features_to_naga_capabilities(state.features, super::downlevel().flags);
    let mut options = naga::front::wgsl::Options::new();
    options.capabilities = capabilities;
    let mut frontend = naga::front::wgsl::Frontend::new_with_options(options);
    let module = frontend.parse(&source).map_err(|error| {
        messages.push(message(&error.to_string(), error.location(&source)));
        ShaderError::Parse {
            label: label.to_owned(),
            text: error.emit_to_string(&source),
        }
    })?;
    let limit = state.limits.max_bind_groups;
    for (_, variable) in module.global_variables.iter() {
        if let Some(bound) = variable.binding
            && bound.group >= limit
        {
            return Err(ShaderError::GroupIndex {
                group: bound.group,
                binding: bound.binding,
                limit,
            });
        }
    }
    let mut validator = naga::valid::Validator::new(ValidationFlags::all(), capabilities);
    let info = validator.validate(&module).map_err(|error| {
        messages.push(message(&error.to_string(), error.location(&source)));
        ShaderError::Validation {
            text: error.emit_to_string(&source),
        }
    })?;
    Ok(ModuleData {
        module,
        info,
        extent,
        text: Arc::new(ModuleText {
            hash: Program::hash(&source),
            source,
            statements,
            label: label.to_owned(),
            parts: OnceLock::new(),
            own: AtomicBool::new(false),
        }),
    })
}

fn message(text: &str, location: Option<naga::SourceLocation>) -> wgpu::CompilationMessage {
    wgpu::CompilationMessage {
        message: text.to_owned(),
        message_type: wgpu::CompilationMessageType::Error,
        location: location.map(|at| wgpu::SourceLocation {
            line_number: at.line_number,
            line_position: at.line_position,
            offset: at.offset,
            length: at.length,
        }),
    }
}

impl ShaderModuleInterface for ShaderModule {
    fn get_compilation_info(&self) -> Pin<Box<dyn ShaderCompilationInfoFuture>> {
        Box::pin(ready(wgpu::CompilationInfo {
            messages: self.messages.clone(),
        }))
    }
}
