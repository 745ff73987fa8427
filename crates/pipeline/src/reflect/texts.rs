//! Shader texts that were read before: parsed and validated once for all their specialisations.
//!
//! Kernels of one text differ in entry point, overrides and workgroup sizes. Reading the text, ours and wgpu's, is most of
//! the host's work for a new kernel, and the same for all of them. Invariant: only texts without mistakes are kept, so an
//! error always names the kernel that it is about.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use ziggurat_core::wgsl::Extent;

use super::{Reflection, Valid, read, reader, specialise};
use crate::descriptor::{Checks, KernelDescriptor};
use crate::error::PipelineError;
use crate::feature::ShaderFeatures;
use crate::place::Assembled;
use crate::shader_limits::ShaderLimits;
use crate::source::SourcePart;

/// Texts that are kept; at one more all are forgotten.
const MOST: usize = 32;

/// The texts of one device.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    known: Mutex<HashMap<Vec<SourcePart>, Arc<Text>>>,
    read: AtomicU64,
}

/// A valid text.
#[derive(Debug)]
pub(crate) struct Text {
    valid: Valid,
    extent: Extent,
    /// wgpu's modules, once there are any: one for each choice of checks, with loads as they are declared and ordered.
    modules: [[OnceLock<wgpu::ShaderModule>; 3]; 2],
}

impl Text {
    #[cfg(any(feature = "naga", not(target_arch = "wasm32")))]
    /// The compiler's view of it, without values for overrides.
    pub(crate) fn naga(&self) -> &naga::Module {
        self.valid.module()
    }

    /// wgpu's module for such a kernel, once there is one.
    pub(crate) fn module(&self, descriptor: &KernelDescriptor) -> &OnceLock<wgpu::ShaderModule> {
        let [declared, ordered] = &self.modules;
        let [all, divisions, none] = match descriptor.orders_loads() {
            false => declared,
            true => ordered,
        };
        match descriptor.checks {
            Checks::All => all,
            Checks::Divisions => divisions,
            Checks::None => none,
        }
    }
}

/// A kernel that was read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) reflection: Reflection,
    pub(crate) text: Arc<Text>,
    /// Whether compiling it takes more time and stack than a thread has to spare.
    pub(crate) is_large: bool,
}

impl Texts {
    /// [`reflect_within`](super::reflect_within), which reads the text only if it is new.
    pub(crate) fn reflect(
        &self,
        descriptor: &KernelDescriptor,
        available: ShaderFeatures,
        limits: &ShaderLimits,
    ) -> Result<Read, PipelineError> {
        // Files too, because a module knows where its lines come from.
        let parts = descriptor.source.parts();
        let known = self.known.lock().get(parts).cloned();
        let is_new = known.is_none();
        let (assembled, extent) = match &known {
            Some(text) => (Assembled::new(&descriptor.source), text.extent),
            None => limits.check_text(descriptor)?,
        };
        self.read.fetch_add(u64::from(is_new), Ordering::Relaxed);
        let limits = *limits;
        let read = read(
            descriptor,
            assembled,
            &extent,
            &limits,
            move |assembled, descriptor| {
                let text = match known {
                    Some(text) => text,
                    None => Arc::new(Text {
                        valid: reader::read(assembled, descriptor, available, &limits)?,
                        extent,
                        modules: Default::default(),
                    }),
                };
                let specialised =
                    specialise(assembled, descriptor, available, &text.valid, &limits)?;
                Ok(Read {
                    is_large: specialised.is_large || !extent.is_small(),
                    reflection: specialised.reflection,
                    text,
                })
            },
        )?;
        if is_new {
            let mut known = self.known.lock();
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(parts.to_vec(), Arc::clone(&read.text));
        }
        Ok(read)
    }

    /// How many texts were read.
    pub(crate) fn count(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(crate) fn clear(&self) {
        self.known.lock().clear();
    }
}
