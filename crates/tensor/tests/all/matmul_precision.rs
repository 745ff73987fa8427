//! How exactly products of f32 read their elements: what a device says, what a scope says, and when it counts.

use ziggurat_tensor::{Device, DeviceOptions, Error, MatmulPrecision, SoftwareWish, Tensor};

/// A device with matrix units.
fn with_units() -> Device {
    let mut options = DeviceOptions::default();
    options.adapter.software = Some(SoftwareWish::Named("nvidia".to_owned()));
    Device::open_blocking(options).unwrap()
}

/// A product large enough for matrix units, whose elements 11 bits do not hold, and its exact value.
fn operands(device: &Device) -> Result<(Tensor, Tensor, f32), Error> {
    let (n, k) = (512, 1024);
    let x = 1.0 + 1.0 / 8192.0;
    let ones = Tensor::from_slice(device, &vec![x; n * k], [n, k])?;
    let twos = Tensor::from_slice(device, &vec![2.0f32; n * k], [k, n])?;
    Ok((ones, twos, 2.0 * x * k as f32))
}

fn first(product: &Tensor) -> Result<f32, Error> {
    Ok(product
        .narrow(0, 0, 1)?
        .narrow(1, 0, 1)?
        .to_vec_blocking::<f32>()?[0])
}

#[test]
fn a_product_is_as_exact_as_it_was_called() {
    let device = with_units();
    let (a, b, exact) = operands(&device).unwrap();
    let rounded = 2048.0;
    assert_eq!(device.matmul_precision(), MatmulPrecision::Highest);
    let before = a.matmul(&b).unwrap();
    device.set_matmul_precision(MatmulPrecision::High);
    // Called before, computed behind.
    assert_eq!(first(&before).unwrap(), exact);
    assert_eq!(first(&a.matmul(&b).unwrap()).unwrap(), rounded);
    assert_eq!(
        first(&a.linear(&b.t().unwrap(), None).unwrap()).unwrap(),
        rounded
    );
    let scope = Device::matmul_precision_scope(MatmulPrecision::Highest);
    assert_eq!(first(&a.matmul(&b).unwrap()).unwrap(), exact);
    let inner = Device::matmul_precision_scope(MatmulPrecision::Medium);
    assert_eq!(first(&a.matmul(&b).unwrap()).unwrap(), rounded);
    drop(inner);
    assert_eq!(device.matmul_precision(), MatmulPrecision::Highest);
    // Another thread has no scope.
    let elsewhere = std::thread::scope(|threads| {
        let product = threads.spawn(|| first(&a.matmul(&b)?));
        product.join().unwrap()
    });
    assert_eq!(elsewhere.unwrap(), rounded);
    drop(scope);
    assert_eq!(device.matmul_precision(), MatmulPrecision::High);
}
