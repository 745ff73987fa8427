//! `debug_print` and `assert` in kernels, on any device: what a kernel says goes through a buffer, and is heard when asked for.
//!
//! On a device opened with [`DeviceOptions::debug_kernels`](ziggurat_device::DeviceOptions::debug_kernels) a kernel with such
//! statements is compiled from text that writes them into the buffer, which it gets in a bind group behind its own. The
//! buffer has parts for as many dispatches; one more takes the first part again, behind what is in it.
//! Invariants: other kernels, and all kernels of other devices, know nothing of it; nothing is written beyond a part, and
//! what does not fit is counted.

#![allow(
    clippy::disallowed_methods,
    reason = "this layer owns the creation of bind groups"
)]

#[cfg(any(feature = "naga", not(target_arch = "wasm32")))]
mod instrument;
#[cfg(not(any(feature = "naga", not(target_arch = "wasm32"))))]
#[path = "debug/no_instrument.rs"]
mod instrument;
mod report;

use std::future::Future;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use ziggurat_core::debug_print::{DebugPrint, DebugPrints, StatementKind, statements};
use ziggurat_core::sort_few_by_key;
#[cfg(not(target_arch = "wasm32"))]
use ziggurat_device::block_on;
use ziggurat_device::{BoundGroup, DeviceError, once};
use ziggurat_memory::{Buffer, Memory};

use crate::descriptor::KernelDescriptor;
use crate::error::{LimitError, PipelineError};
use crate::pipelines::Pipelines;
use crate::place::Place;
use crate::reflect::{Reflection, Text};
use report::Site;

/// Whether kernels can have statements: they are written out by what naga knows of a kernel. Without it all below does nothing,
/// and a program for the web leaves it out.
const CAN_INSTRUMENT: bool = cfg!(any(feature = "naga", not(target_arch = "wasm32")));

/// Parts of the buffer.
const PARTS: usize = 16;

/// Bytes of a part.
const PART: u64 = 1 << 20;

/// Words before those of a part: how many are taken, and how much was dropped.
const HEADER: u64 = 8;

/// Prints and failures that are kept until somebody takes them.
const MOST: usize = 1 << 20;

/// What kernels of one device have said.
#[derive(Debug, Default)]
pub(crate) struct KernelDebug {
    channel: OnceLock<Channel>,
    /// By the numbers that kernels write.
    sites: Mutex<Vec<Site>>,
    dispatches: AtomicUsize,
    heard: Mutex<Heard>,
}

#[derive(Debug)]
struct Channel {
    buffer: Buffer,
    layout: wgpu::BindGroupLayout,
    group: wgpu::BindGroup,
}

#[derive(Debug, Default)]
struct Heard {
    prints: DebugPrints,
    failures: Vec<DebugPrint>,
    more_failures: u64,
    /// The dispatch that wrote first into what is not heard yet.
    first: usize,
}

/// A kernel with statements.
#[derive(Debug)]
pub(crate) struct Debugged {
    /// What is compiled.
    pub(crate) text: String,
    /// The number of the bind group.
    pub(crate) group: u32,
    pub(crate) layout: wgpu::BindGroupLayout,
}

impl KernelDebug {
    /// The kernel with its statements written out; nothing if it has none.
    pub(crate) fn of(
        &self,
        memory: &Memory,
        descriptor: &KernelDescriptor,
        text: &Text,
        reflection: &Reflection,
    ) -> Result<Option<Debugged>, PipelineError> {
        let written = descriptor.source.text();
        if statements(&written).is_empty() {
            return Ok(None);
        }
        let limits = &memory.device().caps().limits;
        let storage = reflection.bindings.len() as u64 + 1;
        let group = instrument::free_group(descriptor, text)?;
        let needs = [
            (
                "storage buffers",
                storage,
                limits.max_storage_buffers_per_shader_stage,
            ),
            ("bind groups", u64::from(group) + 1, limits.max_bind_groups),
            (
                "storage buffers with dynamic offsets",
                1,
                limits.max_dynamic_storage_buffers_per_pipeline_layout,
            ),
        ];
        for (what, count, limit) in needs {
            if count > u64::from(limit) {
                return Err(PipelineError::Limit(LimitError::DebugBinding {
                    kernel: reflection.kernel.clone(),
                    place: Arc::clone(&reflection.place),
                    what,
                    count,
                    limit,
                }));
            }
        }
        let channel = self.channel(memory)?;
        let mut sites = self.sites.lock();
        let made = instrument::instrument(descriptor, text, group, sites.len())?;
        sites.extend(made.sites);
        Ok(Some(Debugged {
            text: made.text,
            group,
            layout: channel.layout.clone(),
        }))
    }

