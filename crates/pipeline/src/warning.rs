//! What is not refused when a kernel is created, and is most probably a mistake.

use std::fmt;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;
use ziggurat_core::text::shortened;

use crate::pipelines::Pipelines;
use crate::place::Place;
use crate::reflect::Reflection;

/// Warnings that are kept until somebody takes them; later ones are dropped.
const MOST: usize = 64;

/// What the text of a kernel holds that works on some adapters and not on others: a barrier that some invocations of a workgroup
/// may not reach. Browsers refuse such a kernel; on other adapters it may hang or compute nonsense.
///
/// The analysis is a simple form of the WGSL specification's, and as strict: it does not know values, so it also warns of a
/// barrier under a condition that happens to be the same for all invocations. `workgroupUniformLoad` makes such a condition
/// uniform for it.
///
/// ```
/// use ziggurat_pipeline::{KernelDescriptor, ShaderFeatures, ShaderSource, reflect};
///
/// let text = "var<workgroup> tile: array<f32, 64>;
/// @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
///     if i < 32u { workgroupBarrier(); }
/// }";
/// let reflection = reflect(&KernelDescriptor::new(ShaderSource::wgsl("half", text)), ShaderFeatures::NONE)?;
/// let warnings = reflection.warnings();
/// assert!(warnings[0].to_string().starts_with("half: half:3:18: warning: not every invocation"));
/// # Ok::<(), ziggurat_pipeline::PipelineError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelWarning {
    /// The kernel's name.
    pub kernel: String,
    /// What it is about.
    pub place: Arc<Place>,
    /// What is wrong.
    pub message: &'static str,
}

impl fmt::Display for KernelWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kernel,
            place,
            message,
        } = self;
        let kernel = shortened(kernel, 128);
        write!(f, "{kernel}: {place}: warning: {message}")?;
        match place.snippet.as_str() {
            "" => Ok(()),
            snippet => write!(f, "\n{snippet}"),
        }
    }
}

impl Reflection {
    /// What is most probably a mistake in the kernel's text.
    pub fn warnings(&self) -> Vec<KernelWarning> {
        let barriers = self.divergent_barriers.iter();
        let warning = |place: &Arc<Place>| KernelWarning {
            kernel: self.kernel.clone(),
            place: Arc::clone(place),
            message: "not every invocation of the workgroup reaches this barrier: browsers refuse the shader, GPUs may hang",
        };
        barriers.map(warning).collect()
    }
}

/// The warnings of one device that nobody took yet.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Vec<KernelWarning>>);

impl Warnings {
    /// Keeps the warnings about a kernel that is created, and shows them where the program is being developed.
    pub(crate) fn about(&self, reflection: &Reflection) {
        for warning in reflection.warnings() {
            if cfg!(debug_assertions) {
                eprintln!("{warning}");
            }
            let mut kept = self.0.lock();
            if kept.len() < MOST {
                kept.push(warning);
            }
        }
    }

    fn take(&self) -> Vec<KernelWarning> {
        mem::take(&mut *self.0.lock())
    }
}

impl Pipelines {
    /// Warnings about kernels that were created since the last call, at most 64. In builds with debug assertions they are also
    /// written to standard error when a kernel is created.
    pub fn take_warnings(&self) -> Vec<KernelWarning> {
        self.warnings().take()
    }
}
