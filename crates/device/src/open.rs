//! Opening a device: the best adapter, a named one, the host application's, or none at all.
//!
//! The three ways meet in one place that asks for limits and features, so that a device for tests
//! is opened like a real one.

use crate::adapter::{Reach, present};
use crate::{
    AdapterSummary, Caps, Device, DeviceError, DeviceOptions, caps, env, limit, select, software,
};

impl Device {
    /// Opens the adapter that fits `options` best (see [`select`]), with everything it has that
    /// the layers above can use. OpenGL is looked at only when nothing else fits. Where no driver
    /// offers anything, the software device computes on the CPU, and a line on standard error
    /// says so once.
    ///
    /// # Errors
    /// [`DeviceError::NoAdapter`], [`DeviceError::LimitNotMet`], [`DeviceError::RequestDevice`],
    /// [`DeviceError::UnknownProfile`], or [`DeviceError::UnknownBackend`] from the environment.
    pub async fn open(mut options: DeviceOptions) -> Result<Self, DeviceError> {
        env::apply(&mut options.adapter)?;
        env::restrict(&mut options);
        if let Some(wish) = &options.adapter.software {
            let adapter = software::adapter(wish)?;
            return request(AdapterSummary::new(0, &adapter), &adapter, options).await;
        }
        let (summary, adapter) = match find(Reach::Native, &options).await {
            Ok(found) => found,
            Err(_) => find(Reach::All, &options).await?,
        };
        if summary.is_software_device() {
            software::say_that_it_stands_in(&options.adapter);
        }
        request(summary, &adapter, options).await
    }

    /// [`open`](Self::open), blocking.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_blocking(options: DeviceOptions) -> Result<Self, DeviceError> {
        crate::block_on(Self::open(options))
    }

    /// Opens wgpu's `noop` backend, for tests without a GPU: copies, clears and maps move real
    /// bytes, dispatches do nothing. It has `limits`, or WebGPU's default ones with 128 bytes of
    /// immediates, and every feature that the options allow. The environment is not looked at.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn noop(options: DeviceOptions, limits: Option<wgpu::Limits>) -> Result<Self, DeviceError> {
        let limits = limits.unwrap_or_else(|| wgpu::Limits {
            max_immediate_size: 128,
            ..wgpu::Limits::default()
        });
        let backend_options = wgpu::BackendOptions {
            noop: wgpu::NoopBackendOptions {
                enable: true,
                limits: Some(limits),
                ..Default::default()
            },
            ..Default::default()
        };
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::NOOP,
            backend_options,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        crate::block_on(async {
            let adapters = instance.enumerate_adapters(wgpu::Backends::NOOP).await;
            let Some(adapter) = adapters.into_iter().next() else {
                return Err(DeviceError::NoAdapter {
                    seen: Vec::new(),
                    wish: "the noop backend".to_owned(),
                    advice: "build wgpu with its feature `noop`".to_owned(),
                });
            };
            request(AdapterSummary::new(0, &adapter), &adapter, options).await
        })
    }

    /// Opens the software device with a profile of the program's own: WGSL on the CPU, for tests
    /// and for machines without a GPU. The environment and `options.adapter` are not looked at.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(all(feature = "software", not(target_arch = "wasm32")))]
    pub fn software(
        profile: ziggurat_software::Profile,
        options: DeviceOptions,
    ) -> Result<Self, DeviceError> {
        let adapter = ziggurat_software::adapter(profile);
        crate::block_on(request(AdapterSummary::new(0, &adapter), &adapter, options))
    }

    /// Wraps a device and queue that the host application owns. Capabilities are those of
    /// `device`, further restricted by `options`; its limits and features cannot change any more.
    ///
    /// This sets the device's handlers for uncaptured errors and for loss. A host with handlers of
    /// its own sets them afterwards and forwards what concerns us to [`poison`](Self::poison).
    #[must_use]
    pub fn from_wgpu(
        adapter: &wgpu::Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
        options: DeviceOptions,
    ) -> Self {
        let caps = Caps::new(adapter, &device, &options);
        let summary = AdapterSummary::new(0, adapter);
        Self::build(summary, caps, device, queue, options, None, false)
    }
}

/// The best adapter within `reach`.
async fn find(
    reach: Reach,
    options: &DeviceOptions,
) -> Result<(AdapterSummary, wgpu::Adapter), DeviceError> {
    let wish = &options.adapter;
    let mut found = present(reach, options.validation, options.labels, wish.power).await;
    let summaries: Vec<AdapterSummary> = found.iter().map(|(summary, _)| summary.clone()).collect();
    Ok(found.swap_remove(select(&summaries, wish)?))
}

async fn request(
    summary: AdapterSummary,
    adapter: &wgpu::Adapter,
    options: DeviceOptions,
) -> Result<Device, DeviceError> {
    let features = caps::wanted_features(adapter, &options);
    let mut limits = limit::wanted(&adapter.limits(), &options);
    if !features.contains(wgpu::Features::IMMEDIATES) {
        limits.max_immediate_size = 0;
    }
    limit::check(&limits, &options)?;
    #[cfg(not(target_arch = "wasm32"))]
    let key = crate::park::key(&summary, features, &limits, &options);
    #[cfg(not(target_arch = "wasm32"))]
    if let Some((device, queue)) = key.as_ref().and_then(crate::park::take) {
        let caps = Caps::new(adapter, &device, &options);
        return Ok(Device::build(
            summary, caps, device, queue, options, key, true,
        ));
    }
    #[cfg(target_arch = "wasm32")]
    let key = None;
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("ziggurat"),
        required_features: features,
        required_limits: limits,
        experimental_features: experimental(features),
        memory_hints: wgpu::MemoryHints::Performance,
        trace: wgpu::Trace::Off,
    };
    let (device, queue) =
        adapter
            .request_device(&descriptor)
            .await
            .map_err(|error| DeviceError::RequestDevice {
                adapter: summary.to_string(),
                reason: error.to_string(),
            })?;
    let caps = Caps::new(adapter, &device, &options);
    Ok(Device::build(
        summary, caps, device, queue, options, key, false,
    ))
}

/// Leave for experimental features, given only where one is asked for.
fn experimental(features: wgpu::Features) -> wgpu::ExperimentalFeatures {
    if !features.contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX) {
        return wgpu::ExperimentalFeatures::disabled();
    }
    #[expect(
        unsafe_code,
        reason = "cooperative matrices are behind wgpu's acknowledgement of experimental features"
    )]
    // SAFETY: the token acknowledges that an experimental feature may have bugs which safe code
    // can hit. The only such feature ever requested is cooperative matrices, only on adapters that
    // list their shapes, and the option `cooperative_matrix: false` never reaches this line.
    unsafe {
        wgpu::ExperimentalFeatures::enabled()
    }
}
