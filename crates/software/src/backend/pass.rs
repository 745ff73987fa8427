//! Compute passes: the state that a dispatch takes with it, and the checks of a dispatch.

use std::error::Error;
use std::sync::Arc;

use naga::valid::ImmediateSlots;
use wgpu::BufferUsages;
use wgpu::custom::{
    ComputePassInterface, DispatchBindGroup, DispatchBuffer, DispatchComputePipeline,
    DispatchQuerySet, DispatchTextureView,
};

use super::buffer::{BufferError, own_buffer};
use super::command::{Binding, BoundHandleData, Command, Dispatch, HandleBinding, Workgroups};
use super::encoder::EncoderData;
use super::group::{BindGroup, GroupData, GroupError, Resource};
use super::object::{ObjectError, debug_by_name, own};
use super::pipeline::{ComputePipeline, PipelineData};
use super::query::{QueryData, QueryError, own_query_set};
use super::uses::Uses;

/// Bytes of the arguments of an indirect dispatch.
const INDIRECT_BYTES: u64 = 12;

/// Why a command of a pass cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub(super) enum PassError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Buffer(#[from] BufferError),
    #[error(transparent)]
    Group(#[from] GroupError),
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error("no pipeline is set")]
    NoPipeline,
    #[error("group index {index} is not below the limit max_bind_groups, {limit}")]
    GroupIndex { index: u32, limit: u32 },
    #[error("{got} dynamic offsets are given without a bind group")]
    OffsetsWithoutGroup { got: usize },
    #[error("bind group {index} is required by pipeline '{pipeline}' and not set")]
    MissingGroup { index: usize, pipeline: String },
    #[error("bind group {index}, '{group}', does not fit the layout of pipeline '{pipeline}'")]
    WrongGroup {
        index: usize,
        group: String,
        pipeline: String,
    },
    #[error("binding {binding} of group {group} has {bytes} bytes where the shader needs {needed}")]
    BindingTooSmall {
        group: u32,
        binding: u32,
        bytes: u64,
        needed: u64,
    },
    #[error("immediates {what} {value} is not a multiple of 4")]
    UnalignedImmediates { what: &'static str, value: u64 },
    #[error("immediates {start}..{end} are not within the pipeline layout's {limit} bytes")]
    ImmediatesOutOfRange { start: u64, end: u64, limit: u32 },
    #[error("pipeline '{pipeline}' reads immediates that were not set: {missing:?}")]
    MissingImmediates {
        pipeline: String,
        missing: ImmediateSlots,
    },
    #[error(
        "workgroups {workgroups:?} exceed the limit max_compute_workgroups_per_dimension, {limit}"
    )]
    TooManyWorkgroups { workgroups: [u32; 3], limit: u32 },
    #[error("offset {offset} of an indirect dispatch is not a multiple of 4")]
    UnalignedIndirect { offset: u64 },
    #[error("arguments at {offset} do not fit a buffer of {bytes} bytes")]
    IndirectOutOfRange { offset: u64, bytes: u64 },
    #[error("the pass has ended or never began")]
    Ended,
    #[error("a debug group is popped that was not pushed")]
    NoDebugGroup,
    #[error("{open} debug groups are not popped")]
    OpenDebugGroups { open: u32 },
}

struct SetGroup {
    group: Arc<GroupData>,
    /// One for every entry of the group.
    offsets: Vec<u64>,
}

/// wgpu's handle: the pass ends when it is dropped.
pub(super) struct ComputePass {
    encoder: Arc<EncoderData>,
    /// Whether the encoder let it begin.
    open: bool,
    pipeline: Option<Arc<PipelineData>>,
    groups: Vec<Option<SetGroup>>,
    immediates: Vec<u8>,
    immediates_set: ImmediateSlots,
    debug_groups: u32,
    at_end: Option<(Arc<QueryData>, u32)>,
}

debug_by_name!(ComputePass);

