//! How large a shader may be.
//!
//! naga and drivers recurse over what they read, and need time that grows with the square of a function, or with all the
//! calls of a tree of calls. What is not small (see [`Extent::is_small`]) is therefore read and compiled on a thread with
//! a large stack and for a limited time, and what is too large is refused before. Invariant: the limits on nesting are
//! within what that stack holds.

use std::time::Duration;

use ziggurat_core::wgsl::{Extent, Measured, measure};

use crate::descriptor::KernelDescriptor;
use crate::error::PipelineError;
use crate::place::{Assembled, Place};

/// How large shaders may be that a [`Pipelines`](crate::Pipelines) compiles; more is [`PipelineError::ShaderTooLarge`].
///
/// The defaults are far above what people write, and what this library generates. Set them with
/// [`Pipelines::set_shader_limits`](crate::Pipelines::set_shader_limits).
///
/// ```
/// let mut limits = ziggurat_pipeline::ShaderLimits::default();
/// limits.text_bytes = 64 << 10;
/// assert!(limits.check().is_ok());
/// limits.blocks = 1_000_000;
/// assert!(limits.check().is_err()); // more than the stack holds
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShaderLimits {
    /// Bytes of the whole text. Default: 1 MiB; at most 16 MiB.
    pub text_bytes: u64,
    /// Tokens of one function: reading takes time that grows with their square. Default: 50,000; at most 1,000,000.
    pub function_tokens: u64,
    /// Blocks within each other, where each `else if` is a block within the one before. Default: 1,000; at most 4,000.
    /// (In a browser 400, whose stacks are small.)
    pub blocks: u64,
    /// Operations within each other in one expression, as in `a + b + c`. Default: 10,000; at most 40,000.
    /// (In a browser 1,000.)
    pub operations: u64,
    /// Members of a type, with the members of its members. Default: 16,384; at most 1,000,000.
    pub type_members: u64,
    /// Bytes of one function or private variable, or constant. WebGPU promises 8,192 for all of a function's. Default:
    /// 64 KiB; at most 16 MiB.
    pub variable_bytes: u64,
    /// Expressions and statements of an entry point with all that it calls, as often as it is called. Default: 400,000; at
    /// most 10,000,000.
    pub inlined: u64,
    /// How long reading a shader that is not small may take, and how long compiling it. Default: 60 s each. Where there
    /// are no threads (in a browser), time is not limited.
    pub time: Duration,
}

impl Default for ShaderLimits {
    fn default() -> Self {
        Self {
            text_bytes: 1 << 20,
            function_tokens: 50_000,
            blocks: 1_000,
            operations: 10_000,
            type_members: 16_384,
            variable_bytes: 64 << 10,
            inlined: 400_000,
            time: Duration::from_secs(60),
        }
    }
}

/// What a stack of 1 MiB holds, as browsers have it.
#[cfg(target_arch = "wasm32")]
const SMALL_STACK: [u64; 2] = [400, 1_000];

impl ShaderLimits {
    /// Whether each of them has a value that it may have.
    ///
    /// # Errors
    ///
    /// [`PipelineError::ShaderLimit`] for the first that has not.
    pub fn check(&self) -> Result<(), PipelineError> {
        let millis = u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX);
        for (option, given, most) in [
            ("text_bytes", self.text_bytes, 16 << 20),
            ("function_tokens", self.function_tokens, 1_000_000),
            ("blocks", self.blocks, 4_000),
            ("operations", self.operations, 40_000),
            ("type_members", self.type_members, 1_000_000),
            ("variable_bytes", self.variable_bytes, 16 << 20),
            ("inlined", self.inlined, 10_000_000),
            ("time (in ms)", millis, 3_600_000),
        ] {
            if !(1..=most).contains(&given) {
                return Err(PipelineError::ShaderLimit {
                    option,
                    given,
                    most,
                });
            }
        }
        Ok(())
    }

    /// Measures a shader's text and refuses it if it is too large.
    pub(crate) fn check_text<'a>(
        &self,
        descriptor: &'a KernelDescriptor,
    ) -> Result<(Assembled<'a>, Extent), PipelineError> {
        let source = &descriptor.source;
        let parts = source.parts().iter();
        let bytes = parts.fold(0u64, |all, part| all.saturating_add(part.text.len() as u64));
        if bytes > self.text_bytes {
            return Err(PipelineError::ShaderTooLarge {
                kernel: source.name().to_owned(),
                place: Place::whole(source.name()),
                what: "bytes of the text",
                count: bytes,
                limit: self.text_bytes,
                option: "text_bytes",
            });
        }
        let text = Assembled::new(source);
        let extent = measure(&text.text);
        let [blocks, operations] = [self.blocks, self.operations];
        #[cfg(target_arch = "wasm32")]
        let [blocks, operations] = [blocks.min(SMALL_STACK[0]), operations.min(SMALL_STACK[1])];
        let limits = [
            (
                "tokens in one function",
                extent.function_tokens,
                self.function_tokens,
                "function_tokens",
            ),
            (
                "blocks within each other (each `else if` is one more)",
                extent.blocks,
                blocks,
                "blocks",
            ),
            (
                "operations within each other in one expression",
                extent.operations,
                operations,
                "operations",
            ),
        ];
        for (what, Measured { count, line }, limit, option) in limits {
            if count as u64 > limit {
                let place = text.place_of_line(line);
                return Err(PipelineError::ShaderTooLarge {
                    kernel: text.name(),
                    place,
                    what,
                    count: count as u64,
                    limit,
                    option,
                });
            }
        }
        Ok((text, extent))
    }
}
