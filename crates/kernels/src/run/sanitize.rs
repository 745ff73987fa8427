//! Ops under the software device's sanitizer.

use std::error::Error;

use ziggurat_pipeline::Pipelines;
use ziggurat_pipeline::device::ziggurat_software::{Opened, Target};

use crate::Executor;

impl Target for Executor {
    fn from_software(opened: Opened) -> Self {
        Self::new(&Pipelines::from_software(opened))
    }

    fn finish(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.pipelines().finish()
    }
}
