//! The race in `docs/custom-kernels.md` is found as the page says, and its mended form is clean.

#![cfg(feature = "software")]
use ziggurat_tensor::software::{Kind, assert_clean, sanitize};
use ziggurat_tensor::{
    AdapterWish, CustomKernel, DType, Device, DeviceOptions, SoftwareWish, Tensor,
};

const PAGE: &str = include_str!("../../../../docs/custom-kernels.md");

/// The first block of the page in that language which contains `word`.
fn block<'a>(language: &str, word: &str) -> &'a str {
    PAGE.split(&format!("```{language}\n"))
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(block, _)| block))
        .find(|block| block.contains(word))
        .unwrap()
}

fn run(device: &Device, source: &str) {
    let smooth = CustomKernel::wgsl("smooth", source.to_owned())
        .input("x", DType::F32)
        .output("out", DType::F32);
    let x = Tensor::ones(device, [256], DType::F32).unwrap();
    let y = smooth.call(&[&x]).shape([256]).run().unwrap();
    assert_eq!(y.to_vec_blocking::<f32>().unwrap().len(), 256);
}

#[test]
fn the_race_of_the_page_is_found() {
    let source = block("wgsl", "tile");
    let report = sanitize(|device: &Device| run(device, source)).unwrap();
    assert_eq!(report.kinds(), [Kind::Race]);
    let shown = report.to_string();
    assert_eq!(shown.trim_end(), block("text", "race").trim_end());
}

#[test]
fn with_its_barrier_the_kernel_is_clean() {
    let source = block("wgsl", "tile");
    let mended = source.replace("    out[", "    workgroupBarrier();\n    out[");
    assert_ne!(mended, source);
    assert_clean(|device: &Device| run(device, &mended));
}

#[test]
fn the_print_of_the_page_is_what_comes_out() {
    let wish = AdapterWish {
        software: Some(SoftwareWish::default()),
        ..AdapterWish::default()
    };
    let device = Device::open_blocking(DeviceOptions {
        adapter: wish,
        ..DeviceOptions::default()
    })
    .unwrap();
    let kernel = CustomKernel::wgsl("invert", block("wgsl", "debug_print"))
        .input("x", DType::F32)
        .output("out", DType::F32);
    let mut values = vec![1.0_f32; 256];
    values[3 * 64 + 12] = 0.5_f32.powi(20);
    let x = Tensor::from_slice(&device, &values, [256]).unwrap();
    let y = kernel.call(&[&x]).shape([256]).run().unwrap();
    assert_eq!(y.to_vec_blocking::<f32>().unwrap().len(), 256);
    let prints = device.executor().device().take_debug_prints();
    let shown: Vec<String> = prints.prints.iter().map(ToString::to_string).collect();
    assert_eq!(shown, [block("text", "invert").trim_end()]);
}

/// Where a length is no multiple of four, kernels read what lies behind their output, to keep it.
#[test]
fn the_librarys_own_kernels_are_clean_at_every_length() {
    assert_clean(|device: &Device| {
        for len in 1..10_usize {
            let a = Tensor::ones(device, [len], DType::F32).unwrap();
            let quotient = (&a / &a).unwrap();
            assert_eq!(quotient.to_vec_blocking::<f32>().unwrap(), vec![1.0; len]);
            let table = Tensor::ones(device, [len, 7], DType::F32).unwrap();
            let strided = table.transpose(0, 1).unwrap();
            let sum = (&strided + &strided).unwrap().sum([0], false).unwrap();
            assert_eq!(sum.to_vec_blocking::<f32>().unwrap(), vec![14.0; len]);
            let halves = strided.to_dtype(DType::F16).unwrap();
            halves.relu().unwrap().eval_blocking().unwrap();
        }
    });
}
