//! Opening a device: the best adapter, a named one, the host application's, or none at all.
//!
//! The three ways meet in one place that asks for limits and features, so that a device for tests
//! is opened like a real one.

use crate::adapter::{Reach, present};
use crate::device::ParkKey;
use crate::once;
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
    /// [`DeviceError::Option`], [`DeviceError::UnknownProfile`]; [`DeviceError::UnknownBackend`] and
    /// [`DeviceError::UnknownLimit`] from the environment.
    pub fn open(options: DeviceOptions) -> impl Future<Output = Result<Self, DeviceError>> {
        once(Self::opened(options), || DeviceError::Finished)
    }

    async fn opened(mut options: DeviceOptions) -> Result<Self, DeviceError> {
        env::apply(&mut options.adapter)?;
        env::restrict(&mut options)?;
        options.debug_kernels |= env::debug_kernels();
        if let Some(wish) = &options.adapter.software {
            let adapter = software::adapter(wish)?;
            let summary = AdapterSummary::new(0, &adapter);
            return request(summary, &adapter, options, Origin::Adapters).await;
        }
        let (summary, adapter) = match find(Reach::Native, &options).await {
            Ok(found) => found,
            Err(_) => find(Reach::All, &options).await?,
        };
        if summary.is_software_device() {
            software::say_that_it_stands_in(&options.adapter);
        }
        request(summary, &adapter, options, Origin::Adapters).await
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
        let origin = Origin::Noop(Box::new(limits.clone()));
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
            let summary = AdapterSummary::new(0, &adapter);
            request(summary, &adapter, options, origin).await
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
        let origin = Origin::Software(Box::new(profile.clone()));
        let adapter = ziggurat_software::adapter(profile);
        let summary = AdapterSummary::new(0, &adapter);
        crate::block_on(request(summary, &adapter, options, origin))
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
        let opened = Opened {
            adapter: summary,
            caps,
            device,
            queue,
            options,
            origin: Origin::Host,
            key: None,
            reused: false,
        };
        Self::build(opened)
    }

    /// Opens a device like this one: with the same options and on the adapter that they choose now, which is the same
    /// one as long as it is there. For programs that go on after [`DeviceError::Lost`].
    ///
    /// This device stays what it is: on a lost one everything goes on being an error, and what was allocated on it cannot
    /// be used with the new one. What a program still needs it uploads again.
    ///
    /// # Errors
    /// As [`open`](Self::open); [`DeviceError::HostDevice`] for a device of the application.
    pub fn reopen(&self) -> impl Future<Output = Result<Self, DeviceError>> {
        once(self.opened_again(), || DeviceError::Finished)
    }

    async fn opened_again(&self) -> Result<Self, DeviceError> {
        let options = self.options().clone();
        match self.origin() {
            Origin::Adapters => Self::open(options).await,
            #[cfg(not(target_arch = "wasm32"))]
            Origin::Noop(limits) => Self::noop(options, Some((**limits).clone())),
            #[cfg(all(feature = "software", not(target_arch = "wasm32")))]
            Origin::Software(profile) => Self::software((**profile).clone(), options),
            Origin::Host => Err(DeviceError::HostDevice),
        }
    }

    /// [`reopen`](Self::reopen), blocking.
    ///
    /// # Errors
    /// As [`reopen`](Self::reopen).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn reopen_blocking(&self) -> Result<Self, DeviceError> {
        crate::block_on(self.reopen())
    }
}

/// How a device was opened, so that one like it can be opened again.
pub(crate) enum Origin {
    /// Chosen by its options.
    Adapters,
    #[cfg(not(target_arch = "wasm32"))]
    Noop(Box<wgpu::Limits>),
    #[cfg(all(feature = "software", not(target_arch = "wasm32")))]
    Software(Box<ziggurat_software::Profile>),
    /// The application's.
    Host,
}

/// All that a [`Device`] is built from.
pub(crate) struct Opened {
    pub(crate) adapter: AdapterSummary,
    pub(crate) caps: Caps,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) options: DeviceOptions,
    pub(crate) origin: Origin,
    /// Where the driver's device goes afterwards, if it is kept.
    pub(crate) key: Option<ParkKey>,
    pub(crate) reused: bool,
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
    origin: Origin,
) -> Result<Device, DeviceError> {
    options.check()?;
    let features = caps::wanted_features(adapter, &options);
    caps::check_features(features, &options)?;
    let mut limits = limit::wanted(&adapter.limits(), &options);
    if !features.contains(wgpu::Features::IMMEDIATES) {
        limits.max_immediate_size = 0;
    }
    limit::check(&limits, &options)?;
    #[cfg(not(target_arch = "wasm32"))]
    let key = crate::park::key(&summary, features, &limits, &options);
    #[cfg(not(target_arch = "wasm32"))]
    if let Some((device, queue)) = key.as_ref().and_then(crate::park::take) {
        return Ok(Device::build(Opened {
            caps: Caps::new(adapter, &device, &options),
            adapter: summary,
            device,
            queue,
            options,
            origin,
            key,
            reused: true,
        }));
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
    Ok(Device::build(Opened {
        caps: Caps::new(adapter, &device, &options),
        adapter: summary,
        device,
        queue,
        options,
        origin,
        key,
        reused: false,
    }))
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
