//! Failures of the machine: no memory, a lost device, no adapter. Each is an error with a predicate, and no panic.

use crate::common;
use ziggurat_kernels::Executor;
use ziggurat_memory::{Memory, MemoryOptions};
use ziggurat_pipeline::Pipelines;
use ziggurat_tensor::{AdapterWish, DType, Device, DeviceOptions, Tensor};

#[test]
fn a_device_without_memory_says_so_and_goes_on_working() {
    let device = common::device();
    let options = MemoryOptions {
        limit: Some(8 << 20),
        ..MemoryOptions::default()
    };
    let memory = Memory::new(device.executor().device(), options);
    let small = Device::from_executor(&Executor::new(&Pipelines::new(&memory)));
    let mut held = Vec::new();
    let error = loop {
        match Tensor::ones(&small, [1 << 18], DType::F32) {
            Ok(tensor) => held.push(tensor),
            Err(error) => break error,
        }
        assert!(held.len() < 100, "the limit does not hold");
    };
    assert!(error.is_out_of_memory() && !error.is_shape(), "{error}");
    assert!(error.to_string().starts_with("full: "), "{error}");
    held.clear();
    let sum = Tensor::ones(&small, [1 << 18], DType::F32)
        .unwrap()
        .sum_all()
        .unwrap();
    assert_eq!(sum.item_blocking::<f32>().unwrap(), 262_144.0);
}

#[test]
fn a_lost_device_is_an_error_of_every_operation_and_read() {
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let a = Tensor::ones(&device, [4], DType::F32).unwrap();
    device.synchronize_blocking().unwrap();
    let pending = a.to_vec::<f32>();
    device.executor().device().destroy();
    assert!(a.to_vec_blocking::<f32>().unwrap_err().is_device_lost());
    assert!(device.synchronize_blocking().unwrap_err().is_device_lost());
    assert!(
        (&a + &a)
            .and_then(|sum| sum.to_vec_blocking::<f32>())
            .unwrap_err()
            .is_device_lost()
    );
    assert!(a.to_string().starts_with('<'));
    assert!(format!("{a:?}").contains("shape: [4]"));
    // The read was recorded before the loss: it may have its values or the loss, but it ends.
    match ziggurat_device::block_on(pending) {
        Ok(values) => assert_eq!(values, [1.0; 4]),
        Err(error) => assert!(error.is_device_lost(), "{error}"),
    }
}

#[test]
fn an_adapter_that_is_not_there_is_named() {
    let adapter = AdapterWish {
        name: Some("no such adapter".to_owned()),
        ..AdapterWish::default()
    };
    let opened = Device::open_blocking(DeviceOptions {
        adapter,
        ..DeviceOptions::default()
    });
    let error = opened.unwrap_err();
    assert!(
        error.is_no_adapter() && error.to_string().contains("no such adapter"),
        "{error}"
    );
}
