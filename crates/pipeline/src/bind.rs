//! Bind group layouts and bind groups, both cached.
//!
//! Layouts are shared between kernels that bind alike, so that their bind groups are shared too. A new bind group
//! costs about as much as the dispatch it serves, and with pooled buffers the same ones come again and again.
//! A bind group keeps its buffers alive; therefore groups go when memory says that one of their buffers does, and
//! the cache is bounded: it is simply emptied when it is full.
//!
//! Invariant: `users` lists each cached group under each of its buffers, and nothing else.

#![allow(
    clippy::disallowed_methods,
    reason = "this layer owns the creation of bind groups"
)]

mod key;

use std::num::NonZeroU64;
use std::sync::Arc;

use parking_lot::Mutex;
use ziggurat_core::sort_few_by_key;
use ziggurat_device::BoundGroup;

use crate::arguments::ResourceEntry;
use crate::param_bytes::ParamBytes;
use crate::quick_hash::QuickMap;
use crate::reflect::{Access, Reflection};

pub(crate) use key::KeyWords;
use key::buffers;

/// Bind groups kept at most.
pub(crate) const MAX_GROUPS: usize = 1024;

/// One entry of a layout, as a cache key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Slot {
    group: u32,
    binding: u32,
    kind: Kind,
    min_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Read,
    ReadWrite,
    Uniform {
        is_dynamic: bool,
    },
    /// A texture or a sampler.
    Resource(wgpu::BindingType),
}

/// A bind group layout with the number that stands for it in keys.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    id: u64,
    pub(crate) wgpu: wgpu::BindGroupLayout,
    /// How many dynamic offsets its bind groups take.
    pub(crate) dynamic: usize,
}

/// The bind group layouts of a kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layouts {
    /// Of group 0.
    first: Option<Layout>,
    /// Of other groups, with their numbers, in order.
    more: Vec<(u32, Layout)>,
}

impl Layouts {
    /// That of group 0, if the kernel has no other group.
    #[inline]
    pub(crate) fn only(&self) -> Option<&Layout> {
        self.first.as_ref().filter(|_| self.more.is_empty())
    }

    /// By group number, with `None` for groups that the kernel does not use.
    pub(crate) fn in_order(&self) -> Vec<Option<&wgpu::BindGroupLayout>> {
        let first = self.first.as_ref().map(|layout| (0, layout));
        let more = self.more.iter().map(|(group, layout)| (*group, layout));
        let mut all = Vec::new();
        for (group, layout) in first.into_iter().chain(more) {
            all.resize(group as usize, None);
            all.push(Some(&layout.wgpu));
        }
        all
    }
}

/// What a dispatch binds.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Group 0.
    pub(crate) first: Option<wgpu::BindGroup>,
    /// How many dynamic offsets it takes.
    pub(crate) dynamic: usize,
    pub(crate) more: Vec<BoundGroup>,
}

/// One buffer of a bind group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) group: u32,
    pub(crate) binding: u32,
    pub(crate) buffer: &'a wgpu::Buffer,
    /// The number that stands for the buffer in keys.
    pub(crate) id: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// How many entries a bind group has without a heap allocation on its lookup.
const INLINE: usize = 8;

/// The entries of a bind group: few on the stack, more on the heap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries<'a> {
    few: [Option<Entry<'a>>; INLINE],
    len: usize,
    more: Vec<Entry<'a>>,
    /// Textures and samplers, of few kernels.
    pub(crate) resources: Vec<ResourceEntry<'a>>,
}

impl<'a> Entries<'a> {
    pub(crate) fn push(&mut self, entry: Entry<'a>) {
        match self.few.get_mut(self.len) {
            Some(slot) => {
                *slot = Some(entry);
                self.len += 1;
            }
            None => self.more.push(entry),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry<'a>> + Clone {
        self.few.iter().take(self.len).flatten().chain(&self.more)
    }

    fn key(&self, layout: &Layout) -> KeyWords {
        let mut key = KeyWords::new(Some(layout));
        self.iter().for_each(|entry| key.entry(entry));
        key
    }
}

/// Counts of the bind group cache.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BindCounts {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) groups: usize,
    pub(crate) layouts: usize,
}

/// See [`KeyWords`].
type Key = Arc<[u64]>;

