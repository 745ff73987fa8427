//! What the compiler that a device has says about a shader, without a kernel being made of it.
//!
//! In a browser that is the browser's own, whose words no error of a dispatch can hold, because they arrive later. Elsewhere
//! it is naga, whose first complaint is the error that reading the shader gives.

#![cfg_attr(
    target_arch = "wasm32",
    allow(
        clippy::disallowed_methods,
        reason = "this layer owns the creation of shader modules"
    )
)]

use std::fmt;
use std::sync::Arc;

use ziggurat_device::{DeviceError, once};

use crate::descriptor::KernelDescriptor;
#[cfg(not(target_arch = "wasm32"))]
use crate::error::LimitError;
use crate::error::PipelineError;
use crate::pipelines::Pipelines;
use crate::place::Place;
#[cfg(not(target_arch = "wasm32"))]
use crate::reflect::reflect_within;

/// How bad what a compiler says is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageKind {
    /// The shader cannot be compiled.
    Error,
    /// It can, and may not be what was meant.
    Warning,
    /// More about another message.
    Info,
}

impl fmt::Display for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        })
    }
}

/// What a compiler says about a place in a shader; shown as `file:line:column: error: text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileMessage {
    /// How bad it is.
    pub kind: MessageKind,
    /// What it is about.
    pub place: Arc<Place>,
    /// The compiler's words.
    pub text: String,
}

impl fmt::Display for CompileMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place, self.kind, self.text)
    }
}

impl Pipelines {
    /// Has the device's compiler read a shader, and gives all that it says, in its order; nothing if it has nothing to say. Only
    /// the text is compiled: a constant that does not exist, or an entry point, is found by [`Self::kernel`].
    ///
    /// In a browser this is how to learn of a mistake with line and column, and without losing the device to it, before the kernel
    /// is made. (Lines and columns are those of the files of the source. Where a line has a `debug_print` or an `assert`, columns
    /// behind it may be too small.)
    ///
    /// # Errors
    ///
    /// A text larger than the [`ShaderLimits`](crate::ShaderLimits), or the device's error if it is lost.
    ///
    /// ```
    /// use ziggurat_pipeline::device::{Device, DeviceOptions, block_on};
    /// use ziggurat_pipeline::memory::{Memory, MemoryOptions};
    /// use ziggurat_pipeline::{KernelDescriptor, Pipelines, ShaderSource};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let pipelines = Pipelines::new(&Memory::new(&device, MemoryOptions::default()));
    /// let source = ShaderSource::wgsl("mine", "fn f() -> u32 {\n  return missing;\n}");
    /// let messages = block_on(pipelines.messages(&KernelDescriptor::new(source)))?;
    /// assert_eq!((messages[0].place.line, messages[0].place.column), (2, 10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn messages(
        &self,
        descriptor: &KernelDescriptor,
    ) -> impl Future<Output = Result<Vec<CompileMessage>, PipelineError>> + Send + use<> {
        let (this, descriptor) = (self.clone(), descriptor.clone());
        once(
            async move {
                this.device().status()?;
                said(&this, &descriptor).await
            },
            || DeviceError::Finished.into(),
        )
    }
}

#[cfg(not(target_arch = "wasm32"))]
async fn said(
    pipelines: &Pipelines,
    descriptor: &KernelDescriptor,
) -> Result<Vec<CompileMessage>, PipelineError> {
    let limits = pipelines.shader_limits();
    let (place, text) = match reflect_within(descriptor, pipelines.features(), &limits) {
        Err(
            PipelineError::Parse { place, message, .. }
            | PipelineError::Validation { place, message, .. },
        ) => (place, message),
        Err(PipelineError::Limit(LimitError::MissingFeature { place, feature, .. })) => {
            (place, format!("this device has no {feature}"))
        }
        Err(
            error @ (PipelineError::ShaderTooLarge { .. }
            | PipelineError::ShaderTooSlow { .. }
            | PipelineError::Compile { .. }
            | PipelineError::Internal { .. }),
        ) => return Err(error),
        // What else there may be is about the kernel, and not about its text.
        Ok(_) | Err(_) => return Ok(Vec::new()),
    };
    Ok(vec![CompileMessage {
        kind: MessageKind::Error,
        place,
        text,
    }])
}

#[cfg(target_arch = "wasm32")]
async fn said(
    pipelines: &Pipelines,
    descriptor: &KernelDescriptor,
) -> Result<Vec<CompileMessage>, PipelineError> {
    let (text, _) = pipelines.shader_limits().check_text(descriptor)?;
    let whole = Place::whole(descriptor.source.name());
    let device = pipelines.device().wgpu();
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let written = descriptor.source.text();
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(descriptor.source.name()),
        source: wgpu::ShaderSource::Wgsl(ziggurat_core::debug_print::removed(&written)),
    });
    let refused = scope.pop();
    let mut messages = Vec::new();
    for message in module.get_compilation_info().await.messages {
        messages.push(CompileMessage {
            kind: match message.message_type {
                wgpu::CompilationMessageType::Error => MessageKind::Error,
                wgpu::CompilationMessageType::Warning => MessageKind::Warning,
                wgpu::CompilationMessageType::Info => MessageKind::Info,
            },
            place: message.location.map_or(Arc::clone(&whole), |at| {
                text.place_at_line(at.line_number, at.line_position, at.length)
            }),
            text: message.message,
        });
    }
    let is_told = messages
        .iter()
        .any(|message| message.kind == MessageKind::Error);
    if let Some(error) = refused.await.filter(|_| !is_told) {
        messages.push(CompileMessage {
            kind: MessageKind::Error,
            place: whole,
            text: error.to_string(),
        });
    }
    Ok(messages)
}
