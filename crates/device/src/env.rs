//! Environment variables: the only file that reads them.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `ZIGGURAT_ADAPTER` | index in the list of adapters, part of a name, or `software[:profile]` |
//! | `ZIGGURAT_BACKEND` | `vulkan`, `metal`, `dx12`, `gl` or `webgpu` |
//! | `ZIGGURAT_LIMITS` | `default`: WebGPU's default limits and no optional feature, whatever the adapter has; `binding:N`: storage bindings of at most N bytes; `turns:N`: loops of at most N turns; or several, with commas |
//! | `ZIGGURAT_CACHE_DIR` | folder for compiled pipelines |
//! | `ZIGGURAT_DEBUG_PRINT` | `1`: the software device writes what shaders print to standard error |
//! | `ZIGGURAT_SANITIZE` | folder for reports: kernels run on the software device, under its sanitizer |
//!
//! The first two win over the program's options, so that a user can steer a program that was
//! not written for it. A folder set in the options wins over the third. Parsing is separate from
//! reading and is tested without touching the process's environment.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::{AdapterWish, DeviceError, DeviceOptions, SoftwareWish};

/// The profile of a sanitized run that names none: it has every feature.
const SANITIZED: &str = "nvidia";

const BACKENDS: &str = "vulkan, metal, dx12, gl, webgpu";

/// Applies `ZIGGURAT_ADAPTER` and `ZIGGURAT_BACKEND` to `wish`. An empty value counts as unset.
///
/// # Errors
/// [`DeviceError::UnknownBackend`] for a backend name that is not known.
pub fn apply(wish: &mut AdapterWish) -> Result<(), DeviceError> {
    apply_from(wish, |name| std::env::var(name).ok())
}

/// Takes every limit above WebGPU's defaults and every optional feature from the options, if `ZIGGURAT_LIMITS` says
/// `default`, large bindings, if it says `binding:` and a number of bytes, and long loops, if it says `turns:` and a number.
/// Other words mean nothing.
pub(crate) fn restrict(options: &mut DeviceOptions) {
    let value = std::env::var("ZIGGURAT_LIMITS").unwrap_or_default();
    restrict_to(options, &value);
}

fn restrict_to(options: &mut DeviceOptions, value: &str) {
    let words = || value.split(',').map(str::trim);
    let bytes = words().find_map(|word| word.strip_prefix("binding:"));
    if let Some(bytes) = bytes.and_then(|bytes| bytes.parse().ok()) {
        let least = options.max_binding_bytes.unwrap_or(u64::MAX);
        options.max_binding_bytes = Some(least.min(bytes));
    }
    let turns = words().find_map(|word| word.strip_prefix("turns:"));
    if let Some(turns) = turns.and_then(|turns| turns.parse().ok()) {
        let least = options.max_loop_turns.unwrap_or(u32::MAX);
        options.max_loop_turns = Some(least.min(turns));
    }
    if !words().any(|word| word.eq_ignore_ascii_case("default")) {
        return;
    }
    options.default_limits = true;
    options.f16 = false;
    options.subgroups = false;
    options.immediates = false;
    options.cooperative_matrix = false;
    options.timestamps = false;
}

/// Whether `ZIGGURAT_DEBUG_PRINT` is 1.
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
pub(crate) fn echo_prints() -> bool {
    std::env::var_os("ZIGGURAT_DEBUG_PRINT").is_some_and(|value| value == "1")
}

/// The folder for compiled pipelines: the one in the options, `ZIGGURAT_CACHE_DIR`, or
/// `ziggurat` in the user's cache folder. `None` when caching is off or no folder is known.
#[must_use]
pub fn cache_dir(options: &DeviceOptions) -> Option<PathBuf> {
    cache_dir_from(options, std::env::consts::OS, |name| std::env::var_os(name))
}

