//! A program goes on after the loss of its device, and objects of the lost one stay errors.

use ziggurat_tensor::{DType, Device, DeviceOptions, FusionPolicy, Tensor};

#[path = "../../examples/recovery.rs"]
mod example;

/// A device of its own: these tests destroy it.
fn own() -> Device {
    Device::open_blocking(DeviceOptions::default()).unwrap()
}

#[test]
fn the_example_trains_to_the_same_bits_whenever_devices_are_lost() {
    let (undisturbed, losses) = example::train_through_losses(own(), |_, _| {}).unwrap();
    assert_eq!((undisturbed.step, losses), (example::STEPS, 0));
    let mut faults = vec![59, 37, 30, 5, 0];
    let lost = faults.len();
    let survived = example::train_through_losses(own(), |step, device| {
        if faults.last() == Some(&step) {
            faults.pop();
            device.executor().device().destroy();
        }
    });
    assert_eq!(survived.unwrap(), (undisturbed, lost));
}

#[test]
fn a_reopened_device_has_the_settings_and_none_of_the_tensors() {
    let old = own();
    old.set_fusion(FusionPolicy::Unfused);
    old.set_deterministic(false);
    let kept = Tensor::ones(&old, [4], DType::F32).unwrap();
    old.executor().device().destroy();
    let new = old.reopen_blocking().unwrap();
    assert_eq!(new.fusion(), FusionPolicy::Unfused);
    assert!(!new.executor().is_deterministic());
    assert_eq!(new.name(), old.name());
    let fresh = Tensor::ones(&new, [4], DType::F32).unwrap();
    assert_eq!(fresh.to_vec_blocking::<f32>().unwrap(), [1.0; 4]);
    assert!(kept.to_vec_blocking::<f32>().unwrap_err().is_device_lost());
    assert!(kept.add(&fresh).is_err());
    assert!(old.executor().device().status().is_err());
    // A device that works may have a second one beside it.
    let second = new.reopen_blocking().unwrap();
    assert!(
        Tensor::ones(&second, [2], DType::F32)
            .unwrap()
            .add(&fresh)
            .is_err()
    );
    assert_eq!(fresh.to_vec_blocking::<f32>().unwrap(), [1.0; 4]);
}
