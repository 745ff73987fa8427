//! Kernels under the software device's sanitizer.

use std::error::Error;

use ziggurat_device::Device;
use ziggurat_device::ziggurat_software::{Opened, Target};
use ziggurat_memory::{Memory, MemoryOptions};

use crate::Pipelines;

impl Target for Pipelines {
    /// With the memory of a device of its own, all with default options.
    fn from_software(opened: Opened) -> Self {
        let device = Device::from_software(opened);
        Self::new(&Memory::new(&device, MemoryOptions::default()))
    }

    fn finish(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.device().finish()
    }
}