impl ComputePass {
    pub(super) fn begin(
        encoder: &Arc<EncoderData>,
        desc: &wgpu::ComputePassDescriptor<'_>,
        open: bool,
    ) -> Self {
        let mut pass = Self {
            encoder: Arc::clone(encoder),
            open,
            pipeline: None,
            groups: Vec::new(),
            immediates: Vec::new(),
            immediates_set: ImmediateSlots::default(),
            debug_groups: 0,
            at_end: None,
        };
        if let Some(writes) = desc.timestamp_writes.as_ref().filter(|_| open)
            && let Err(error) = pass.begin_timestamps(writes)
        {
            encoder.fail("CommandEncoder::begin_compute_pass", error);
        }
        pass
    }

    fn begin_timestamps(
        &mut self,
        writes: &wgpu::ComputePassTimestampWrites<'_>,
    ) -> Result<(), PassError> {
        let state = &self.encoder.state;
        state.require(wgpu::Features::TIMESTAMP_QUERY)?;
        let set = own(
            state,
            writes.query_set.as_custom::<super::query::QuerySet>(),
        )?;
        let set = Arc::clone(&set.0);
        let (begin, end) = (
            writes.beginning_of_pass_write_index,
            writes.end_of_pass_write_index,
        );
        for index in begin.into_iter().chain(end) {
            set.check_index(index)?;
        }
        match (begin, end) {
            (None, None) => return Err(QueryError::NoIndex.into()),
            (Some(index), Some(end)) if index == end => {
                return Err(QueryError::SameIndex { index }.into());
            }
            _ => {}
        }
        if let Some(index) = begin {
            let set = Arc::clone(&set);
            self.encoder.record(Command::Timestamp { set, index });
        }
        self.at_end = end.map(|index| (set, index));
        Ok(())
    }

