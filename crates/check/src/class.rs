//! Classes of adapters, by what kernels may take of them.

use std::fmt;
use std::str::FromStr;

/// A class of adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// OpenGL ES 3.1 and old phones: 256 invocations, 16 KiB of workgroup memory, 4 storage buffers.
    Mobile,
    /// What WebGPU promises on every adapter: 256 invocations, 16 KiB of workgroup memory, 8 storage buffers.
    WebGpu,
    /// Graphics cards of today: 1,024 invocations, 32 KiB of workgroup memory, 16 storage buffers.
    Desktop,
}

impl Class {
    /// All of them, the smallest first.
    pub const ALL: [Self; 3] = [Self::Mobile, Self::WebGpu, Self::Desktop];

    /// What adapters of this class have at least.
    #[must_use]
    pub fn limits(self) -> wgpu::Limits {
        match self {
            Self::Mobile => wgpu::Limits::downlevel_defaults(),
            Self::WebGpu => wgpu::Limits::default(),
            Self::Desktop => wgpu::Limits {
                max_compute_invocations_per_workgroup: 1024,
                max_compute_workgroup_size_x: 1024,
                max_compute_workgroup_size_y: 1024,
                max_compute_workgroup_storage_size: 32 << 10,
                max_storage_buffers_per_shader_stage: 16,
                max_storage_textures_per_shader_stage: 8,
                max_immediate_size: 128,
                ..wgpu::Limits::default()
            },
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mobile => "mobile",
            Self::WebGpu => "webgpu",
            Self::Desktop => "desktop",
        })
    }
}

impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL
            .into_iter()
            .find(|class| class.to_string() == text);
        found.ok_or_else(|| {
            format!("there is no class `{text}`; there are mobile, webgpu and desktop")
        })
    }
}
