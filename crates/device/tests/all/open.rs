//! Opening on the noop backend: limits, features, errors, and a host's own device.

use crate::common::{buffer, noop, read};
use ziggurat_device::ziggurat_software::Profile;
use ziggurat_device::{Device, DeviceError, DeviceOptions, LimitName, ShaderFeature, block_on};

fn tiny() -> wgpu::Limits {
    wgpu::Limits {
        max_buffer_size: 1 << 16,
        max_storage_buffer_binding_size: 1 << 12,
        max_compute_invocations_per_workgroup: 64,
        max_compute_workgroups_per_dimension: 3,
        max_storage_buffers_per_shader_stage: 4,
        max_immediate_size: 16,
        ..wgpu::Limits::default()
    }
}

#[test]
fn caps_report_the_limits_the_adapter_has() {
    let device = Device::noop(DeviceOptions::default(), Some(tiny())).unwrap();
    let caps = device.caps();
    assert_eq!(caps.max_buffer_bytes, 1 << 16);
    assert_eq!(caps.max_binding_bytes, 1 << 12);
    assert_eq!(caps.workgroup_size, 64);
    assert_eq!(caps.max_workgroups, 3);
    assert_eq!(caps.max_storage_buffers, 3);
    assert_eq!(caps.immediate_bytes, 16);
    assert!(caps.f16 && caps.subgroups && caps.timestamps && caps.pipeline_cache);
    assert!(caps.cooperative_matrix.is_empty());
    assert_eq!(device.wgpu().limits().max_buffer_size, 1 << 16);
}

#[test]
fn options_switch_features_off_on_the_device_itself() {
    let options = DeviceOptions {
        f16: false,
        int64: false,
        float_atomics: false,
        subgroups: false,
        timestamps: false,
        immediates: false,
        pipeline_cache: false,
        profile: true,
        ..Default::default()
    };
    let device = Device::noop(options, None).unwrap();
    // What textures can be is no switch: it costs nothing.
    let textures = wgpu::Features::TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES
        | wgpu::Features::FLOAT32_FILTERABLE;
    assert!((device.wgpu().features() - textures).is_empty());
    let caps = device.caps();
    assert!(!caps.f16 && !caps.subgroups && !caps.timestamps && !caps.pipeline_cache);
    assert_eq!((caps.immediate_bytes, caps.subgroup_size), (0, (0, 0)));
    assert!(!device.set_profiling(true));
    assert!(block_on(device.take_profile()).unwrap().is_empty());
}

#[test]
fn an_unmet_limit_is_an_error_with_both_values() {
    let options = DeviceOptions {
        required: vec![(LimitName::WorkgroupInvocations, 128)],
        ..Default::default()
    };
    let error = Device::noop(options, Some(tiny())).unwrap_err();
    assert_eq!(
        error,
        DeviceError::LimitNotMet {
            limit: LimitName::WorkgroupInvocations,
            wanted: 128,
            got: 64
        }
    );
}

#[test]
fn a_feature_is_there_when_it_is_asked_for_or_opening_fails() {
    let ask = |features: &[ShaderFeature], options: DeviceOptions| DeviceOptions {
        features: features.to_vec(),
        ..options
    };
    let wanted = ask(&[ShaderFeature::F64], Default::default());
    let error = Device::software(Profile::intel(), wanted).unwrap_err();
    assert_eq!(error, DeviceError::FeatureNotMet { feature: "f64" });
    assert!(
        error.to_string().starts_with("feature not met: f64"),
        "{error}"
    );
    let open = |options| Device::software(Profile::nvidia(), options);
    let more = [ShaderFeature::F64, ShaderFeature::Int16];
    let device = open(ask(&more, Default::default())).unwrap();
    let plain = open(DeviceOptions::default()).unwrap();
    for feature in more {
        assert!(
            device.wgpu().features().contains(feature.wgpu()),
            "{feature:?}"
        );
        assert!(
            !plain.wgpu().features().contains(feature.wgpu()),
            "{feature:?}"
        );
    }
    let off = DeviceOptions {
        subgroups: false,
        ..Default::default()
    };
    assert!(plain.caps().subgroup_barriers);
    assert!(!open(off.clone()).unwrap().caps().subgroup_barriers);
    let error = open(ask(&[ShaderFeature::SubgroupBarrier], off)).unwrap_err();
    assert!(error.to_string().contains("subgroup barriers"), "{error}");
}

#[test]
fn a_device_of_the_host_application_is_wrapped_and_works() {
    let backend_options = wgpu::BackendOptions {
        noop: wgpu::NoopBackendOptions::enabled(),
        ..Default::default()
    };
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::NOOP,
        backend_options,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapter = block_on(instance.request_adapter(&Default::default())).unwrap();
    let (raw, queue) = block_on(adapter.request_device(&Default::default())).unwrap();
    let device = Device::from_wgpu(&adapter, raw.clone(), queue, DeviceOptions::default());
    assert!(!device.caps().f16, "the host did not ask for it");
    assert_eq!(device.caps().immediate_bytes, 0);
    assert_eq!(device.adapter().backend, wgpu::Backend::Noop);
    let a = buffer(&device, &[3; 4]);
    assert_eq!(block_on(read(&device, &a)).unwrap(), [3; 4]);

    drop(device);
    let again = raw.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    assert_eq!(again.size(), 4, "the host's device lives on");
}

#[test]
fn handles_and_futures_may_cross_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<Device>();
    crosses::<ziggurat_device::Completion>();
    crosses::<ziggurat_device::Failure>();
    crosses::<ziggurat_device::CallbackGuard>();
    fn future<T: Send + 'static>(_: T) {}
    let device = noop();
    future(device.take_profile());
    future(Device::open(DeviceOptions::default()));
}