    /// Keeps the error of a call, if it has one.
    fn attempt<E: Error + Send + Sync + 'static>(
        &mut self,
        call: &'static str,
        f: impl FnOnce(&mut Self) -> Result<(), E>,
    ) {
        if !self.open {
            self.encoder.fail(call, PassError::Ended);
        } else if let Err(error) = f(self) {
            self.encoder.fail(call, error);
        }
    }

    fn set_group(
        &mut self,
        index: u32,
        group: Option<&DispatchBindGroup>,
        offsets: &[u32],
    ) -> Result<(), PassError> {
        let state = &self.encoder.state;
        let limit = state.limits.max_bind_groups;
        let slot = usize::try_from(index).unwrap_or(usize::MAX);
        if index >= limit {
            return Err(PassError::GroupIndex { index, limit });
        }
        let set = match group {
            Some(group) => {
                let group = Arc::clone(&own(state, group.as_custom::<BindGroup>())?.0);
                let offsets = group.dynamic_offsets(offsets)?;
                Some(SetGroup { group, offsets })
            }
            None if offsets.is_empty() => None,
            None => {
                return Err(PassError::OffsetsWithoutGroup { got: offsets.len() });
            }
        };
        if self.groups.len() <= slot {
            self.groups.resize_with(slot + 1, || None);
        }
        if let Some(place) = self.groups.get_mut(slot) {
            *place = set;
        }
        Ok(())
    }

    fn write_immediates(&mut self, offset: u32, data: &[u8]) -> Result<(), PassError> {
        let alignment = wgpu::IMMEDIATE_DATA_ALIGNMENT;
        let len = u32::try_from(data.len()).unwrap_or(u32::MAX);
        for (what, value) in [("offset", offset), ("size", len)] {
            if !value.is_multiple_of(alignment) {
                return Err(PassError::UnalignedImmediates {
                    what,
                    value: u64::from(value),
                });
            }
        }
        let pipeline = self.pipeline.as_ref().ok_or(PassError::NoPipeline)?;
        let limit = pipeline.layout.immediate_bytes;
        let end = u64::from(offset) + u64::from(len);
        let target = usize::try_from(offset)
            .ok()
            .and_then(|start| self.immediates.get_mut(start..start + data.len()))
            .filter(|_| end <= u64::from(limit))
            .ok_or(PassError::ImmediatesOutOfRange {
                start: u64::from(offset),
                end,
                limit,
            })?;
        target.copy_from_slice(data);
        self.immediates_set |= ImmediateSlots::from_range(offset, len);
        Ok(())
    }

    /// Checks the state that a dispatch runs with, and records it.
    fn dispatch(&self, workgroups: Workgroups) -> Result<(), PassError> {
        let pipeline = self.pipeline.as_ref().ok_or(PassError::NoPipeline)?;
        let mut uses = Uses::default();
        let mut bindings = Vec::new();
        let mut handles = Vec::new();
        for (index, layout) in pipeline.layout.groups.iter().enumerate() {
            let Some(layout) = layout else { continue };
            let set = self.groups.get(index).and_then(Option::as_ref);
            let Some(set) = set else {
                return Err(PassError::MissingGroup {
                    index,
                    pipeline: pipeline.label.clone(),
                });
            };
            let fits = set.group.layout.as_ref();
            if !fits.is_some_and(|given| given.fits(layout)) {
                return Err(PassError::WrongGroup {
                    index,
                    group: set.group.label().to_owned(),
                    pipeline: pipeline.label.clone(),
                });
            }
            let group = u32::try_from(index).unwrap_or(u32::MAX);
            for (entry, offset) in set.group.entries.iter().zip(&set.offsets) {
                uses.add(entry)?;
                let binding = entry.binding;
                match &entry.what {
                    Resource::Buffer(bound) => bindings.push(Binding {
                        group,
                        binding,
                        buffer: Arc::clone(&bound.buffer),
                        range: bound.range.start + offset..bound.range.end + offset,
                    }),
                    Resource::Texture { view, .. } => handles.push(HandleBinding {
                        group,
                        binding,
                        what: BoundHandleData::View(Arc::clone(view)),
                    }),
                    Resource::Sampler(sampler) => handles.push(HandleBinding {
                        group,
                        binding,
                        what: BoundHandleData::Sampler(*sampler),
                    }),
                }
            }
        }
        check_sizes(pipeline, &bindings)?;
        if !self.immediates_set.contains(pipeline.immediates) {
            return Err(PassError::MissingImmediates {
                pipeline: pipeline.label.clone(),
                missing: pipeline.immediates.difference(self.immediates_set),
            });
        }
        match &workgroups {
            Workgroups::Direct(counts) => {
                let limit = self
                    .encoder
                    .state
                    .limits
                    .max_compute_workgroups_per_dimension;
                if counts.iter().any(|&count| count > limit) {
                    return Err(PassError::TooManyWorkgroups {
                        workgroups: *counts,
                        limit,
                    });
                }
            }
            Workgroups::Indirect { buffer, .. } => uses.add_indirect(buffer)?,
        }
        self.encoder.record(Command::Dispatch(Dispatch {
            pipeline: Arc::clone(pipeline),
            bindings,
            handles,
            immediates: self.immediates.clone(),
            workgroups,
        }));
        Ok(())
    }

    fn indirect(&self, buffer: &DispatchBuffer, offset: u64) -> Result<(), PassError> {
        let buffer = own_buffer(&self.encoder.state, buffer)?;
        buffer.require_usage(BufferUsages::INDIRECT)?;
        if !offset.is_multiple_of(4) {
            return Err(PassError::UnalignedIndirect { offset });
        }
        let end = offset.checked_add(INDIRECT_BYTES);
        if end.is_none_or(|end| end > buffer.bytes) {
            return Err(PassError::IndirectOutOfRange {
                offset,
                bytes: buffer.bytes,
            });
        }
        self.dispatch(Workgroups::Indirect {
            buffer: Arc::clone(buffer),
            offset,
        })
    }
}

/// Every binding has what the shader needs, also where the layout asked for no minimum.
fn check_sizes(pipeline: &PipelineData, bindings: &[Binding]) -> Result<(), PassError> {
    for &(group, binding, needed) in &pipeline.needs {
        let bound = bindings
            .iter()
            .find(|bound| bound.group == group && bound.binding == binding);
        let bytes = bound.map_or(0, |bound| bound.range.end - bound.range.start);
        if bytes < needed {
            return Err(PassError::BindingTooSmall {
                group,
                binding,
                bytes,
                needed,
            });
        }
    }
    Ok(())
}

