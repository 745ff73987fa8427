//! What each variable means, alone and with others, and what is refused.

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
        let applied =
            apply_from(&mut own, read).and_then(|()| restrict_to(&mut options, &value(&mut state)));
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
    let read = |name: &str| (name == "ZIGGURAT_ADAPTER").then(|| OsString::from_vec(vec![0xff]));
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
