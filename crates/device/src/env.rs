//! Environment variables: the only file that reads them.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `ZIGGURAT_ADAPTER` | index in the list of adapters, part of a name, a kind (`discrete`, `integrated`, `virtual`, `cpu`), or `software[:profile]` |
//! | `ZIGGURAT_BACKEND` | `vulkan`, `metal`, `dx12`, `gl` or `webgpu` |
//! | `ZIGGURAT_LIMITS` | `default`: WebGPU's default limits and no optional feature, whatever the adapter has; `binding:N`: storage bindings of at most N bytes; `iterations:N`: loops of at most N iterations; or several, with commas |
//! | `ZIGGURAT_CACHE_DIR` | folder for compiled pipelines |
//! | `ZIGGURAT_DEBUG_PRINT` | `1`: the software device writes what shaders print to standard error |
//! | `ZIGGURAT_DEBUG_KERNELS` | `1`: kernels run their `assert` and `debug_print` statements on any adapter, as with `DeviceOptions::debug_kernels` |
//! | `ZIGGURAT_SANITIZE` | folder for reports: kernels run on the software device, under its sanitizer |
//!
//! What a program's options say explicitly wins over a variable, and a variable over a default: a program that names an
//! adapter (by index, name, kind or as the software device) gets it whatever `ZIGGURAT_ADAPTER` says. `ZIGGURAT_LIMITS`
//! takes away what options leave at their defaults. Parsing is separate from reading and is tested without touching the
//! process's environment.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::shorten;
use crate::{AdapterKind, AdapterWish, DeviceError, DeviceOptions, SoftwareWish};

/// The profile of a sanitized run that names none: it has every feature.
const SANITIZED: &str = "nvidia";

const BACKENDS: &str = "vulkan, metal, dx12, gl, webgpu";

const LIMITS: &str = "default, binding:<bytes>, iterations:<number>";

/// A variable's value.
#[cfg(not(target_arch = "wasm32"))]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// In a browser there are none, and a page need not download what would parse them.
#[cfg(target_arch = "wasm32")]
fn variable(_: &str) -> Option<OsString> {
    None
}

/// Applies `ZIGGURAT_ADAPTER` and `ZIGGURAT_BACKEND` to what `wish` leaves open. An empty value counts as unset.
///
/// # Errors
/// [`DeviceError::UnknownBackend`] for a backend name that is not known.
pub fn apply(wish: &mut AdapterWish) -> Result<(), DeviceError> {
    apply_from(wish, variable)
}

/// Takes every limit above WebGPU's defaults and every optional feature from the options, if `ZIGGURAT_LIMITS` says
/// `default`; large bindings, if it says `binding:` and a number of bytes, and long loops, if it says `iterations:` and a number,
/// unless the options have such a bound already.
pub(crate) fn restrict(options: &mut DeviceOptions) -> Result<(), DeviceError> {
    match variable("ZIGGURAT_LIMITS") {
        Some(value) => restrict_to(options, &value.to_string_lossy()),
        None => Ok(()),
    }
}

fn restrict_to(options: &mut DeviceOptions, value: &str) -> Result<(), DeviceError> {
    let words = value.split(',').map(str::trim);
    for word in words.filter(|word| !word.is_empty()) {
        let number = |prefix| word.strip_prefix(prefix);
        let bytes = number("binding:").map(str::parse);
        let iterations = number("iterations:").map(str::parse);
        if let Some(Ok(bytes)) = bytes {
            options.max_binding_bytes.get_or_insert(bytes);
        } else if let Some(Ok(iterations)) = iterations {
            options.max_loop_iterations.get_or_insert(iterations);
        } else if word.eq_ignore_ascii_case("default") {
            options.default_limits = true;
            options.f16 = false;
            options.subgroups = false;
            options.int64 = false;
            options.float_atomics = false;
            options.immediates = false;
            options.cooperative_matrix = false;
            options.timestamps = false;
        } else {
            return Err(DeviceError::UnknownLimit {
                given: shorten(word).into_owned(),
                known: LIMITS,
            });
        }
    }
    Ok(())
}

/// Whether `ZIGGURAT_DEBUG_PRINT` is 1.
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
pub(crate) fn echo_prints() -> bool {
    variable("ZIGGURAT_DEBUG_PRINT").is_some_and(|value| value == "1")
}

/// Whether `ZIGGURAT_DEBUG_KERNELS` is 1.
pub(crate) fn debug_kernels() -> bool {
    variable("ZIGGURAT_DEBUG_KERNELS").is_some_and(|value| value == "1")
}