    fn channel(&self, memory: &Memory) -> Result<&Channel, PipelineError> {
        if let Some(channel) = self.channel.get() {
            return Ok(channel);
        }
        let buffer = memory.alloc_zeroed(PART * PARTS as u64)?;
        let device = memory.device().wgpu();
        let size = NonZeroU64::new(PART);
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: false },
                    has_dynamic_offset: true,
                    min_binding_size: size,
                },
                count: None,
            }],
        });
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: buffer.wgpu(),
                    offset: 0,
                    size,
                }),
            }],
        });
        Ok(self.channel.get_or_init(|| Channel {
            buffer,
            layout,
            group,
        }))
    }

    /// The bind group for one more dispatch of a kernel with statements.
    pub(crate) fn bound(&self, kernel: &Debugged) -> Option<BoundGroup> {
        let channel = self.channel.get().filter(|_| CAN_INSTRUMENT)?;
        let part = self.dispatches.fetch_add(1, Ordering::Relaxed) % PARTS;
        Some(BoundGroup {
            index: kernel.group,
            group: channel.group.clone(),
            dynamic_offsets: vec![u32::try_from(part as u64 * PART).unwrap_or(0)],
        })
    }

    /// Notes what the parts hold, in the order in which they were written first.
    fn hear(&self, parts: &[(usize, Vec<u8>)], next: usize) {
        if !CAN_INSTRUMENT {
            return;
        }
        let sites = self.sites.lock();
        let mut heard = self.heard.lock();
        let first = std::mem::replace(&mut heard.first, next);
        let mut parts: Vec<_> = parts.iter().collect();
        sort_few_by_key(&mut parts, |(part, _)| {
            (part + PARTS - first % PARTS) % PARTS
        });
        for (_, bytes) in parts {
            let (said, dropped) = report::read(&sites, bytes);
            heard.prints.dropped += dropped;
            for said in said {
                let kept = match said.kind {
                    StatementKind::Print => &mut heard.prints.prints,
                    StatementKind::Assert => &mut heard.failures,
                };
                match (kept.len() < MOST, said.kind) {
                    (true, _) => kept.push(said),
                    (false, StatementKind::Print) => heard.prints.dropped += 1,
                    (false, StatementKind::Assert) => heard.more_failures += 1,
                }
            }
        }
    }

    /// The first assertion that did not hold, with the number of the others.
    fn take_failure(&self) -> Result<(), PipelineError> {
        let mut heard = self.heard.lock();
        let failures = std::mem::take(&mut heard.failures);
        let more = std::mem::take(&mut heard.more_failures);
        let count = failures.len() as u64;
        let Some(first) = failures.into_iter().next() else {
            return Ok(());
        };
        let sites = self.sites.lock();
        let site = sites.iter().find(|site| {
            let [of_site, said] = [(&site.kernel, &site.label), (&first.kernel, &first.label)];
            let [a, b] = [
                (&site.place.file, site.place.line),
                (&first.file, first.line),
            ];
            site.kind == StatementKind::Assert && of_site == said && a == b
        });
        let place = site.map_or_else(|| Place::whole(&first.file), |site| Arc::clone(&site.place));
        let mut message = first.label.unwrap_or_default();
        for value in first.values {
            message.push_str(if message.is_empty() { "" } else { ", " });
            message.push_str(&value.to_string());
        }
        Err(PipelineError::AssertionFailed {
            kernel: first.kernel,
            place,
            workgroup: first.workgroup,
            invocation: first.invocation,
            message,
            others: more + count.saturating_sub(1),
        })
    }
}

