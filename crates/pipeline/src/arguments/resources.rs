//! Textures and samplers that a dispatch is given, against what the shader declares.

use std::sync::Arc;

use wgpu::{
    BindingType, SamplerBindingType, StorageTextureAccess, TextureSampleType, TextureUsages,
};
use ziggurat_memory::{Memory, Sampler, Texture};

use super::Arg;
use crate::error::{ArgumentError, PipelineError};
use crate::reflect::{Reflection, Resource, dimension, format_name};

/// A texture or a sampler for a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ResourceArg<'a> {
    Texture(&'a Texture),
    Sampler(&'a Sampler),
}

/// What is bound at a place besides buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceEntry<'a> {
    pub(crate) group: u32,
    pub(crate) binding: u32,
    pub(crate) what: ResourceArg<'a>,
}

/// A [`ResourceEntry`] that keeps what it binds.
#[derive(Clone, Debug)]
pub(crate) struct OwnedResource {
    group: u32,
    binding: u32,
    what: Owned,
}

#[derive(Clone, Debug)]
enum Owned {
    Texture(Texture),
    Sampler(Sampler),
}

impl<'a> ResourceEntry<'a> {
    pub(crate) fn bound(&self) -> wgpu::BindingResource<'a> {
        match self.what {
            ResourceArg::Texture(texture) => {
                wgpu::BindingResource::TextureView(texture.wgpu_view())
            }
            ResourceArg::Sampler(sampler) => wgpu::BindingResource::Sampler(sampler.wgpu()),
        }
    }

    pub(crate) fn owned(&self) -> OwnedResource {
        OwnedResource {
            group: self.group,
            binding: self.binding,
            what: match self.what {
                ResourceArg::Texture(texture) => Owned::Texture(texture.clone()),
                ResourceArg::Sampler(sampler) => Owned::Sampler(sampler.clone()),
            },
        }
    }
}

impl OwnedResource {
    pub(crate) fn entry(&self) -> ResourceEntry<'_> {
        ResourceEntry {
            group: self.group,
            binding: self.binding,
            what: match &self.what {
                Owned::Texture(texture) => ResourceArg::Texture(texture),
                Owned::Sampler(sampler) => ResourceArg::Sampler(sampler),
            },
        }
    }
}

impl ResourceArg<'_> {
    /// What it is, for errors.
    fn described(&self) -> String {
        match self {
            Self::Texture(texture) => format!(
                "a {} texture of {}",
                dimension(texture.dimension()),
                format_name(texture.format())
            ),
            Self::Sampler(sampler) if sampler.is_comparison() => "a comparing sampler".to_owned(),
            Self::Sampler(_) => "a sampler".to_owned(),
        }
    }
}

/// Textures and samplers among arguments, in the order of the shader's.
fn given<'a, 'b>(args: &'b [Arg<'a>]) -> impl Iterator<Item = ResourceArg<'a>> + Clone + 'b {
    args.iter().filter_map(Arg::as_resource)
}

