//! The way to the software device, where this crate is built with it (feature `software`, native).
//!
//! Without it the same functions exist and say so, so that the rest of the crate knows no feature.

use crate::{AdapterWish, DeviceError, SoftwareWish};

/// The software adapter for `wish`.
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
pub(crate) fn adapter(wish: &SoftwareWish) -> Result<wgpu::Adapter, DeviceError> {
    use ziggurat_software::Profile;

    let mut profile = match wish {
        SoftwareWish::Own(profile) => Profile::clone(profile),
        SoftwareWish::Named(name) => {
            Profile::by_name(name).ok_or_else(|| DeviceError::UnknownProfile {
                given: crate::error::shorten(name).into_owned(),
                known: Profile::all().map(|profile| profile.name).join(", "),
            })?
        }
    };
    profile.echo_prints |= crate::env::echo_prints();
    Ok(ziggurat_software::adapter(sanitized(profile)?))
}

/// With a sanitizer, if the environment asks for one and there is none yet.
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
pub(crate) fn sanitized(
    mut profile: ziggurat_software::Profile,
) -> Result<ziggurat_software::Profile, DeviceError> {
    use ziggurat_software::{Checks, Sanitizer};

    if let (None, Some(folder)) = (&profile.sanitizer, crate::env::sanitize_dir()) {
        let sanitizer = Sanitizer::into_folder(&folder, Checks::default());
        let sanitizer = sanitizer.map_err(|error| DeviceError::Reports {
            folder,
            error: error.to_string(),
        })?;
        profile.sanitizer = Some(sanitizer);
    }
    Ok(profile)
}

#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
pub(crate) use ziggurat_software::{
    is_checked, mark_own, mark_undefined, memory_bytes, name_lines,
};

/// A sanitizer's device, with the default options.
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
impl ziggurat_software::Target for crate::Device {
    fn from_software(opened: ziggurat_software::Opened) -> Self {
        let options = crate::DeviceOptions::default();
        Self::from_wgpu(&opened.adapter, opened.device, opened.queue, options)
    }

    fn finish(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.synchronize().wait()?)
    }
}

#[cfg(not(all(feature = "software", not(target_arch = "wasm32"))))]
mod absent {
    //! No sanitizer without a software device.

    use std::ops::Range;

    pub(crate) fn is_checked(_: &wgpu::Device) -> bool {
        false
    }

    pub(crate) fn memory_bytes(_: &wgpu::Device) -> Option<[Option<u64>; 2]> {
        None
    }

    pub(crate) fn mark_own(_: &wgpu::ShaderModule) {}

    pub(crate) fn mark_undefined(_: &wgpu::CommandEncoder, _: &wgpu::Buffer, _: Range<u64>) {}

    pub(crate) fn name_lines<'a>(_: &wgpu::ShaderModule, _: impl Iterator<Item = (&'a str, u32)>) {}
}
#[cfg(not(all(feature = "software", not(target_arch = "wasm32"))))]
pub(crate) use absent::{is_checked, mark_own, mark_undefined, memory_bytes, name_lines};

/// Says that there is none.
#[cfg(not(all(feature = "software", not(target_arch = "wasm32"))))]
pub(crate) fn adapter(wish: &SoftwareWish) -> Result<wgpu::Adapter, DeviceError> {
    Err(DeviceError::NoAdapter {
        seen: Vec::new(),
        wish: format!("the software device, {wish}"),
        advice: "build ziggurat-device with its feature `software`, for a native target".to_owned(),
    })
}

/// One line per process on standard error, unless the program or its user named the device.
pub(crate) fn say_that_it_stands_in(wish: &AdapterWish) {
    static SAID: std::sync::Once = std::sync::Once::new();
    if wish.index.is_none() && wish.name.is_none() && wish.kind.is_none() {
        SAID.call_once(|| {
            eprintln!(
                "ziggurat: no GPU found, computing on the CPU with the software device ({}). \
                 For a GPU, {}; ZIGGURAT_ADAPTER=software chooses the CPU without this line",
                SoftwareWish::DEFAULT,
                gpu_advice(std::env::consts::OS)
            );
        });
    }
}

/// What to do on operating system `os` so that the machine's GPU is found.
fn gpu_advice(os: &str) -> &'static str {
    match os {
        "macos" | "ios" => "use a session that has access to Metal",
        "windows" => "install its vendor's driver",
        _ => "install its vendor's Vulkan driver and the loader (libvulkan1)",
    }
}
