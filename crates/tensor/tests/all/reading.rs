//! Reading: awaiting on several runtimes, nesting, text, and what is refused.

use crate::common;
use std::sync::Arc;

use ziggurat_tensor::{DType, DeviceOptions, Element, Tensor, io, read_many, read_many_blocking};

#[test]
fn handles_are_send_and_sync_and_clones_share_values() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Tensor>();
    shared::<ziggurat_tensor::Device>();
    shared::<ziggurat_tensor::Error>();
    shared::<ziggurat_tensor::CustomKernel>();
}

#[test]
fn reads_resolve_on_any_runtime() {
    async fn work(a: Tensor) -> f32 {
        let sum = (&a * &a).unwrap().sum_all().unwrap();
        let (values, sum) = futures::future::join(a.to_vec::<f32>(), sum.item::<f32>()).await;
        assert_eq!(values.unwrap(), [1.0, 2.0, 3.0]);
        sum.unwrap()
    }
    let device = common::device();
    let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0], [3]).unwrap();
    assert_eq!(futures::executor::block_on(work(a.clone())), 14.0);
    let current = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    assert_eq!(current.block_on(work(a.clone())), 14.0);
    let many = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    assert_eq!(
        many.block_on(async { tokio::spawn(work(a)).await.unwrap() }),
        14.0
    );
}

#[test]
fn blocking_reads_work_inside_an_executor() {
    let device = common::device();
    let a = Tensor::from_slice(&device, &[1i32, 2], [2]).unwrap();
    assert_eq!(
        futures::executor::block_on(async { a.to_string() }),
        "[1 2]"
    );
}

