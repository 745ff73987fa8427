//! Bind group layouts and bind groups, both cached.
//!
//! Layouts are shared between kernels that bind alike, so that their bind groups are shared too. A new bind group
//! costs about as much as the dispatch it serves, and with pooled buffers the same ones come again and again.
//! A bind group keeps its buffers alive; therefore the cache is bounded and simply emptied when it is full, and
//! can be emptied by hand before memory is given back to the driver.

#![allow(
    clippy::disallowed_methods,
    reason = "this layer owns the creation of bind groups"
)]

use std::collections::HashMap;
use std::num::NonZeroU64;

use parking_lot::Mutex;

use crate::reflect::{Access, ParamSpace, Reflection};

/// Bind groups kept at most.
pub(crate) const MAX_GROUPS: usize = 1024;

/// One entry of a layout, as a cache key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Slot {
    binding: u32,
    kind: Kind,
    min_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Read,
    ReadWrite,
    Uniform,
}

/// A bind group layout with the number that stands for it in keys.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    id: u64,
    pub(crate) wgpu: wgpu::BindGroupLayout,
}

/// One buffer of a bind group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) binding: u32,
    pub(crate) buffer: &'a wgpu::Buffer,
    /// The number that stands for the buffer in keys.
    pub(crate) id: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// Counts of the bind group cache.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BindCounts {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) groups: usize,
    pub(crate) layouts: usize,
}

#[derive(Debug, Default)]
struct State {
    layouts: HashMap<Vec<Slot>, Layout>,
    groups: HashMap<Box<[u64]>, wgpu::BindGroup>,
    hits: u64,
    misses: u64,
}

/// The caches of one device.
#[derive(Debug, Default)]
pub(crate) struct BindCache {
    state: Mutex<State>,
}

impl BindCache {
    /// The layout of a kernel, `None` if it binds nothing.
    pub(crate) fn layout(&self, device: &wgpu::Device, reflection: &Reflection) -> Option<Layout> {
        let slots = slots(reflection);
        if slots.is_empty() {
            return None;
        }
        let mut state = self.state.lock();
        if let Some(layout) = state.layouts.get(&slots) {
            return Some(layout.clone());
        }
        let entries: Vec<_> = slots.iter().map(entry).collect();
        let layout = Layout {
            id: state.layouts.len() as u64,
            wgpu: device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &entries,
            }),
        };
        state.layouts.insert(slots, layout.clone());
        Some(layout)
    }

    /// The bind group of a layout with these buffers.
    pub(crate) fn group(
        &self,
        device: &wgpu::Device,
        layout: &Layout,
        entries: &[Entry<'_>],
    ) -> wgpu::BindGroup {
        let mut key = Vec::with_capacity(1 + 3 * entries.len());
        key.push(layout.id);
        for entry in entries {
            key.extend([entry.id, entry.offset, entry.bytes]);
        }
        let mut state = self.state.lock();
        if let Some(group) = state.groups.get(key.as_slice()) {
            let group = group.clone();
            state.hits += 1;
            return group;
        }
        state.misses += 1;
        let bound: Vec<_> = entries
            .iter()
            .map(|entry| wgpu::BindGroupEntry {
                binding: entry.binding,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: entry.buffer,
                    offset: entry.offset,
                    size: NonZeroU64::new(entry.bytes),
                }),
            })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout.wgpu,
            entries: &bound,
        });
        if state.groups.len() >= MAX_GROUPS {
            state.groups.clear();
        }
        state.groups.insert(key.into_boxed_slice(), group.clone());
        group
    }

    /// Drops all bind groups, and with them their hold on buffers.
    pub(crate) fn clear_groups(&self) {
        self.state.lock().groups.clear();
    }

    pub(crate) fn counts(&self) -> BindCounts {
        let state = self.state.lock();
        BindCounts {
            hits: state.hits,
            misses: state.misses,
            groups: state.groups.len(),
            layouts: state.layouts.len(),
        }
    }
}

fn slots(reflection: &Reflection) -> Vec<Slot> {
    let storage = reflection.bindings.iter().map(|binding| Slot {
        binding: binding.binding,
        kind: match binding.access {
            Access::Read => Kind::Read,
            Access::ReadWrite => Kind::ReadWrite,
        },
        min_bytes: binding.min_bytes,
    });
    let uniform = reflection
        .params
        .as_ref()
        .and_then(|params| match params.space {
            ParamSpace::Uniform { binding } => Some(Slot {
                binding,
                kind: Kind::Uniform,
                min_bytes: u64::from(params.bytes),
            }),
            ParamSpace::Immediate => None,
        });
    let mut slots: Vec<_> = storage.chain(uniform).collect();
    slots.sort_unstable();
    slots
}

fn entry(slot: &Slot) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding: slot.binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: match slot.kind {
                Kind::Read => wgpu::BufferBindingType::Storage { read_only: true },
                Kind::ReadWrite => wgpu::BufferBindingType::Storage { read_only: false },
                Kind::Uniform => wgpu::BufferBindingType::Uniform,
            },
            has_dynamic_offset: slot.kind == Kind::Uniform,
            min_binding_size: NonZeroU64::new(slot.min_bytes),
        },
        count: None,
    }
}