/// The folder for a sanitizer's reports; without one nothing is sanitized.
#[must_use]
pub fn sanitize_dir() -> Option<PathBuf> {
    std::env::var_os("ZIGGURAT_SANITIZE")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

fn apply_from(
    wish: &mut AdapterWish,
    read: impl Fn(&str) -> Option<String>,
) -> Result<(), DeviceError> {
    let read = |name: &str| {
        read(name)
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    };
    if let Some(value) = read("ZIGGURAT_ADAPTER") {
        (wish.index, wish.name, wish.software) = (None, None, None);
        if let Some(profile) = software_profile(&value) {
            wish.software = Some(SoftwareWish::Named(profile.to_owned()));
        } else if let Ok(index) = value.parse() {
            wish.index = Some(index);
        } else {
            wish.name = Some(value);
        }
    }
    if wish.software.is_none() && read("ZIGGURAT_SANITIZE").is_some() {
        (wish.index, wish.name) = (None, None);
        wish.software = Some(SoftwareWish::Named(SANITIZED.to_owned()));
    }
    if let Some(value) = read("ZIGGURAT_BACKEND") {
        wish.backend = Some(parse_backend(&value)?);
    }
    Ok(())
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
    match value.to_lowercase().as_str() {
        "vulkan" | "vk" => Ok(wgpu::Backend::Vulkan),
        "metal" | "mtl" => Ok(wgpu::Backend::Metal),
        "dx12" | "d3d12" | "directx12" => Ok(wgpu::Backend::Dx12),
        "gl" | "gles" | "opengl" => Ok(wgpu::Backend::Gl),
        "webgpu" => Ok(wgpu::Backend::BrowserWebGpu),
        _ => Err(DeviceError::UnknownBackend {
            given: value.to_owned(),
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
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn wish(pairs: &[(&str, &str)]) -> Result<AdapterWish, DeviceError> {
        let mut wish = AdapterWish::default();
        apply_from(&mut wish, |name| find(pairs, name))?;
        Ok(wish)
    }

    fn find(pairs: &[(&str, &str)], name: &str) -> Option<String> {
        let pair = pairs.iter().find(|(key, _)| *key == name);
        pair.map(|(_, value)| (*value).to_owned())
    }

    fn dir(options: &DeviceOptions, os: &str, pairs: &[(&str, &str)]) -> Option<PathBuf> {
        cache_dir_from(options, os, |name| find(pairs, name).map(OsString::from))
    }

    #[test]
    fn bindings_are_restricted_by_a_number_of_bytes() {
        let restricted = |value| {
            let mut options = DeviceOptions::default();
            restrict_to(&mut options, value);
            (options.default_limits, options.max_binding_bytes)
        };
        assert_eq!(restricted("binding:4096"), (false, Some(4096)));
        assert_eq!(restricted("default, binding:65536"), (true, Some(65536)));
        assert_eq!(restricted("binding:many"), (false, None));
        let mut options = DeviceOptions::default();
        restrict_to(&mut options, "turns:8,binding:4096");
        assert_eq!(options.max_loop_turns, Some(8));
    }

    #[test]
    fn limits_are_restricted_by_one_word_only() {
        let restricted = |value| {
            let mut options = DeviceOptions::default();
            restrict_to(&mut options, value);
            let features = [
                options.f16,
                options.subgroups,
                options.immediates,
                options.cooperative_matrix,
                options.timestamps,
            ];
            (options.default_limits, features)
        };
        assert_eq!(restricted(" Default "), (true, [false; 5]));
        assert_eq!(restricted(""), (false, [true; 5]));
        assert_eq!(restricted("none"), (false, [true; 5]));
    }

    #[test]
    fn a_number_is_an_index_and_anything_else_a_name() {
        let by_index = wish(&[("ZIGGURAT_ADAPTER", " 2 ")]).unwrap();
        assert_eq!((by_index.index, by_index.name), (Some(2), None));
        let by_name = wish(&[("ZIGGURAT_ADAPTER", "llvm")]).unwrap();
        assert_eq!((by_name.index, by_name.name), (None, Some("llvm".into())));
    }

    #[test]
    fn a_sanitized_run_is_on_the_software_device() {
        let software = |pairs: &[_]| wish(pairs).unwrap().software;
        let named = |name: &str| Some(SoftwareWish::Named(name.into()));
        let sanitize = ("ZIGGURAT_SANITIZE", "reports");
        assert_eq!(software(&[sanitize]), named("nvidia"));
        assert_eq!(
            software(&[sanitize, ("ZIGGURAT_ADAPTER", "software:apple")]),
            named("apple")
        );
        let other = [sanitize, ("ZIGGURAT_ADAPTER", "2")];
        assert_eq!(
            (software(&other), wish(&other).unwrap().index),
            (named("nvidia"), None)
        );
    }

    #[test]
    fn the_software_device_is_named_with_or_without_a_profile() {
        let software = |value| wish(&[("ZIGGURAT_ADAPTER", value)]).unwrap().software;
        assert_eq!(software("software"), Some(SoftwareWish::default()));
        assert_eq!(
            software("Software: nvidia"),
            Some(SoftwareWish::Named("nvidia".into()))
        );
        assert_eq!(software("software raster"), None);
        let mut own = AdapterWish {
            software: Some(SoftwareWish::default()),
            ..Default::default()
        };
        apply_from(&mut own, |name| {
            (name == "ZIGGURAT_ADAPTER").then(|| "1".into())
        })
        .unwrap();
        assert_eq!((own.software, own.index), (None, Some(1)));
    }

    #[test]
    fn a_variable_replaces_the_programs_choice_and_an_empty_one_does_not() {
        let mut wish = AdapterWish {
            index: Some(7),
            ..Default::default()
        };
        apply_from(&mut wish, |_| Some("  ".into())).unwrap();
        assert_eq!(wish.index, Some(7));
        apply_from(&mut wish, |name| {
            (name == "ZIGGURAT_ADAPTER").then(|| "iris".into())
        })
        .unwrap();
        assert_eq!((wish.index, wish.name), (None, Some("iris".into())));
    }

    #[test]
    fn backends_have_their_usual_names() {
        for (name, backend) in [
            ("vulkan", wgpu::Backend::Vulkan),
            ("Metal", wgpu::Backend::Metal),
            ("DX12", wgpu::Backend::Dx12),
            ("opengl", wgpu::Backend::Gl),
            ("webgpu", wgpu::Backend::BrowserWebGpu),
        ] {
            let wish = wish(&[("ZIGGURAT_BACKEND", name)]).unwrap();
            assert_eq!(wish.backend, Some(backend));
        }
    }

    #[test]
    fn an_unknown_backend_is_an_error_that_lists_the_known_ones() {
        let error = wish(&[("ZIGGURAT_BACKEND", "cuda")])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("\"cuda\"") && error.contains("vulkan"),
            "{error}"
        );
    }

    #[test]
    fn the_cache_folder_follows_options_then_variables_then_the_users_folder() {
        let variables = [
            ("ZIGGURAT_CACHE_DIR", "/z"),
            ("XDG_CACHE_HOME", "/x"),
            ("HOME", "/h"),
            ("LOCALAPPDATA", "/l"),
        ];
        let mut options = DeviceOptions::default();
        let expect = |from: usize, os: &str, path: &str, options: &DeviceOptions| {
            assert_eq!(dir(options, os, &variables[from..]), Some(path.into()));
        };
        expect(0, "linux", "/z", &options);
        expect(1, "linux", "/x/ziggurat", &options);
        expect(2, "linux", "/h/.cache/ziggurat", &options);
        expect(1, "macos", "/h/Library/Caches/ziggurat", &options);
        expect(1, "windows", "/l/ziggurat", &options);
        assert_eq!(dir(&options, "linux", &[]), None);
        options.pipeline_cache_dir = Some("/o".into());
        expect(0, "linux", "/o", &options);
        options.pipeline_cache = false;
        assert_eq!(dir(&options, "linux", &variables), None);
    }
}
