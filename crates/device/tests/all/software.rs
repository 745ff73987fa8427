//! The software device as this layer opens it: by name, by profile, and where nothing else is there.
#![cfg(feature = "software")]
use std::process::Command;

use ziggurat_device::ziggurat_software::Profile;
use ziggurat_device::{
    AdapterSummary, AdapterWish, Device, DeviceError, DeviceOptions, SoftwareWish,
    adapters_blocking,
};

fn wish(software: SoftwareWish) -> DeviceOptions {
    DeviceOptions {
        adapter: AdapterWish {
            software: Some(software),
            ..AdapterWish::default()
        },
        ..DeviceOptions::default()
    }
}

#[test]
fn every_profile_opens_with_what_it_has() {
    for profile in Profile::all() {
        let device = Device::software(profile.clone(), DeviceOptions::default()).unwrap();
        assert!(device.adapter().is_software_device());
        let caps = device.caps();
        assert_eq!(
            caps.f16,
            profile.features.contains(wgpu::Features::SHADER_F16)
        );
        assert_eq!(
            caps.cooperative_matrix.len(),
            profile.cooperative_matrix.len()
        );
        assert_eq!(caps.max_buffer_bytes, profile.limits.max_buffer_size);
        if caps.subgroups {
            assert_eq!(
                caps.subgroup_size,
                (profile.subgroup_size, profile.subgroup_size)
            );
        }
        let named = wish(SoftwareWish::Named(profile.name.clone()));
        let named = Device::open_blocking(named).unwrap();
        assert_eq!(named.caps(), device.caps());
    }
}

/// What Firefox and Safari promise is what WebGPU does: a profile has no more than that, and every other one can be held to its
/// limits.
#[test]
fn a_device_held_to_webgpus_defaults_has_the_limits_of_every_browser() {
    let held = DeviceOptions {
        default_limits: true,
        ..DeviceOptions::default()
    };
    let open = |profile, options| Device::software(profile, options).unwrap();
    let mut wider = 0;
    for profile in Profile::all() {
        let device = open(profile.clone(), held.clone());
        let caps = device.caps();
        assert_eq!(caps.limits.max_storage_buffers_per_shader_stage, 8);
        assert_eq!(caps.max_binding_bytes, 128 << 20, "{}", profile.name);
        assert_eq!(caps.max_buffer_bytes, 256 << 20, "{}", profile.name);
        assert_eq!(caps.limits.max_compute_invocations_per_workgroup, 256);
        assert_eq!(caps.limits.max_compute_workgroup_storage_size, 16 << 10);
        let free = open(profile, DeviceOptions::default());
        wider += u32::from(free.caps().max_binding_bytes > 128 << 20);
    }
    assert_eq!(wider, 3, "nothing was held back");
    let plain = open(Profile::webgpu_default(), DeviceOptions::default());
    let caps = plain.caps();
    let optional = [caps.timestamps, caps.subgroups, caps.f16, caps.int64];
    assert_eq!(optional, [false; 4]);
    assert!(!caps.float_atomics && caps.cooperative_matrix.is_empty());
    assert!(!plain.set_profiling(true));
    let rich = open(Profile::nvidia(), DeviceOptions::default());
    assert!(rich.caps().timestamps && rich.set_profiling(true));
}

#[test]
fn a_profile_of_the_programs_own_is_taken_as_it_is() {
    let mut profile = Profile::webgpu_default();
    profile.name = "narrow".to_owned();
    profile.limits.max_compute_workgroups_per_dimension = 65_535;
    profile.limits.max_buffer_size = 300 << 20;
    let device = Device::open_blocking(wish(SoftwareWish::Own(Box::new(profile)))).unwrap();
    assert_eq!(device.adapter().name, "software (narrow)");
    assert_eq!(device.caps().max_buffer_bytes, 300 << 20);
}

#[test]
fn an_unknown_profile_is_an_error_that_lists_the_known_ones() {
    let error = Device::open_blocking(wish(SoftwareWish::Named("voodoo".into()))).unwrap_err();
    assert!(matches!(error, DeviceError::UnknownProfile { .. }));
    let text = error.to_string();
    assert!(
        text.contains("\"voodoo\"") && text.contains("webgpu-default, nvidia"),
        "{text}"
    );
}

