//! Tensors under the software device's sanitizer.

use std::error::Error;

use ziggurat_device::ziggurat_software::{Opened, Target};
use ziggurat_kernels::Executor;

use crate::Device;

impl Target for Device {
    fn from_software(opened: Opened) -> Self {
        Self::from_executor(&Executor::from_software(opened))
    }

    /// Values that wait to be computed are not computed by this: read them.
    fn finish(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.executor().finish()
    }
}