/// The folder for compiled pipelines: the one in the options, `ZIGGURAT_CACHE_DIR`, or
/// `ziggurat` in the user's cache folder. `None` when caching is off or no folder is known.
#[must_use]
pub fn cache_dir(options: &DeviceOptions) -> Option<PathBuf> {
    cache_dir_from(options, std::env::consts::OS, variable)
}

/// The folder for a sanitizer's reports; without one nothing is sanitized.
#[must_use]
pub fn sanitize_dir() -> Option<PathBuf> {
    variable("ZIGGURAT_SANITIZE")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

fn apply_from(
    wish: &mut AdapterWish,
    read: impl Fn(&str) -> Option<OsString>,
) -> Result<(), DeviceError> {
    // What is no text becomes one that no adapter has in its name, so that it is an error and not ignored.
    let read = |name: &str| {
        read(name)
            .map(|value| value.to_string_lossy().trim().to_owned())
            .filter(|value| !value.is_empty())
    };
    let is_explicit = wish.index.is_some()
        || wish.name.is_some()
        || wish.kind.is_some()
        || wish.software.is_some();
    // The software device has no backend, and is not for programs that want no software adapter.
    let may_be_software = wish.backend.is_none() && wish.allow_software;
    if !is_explicit {
        if let Some(value) = read("ZIGGURAT_ADAPTER") {
            match software_profile(&value) {
                Some(profile) if may_be_software => {
                    wish.software = Some(SoftwareWish::Named(profile.to_owned()));
                }
                Some(_) => {}
                None => choose(wish, value),
            }
        }
        if wish.software.is_none() && may_be_software && read("ZIGGURAT_SANITIZE").is_some() {
            (wish.index, wish.name, wish.kind) = (None, None, None);
            wish.software = Some(SoftwareWish::Named(SANITIZED.to_owned()));
        }
    }
    if wish.backend.is_none()
        && let Some(value) = read("ZIGGURAT_BACKEND")
    {
        wish.backend = Some(parse_backend(&value)?);
    }
    Ok(())
}

/// A kind, an index, or part of a name.
fn choose(wish: &mut AdapterWish, value: String) {
    let kinds = [
        ("discrete", AdapterKind::Discrete),
        ("integrated", AdapterKind::Integrated),
        ("virtual", AdapterKind::Virtual),
        ("cpu", AdapterKind::Software),
    ];
    let kind = kinds
        .into_iter()
        .find(|(name, _)| value.eq_ignore_ascii_case(name));
    if let Some((_, kind)) = kind {
        wish.kind = Some(kind);
    } else if let Ok(index) = value.parse() {
        wish.index = Some(index);
    } else {
        wish.name = Some(value);
    }
}

/// The profile in `software` or `software:profile`.
fn software_profile(value: &str) -> Option<&str> {
    match value.split_once(':') {
        None if value.eq_ignore_ascii_case("software") => Some(SoftwareWish::DEFAULT),
        Some((word, profile)) if word.trim().eq_ignore_ascii_case("software") => {
            Some(profile.trim())
        }
        _ => None,
    }
}

fn parse_backend(value: &str) -> Result<wgpu::Backend, DeviceError> {
    match value.to_ascii_lowercase().as_str() {
        "vulkan" | "vk" => Ok(wgpu::Backend::Vulkan),
        "metal" | "mtl" => Ok(wgpu::Backend::Metal),
        "dx12" | "d3d12" | "directx12" => Ok(wgpu::Backend::Dx12),
        "gl" | "gles" | "opengl" => Ok(wgpu::Backend::Gl),
        "webgpu" => Ok(wgpu::Backend::BrowserWebGpu),
        _ => Err(DeviceError::UnknownBackend {
            given: shorten(value).into_owned(),
            known: BACKENDS,
        }),
    }
}

fn cache_dir_from(
    options: &DeviceOptions,
    os: &str,
    read: impl Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    if !options.pipeline_cache {
        return None;
    }
    let read = |name: &str| {
        read(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let user_cache = || match os {
        "windows" => read("LOCALAPPDATA"),
        "macos" => read("HOME").map(|home| home.join("Library").join("Caches")),
        _ => read("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| read("HOME").map(|home| home.join(".cache"))),
    };
    options
        .pipeline_cache_dir
        .clone()
        .or_else(|| read("ZIGGURAT_CACHE_DIR"))
        .or_else(|| user_cache().map(|path| path.join("ziggurat")))
}

#[cfg(test)]
mod tests;
