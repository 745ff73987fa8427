//! Shader texts that were read before: parsed and validated once for all their specialisations.
//!
//! Kernels of one text differ in entry point, overrides and workgroup sizes. Reading the text, ours and wgpu's, is most of
//! the host's work for a new kernel, and the same for all of them. Invariant: only texts without mistakes are kept, so an
//! error always names the kernel that it is about.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::module::{self, Valid};
use super::{Reflection, guarded};
use crate::descriptor::KernelDescriptor;
use crate::error::PipelineError;
use crate::feature::ShaderFeatures;
use crate::place::Assembled;
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
    /// wgpu's module, once there is one.
    pub(crate) module: OnceLock<wgpu::ShaderModule>,
}

impl Texts {
    /// [`reflect`](super::reflect), which reads the text only if it is new.
    pub(crate) fn reflect(
        &self,
        descriptor: &KernelDescriptor,
        available: ShaderFeatures,
    ) -> Result<(Reflection, Arc<Text>), PipelineError> {
        // Files too, because a module knows where its lines come from.
        let parts = descriptor.source.parts();
        let known = self.known.lock().get(parts).cloned();
        let assembled = Assembled::new(&descriptor.source);
        guarded(&assembled, || {
            let text = match known {
                Some(text) => text,
                None => {
                    self.read.fetch_add(1, Ordering::Relaxed);
                    let text = Arc::new(Text {
                        valid: module::read(&assembled, descriptor, available)?,
                        module: OnceLock::new(),
                    });
                    let mut known = self.known.lock();
                    if known.len() >= MOST {
                        known.clear();
                    }
                    known.insert(parts.to_vec(), Arc::clone(&text));
                    text
                }
            };
            let reflection = module::specialise(&assembled, descriptor, &text.valid)?;
            Ok((reflection, text))
        })
    }

    /// How many texts were read.
    pub(crate) fn count(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(crate) fn clear(&self) {
        self.known.lock().clear();
    }
}