#[test]
fn the_listing_ends_with_it_and_its_index_opens_it() {
    let adapters = adapters_blocking();
    let ours = adapters.last().unwrap();
    assert!(ours.is_software_device(), "{ours}");
    assert_eq!(
        ours.to_string(),
        "software: software (webgpu-default) (built in, no driver)"
    );
    assert_eq!(ours.index, AdapterSummary::SOFTWARE_INDEX);
    let named = Device::open_blocking(wish(SoftwareWish::default())).unwrap();
    assert_eq!(named.adapter(), ours);
    assert_eq!(
        adapters
            .iter()
            .filter(|adapter| adapter.is_software_device())
            .count(),
        1
    );
    for index in [ours.index, adapters.len() - 1] {
        let mut options = DeviceOptions::default();
        options.adapter.index = Some(index);
        assert_eq!(Device::open_blocking(options).unwrap().adapter(), ours);
    }
}

/// Run by the next test, in a process of its own.
#[test]
#[ignore = "a part of the next test"]
fn the_child_opens_two_devices() {
    for adapter in adapters_blocking() {
        println!("there is {adapter}");
    }
    for _ in 0..2 {
        let device = Device::open_blocking(DeviceOptions::default()).unwrap();
        println!("opened {}", device.adapter().name);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_driver_it_stands_in_and_says_so_once() {
    let child = |adapter: &str| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "software::the_child_opens_two_devices",
                "--nocapture",
            ])
            .env("VK_DRIVER_FILES", "/nonexistent")
            .env("VK_ICD_FILENAMES", "/nonexistent")
            .env("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent")
            .env("ZIGGURAT_ADAPTER", adapter)
            .env_remove("ZIGGURAT_BACKEND")
            .output()
            .unwrap();
        assert!(output.status.success());
        (
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (out, said) = child("");
    assert_eq!(
        out.matches("opened software (webgpu-default)").count(),
        2,
        "{out}"
    );
    // A driver for OpenGL would be taken before it, if it were a GPU's.
    let there: Vec<_> = out
        .lines()
        .filter(|line| line.contains("there is "))
        .collect();
    assert_eq!(there.len(), 1, "{out}");
    let lines: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with("ziggurat:"))
        .collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(
        lines.iter().all(|line| line.contains("For a GPU")),
        "{said}"
    );

    let (out, said) = child("software:intel");
    assert_eq!(out.matches("opened software (intel)").count(), 2, "{out}");
    assert!(!said.contains("ziggurat:"), "{said}");
}

/// Run by the next test, in a process of its own.
#[test]
#[ignore = "a part of the next test"]
fn the_child_names_its_own_adapter() {
    let own = Device::open_blocking(wish(SoftwareWish::Named("intel".into()))).unwrap();
    println!("own: {}", own.adapter().name);
    match Device::open_blocking(DeviceOptions::default()) {
        Ok(device) => println!("default: {}", device.adapter().name),
        Err(error) => println!("default: {error}"),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_programs_wish_wins_over_the_environment_and_what_is_not_there_is_listed() {
    let child = |adapter: &str| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "software::the_child_names_its_own_adapter",
                "--nocapture",
            ])
            .env("ZIGGURAT_ADAPTER", adapter)
            .env_remove("ZIGGURAT_BACKEND")
            .env_remove("ZIGGURAT_SANITIZE")
            .output()
            .unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(out.contains("own: software (intel)"), "{adapter}: {out}");
        let default = out.lines().find_map(|line| line.strip_prefix("default: "));
        default.unwrap().to_owned()
    };
    assert_eq!(child("software:nvidia"), "software (nvidia)");
    let long = "no such adapter ".repeat(4000);
    for invalid in ["\u{1}", "99999999999999999999999", "4711", "-1", &long] {
        let error = child(invalid);
        assert!(
            error.contains("no adapter fits") && error.contains("software: software"),
            "{error}"
        );
        assert!(error.len() < 1000, "{error}");
    }
    let error = child("software:voodoo");
    assert!(error.contains("webgpu-default, nvidia"), "{error}");
}
