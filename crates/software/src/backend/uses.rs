//! How the resources of a dispatch are used at once: any number of readers, or one kind of writer.

use std::collections::BTreeMap;

use super::buffer::BufferData;
use super::group::{GroupEntry, GroupError, Resource};
use super::texture::ViewData;
use wgpu::BufferBindingType;

/// Uses by the number of the object, and the level and layer of textures.
#[derive(Default)]
pub(super) struct Uses(BTreeMap<(u64, u32, u32), Use>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
}

impl Use {
    fn of(writes: bool) -> Self {
        if writes { Self::Write } else { Self::Read }
    }
}

impl Uses {
    /// Adds a binding's use of its buffer or texture.
    pub(super) fn add(&mut self, entry: &GroupEntry) -> Result<(), GroupError> {
        match &entry.what {
            Resource::Buffer(bound) => {
                let writes = bound.ty == BufferBindingType::Storage { read_only: false };
                self.insert(
                    (bound.buffer.id, 0, 0),
                    Use::of(writes),
                    bound.buffer.label(),
                )
            }
            Resource::Texture { view, writes } => self.add_view(view, Use::of(*writes)),
            Resource::Sampler(_) => Ok(()),
        }
    }

    fn add_view(&mut self, view: &ViewData, kind: Use) -> Result<(), GroupError> {
        for level in view.levels.clone() {
            for layer in view.layers.clone() {
                self.insert((view.texture.id, level, layer), kind, view.label())?;
            }
        }
        Ok(())
    }

    /// Adds a use as the source of an indirect dispatch.
    pub(super) fn add_indirect(&mut self, buffer: &BufferData) -> Result<(), GroupError> {
        self.insert((buffer.id, 0, 0), Use::Read, buffer.label())
    }

    fn insert(&mut self, id: (u64, u32, u32), kind: Use, label: &str) -> Result<(), GroupError> {
        match self.0.insert(id, kind) {
            Some(before) if before != kind => Err(GroupError::Conflict {
                label: label.to_owned(),
            }),
            _ => Ok(()),
        }
    }
}