#[test]
fn threads_share_a_device() {
    let device = common::device();
    let a = Arc::new(Tensor::arange(&device, 0, 1000, 1, DType::F32).unwrap());
    let threads: Vec<_> = (0..8)
        .map(|i| {
            let a = Arc::clone(&a);
            std::thread::spawn(move || {
                for _ in 0..10 {
                    let b = (&*a * i).unwrap().sum_all().unwrap();
                    assert_eq!(b.item_blocking::<f32>().unwrap(), 499_500.0 * i as f32);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn every_dtype_comes_back_as_it_went() {
    fn check<T: Element>(device: &ziggurat_tensor::Device) {
        for len in [0usize, 1, 2, 3, 5, 17] {
            let values: Vec<T> = (0..len).map(|i| T::from_f64(i as f64)).collect();
            let tensor = Tensor::from_vec(device, values.clone(), [len]).unwrap();
            assert_eq!(tensor.dtype(), T::DTYPE);
            assert_eq!(tensor.to_vec_blocking::<T>().unwrap(), values);
            let numbers: Vec<f64> = values.iter().map(|value| value.to_f64()).collect();
            assert_eq!(tensor.to_f64_vec_blocking().unwrap(), numbers);
        }
    }
    let device = common::device();
    check::<f32>(&device);
    check::<ziggurat_tensor::f16>(&device);
    check::<ziggurat_tensor::bf16>(&device);
    check::<i32>(&device);
    check::<u32>(&device);
    check::<u8>(&device);
    check::<i8>(&device);
    check::<bool>(&device);
}

#[test]
fn nested_vectors_have_the_shape_of_the_tensor() {
    let device = common::device();
    let a = Tensor::arange(&device, 0, 12, 1, DType::I32).unwrap();
    assert_eq!(a.to_vec1_blocking::<i32>().unwrap().len(), 12);
    let b = a.reshape([3, 4]).unwrap().t().unwrap();
    assert_eq!(
        b.to_vec2_blocking::<i32>().unwrap(),
        [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    );
    let c = a.reshape([2, 3, 2]).unwrap();
    assert_eq!(
        c.to_vec3_blocking::<i32>().unwrap(),
        [[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]]
    );
    let d = Tensor::zeros(&device, [2, 0, 3], DType::I32).unwrap();
    assert_eq!(
        d.to_vec3_blocking::<i32>().unwrap(),
        vec![Vec::<Vec<i32>>::new(); 2]
    );
    assert_eq!(
        c.to_vec2_blocking::<i32>().unwrap_err().to_string(),
        "to_vec2: the rank must be 2: shape is [2, 3, 2]"
    );
}

#[test]
fn reading_another_dtype_or_more_than_one_item_is_an_error() {
    let device = common::device();
    let a = Tensor::from_slice(&device, &[1.0f32, 2.0], [2]).unwrap();
    let error = a.to_vec_blocking::<i32>().unwrap_err();
    assert!(error.is_dtype());
    assert_eq!(
        error.to_string(),
        "to_vec: the tensor holds f32, asked for i32"
    );
    assert!(a.item_blocking::<f32>().unwrap_err().is_shape());
}

#[test]
fn many_tensors_are_read_with_one_submission() {
    let device = common::device();
    let tensors: Vec<Tensor> = (0..20u8)
        .map(|i| Tensor::from_slice(&device, &vec![i; usize::from(i)], [usize::from(i)]).unwrap())
        .collect();
    let bytes = read_many_blocking(&tensors.iter().collect::<Vec<_>>()).unwrap();
    for (i, bytes) in bytes.iter().enumerate() {
        assert_eq!(*bytes, vec![i as u8; i]);
    }
    assert!(
        futures::executor::block_on(read_many(&[]))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn text_is_laid_out_as_numpy_does_and_debug_reads_nothing() {
    let device = common::device();
    let a = Tensor::from_slice(&device, &[1.0f32, -2.5, f32::NAN, f32::INFINITY], [2, 2]).unwrap();
    assert_eq!(a.to_string(), "[[ 1.  -2.5]\n [ nan  inf]]");
    let big = Tensor::arange(&device, 0, 10_000, 1, DType::I32)
        .unwrap()
        .reshape([100, 100])
        .unwrap();
    assert!(
        big.to_string()
            .starts_with("[[   0    1    2 ...   97   98   99]\n")
    );
    assert!(
        big.t()
            .unwrap()
            .to_string()
            .starts_with("[[   0  100  200 ... 9700 9800 9900]\n")
    );
    let text = format!("{a:?}");
    assert!(
        text.starts_with("Tensor { shape: [2, 2], dtype: ") && !text.contains("2.5"),
        "{text}"
    );
}

#[test]
fn a_future_that_is_polled_again_is_an_error() {
    fn again<T>(future: impl Future<Output = Result<T, ziggurat_tensor::Error>>) {
        let mut future = Box::pin(future);
        assert!(ziggurat_device::block_on(future.as_mut()).is_ok());
        for _ in 0..2 {
            let error = ziggurat_device::block_on(future.as_mut()).err().unwrap();
            assert!(error.to_string().contains("polled again"), "{error}");
        }
    }
    let device = common::device();
    let a = Tensor::ones(&device, [2, 2], DType::F32).unwrap();
    again(a.to_vec::<f32>());
    again(a.to_bytes());
    again(a.to_f64_vec());
    again(a.to_vec2::<f32>());
    again(a.sum_all().unwrap().item::<f32>());
    again(a.eval());
    again(a.nonzero());
    again(device.synchronize());
    again(device.check_indices());
    again(device.profile());
    again(io::npy_to_bytes(&a));
    again(io::safetensors_to_bytes(&[("a", &a)]));
    let path = |name: &str| {
        let process = std::process::id();
        std::env::temp_dir().join(format!("ziggurat-polled-again-{process}-{name}"))
    };
    again(io::save_npy(path("npy"), &a));
    again(io::save_safetensors(path("safetensors"), &[("a", &a)]));
    for name in ["npy", "safetensors"] {
        std::fs::remove_file(path(name)).unwrap();
    }
    again(ziggurat_tensor::Device::open(DeviceOptions::default()));
    again(device.reopen());
    let kernels = |result: Result<_, ziggurat_kernels::KernelError>| {
        result.map_err(|error| error.to_string())
    };
    let mut asked = Box::pin(device.executor().numerics());
    assert!(kernels(ziggurat_device::block_on(asked.as_mut())).is_ok());
    let error = kernels(ziggurat_device::block_on(asked.as_mut())).unwrap_err();
    assert!(error.contains("polled again"), "{error}");
}
