//! Instance and adapter: one adapter per profile, and the checks of a device request.

use std::future::ready;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use wgpu::custom::{
    AdapterInterface, DispatchAdapter, DispatchDevice, DispatchQueue, DispatchSurface,
    EnumerateAdapterFuture, InstanceInterface, RequestAdapterFuture, RequestDeviceFuture,
};

use super::device::Device;
use super::graphics::Absent;
use super::object::debug_by_name;
use super::queue::Queue;
use super::state::State;
use crate::profile::Profile;

/// Why a device is not given.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A subgroup size that is not a power of two from 4 to 128.
    #[error("a subgroup size of {0} is not a power of two from 4 to 128")]
    SubgroupSize(u32),
    /// An offset alignment that is not a power of two of at least 4.
    #[error("{limit} is {value}, which is not a power of two of at least 4")]
    Alignment {
        /// The limit's name.
        limit: &'static str,
        /// Its value.
        value: u32,
    },
    /// Features that the profile lacks.
    #[error("unsupported features were requested: {0:?}")]
    Features(wgpu::Features),
    /// Experimental features without wgpu's token for them.
    #[error("experimental features {0:?} were requested without being acknowledged")]
    Experimental(wgpu::Features),
    /// A limit beyond the profile's.
    #[error("limit '{limit}' value {requested} is better than allowed {allowed}")]
    Limit {
        /// The limit's name.
        limit: &'static str,
        /// What was asked for.
        requested: u64,
        /// What the profile has.
        allowed: u64,
    },
}

type Devices = Arc<Mutex<Vec<Weak<State>>>>;

/// The software backend as a wgpu instance: `wgpu::Instance::from_custom(Software::new(profile))`.
#[derive(Clone)]
pub struct Software {
    profile: Profile,
    devices: Devices,
}

/// Bytes of immediates above which naga's validation fails.
const MOST_IMMEDIATES: u32 = 256;

/// wgpu's handle.
pub(super) struct Adapter {
    profile: Profile,
    devices: Devices,
}

debug_by_name!(Software, Adapter);

impl Software {
    /// An instance with one adapter.
    #[must_use]
    pub fn new(mut profile: Profile) -> Self {
        // As on every GPU through wgpu: naga follows no more of them.
        profile.limits.max_immediate_size = profile.limits.max_immediate_size.min(MOST_IMMEDIATES);
        Self {
            profile,
            devices: Arc::default(),
        }
    }

    pub(super) fn adapter(&self) -> Adapter {
        Adapter {
            profile: self.profile.clone(),
            devices: Arc::clone(&self.devices),
        }
    }
}

/// How wgpu describes the adapter. There is no backend of its own for custom ones.
pub(super) fn info(profile: &Profile) -> wgpu::AdapterInfo {
    wgpu::AdapterInfo {
        name: format!("software ({})", profile.name),
        driver: "ziggurat-software".to_owned(),
        driver_info: env!("CARGO_PKG_VERSION").to_owned(),
        subgroup_min_size: profile.subgroup_size,
        subgroup_max_size: profile.subgroup_size,
        ..wgpu::AdapterInfo::new(wgpu::DeviceType::Cpu, wgpu::Backend::Noop)
    }
}

impl Adapter {
    /// A device with these features and limits.
    pub(super) fn open(
        &self,
        features: wgpu::Features,
        limits: wgpu::Limits,
    ) -> Result<(Device, Queue), OpenError> {
        let profile = &self.profile;
        let subgroup = profile.subgroup_size;
        if !subgroup.is_power_of_two() || !(4..=128).contains(&subgroup) {
            return Err(OpenError::SubgroupSize(subgroup));
        }
        let missing = features - profile.features;
        if !missing.is_empty() {
            return Err(OpenError::Features(missing));
        }
        let mut refused = None;
        limits.check_limits_with_fail_fn(&profile.limits, false, |limit, requested, allowed| {
            refused.get_or_insert(OpenError::Limit {
                limit,
                requested,
                allowed,
            });
        });
        if let Some(refused) = refused {
            return Err(refused);
        }
        for (limit, value) in [
            (
                "min_uniform_buffer_offset_alignment",
                limits.min_uniform_buffer_offset_alignment,
            ),
            (
                "min_storage_buffer_offset_alignment",
                limits.min_storage_buffer_offset_alignment,
            ),
        ] {
            if value < 4 || !value.is_power_of_two() {
                return Err(OpenError::Alignment { limit, value });
            }
        }
        let state = State::new(profile.clone(), features, limits);
        let mut devices = self.devices.lock();
        devices.retain(|device| device.strong_count() > 0);
        devices.push(Arc::downgrade(&state));
        drop(devices);
        Ok((Device::new(&state), Queue::new(&state)))
    }