#[derive(Debug, Default)]
struct State {
    layouts: QuickMap<Vec<Slot>, Layout>,
    /// The number of the next layout.
    next: u64,
    groups: QuickMap<Key, wgpu::BindGroup>,
    /// By buffer id: the groups that hold the buffer.
    users: QuickMap<u64, Vec<Key>>,
    hits: u64,
    misses: u64,
}

impl State {
    fn clear(&mut self) {
        self.groups.clear();
        self.users.clear();
    }

    fn insert(&mut self, key: &Key, group: wgpu::BindGroup) {
        if self.groups.len() >= MAX_GROUPS {
            self.clear();
        }
        for id in buffers(key) {
            let keys = self.users.entry(id).or_default();
            // A buffer bound twice in one group would list it twice.
            if keys.last() != Some(key) {
                keys.push(Arc::clone(key));
            }
        }
        self.groups.insert(Arc::clone(key), group);
    }

    #[cold]
    fn create(
        &mut self,
        device: &wgpu::Device,
        layout: &Layout,
        entries: &Entries<'_>,
        key: &[u64],
    ) -> wgpu::BindGroup {
        self.misses += 1;
        let resources = entries.resources.iter();
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
            .chain(resources.map(|entry| wgpu::BindGroupEntry {
                binding: entry.binding,
                resource: entry.bound(),
            }))
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout.wgpu,
            entries: &bound,
        });
        // Textures are large and have no memory to tell when they go: their groups are not kept.
        if entries.resources.is_empty() {
            self.insert(&Key::from(key), group.clone());
        }
        group
    }

    /// Drops the groups that hold a buffer.
    fn release(&mut self, buffer: u64) {
        for key in self.users.remove(&buffer).unwrap_or_default() {
            self.groups.remove(&key);
            for id in buffers(&key) {
                if let Some(keys) = self.users.get_mut(&id) {
                    keys.retain(|other| *other != key);
                    if keys.is_empty() {
                        self.users.remove(&id);
                    }
                }
            }
        }
    }
}

/// Slots without the number of their group.
fn of_any_group(slots: &[Slot]) -> Vec<Slot> {
    let slots = slots.iter();
    slots.map(|&slot| Slot { group: 0, ..slot }).collect()
}

/// The caches of one device.
#[derive(Debug, Default)]
pub(crate) struct BindCache {
    state: Mutex<State>,
}

impl BindCache {
    /// The layouts of a kernel.
    pub(crate) fn layouts(
        &self,
        device: &wgpu::Device,
        reflection: &Reflection,
        params: &ParamBytes,
        ordered_loads: bool,
    ) -> Layouts {
        let slots = slots(reflection, params, ordered_loads);
        let mut made = Layouts::default();
        for of_group in slots.chunk_by(|a, b| a.group == b.group) {
            match of_group.first() {
                None => {}
                Some(slot) if slot.group == 0 => made.first = Some(self.layout(device, of_group)),
                Some(slot) => made.more.push((slot.group, self.layout(device, of_group))),
            }
        }
        made
    }