/// Bytes of textures that are read, and that are written, each texel of the first level once.
pub(crate) fn bytes(reflection: &Reflection, args: &[Arg<'_>]) -> [u64; 2] {
    let mut sums = [0u64; 2];
    for (declared, arg) in reflection.resources().iter().zip(given(args)) {
        let (ResourceArg::Texture(texture), [read, written]) = (arg, &mut sums) else {
            continue;
        };
        let sum = if declared.writes() { written } else { read };
        *sum = sum.saturating_add(texture.bytes());
    }
    sums
}

/// Checks each texture and sampler against its variable.
pub(crate) fn check(
    reflection: &Reflection,
    memory: &Memory,
    args: &[Arg<'_>],
) -> Result<(), PipelineError> {
    let features = memory.device().wgpu().features();
    for (declared, arg) in reflection.resources().iter().zip(given(args)) {
        let owned = match arg {
            ResourceArg::Texture(texture) => memory.owns_texture(texture),
            ResourceArg::Sampler(sampler) => memory.owns_sampler(sampler),
        };
        let problem = match owned {
            false => Some("it belongs to another memory or device".to_owned()),
            true => problem(declared, arg, features),
        };
        if let Some(problem) = problem {
            return Err(PipelineError::Argument(ArgumentError::ResourceMismatch {
                kernel: reflection.kernel.clone(),
                place: Arc::clone(&declared.place),
                name: declared.name.clone(),
                detail: format!("{}, got {}: {problem}", declared.wgsl(), arg.described()),
            }));
        }
    }
    Ok(())
}

/// Why an argument does not fit its variable.
fn problem(declared: &Resource, arg: ResourceArg<'_>, features: wgpu::Features) -> Option<String> {
    let texture = match (declared.ty, arg) {
        (BindingType::Sampler(kind), ResourceArg::Sampler(sampler)) => {
            let compares = kind == SamplerBindingType::Comparison;
            let alike = compares == sampler.is_comparison();
            return (!alike).then(|| "only one of them compares".to_owned());
        }
        (BindingType::Sampler(_), _) | (_, ResourceArg::Sampler(_)) => {
            return Some("it is of another kind".to_owned());
        }
        (_, ResourceArg::Texture(texture)) => texture,
    };
    let missing = |usage: TextureUsages| {
        let has = texture.usage();
        (!has.contains(usage)).then(|| format!("its usages {has:?} lack {usage:?}"))
    };
    let shape = |wanted| {
        let wrong = texture.dimension() != wanted;
        wrong.then(|| "the dimensions differ".to_owned())
    };
    match declared.ty {
        BindingType::StorageTexture {
            access,
            format,
            view_dimension,
        } => {
            let wrong_format = texture.format() != format;
            let levels = texture.levels().len();
            let atomic = access == StorageTextureAccess::Atomic;
            missing(TextureUsages::STORAGE_BINDING)
                .or_else(|| atomic.then(|| missing(TextureUsages::STORAGE_ATOMIC)).flatten())
                .or_else(|| shape(view_dimension))
                .or_else(|| wrong_format.then(|| "the formats differ".to_owned()))
                .or_else(|| {
                    (levels != 1).then(|| {
                        format!("a storage texture is one level, and the view has {levels}: `Texture::view` makes a view of one")
                    })
                })
        }
        BindingType::Texture {
            sample_type,
            view_dimension,
            multisampled,
        } => {
            let has = texture.format().sample_type(None, Some(features));
            let samples = texture.wgpu().sample_count();
            missing(TextureUsages::TEXTURE_BINDING)
                .or_else(|| shape(view_dimension))
                .or_else(|| wrong_sample(sample_type, has))
                .or_else(|| {
                    ((samples > 1) != multisampled)
                        .then(|| format!("the texture has {samples} samples per texel"))
                })
        }
        _ => Some("it is of another kind".to_owned()),
    }
}

fn wrong_sample(wanted: TextureSampleType, has: Option<TextureSampleType>) -> Option<String> {
    use TextureSampleType as T;
    match (wanted, has) {
        (T::Float { filterable: true }, Some(T::Float { filterable: false })) => Some(
            "this device does not filter the format: read it with `textureLoad`, or open the device with \
             the feature FLOAT32_FILTERABLE"
                .to_owned(),
        ),
        (T::Float { .. }, Some(T::Float { .. })) => None,
        // Depths are read as floats too.
        (T::Float { filterable: false }, Some(T::Depth)) => None,
        (wanted, Some(has)) if wanted == has => None,
        _ => Some("the texels are of another type".to_owned()),
    }
}

/// A texture that is written is bound once at most, as far as levels and layers overlap.
pub(crate) fn check_aliases(
    reflection: &Reflection,
    args: &[Arg<'_>],
) -> Result<(), PipelineError> {
    let all = || {
        let textures = given(args).map(|arg| match arg {
            ResourceArg::Texture(texture) => Some(texture),
            ResourceArg::Sampler(_) => None,
        });
        let pairs = reflection.resources().iter().zip(textures);
        pairs.filter_map(|(declared, texture)| Some((declared, texture?)))
    };
    for (index, (first, a)) in all().enumerate() {
        for (second, b) in all().skip(index + 1) {
            let overlap = |a: std::ops::Range<u32>, b: std::ops::Range<u32>| {
                a.start < b.end && b.start < a.end
            };
            let clash = (first.writes() || second.writes())
                && a.wgpu() == b.wgpu()
                && overlap(a.levels(), b.levels())
                && overlap(a.layers(), b.layers());
            if clash {
                return Err(PipelineError::Argument(ArgumentError::Aliased {
                    kernel: reflection.kernel.clone(),
                    first: first.name.clone(),
                    first_place: Arc::clone(&first.place),
                    second: second.name.clone(),
                    second_place: Arc::clone(&second.place),
                }));
            }
        }
    }
    Ok(())
}

/// The entries of a kernel's textures and samplers.
pub(crate) fn entries<'a>(reflection: &Reflection, args: &[Arg<'a>]) -> Vec<ResourceEntry<'a>> {
    let pairs = reflection.resources().iter().zip(given(args));
    pairs
        .map(|(declared, what)| ResourceEntry {
            group: declared.group,
            binding: declared.binding,
            what,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_filtered_only_where_the_format_is() {
        use TextureSampleType as T;
        let filtered = T::Float { filterable: true };
        let plain = T::Float { filterable: false };
        assert!(wrong_sample(filtered, Some(plain)).is_some());
        assert!(wrong_sample(plain, Some(filtered)).is_none());
        assert!(wrong_sample(filtered, Some(filtered)).is_none());
        assert!(wrong_sample(T::Uint, Some(T::Sint)).is_some());
        assert!(wrong_sample(plain, None).is_some());
    }
}