impl ComputePassInterface for ComputePass {
    fn set_pipeline(&mut self, pipeline: &DispatchComputePipeline) {
        self.attempt::<PassError>("ComputePass::set_pipeline", |pass| {
            let pipeline = own(&pass.encoder.state, pipeline.as_custom::<ComputePipeline>())?;
            let data = pipeline.data().ok_or(PassError::NoPipeline)?;
            let bytes = usize::try_from(data.layout.immediate_bytes).unwrap_or(0);
            if bytes != pass.immediates.len() {
                pass.immediates = vec![0; bytes];
            }
            pass.pipeline = Some(Arc::clone(data));
            Ok(())
        });
    }

    fn set_bind_group(
        &mut self,
        index: u32,
        bind_group: Option<&DispatchBindGroup>,
        offsets: &[wgpu::DynamicOffset],
    ) {
        self.attempt("ComputePass::set_bind_group", |pass| {
            pass.set_group(index, bind_group, offsets)
        });
    }

    fn set_immediates(&mut self, offset: u32, data: &[u8]) {
        self.attempt("ComputePass::set_immediates", |pass| {
            pass.write_immediates(offset, data)
        });
    }

    fn insert_debug_marker(&mut self, _: &str) {}

    fn push_debug_group(&mut self, _: &str) {
        self.debug_groups += 1;
    }

    fn pop_debug_group(&mut self) {
        self.attempt("ComputePass::pop_debug_group", |pass| {
            let left = pass.debug_groups.checked_sub(1);
            pass.debug_groups = left.ok_or(PassError::NoDebugGroup)?;
            Ok::<_, PassError>(())
        });
    }

    fn write_timestamp(&mut self, query_set: &DispatchQuerySet, query_index: u32) {
        self.attempt::<PassError>("ComputePass::write_timestamp", |pass| {
            let state = &pass.encoder.state;
            state.require(wgpu::Features::TIMESTAMP_QUERY_INSIDE_PASSES)?;
            let set = own_query_set(state, query_set)?;
            set.check_index(query_index)?;
            pass.encoder.record(Command::Timestamp {
                set,
                index: query_index,
            });
            Ok(())
        });
    }

    fn begin_pipeline_statistics_query(&mut self, _: &DispatchQuerySet, _: u32) {
        self.attempt("ComputePass::begin_pipeline_statistics_query", |_| {
            Err(ObjectError::Unsupported {
                what: "pipeline statistics",
            })
        });
    }

    fn end_pipeline_statistics_query(&mut self) {
        self.attempt("ComputePass::end_pipeline_statistics_query", |_| {
            Err(ObjectError::Unsupported {
                what: "pipeline statistics",
            })
        });
    }

    fn dispatch_workgroups(&mut self, x: u32, y: u32, z: u32) {
        self.attempt("ComputePass::dispatch_workgroups", |pass| {
            pass.dispatch(Workgroups::Direct([x, y, z]))
        });
    }

    fn dispatch_workgroups_indirect(
        &mut self,
        indirect_buffer: &DispatchBuffer,
        indirect_offset: u64,
    ) {
        self.attempt("ComputePass::dispatch_workgroups_indirect", |pass| {
            pass.indirect(indirect_buffer, indirect_offset)
        });
    }

    fn transition_resources<'a>(
        &mut self,
        _: &mut dyn Iterator<Item = wgpu::wgt::BufferTransition<&'a DispatchBuffer>>,
        _: &mut dyn Iterator<Item = wgpu::wgt::TextureTransition<&'a DispatchTextureView>>,
    ) {
    }
}

impl Drop for ComputePass {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        let open = self.debug_groups;
        if open > 0 {
            self.encoder
                .fail("ComputePass::end", PassError::OpenDebugGroups { open });
        }
        if let Some((set, index)) = self.at_end.take() {
            self.encoder.record(Command::Timestamp { set, index });
        }
        self.encoder.end_pass();
    }
}