/// The bytes of a part.
fn part(number: usize) -> Range<u64> {
    let start = number as u64 * PART;
    start..start + PART
}

impl Pipelines {
    /// What kernels printed by `debug_print` in dispatches recorded since the last call; nothing unless the device was opened
    /// with [`DeviceOptions::debug_kernels`](ziggurat_device::DeviceOptions::debug_kernels), or is the software device.
    ///
    /// # Errors
    ///
    /// Errors of device or memory.
    pub fn take_debug_prints(
        &self,
    ) -> impl Future<Output = Result<DebugPrints, PipelineError>> + Send + use<> {
        let (this, heard) = (self.clone(), self.hear());
        once(
            async move {
                heard.await?;
                let prints = match this.debug() {
                    Some(debug) => std::mem::take(&mut debug.heard.lock().prints),
                    None => DebugPrints::default(),
                };
                #[cfg(all(feature = "software", not(target_arch = "wasm32")))]
                let prints = {
                    let own = this.device().take_debug_prints();
                    DebugPrints {
                        prints: [prints.prints, own.prints].concat(),
                        dropped: prints.dropped + own.dropped,
                    }
                };
                Ok(prints)
            },
            || DeviceError::Finished.into(),
        )
    }

    /// Whether all `assert`s held in dispatches recorded since the last call; always so unless the device was opened with
    /// [`DeviceOptions::debug_kernels`](ziggurat_device::DeviceOptions::debug_kernels).
    ///
    /// # Errors
    ///
    /// [`PipelineError::AssertionFailed`] for the first that did not hold; errors of device or memory.
    pub fn check_asserts(&self) -> impl Future<Output = Result<(), PipelineError>> + Send + use<> {
        let (this, heard) = (self.clone(), self.hear());
        once(
            async move {
                heard.await?;
                let debug = this.debug().filter(|_| CAN_INSTRUMENT);
                debug.map_or(Ok(()), KernelDebug::take_failure)
            },
            || DeviceError::Finished.into(),
        )
    }

    /// [`take_debug_prints`](Self::take_debug_prints), waiting for it.
    ///
    /// # Errors
    ///
    /// As that.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn take_debug_prints_blocking(&self) -> Result<DebugPrints, PipelineError> {
        block_on(self.take_debug_prints())
    }

    /// [`check_asserts`](Self::check_asserts), waiting for it.
    ///
    /// # Errors
    ///
    /// As that.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn check_asserts_blocking(&self) -> Result<(), PipelineError> {
        block_on(self.check_asserts())
    }

    /// Reads what kernels have said so far.
    fn hear(&self) -> impl Future<Output = Result<(), PipelineError>> + Send + use<> {
        let this = self.clone();
        let counts = self.debug().filter(|_| CAN_INSTRUMENT).and_then(|debug| {
            let buffer = &debug.channel.get()?.buffer;
            let headers: Vec<_> = (0..PARTS)
                .map(|number| (buffer, part(number).start..part(number).start + HEADER))
                .collect();
            Some((
                debug.dispatches.load(Ordering::Relaxed),
                self.memory().read_many(&headers),
            ))
        });
        async move {
            let Some((next, counts)) = counts.filter(|_| CAN_INSTRUMENT) else {
                return Ok(());
            };
            let counts = counts?.await?;
            let (Some(debug), memory) = (this.debug(), this.memory()) else {
                return Ok(());
            };
            let Some(channel) = debug.channel.get() else {
                return Ok(());
            };
            let is_used = |count: &Vec<u8>| count.iter().any(|byte| *byte != 0);
            let used = counts
                .iter()
                .enumerate()
                .filter(|(_, count)| is_used(count));
            let used: Vec<usize> = used.map(|(number, _)| number).collect();
            let ranges: Vec<_> = used
                .iter()
                .map(|number| (&channel.buffer, part(*number)))
                .collect();
            let read = memory.read_many(&ranges)?;
            for number in &used {
                memory.write(&channel.buffer, part(*number).start, &[0; HEADER as usize])?;
            }
            let parts = read.await?;
            let parts: Vec<_> = used.into_iter().zip(parts).collect();
            debug.hear(&parts, next);
            Ok(())
        }
    }
}