    fn request(
        &self,
        desc: &wgpu::DeviceDescriptor<'_>,
    ) -> Result<(DispatchDevice, DispatchQueue), OpenError> {
        let features = desc.required_features;
        let experimental = features & wgpu::Features::all_experimental_mask();
        if !experimental.is_empty() && !desc.experimental_features.is_enabled() {
            return Err(OpenError::Experimental(experimental));
        }
        let (device, queue) = self.open(features, desc.required_limits.clone())?;
        Ok((DispatchDevice::custom(device), DispatchQueue::custom(queue)))
    }
}

impl InstanceInterface for Software {
    fn new(_: wgpu::InstanceDescriptor) -> Self {
        Self::new(Profile::webgpu_default())
    }

    // SAFETY: nothing is asked of the caller: the body is safe code.
    #[expect(unsafe_code, reason = "the trait declares it unsafe; the body is safe")]
    unsafe fn create_surface(
        &self,
        _: wgpu::SurfaceTargetUnsafe,
    ) -> Result<DispatchSurface, wgpu::CreateSurfaceError> {
        Ok(DispatchSurface::custom(Absent))
    }

    fn request_adapter(
        &self,
        _: &wgpu::RequestAdapterOptions<'_, '_>,
    ) -> Pin<Box<dyn RequestAdapterFuture>> {
        Box::pin(ready(Ok(DispatchAdapter::custom(self.adapter()))))
    }

    fn poll_all_devices(&self, _: bool) -> bool {
        let devices: Vec<_> = self
            .devices
            .lock()
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        for device in devices {
            device.run_pending();
        }
        true
    }

    fn wgsl_language_features(&self) -> wgpu::WgslLanguageFeatures {
        wgpu::WgslLanguageFeatures::empty()
    }

    fn enumerate_adapters(&self, _: wgpu::Backends) -> Pin<Box<dyn EnumerateAdapterFuture>> {
        Box::pin(ready(vec![DispatchAdapter::custom(self.adapter())]))
    }
}

impl AdapterInterface for Adapter {
    fn request_device(
        &self,
        desc: &wgpu::DeviceDescriptor<'_>,
    ) -> Pin<Box<dyn RequestDeviceFuture>> {
        let opened = self
            .request(desc)
            .map_err(|error| wgpu::RequestDeviceError::from_message(error.to_string()));
        Box::pin(ready(opened))
    }

    fn is_surface_supported(&self, _: &DispatchSurface) -> bool {
        false
    }

    fn features(&self) -> wgpu::Features {
        self.profile.features
    }

    fn limits(&self) -> wgpu::Limits {
        self.profile.limits.clone()
    }

    fn downlevel_capabilities(&self) -> wgpu::DownlevelCapabilities {
        super::downlevel()
    }

    fn get_info(&self) -> wgpu::AdapterInfo {
        info(&self.profile)
    }

    fn get_texture_format_features(
        &self,
        format: wgpu::TextureFormat,
    ) -> wgpu::TextureFormatFeatures {
        super::texture::format_features(format, self.profile.features)
    }

    fn get_presentation_timestamp(&self) -> wgpu::PresentationTimestamp {
        wgpu::PresentationTimestamp::INVALID_TIMESTAMP
    }

    fn cooperative_matrix_properties(&self) -> Vec<wgpu::CooperativeMatrixProperties> {
        self.profile.cooperative_matrix.clone()
    }
}
