//! The adapters of this machine, as plain summaries.
//!
//! A summary carries everything the ranking needs, so that the ranking is a pure function which
//! is tested without a GPU. The position in the list is the adapter's index for
//! [`AdapterWish::index`](crate::AdapterWish::index) and `ZIGGURAT_ADAPTER`.

#[cfg(not(target_arch = "wasm32"))]
use parking_lot::Mutex;

use crate::{PowerPreference, SoftwareWish, software};

/// The sort of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdapterKind {
    /// A GPU with its own memory.
    Discrete,
    /// A GPU that shares the CPU's memory.
    Integrated,
    /// A GPU of a virtual machine.
    Virtual,
    /// The CPU.
    Software,
    /// The driver does not say.
    Other,
}

impl std::fmt::Display for AdapterKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Software => "software",
            Self::Other => "other",
        })
    }
}

impl From<wgpu::DeviceType> for AdapterKind {
    fn from(kind: wgpu::DeviceType) -> Self {
        match kind {
            wgpu::DeviceType::DiscreteGpu => Self::Discrete,
            wgpu::DeviceType::IntegratedGpu => Self::Integrated,
            wgpu::DeviceType::VirtualGpu => Self::Virtual,
            wgpu::DeviceType::Cpu => Self::Software,
            wgpu::DeviceType::Other => Self::Other,
        }
    }
}

/// How the software device calls its driver.
const SOFTWARE_DRIVER: &str = "ziggurat-software";

/// One adapter, described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterSummary {
    /// Position in the list of [`adapters`], for [`AdapterWish::index`](crate::AdapterWish::index);
    /// [`SOFTWARE_INDEX`](Self::SOFTWARE_INDEX) for Ziggurat's own software device, and 0 for a device that was not
    /// taken from the list.
    pub index: usize,
    /// The driver's name for it; may be empty in browsers.
    pub name: String,
    /// The interface it is reached through.
    pub backend: wgpu::Backend,
    /// Its sort.
    pub kind: AdapterKind,
    /// Driver name and version, as the driver tells them.
    pub driver: String,
    /// Vendor id (PCI where that applies).
    pub vendor: u32,
    /// Device id (PCI where that applies).
    pub device: u32,
    /// Whether it can run compute shaders at all.
    pub compute: bool,
}

impl AdapterSummary {
    /// The index of Ziggurat's own software device. It does not depend on how many adapters come before it, because
    /// opening that device looks at none of them.
    pub const SOFTWARE_INDEX: usize = usize::MAX;

    pub(crate) fn new(index: usize, adapter: &wgpu::Adapter) -> Self {
        let info = adapter.get_info();
        let driver = [info.driver.as_str(), info.driver_info.as_str()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        let compute = adapter
            .get_downlevel_capabilities()
            .flags
            .contains(wgpu::DownlevelFlags::COMPUTE_SHADERS);
        let ours = info.driver.starts_with(SOFTWARE_DRIVER);
        Self {
            index: if ours { Self::SOFTWARE_INDEX } else { index },
            name: info.name,
            backend: info.backend,
            kind: info.device_type.into(),
            driver,
            vendor: info.vendor,
            device: info.device,
            compute,
        }
    }
}

impl AdapterSummary {
    /// Whether it is Ziggurat's own software device, which no driver provides.
    #[must_use]
    pub fn is_software_device(&self) -> bool {
        self.driver.starts_with(SOFTWARE_DRIVER)
    }

    /// Whether it is one of Mesa's drivers that compute on the CPU (lavapipe, llvmpipe): they end an invocation of a shader
    /// after 65,535 iterations of its loops, without a word.
    #[must_use]
    pub fn is_mesa_software(&self) -> bool {
        let names = |text: &str| {
            ["llvmpipe", "lavapipe"]
                .iter()
                .any(|name| text.contains(name))
        };
        self.kind == AdapterKind::Software && (names(&self.name) || names(&self.driver))
    }
}

impl std::fmt::Display for AdapterSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // wgpu has no word for what is not one of its own backends.
        if self.is_software_device() {
            return write!(f, "software: {} (built in, no driver)", self.name);
        }
        write!(
            f,
            "{}: {} ({}, {})",
            self.index, self.name, self.backend, self.kind
        )?;
        if self.compute {
            Ok(())
        } else {
            f.write_str(" without compute shaders")
        }
    }
}

/// Which interfaces to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Vulkan, Metal, DirectX 12 and WebGPU.
    Native,
    /// OpenGL too, after the others. Loading it takes time and memory, so that opening a device
    /// does so only when the others have nothing that fits.
    All,
}

