//! A kernel through naga's back ends: what one cannot write is found here, on a machine that has none of those systems.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};

use naga::back::{glsl, hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Module, ShaderStage};
use ziggurat_core::wgsl::errors::said;

type Refused = Box<dyn Error>;

/// A language that drivers take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// SPIR-V, for Vulkan.
    SpirV,
    /// Metal's language.
    Msl,
    /// DirectX 12's language.
    Hlsl,
    /// GLSL ES 3.1, for OpenGL.
    Glsl,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::SpirV, Self::Msl, Self::Hlsl, Self::Glsl];

    /// Writes a module without overrides in this language, and forgets what was written.
    ///
    /// # Errors
    ///
    /// What the writer says; also if it panics, as naga's do on some input that its validator accepts.
    pub fn translate(self, module: &Module, info: &ModuleInfo, entry: &str) -> Result<(), String> {
        let write = match self {
            Self::SpirV => to_spirv,
            Self::Msl => to_msl,
            Self::Hlsl => to_hlsl,
            Self::Glsl => to_glsl,
        };
        match panic::catch_unwind(AssertUnwindSafe(|| write(module, info, entry))) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(refused)) => Err(refused.to_string()),
            Err(_) => Err("the writer panicked".to_owned()),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SpirV => "SPIR-V",
            Self::Msl => "MSL",
            Self::Hlsl => "HLSL",
            Self::Glsl => "GLSL",
        })
    }
}

fn to_spirv(module: &Module, info: &ModuleInfo, entry: &str) -> Result<(), Refused> {
    let options = spv::Options {
        lang_version: (1, 3),
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions {
        shader_stage: ShaderStage::Compute,
        entry_point: entry.into(),
    };
    let words = spv::write_vec(module, info, &options, Some(&pipeline))?;
    if words.is_empty() {
        Err("nothing was written".into())
    } else {
        Ok(())
    }
}

fn to_msl(module: &Module, info: &ModuleInfo, entry: &str) -> Result<(), Refused> {
    // naga's writer panics on such a module.
    let without = Capabilities::all().difference(Capabilities::FLOAT64);
    if let Err(error) = Validator::new(ValidationFlags::all(), without).validate(module) {
        let said = said(error.as_inner());
        return Err(format!("it uses f64, which MSL lacks ({said})").into());
    }
    let mut resources = msl::EntryPointResources {
        immediates_buffer: Some(30),
        sizes_buffer: Some(29),
        ..Default::default()
    };
    for (slot, (_, global)) in (0..).zip(module.global_variables.iter()) {
        if let Some(binding) = global.binding {
            let target = msl::BindTarget {
                buffer: Some(slot),
                texture: Some(slot),
                sampler: Some(msl::BindSamplerTarget::Resource(slot)),
                mutable: is_writable(global.space),
                ..Default::default()
            };
            resources.resources.insert(binding, target);
        }
    }
    let options = msl::Options {
        lang_version: (2, 4),
        per_entry_point_map: BTreeMap::from([(entry.to_owned(), resources)]),
        fake_missing_bindings: false,
        ..msl::Options::default()
    };
    let pipeline = msl::PipelineOptions {
        entry_point: Some((ShaderStage::Compute, entry.into())),
        ..Default::default()
    };
    let (text, translation) = msl::write_string(module, info, &options, &pipeline)?;
    for name in translation.entry_point_names {
        name?;
    }
    if text.contains(entry) || !text.is_empty() {
        Ok(())
    } else {
        Err("nothing was written".into())
    }
}

fn is_writable(space: AddressSpace) -> bool {
    matches!(space, AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE))
}

fn to_hlsl(module: &Module, info: &ModuleInfo, entry: &str) -> Result<(), Refused> {
    let target = |register| hlsl::BindTarget {
        space: 9,
        register,
        ..Default::default()
    };
    let options = hlsl::Options {
        shader_model: hlsl::ShaderModel::V6_2,
        immediates_target: Some(target(0)),
        special_constants_binding: Some(target(1)),
        ..hlsl::Options::default()
    };
    let pipeline = hlsl::PipelineOptions {
        entry_point: Some((ShaderStage::Compute, entry.into())),
    };
    let mut text = String::new();
    let reflection = hlsl::Writer::new(&mut text, &options, &pipeline).write(module, info, None)?;
    for name in reflection.entry_point_names {
        name?;
    }
    if text.is_empty() {
        Err("nothing was written".into())
    } else {
        Ok(())
    }
}

fn to_glsl(module: &Module, info: &ModuleInfo, entry: &str) -> Result<(), Refused> {
    let options = glsl::Options {
        version: glsl::Version::new_gles(310),
        ..glsl::Options::default()
    };
    let pipeline = glsl::PipelineOptions {
        shader_stage: ShaderStage::Compute,
        entry_point: entry.to_owned(),
        multiview: None,
    };
    let mut text = String::new();
    let policies = naga::proc::BoundsCheckPolicies::default();
    let mut writer = glsl::Writer::new(&mut text, module, info, &options, &pipeline, policies)?;
    let _reflection = writer.write()?;
    if text.is_empty() {
        Err("nothing was written".into())
    } else {
        Ok(())
    }
}