    /// The layout of one group; the number of the group is not looked at.
    fn layout(&self, device: &wgpu::Device, slots: &[Slot]) -> Layout {
        let slots = of_any_group(slots);
        let mut state = self.state.lock();
        if let Some(layout) = state.layouts.get(&slots) {
            return layout.clone();
        }
        let entries: Vec<_> = slots.iter().map(entry).collect();
        let dynamic = |slot: &&Slot| matches!(slot.kind, Kind::Uniform { is_dynamic: true });
        let layout = Layout {
            id: state.next,
            wgpu: device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &entries,
            }),
            dynamic: slots.iter().filter(dynamic).count(),
        };
        state.next += 1;
        state.layouts.insert(slots, layout.clone());
        layout
    }

    /// Forgets the layouts of a kernel, which wgpu refused: the next kernel that binds alike is to be told why as well.
    pub(crate) fn forget_layouts(
        &self,
        reflection: &Reflection,
        params: &ParamBytes,
        ordered_loads: bool,
    ) {
        let mut state = self.state.lock();
        let slots = slots(reflection, params, ordered_loads);
        for of_group in slots.chunk_by(|a, b| a.group == b.group) {
            state.layouts.remove(&of_any_group(of_group));
        }
    }

    /// The bind groups of a kernel's layouts with these buffers; `offset` is that of all dynamic bindings.
    pub(crate) fn groups(
        &self,
        device: &wgpu::Device,
        layouts: &Layouts,
        entries: &Entries<'_>,
        offset: u32,
    ) -> Groups {
        let one = |group: u32, layout: &Layout| {
            let mut own = Entries::default();
            let of_group = entries.iter().filter(|entry| entry.group == group);
            of_group.for_each(|entry| own.push(*entry));
            let resources = entries.resources.iter();
            own.resources = resources
                .filter(|entry| entry.group == group)
                .copied()
                .collect();
            self.group(device, layout, &own)
        };
        let first = layouts.first.as_ref();
        if layouts.more.is_empty() {
            return Groups {
                first: first.map(|layout| self.group(device, layout, entries)),
                dynamic: first.map_or(0, |layout| layout.dynamic),
                more: Vec::new(),
            };
        }
        let more = layouts.more.iter().map(|(index, layout)| BoundGroup {
            index: *index,
            group: one(*index, layout),
            dynamic_offsets: vec![offset; layout.dynamic],
        });
        Groups {
            first: first.map(|layout| one(0, layout)),
            dynamic: first.map_or(0, |layout| layout.dynamic),
            more: more.collect(),
        }
    }

    /// The bind group of a layout with these buffers; allocates only when it is new.
    pub(crate) fn group(
        &self,
        device: &wgpu::Device,
        layout: &Layout,
        entries: &Entries<'_>,
    ) -> wgpu::BindGroup {
        let key = entries.key(layout);
        if entries.resources.is_empty()
            && let Some(group) = self.find(&key)
        {
            return group;
        }
        let mut state = self.state.lock();
        state.create(device, layout, entries, key.as_slice())
    }

    /// The bind group of a key, if there is one, which counts as a hit.
    #[inline]
    pub(crate) fn find(&self, key: &KeyWords) -> Option<wgpu::BindGroup> {
        let mut state = self.state.lock();
        let group = state.groups.get(key.as_slice())?.clone();
        state.hits += 1;
        Some(group)
    }

    /// Drops all bind groups, and with them their hold on buffers.
    pub(crate) fn clear_groups(&self) {
        self.state.lock().clear();
    }

    /// Drops the bind groups that hold any of these buffers, which memory gives back to the driver.
    pub(crate) fn release(&self, buffers: &[u64]) {
        let mut state = self.state.lock();
        for &buffer in buffers {
            state.release(buffer);
        }
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

/// What a kernel binds, by group and binding. With ordered loads all buffers are declared as writable to the driver.
fn slots(reflection: &Reflection, params: &ParamBytes, ordered_loads: bool) -> Vec<Slot> {
    let storage = reflection.bindings.iter().map(|binding| Slot {
        group: binding.group,
        binding: binding.binding,
        kind: match binding.access {
            Access::Read if !ordered_loads => Kind::Read,
            Access::Read | Access::ReadWrite => Kind::ReadWrite,
        },
        min_bytes: binding.min_bytes,
    });
    let uniforms = params.uniforms().iter().map(|uniform| Slot {
        group: uniform.group,
        binding: uniform.binding,
        kind: Kind::Uniform {
            is_dynamic: uniform.is_dynamic,
        },
        min_bytes: uniform.bytes,
    });
    let resources = reflection.resources().iter().map(|resource| Slot {
        group: resource.group,
        binding: resource.binding,
        kind: Kind::Resource(resource.ty),
        min_bytes: 0,
    });
    let mut slots: Vec<_> = storage.chain(uniforms).chain(resources).collect();
    sort_few_by_key(&mut slots, |slot| (slot.group, slot.binding));
    slots
}

fn entry(slot: &Slot) -> wgpu::BindGroupLayoutEntry {
    let buffer = |ty| wgpu::BindingType::Buffer {
        ty,
        has_dynamic_offset: slot.kind == Kind::Uniform { is_dynamic: true },
        min_binding_size: NonZeroU64::new(slot.min_bytes),
    };
    wgpu::BindGroupLayoutEntry {
        binding: slot.binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: match slot.kind {
            Kind::Read => buffer(wgpu::BufferBindingType::Storage { read_only: true }),
            Kind::ReadWrite => buffer(wgpu::BufferBindingType::Storage { read_only: false }),
            Kind::Uniform { .. } => buffer(wgpu::BufferBindingType::Uniform),
            Kind::Resource(ty) => ty,
        },
        count: None,
    }
}
