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
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn wish(pairs: &[(&str, &str)]) -> Result<AdapterWish, DeviceError> {
        let mut wish = AdapterWish::default();
        apply_from(&mut wish, |name| find(pairs, name).map(OsString::from))?;
        Ok(wish)
    }

    fn find(pairs: &[(&str, &str)], name: &str) -> Option<String> {
        let pair = pairs.iter().find(|(key, _)| *key == name);
        pair.map(|(_, value)| (*value).to_owned())
    }

    fn dir(options: &DeviceOptions, os: &str, pairs: &[(&str, &str)]) -> Option<PathBuf> {
        cache_dir_from(options, os, |name| find(pairs, name).map(OsString::from))
    }

    fn restricted(value: &str) -> DeviceOptions {
        let mut options = DeviceOptions::default();
        restrict_to(&mut options, value).unwrap();
        options
    }

    #[test]
    fn bindings_and_loops_are_restricted_by_numbers() {
        let bytes = |value| {
            let options = restricted(value);
            (options.default_limits, options.max_binding_bytes)
        };
        assert_eq!(bytes("binding:4096"), (false, Some(4096)));
        assert_eq!(bytes("default, binding:65536"), (true, Some(65536)));
        assert_eq!(
            restricted("iterations:8,binding:4096").max_loop_iterations,
            Some(8)
        );
        let mut own = DeviceOptions {
            max_binding_bytes: Some(1 << 20),
            ..DeviceOptions::default()
        };
        restrict_to(&mut own, "binding:4096").unwrap();
        assert_eq!(own.max_binding_bytes, Some(1 << 20), "an option wins");
    }

    #[test]
    fn features_are_switched_off_by_one_word_only() {
        let features = |value| {
            let options = restricted(value);
            let features = [
                options.f16,
                options.subgroups,
                options.int64,
                options.float_atomics,
                options.immediates,
                options.cooperative_matrix,
                options.timestamps,
            ];
            (options.default_limits, features)
        };
        assert_eq!(features(" Default "), (true, [false; 7]));
        assert_eq!(features(""), (false, [true; 7]));
        assert_eq!(features(" , "), (false, [true; 7]));
    }

    /// The next number of a small generator, below `end`.
    fn below(state: &mut u64, end: usize) -> usize {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize % end
    }

    #[test]
    fn any_environment_gives_options_or_an_error_of_few_words() {
        const WORDS: [&str; 24] = [
            "software",
            ":",
            "nvidia",
            "voodoo",
            "default",
            ",",
            "binding:",
            "iterations:",
            "0",
            "255",
            "4096",
            "-1",
            "99999999999999999999",
            "vulkan",
            "GL",
            "discrete",
            "CPU",
            " ",
            "\t",
            "\u{0}",
            "\u{e9}",
            "llvm",
            "webgpu",
            "one word of a long text ",
        ];
        let (mut state, mut ends) = (1, [0; 2]);
        for _ in 0..20_000 {
            let value = |state: &mut u64| -> String {
                let times = [1, 1, 1, 1000][below(state, 4)];
                let words = 0..below(state, 4);
                words
                    .map(|_| WORDS[below(state, WORDS.len())].repeat(times))
                    .collect()
            };
            let values = [(); 3].map(|()| value(&mut state));
            let names = ["ZIGGURAT_ADAPTER", "ZIGGURAT_BACKEND", "ZIGGURAT_SANITIZE"];
            let read = |name: &str| {
                let at = names.iter().position(|known| *known == name)?;
                values.get(at).map(OsString::from)
            };
            let mut own = AdapterWish {
                index: (below(&mut state, 8) == 0).then_some(3),
                allow_software: below(&mut state, 8) > 0,
                ..AdapterWish::default()
            };
            let before = own.clone();
            let mut options = DeviceOptions::default();
            let applied = apply_from(&mut own, read)
                .and_then(|()| restrict_to(&mut options, &value(&mut state)));
            if before.index.is_some() {
                let chosen = (own.index, &own.name, &own.software);
                assert_eq!(chosen, (before.index, &None, &None), "{values:?}");
            }
            assert!(own.to_string().len() < 400, "{values:?}");
            ends[usize::from(applied.is_err())] += 1;
            if let Err(error) = applied.and_then(|()| options.check()) {
                let text = error.to_string();
                assert!(!text.is_empty() && text.len() < 400, "{text}");
            }
        }
        assert!(ends[0] > 1000 && ends[1] > 1000, "{ends:?}");
    }

    #[test]
    fn unknown_limits_are_errors_that_list_the_known_ones() {
        let long = "y".repeat(100_000);
        for value in ["none", "binding:many", "iterations:-1", "binding", &long] {
            let mut options = DeviceOptions::default();
            let error = restrict_to(&mut options, value).unwrap_err().to_string();
            assert!(error.contains(LIMITS) && error.len() < 300, "{error}");
        }
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
    }

    #[test]
    fn a_kind_is_named_by_a_word() {
        let kind = |value| wish(&[("ZIGGURAT_ADAPTER", value)]).unwrap().kind;
        assert_eq!(kind("discrete"), Some(AdapterKind::Discrete));
        assert_eq!(kind("Integrated"), Some(AdapterKind::Integrated));
        assert_eq!(kind("virtual"), Some(AdapterKind::Virtual));
        assert_eq!(kind("CPU"), Some(AdapterKind::Software));
        assert_eq!(kind("disc"), None);
    }

    #[test]
    fn what_a_program_says_wins_over_the_environment() {
        let own = [
            AdapterWish {
                index: Some(7),
                ..Default::default()
            },
            AdapterWish {
                name: Some("own".into()),
                ..Default::default()
            },
            AdapterWish {
                kind: Some(AdapterKind::Discrete),
                ..Default::default()
            },
            AdapterWish {
                software: Some(SoftwareWish::default()),
                ..Default::default()
            },
        ];
        let adapters = ["3", "iris", "cpu", "software:nvidia", "no such thing"];
        for before in own {
            for adapter in adapters {
                let pairs = [("ZIGGURAT_ADAPTER", adapter), ("ZIGGURAT_SANITIZE", "x")];
                let mut after = before.clone();
                apply_from(&mut after, |name| find(&pairs, name).map(OsString::from)).unwrap();
                assert_eq!(after, before, "{adapter}");
            }
        }
        let gl = AdapterWish {
            backend: Some(wgpu::Backend::Gl),
            ..Default::default()
        };
        let no_software = AdapterWish {
            allow_software: false,
            ..Default::default()
        };
        for before in [gl, no_software] {
            let mut after = before.clone();
            let pairs = [("ZIGGURAT_ADAPTER", "software"), ("ZIGGURAT_SANITIZE", "x")];
            apply_from(&mut after, |name| find(&pairs, name).map(OsString::from)).unwrap();
            assert_eq!(after, before);
        }
        let mut gl = AdapterWish {
            backend: Some(wgpu::Backend::Gl),
            ..Default::default()
        };
        apply_from(&mut gl, |_| Some("vulkan".into())).unwrap();
        assert_eq!(gl.backend, Some(wgpu::Backend::Gl));
    }

    #[test]
    fn the_environment_wins_over_defaults_and_an_empty_value_says_nothing() {
        let mut open = AdapterWish::default();
        apply_from(&mut open, |_| Some("  ".into())).unwrap();
        assert_eq!(open, AdapterWish::default());
        let named = wish(&[("ZIGGURAT_ADAPTER", "iris")]).unwrap();
        assert_eq!((named.index, named.name), (None, Some("iris".into())));
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_no_text_is_not_ignored() {
        use std::os::unix::ffi::OsStringExt as _;
        let mut wish = AdapterWish::default();
        let read =
            |name: &str| (name == "ZIGGURAT_ADAPTER").then(|| OsString::from_vec(vec![0xff]));
        apply_from(&mut wish, read).unwrap();
        let error = crate::select(&[], &wish).unwrap_err();
        assert!(error.to_string().contains("name containing"), "{error}");
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
