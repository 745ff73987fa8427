//! Samplers.

use std::sync::Arc;

use wgpu::custom::SamplerInterface;
use wgpu::{AddressMode, FilterMode, MipmapFilterMode};

use crate::backend::object::{Object, ObjectError, debug_by_name};
use crate::backend::state::State;
use crate::engine::{self, Filter, Wrap};

/// Why a sampler cannot be made.
#[derive(Debug, thiserror::Error)]
enum SamplerError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("levels from {least} to {most}")]
    Levels { least: f32, most: f32 },
    #[error("an anisotropy of {anisotropy} without filters that are all linear, or of 0")]
    Anisotropy { anisotropy: u16 },
}

/// wgpu's handle.
pub(in crate::backend) struct Sampler {
    state: Arc<State>,
    label: String,
    pub(in crate::backend) rules: engine::Sampler,
    pub(in crate::backend) is_filtering: bool,
    valid: bool,
}

debug_by_name!(Sampler);

impl Object for Sampler {
    const KIND: &'static str = "Sampler";
    fn state(&self) -> &Arc<State> {
        &self.state
    }
    fn label(&self) -> &str {
        &self.label
    }
    fn is_valid(&self) -> bool {
        self.valid
    }
}

impl SamplerInterface for Sampler {}

impl Sampler {
    pub(in crate::backend) fn create(
        state: &Arc<State>,
        desc: &wgpu::SamplerDescriptor<'_>,
    ) -> Self {
        let label = desc.label.unwrap_or_default();
        let checked = check(desc);
        let valid = checked.is_ok() && !state.is_lost();
        if let Err(error) = checked {
            state.invalid("Device::create_sampler", label, error);
        }
        let filter = |mode| match mode {
            FilterMode::Nearest => Filter::Nearest,
            FilterMode::Linear => Filter::Linear,
        };
        let wrap = |mode| match mode {
            AddressMode::Repeat => Wrap::Repeat,
            AddressMode::MirrorRepeat => Wrap::Mirror,
            AddressMode::ClampToEdge | AddressMode::ClampToBorder => Wrap::Clamp,
        };
        let rules = engine::Sampler {
            wrap: [
                wrap(desc.address_mode_u),
                wrap(desc.address_mode_v),
                wrap(desc.address_mode_w),
            ],
            magnify: filter(desc.mag_filter),
            minify: filter(desc.min_filter),
            mipmap: match desc.mipmap_filter {
                MipmapFilterMode::Nearest => Filter::Nearest,
                MipmapFilterMode::Linear => Filter::Linear,
            },
            least_level: desc.lod_min_clamp,
            most_level: desc.lod_max_clamp,
        };
        let all = [rules.magnify, rules.minify, rules.mipmap];
        Self {
            state: Arc::clone(state),
            label: label.to_owned(),
            rules,
            is_filtering: all.contains(&Filter::Linear),
            valid,
        }
    }
}

fn check(desc: &wgpu::SamplerDescriptor<'_>) -> Result<(), SamplerError> {
    let (least, most) = (desc.lod_min_clamp, desc.lod_max_clamp);
    // NaN is neither.
    if !(least >= 0.0 && most >= least) {
        return Err(SamplerError::Levels { least, most });
    }
    let anisotropy = desc.anisotropy_clamp;
    let linear = desc.mag_filter == FilterMode::Linear
        && desc.min_filter == FilterMode::Linear
        && desc.mipmap_filter == MipmapFilterMode::Linear;
    if anisotropy == 0 || (anisotropy > 1 && !linear) {
        return Err(SamplerError::Anisotropy { anisotropy });
    }
    let modes = [
        desc.address_mode_u,
        desc.address_mode_v,
        desc.address_mode_w,
    ];
    if modes.contains(&AddressMode::ClampToBorder) {
        let what = "samplers that clamp to a border colour";
        return Err(ObjectError::Unsupported { what }.into());
    }
    if desc.compare.is_some() {
        let what = "samplers that compare depths";
        return Err(ObjectError::Unsupported { what }.into());
    }
    Ok(())
}
