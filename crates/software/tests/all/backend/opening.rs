//! Adapters, profiles and device requests.

use futures::executor::block_on;
use ziggurat_software::{OpenError, Profile, Software, open};

use super::support::gpu_of;

fn request(
    profile: Profile,
    features: wgpu::Features,
    limits: wgpu::Limits,
) -> Result<(wgpu::Device, wgpu::Queue), wgpu::RequestDeviceError> {
    let instance = wgpu::Instance::from_custom(Software::new(profile));
    let adapter = block_on(instance.request_adapter(&Default::default())).unwrap();
    block_on(adapter.request_device(&wgpu::DeviceDescriptor {
        required_features: features,
        required_limits: limits,
        ..Default::default()
    }))
}

#[test]
fn no_profile_has_more_immediates_than_naga_follows() {
    let mut profile = Profile::nvidia();
    profile.limits.max_immediate_size = 4096;
    let gpu = gpu_of(profile);
    assert_eq!(gpu.device.limits().max_immediate_size, 256);
    let all = "struct P { a: array<vec4<u32>, 16> } var<immediate> p: P;
        @compute @workgroup_size(1) fn main() { _ = p.a[15]; }";
    gpu.accepts(|| gpu.pipeline(all));
}

#[test]
fn every_profile_opens_and_says_what_it_is() {
    for profile in Profile::all() {
        let (name, subgroup) = (profile.name.clone(), profile.subgroup_size);
        let gpu = gpu_of(profile.clone());
        let info = gpu.adapter.get_info();
        assert_eq!(info.name, format!("software ({name})"));
        assert_eq!(info.device_type, wgpu::DeviceType::Cpu);
        assert_eq!(
            (info.subgroup_min_size, info.subgroup_max_size),
            (subgroup, subgroup)
        );
        assert_eq!(gpu.device.features(), profile.features);
        assert_eq!(gpu.device.limits(), profile.limits);
        assert_eq!(
            gpu.adapter.cooperative_matrix_properties(),
            profile.cooperative_matrix
        );
    }
}

#[test]
fn an_instance_lists_one_adapter() {
    let instance = wgpu::Instance::from_custom(Software::new(Profile::apple()));
    let adapters = block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    let names: Vec<_> = adapters.iter().map(|a| a.get_info().name).collect();
    assert_eq!(names, ["software (apple)"]);
}

#[test]
fn a_device_is_given_within_features_and_limits_only() {
    let (none, f16) = (wgpu::Features::empty(), wgpu::Features::SHADER_F16);
    let defaults = wgpu::Limits::default();
    let device = request(Profile::nvidia(), f16, defaults.clone()).unwrap().0;
    assert_eq!(device.features(), f16);
    assert_eq!(device.limits(), defaults);
    let error = request(Profile::webgpu_default(), f16, defaults.clone()).unwrap_err();
    assert!(error.to_string().contains("SHADER_F16"), "{error}");
    let greedy = wgpu::Limits {
        max_bind_groups: 5,
        ..defaults
    };
    assert!(request(Profile::nvidia(), none, greedy.clone()).is_ok());
    let error = request(Profile::webgpu_default(), none, greedy).unwrap_err();
    assert!(error.to_string().contains("max_bind_groups"), "{error}");
}

#[test]
fn experimental_features_are_to_be_acknowledged() {
    let cooperative = wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX;
    let error = request(Profile::nvidia(), cooperative, wgpu::Limits::default()).unwrap_err();
    assert!(error.to_string().contains("acknowledged"), "{error}");
}

#[test]
fn a_profile_that_no_gpu_could_have_is_refused() {
    for size in [0, 2, 24, 256] {
        let mut profile = Profile::webgpu_default();
        profile.subgroup_size = size;
        assert_eq!(open(profile).unwrap_err(), OpenError::SubgroupSize(size));
    }
    let mut profile = Profile::webgpu_default();
    profile.limits.min_storage_buffer_offset_alignment = 48;
    assert!(matches!(
        open(profile),
        Err(OpenError::Alignment { value: 48, .. })
    ));
}

#[test]
fn instances_poll_all_their_devices() {
    let instance = wgpu::Instance::from_custom(Software::new(Profile::webgpu_default()));
    let adapter = block_on(instance.request_adapter(&Default::default())).unwrap();
    let (_device, queue) = block_on(adapter.request_device(&Default::default())).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    queue.on_submitted_work_done(move || sender.send(()).unwrap());
    assert!(receiver.try_recv().is_err());
    assert!(instance.poll_all(false));
    assert!(receiver.try_recv().is_ok());
}
