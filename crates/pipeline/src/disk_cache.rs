//! wgpu's pipeline cache object together with its file.
//!
//! The only unsafe call of this crate: wgpu cannot prove that cache bytes from outside are its own, see the comment
//! at the call for why they are.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ziggurat_device::Device;

use crate::autosave::Autosave;
use crate::disk::CacheFile;
use crate::error::PipelineError;

/// The file is written when no pipeline was created for this long.
const QUIET: Duration = Duration::from_millis(250);

/// ... or when so many were created since the last time.
const MANY: u32 = 32;

/// A device's pipeline cache that lives on disk between runs.
#[derive(Debug)]
pub(crate) struct DiskCache {
    pub(crate) wgpu: wgpu::PipelineCache,
    pub(crate) loaded_bytes: u64,
    pub(crate) rejected: bool,
    store: Arc<Store>,
    autosave: Autosave,
}

/// What is saved, and where.
#[derive(Debug)]
struct Store {
    device: Device,
    wgpu: wgpu::PipelineCache,
    file: CacheFile,
    /// What the file holds, as far as known: saves that change nothing write nothing.
    saved: Mutex<Option<Vec<u8>>>,
}

impl DiskCache {
    /// Opens the cache; `None` where the device or its options have none.
    pub(crate) fn open(device: &Device) -> Option<Self> {
        if !device.caps().pipeline_cache || !device.options().pipeline_cache {
            return None;
        }
        let folder = ziggurat_device::env::cache_dir(device.options())?;
        let file = CacheFile::for_adapter(&folder, &device.wgpu().adapter_info())?;
        let (data, rejected) = match file.load() {
            Ok(data) => (data, false),
            Err(_) => (None, true),
        };
        let wgpu = create(device.wgpu(), data.as_deref());
        let loaded_bytes = data.as_ref().map_or(0, |data| data.len() as u64);
        let store = Arc::new(Store {
            device: device.clone(),
            wgpu: wgpu.clone(),
            file,
            saved: Mutex::new(data),
        });
        let saving = Arc::clone(&store);
        let autosave = Autosave::new(QUIET, MANY, move || {
            if saving.device.status().is_ok() {
                // Nobody to tell: the save at the end meets the same error and is asked for it.
                let _ = saving.save();
            }
        });
        Some(Self {
            wgpu,
            loaded_bytes,
            rejected,
            store,
            autosave,
        })
    }

    /// Says that a pipeline was created, so that the file is written soon.
    pub(crate) fn created(&self) {
        self.autosave.changed();
    }

    /// Writes the file if there is something new; says where.
    pub(crate) fn save(&self) -> Result<Option<PathBuf>, PipelineError> {
        self.store.save()
    }
}

impl Store {
    fn save(&self) -> Result<Option<PathBuf>, PipelineError> {
        let Some(data) = self.wgpu.get_data() else {
            return Ok(None);
        };
        let mut saved = self.saved.lock();
        if saved.as_ref() != Some(&data) {
            self.file
                .store(&data)
                .map_err(|error| PipelineError::CacheFile {
                    path: self.file.path().display().to_string(),
                    message: error.to_string(),
                })?;
            *saved = Some(data);
        }
        Ok(Some(self.file.path().to_path_buf()))
    }
}

#[expect(
    unsafe_code,
    reason = "wgpu cannot prove that cache bytes from outside are its own"
)]
fn create(device: &wgpu::Device, data: Option<&[u8]>) -> wgpu::PipelineCache {
    let descriptor = wgpu::PipelineCacheDescriptor {
        label: Some("ziggurat"),
        data,
        fallback: true,
    };
    // SAFETY: `data` must come from `PipelineCache::get_data`. It is either `None` or the content of a file that
    // `CacheFile::load` accepted: magic, format, length and checksum are intact and its recorded adapter, driver
    // and version are this device's, so unless somebody forged a file in the user's own cache folder, its bytes are
    // those that `DiskCache::save` took from `get_data`. wgpu checks its own header as well and, with `fallback`,
    // starts empty when that does not match.
    unsafe { device.create_pipeline_cache(&descriptor) }
}
