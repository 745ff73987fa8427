//! What a device has too little of, or not at all.

use std::sync::Arc;

use super::text::{Code, Short};
use crate::place::Place;

/// A shader, or a dispatch, that needs what the device does not have.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The shader needs something that the device does not have.
    #[error("{}", marked!(place, "{kernel}: {place}: needs {feature}, which this device does not have (or which was switched off)"))]
    MissingFeature {
        /// The kernel's name.
        kernel: String,
        /// The place of the first use.
        place: Arc<Place>,
        /// What is missing.
        feature: &'static str,
    },
    /// The shader declares a binding that is not a buffer, a texture or a sampler, or whose index is of no use.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is {what}; only buffers, textures and samplers with one legal index each can be bound"))]
    UnsupportedBinding {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The variable's name.
        name: String,
        /// What it is.
        what: &'static str,
    },
    /// A binding in a group that the device does not have.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is in group {group}; the device has groups 0 to {}", limit.saturating_sub(1)))]
    BindingGroup {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The variable's name.
        name: String,
        /// Its group.
        group: u32,
        /// How many groups there are.
        limit: u32,
    },
    /// More uniform buffers than the device binds at once.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is uniform buffer number {count}; the device binds at most {limit}"))]
    TooManyUniforms {
        /// The kernel's name.
        kernel: String,
        /// The place of the last uniform.
        place: Arc<Place>,
        /// The last uniform's name.
        name: String,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: u32,
    },
    /// More storage buffers than the device binds at once.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is storage buffer number {count}; the device binds at most {limit}"))]
    TooManyStorageBuffers {
        /// The kernel's name.
        kernel: String,
        /// The place of the last binding.
        place: Arc<Place>,
        /// The last binding's name.
        name: String,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: u32,
    },
    /// More textures or samplers of a kind than the device binds at once.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is {what} number {count}; the device binds at most {limit}"))]
    TooManyResources {
        /// The kernel's name.
        kernel: String,
        /// The place of the last of them.
        place: Arc<Place>,
        /// Its name.
        name: String,
        /// Sampler, sampled texture or storage texture.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: u32,
    },
    /// The parameters are larger than the device takes.
    #[error("{}", marked!(place, "{kernel}: {place}: the parameters `{name}` take {bytes} bytes; the device takes at most {limit}"))]
    ParamsTooLarge {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The variable's name.
        name: String,
        /// Its bytes.
        bytes: u32,
        /// The device's limit for its address space.
        limit: u64,
    },
    /// The workgroup has more invocations than the device runs, or none.
    #[error("{}", marked!(place, "{kernel}: {place}: workgroup size {size:?} ({} invocations) is over the device's limits {limit:?} and {max_invocations} invocations in all, or zero",
        size.iter().map(|&n| u64::from(n)).product::<u64>()))]
    WorkgroupTooLarge {
        /// The kernel's name.
        kernel: String,
        /// The place of the entry point.
        place: Arc<Place>,
        /// The workgroup size after overrides.
        size: [u32; 3],
        /// The device's limit per dimension.
        limit: [u32; 3],
        /// The device's limit of the product.
        max_invocations: u32,
    },
    /// The workgroup's shared memory is larger than the device has.
    #[error("{}", marked!(place, "{kernel}: {place}: {bytes} bytes of workgroup memory; the device has {limit} (`{name}` is the largest)"))]
    WorkgroupMemory {
        /// The kernel's name.
        kernel: String,
        /// The place of the largest variable.
        place: Arc<Place>,
        /// Its name.
        name: String,
        /// Bytes of all variables that the entry point uses.
        bytes: u64,
        /// The device's limit.
        limit: u32,
    },
    /// A storage texture whose format and access do not go together on this device.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is {declared}, which this device does not have; r32float, r32uint and r32sint are read and written at once everywhere, other formats with the feature TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES"))]
    StorageTexture {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The variable's name.
        name: String,
        /// Its type.
        declared: String,
    },
    /// A kernel with `debug_print` or `assert` has no room for the buffer that those need. Only on devices opened with
    /// [`DeviceOptions::debug_kernels`](ziggurat_device::DeviceOptions::debug_kernels).
    #[error("{}", marked!(place, "{kernel}: {place}: with the buffer for `debug_print` and `assert` the kernel needs {count} {what}; the device has {limit}: take a binding away, or open the device without `debug_kernels`"))]
    DebugBinding {
        /// The kernel's name.
        kernel: String,
        /// The place of the entry point.
        place: Arc<Place>,
        /// What there are too few of.
        what: &'static str,
        /// How many are needed.
        count: u64,
        /// How many there are.
        limit: u32,
    },
    /// The work needs more workgroups than the device dispatches.
    #[error("{}", marked!(place, "{kernel}: {place}: {wanted:?} workgroups; the device dispatches at most {limit} per dimension"))]
    GridTooLarge {
        /// The kernel's name.
        kernel: String,
        /// The place of the entry point.
        place: Arc<Place>,
        /// Workgroups wanted.
        wanted: [u64; 3],
        /// The limit per dimension.
        limit: u32,
    },
}

impl LimitError {
    /// Where in the WGSL it is; of two places the latter.
    pub(super) fn place(&self) -> Option<&Place> {
        match self {
            Self::MissingFeature { place, .. }
            | Self::UnsupportedBinding { place, .. }
            | Self::BindingGroup { place, .. }
            | Self::TooManyUniforms { place, .. }
            | Self::TooManyStorageBuffers { place, .. }
            | Self::TooManyResources { place, .. }
            | Self::ParamsTooLarge { place, .. }
            | Self::WorkgroupTooLarge { place, .. }
            | Self::WorkgroupMemory { place, .. }
            | Self::StorageTexture { place, .. }
            | Self::DebugBinding { place, .. }
            | Self::GridTooLarge { place, .. } => Some(place),
        }
    }
}
