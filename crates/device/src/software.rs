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
                given: name.clone(),
                known: Profile::all().map(|profile| profile.name).join(", "),
            })?
        }
    };
    profile.echo_prints |= crate::env::echo_prints();
    Ok(ziggurat_software::adapter(profile))
}

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
    if wish.index.is_none() && wish.name.is_none() {
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