/// The process's instance of this sort. It is never destroyed: unloading a driver's library while a thread that has
/// used it exits ends in a segmentation fault, and making an instance takes tens of milliseconds.
#[cfg(not(target_arch = "wasm32"))]
fn instance(reach: Reach, validation: bool, labels: bool) -> wgpu::Instance {
    type Sort = (Reach, bool, bool);
    static MADE: Mutex<Vec<(Sort, wgpu::Instance)>> = Mutex::new(Vec::new());
    let sort = (reach, validation, labels);
    // Held while making one, so that there is one of each sort.
    let mut made = MADE.lock();
    if let Some((_, instance)) = made.iter().find(|(known, _)| *known == sort) {
        return instance.clone();
    }
    let instance = new_instance(reach, validation, labels);
    made.push((sort, instance.clone()));
    instance
}

#[cfg(target_arch = "wasm32")]
fn instance(reach: Reach, validation: bool, labels: bool) -> wgpu::Instance {
    new_instance(reach, validation, labels)
}

fn new_instance(reach: Reach, validation: bool, labels: bool) -> wgpu::Instance {
    let mut flags = wgpu::InstanceFlags::empty();
    flags.set(wgpu::InstanceFlags::VALIDATION, validation);
    flags.set(wgpu::InstanceFlags::DEBUG, labels);
    flags.set(wgpu::InstanceFlags::DISCARD_HAL_LABELS, !labels);
    let mut backends = wgpu::Backends::all() - wgpu::Backends::NOOP;
    if reach == Reach::Native {
        backends -= wgpu::Backends::GL;
    }
    wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        flags,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    })
}

/// The adapters that drivers have.
///
/// One list at a time: NVIDIA's driver (580.159) now and then ends in a segmentation fault where two threads ask it for
/// its physical devices at once. The drivers are asked in the call, not when the future is polled.
fn list(instance: &wgpu::Instance) -> impl Future<Output = Vec<wgpu::Adapter>> {
    #[cfg(not(target_arch = "wasm32"))]
    static ASKING: Mutex<()> = Mutex::new(());
    #[cfg(not(target_arch = "wasm32"))]
    let _one = ASKING.lock();
    instance.enumerate_adapters(wgpu::Backends::all())
}

/// Every adapter of `instance` with its summary. A browser names one at most, by power preference.
async fn enumerate(
    instance: &wgpu::Instance,
    power: PowerPreference,
) -> Vec<(AdapterSummary, wgpu::Adapter)> {
    let adapters = if cfg!(target_arch = "wasm32") {
        let options = wgpu::RequestAdapterOptions {
            power_preference: match power {
                PowerPreference::None => wgpu::PowerPreference::None,
                PowerPreference::LowPower => wgpu::PowerPreference::LowPower,
                PowerPreference::HighPerformance => wgpu::PowerPreference::HighPerformance,
            },
            ..Default::default()
        };
        instance
            .request_adapter(&options)
            .await
            .into_iter()
            .collect()
    } else {
        list(instance).await
    };
    adapters
        .into_iter()
        .enumerate()
        .map(|(index, adapter)| (AdapterSummary::new(index, &adapter), adapter))
        .collect()
}

/// The adapters within `reach`; with all of them the software device too, last.
pub(crate) async fn present(
    reach: Reach,
    validation: bool,
    labels: bool,
    power: PowerPreference,
) -> Vec<(AdapterSummary, wgpu::Adapter)> {
    let mut found = enumerate(&instance(reach, validation, labels), power).await;
    if reach == Reach::All
        && let Ok(adapter) = software::adapter(&SoftwareWish::default())
    {
        found.push((AdapterSummary::new(found.len(), &adapter), adapter));
    }
    found
}

async fn summaries(reach: Reach) -> Vec<AdapterSummary> {
    present(reach, false, false, PowerPreference::None)
        .await
        .into_iter()
        .map(|(summary, _)| summary)
        .collect()
}

/// Lists the adapters of this machine, in the order of their indices: OpenGL's come after the others, and the
/// software device, where this crate is built with it, is the last.
pub async fn adapters() -> Vec<AdapterSummary> {
    summaries(Reach::All).await
}

/// [`adapters`], blocking.
#[cfg(not(target_arch = "wasm32"))]
#[must_use]
pub fn adapters_blocking() -> Vec<AdapterSummary> {
    crate::block_on(adapters())
}

/// Whether any adapter that can compute is there, software included.
pub async fn is_available() -> bool {
    if cfg!(all(feature = "software", not(target_arch = "wasm32"))) {
        return true;
    }
    for reach in [Reach::Native, Reach::All] {
        if summaries(reach).await.iter().any(|adapter| adapter.compute) {
            return true;
        }
    }
    false
}

/// [`is_available`], blocking.
#[cfg(not(target_arch = "wasm32"))]
#[must_use]
pub fn is_available_blocking() -> bool {
    crate::block_on(is_available())
}
