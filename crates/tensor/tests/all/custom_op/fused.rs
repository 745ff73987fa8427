//! Custom ops in one kernel with their neighbours.

use super::*;

/// With the storage buffers that WebGPU promises.
pub(super) fn few_bindings() -> Device {
    let options = DeviceOptions {
        default_limits: true,
        ..DeviceOptions::default()
    };
    Device::open_blocking(options).unwrap()
}

/// What stands before, around and behind the op: elementwise, reductions, products, norms.
pub(super) fn neighbours(x: &Tensor, y: &Tensor, k: f32) -> Result<Vec<Tensor>, Error> {
    let before = x.mul(1.7)?.add(y)?;
    let own = curve().call(&[&before, &y.t()?.contiguous()?.t()?, &k])?;
    let behind = own.mul(y)?.add(0.37)?;
    let product = curve().call(&[&x.matmul(&y.t()?)?, &0.25, &k])?.relu()?;
    let column = y.slice(1, 0..1)?;
    let reduced = either().call(&[&behind, &column, &k])?.mean([1], true)?;
    let other = curve().call(&[&x.sum([1], true)?, &reduced, &3])?;
    let norm = curve().call(&[&x.softmax(-1)?, y, &k])?;
    Ok(vec![behind, product, reduced, other, norm])
}

#[test]
fn fused_and_unfused_give_equal_bits() {
    for device in devices() {
        for dtype in FLOATS {
            let x = numbers(&device, &[24, 36], dtype);
            let y = numbers(&device, &[36, 24], dtype).t().unwrap();
            for k in [0.5, -3.0, 1e30] {
                let fused: Vec<_> = neighbours(&x, &y, k).unwrap().iter().map(bits).collect();
                let _unfused = FusionPolicy::Unfused.enter();
                let unfused: Vec<_> = neighbours(&x, &y, k).unwrap().iter().map(bits).collect();
                assert_eq!(fused, unfused, "{dtype} {k}");
            }
        }
    }
}

#[test]
fn it_is_one_kernel_with_its_neighbours() {
    let device = common::device();
    let x = numbers(&device, &[8, 16], DType::F32);
    let one = |tensor: Tensor, ops: &[&str]| {
        let explained = tensor.explain().unwrap();
        let [kernel] = explained.kernels() else {
            panic!("{ops:?}: {} kernels", explained.kernels().len());
        };
        assert_eq!(kernel.ops(), ops);
        assert!(kernel.wgsl().unwrap().contains("---- curve"), "{explained}");
    };
    let call = |x: &Tensor| curve().call(&[x, x, &0.5]).unwrap();
    one(call(&x), &["curve"]);
    one(
        call(&x.exp().unwrap()).relu().unwrap(),
        &["exp", "curve", "relu"],
    );
    one(call(&x).sum([1], false).unwrap(), &["curve", "sum"]);
    one(call(&x.sum([1], false).unwrap()), &["sum", "curve"]);
    one(
        call(&x.matmul(&x.t().unwrap()).unwrap()),
        &["matmul", "curve"],
    );
    one(call(&x).softmax(-1).unwrap(), &["curve", "softmax"]);
}

#[test]
fn numbers_are_parameters_and_texts_are_compiled_once() {
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let compiled = || device.executor().pipelines().stats().entries;
    let x = numbers(&device, &[100], DType::F32);
    let call = |k: f32| values(&either().call(&[&x, &-1, &k]).unwrap());
    let first = call(0.5);
    let before = compiled();
    assert_ne!(first, call(3.0));
    assert_eq!(compiled(), before);
}
