//! Quantised matrices: products, rows and numbers beside those of the same matrix as a tensor.

use crate::common::device;
use ziggurat_tensor::{
    BlockFormat, DType, Device, DeviceOptions, Error, FusionPolicy, GateHalf,
    QuantizedLinearOptions, QuantizedTensor, Tensor, f16,
};

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i * 37 + seed * 11) % 101) as f32 / 50.0 - 1.0)
        .collect()
}

fn tensor(device: &Device, dims: &[usize], seed: usize) -> Tensor {
    Tensor::from_slice(device, &numbers(dims.iter().product(), seed), dims).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f32> {
    let tensor = tensor.to_dtype(DType::F32).unwrap();
    tensor.to_vec_blocking::<f32>().unwrap()
}

fn near(got: &Tensor, want: &Tensor, bound: f32) {
    assert_eq!(got.dims(), want.dims());
    assert_eq!(got.dtype(), want.dtype());
    for (at, (got, want)) in values(got).iter().zip(values(want)).enumerate() {
        let error = (got - want).abs();
        assert!(error <= bound, "element {at} is {got}, should be {want}");
    }
}

/// A device whose bindings are small, so that matrices have parts.
fn limited() -> Device {
    Device::open_blocking(DeviceOptions {
        max_binding_bytes: Some(4096),
        pipeline_cache: false,
        ..DeviceOptions::default()
    })
    .unwrap()
}

#[test]
fn quantising_loses_half_a_step_at_most() {
    let device = device();
    let x = tensor(&device, &[6, 64], 1);
    for (format, steps) in [
        (BlockFormat::Q8_0, 127.0),
        (BlockFormat::Q4_0, 8.0),
        (BlockFormat::Q4_1, 7.5),
        (BlockFormat::Q5_0, 16.0),
        (BlockFormat::Q5_1, 15.5),
    ] {
        let blocks = x.quantize_blocking(format).unwrap();
        assert_eq!((blocks.format(), blocks.dims()), (format, &[6, 64][..]));
        // Scales are rounded to f16; of those around a middle the other side has a step less.
        let bound = if format == BlockFormat::Q4_0 || format == BlockFormat::Q5_0 {
            1.02 / steps
        } else {
            0.57 / steps
        };
        near(&blocks.dequantize(DType::F32).unwrap(), &x, bound);
        let stored = blocks.to_blocks_blocking().unwrap();
        let again = QuantizedTensor::from_blocks(&device, &stored, [6, 64], format).unwrap();
        let (a, b) = (blocks.dequantize(DType::F16), again.dequantize(DType::F16));
        assert_eq!(values(&a.unwrap()), values(&b.unwrap()));
        // What blocks can say they say again.
        let exact = again.dequantize(DType::F32).unwrap();
        let twice = exact.quantize_blocking(BlockFormat::Q8_0).unwrap();
        near(&twice.dequantize(DType::F32).unwrap(), &exact, 0.57 / 127.0);
    }
}

#[test]
fn a_dense_layer_is_that_of_its_numbers() {
    for device in [device(), limited()] {
        let plain = tensor(&device, &[70, 96], 2);
        let weight = plain.quantize_blocking(BlockFormat::Q5_1).unwrap();
        let dense = weight.dequantize(DType::F32).unwrap();
        let bias = tensor(&device, &[70], 3);
        for dims in [&[96][..], &[1, 96], &[3, 96], &[2, 3, 96], &[2, 11, 96]] {
            let x = tensor(&device, dims, 4);
            for bias in [None, Some(&bias)] {
                let got = weight.linear(&x, bias).unwrap();
                near(&got, &x.linear(&dense, bias).unwrap(), 1e-4);
            }
            let half = x.to_dtype(DType::F16).unwrap();
            let got = weight.linear(&half, None).unwrap();
            near(
                &got,
                &half
                    .linear(&dense, None)
                    .unwrap()
                    .to_dtype(DType::F16)
                    .unwrap(),
                4e-2,
            );
        }
        // Columns of a wider tensor, transposed.
        let wide = tensor(&device, &[100, 5], 5);
        let x = wide.narrow(0, 2, 96).unwrap().t().unwrap();
        near(
            &weight.linear(&x, None).unwrap(),
            &x.linear(&dense, None).unwrap(),
            1e-4,
        );
    }
}

/// Norms and gates in the kernel of a product of one row, or around one of several, are those of the operations.
#[test]
fn a_dense_layer_with_norm_and_gates_is_its_operations() {
    let whole = device();
    let parts = limited();
    let of = |device: &Device, dims: &[usize], dtype: DType, form: [bool; 3]| {
        let weight = tensor(device, &[48, 64], 3);
        let blocks = weight.quantize_blocking(BlockFormat::Q8_0).unwrap();
        let x = tensor(device, dims, 4).to_dtype(dtype).unwrap();
        let (scales, bias) = (tensor(device, &[64], 5), tensor(device, &[48], 6));
        let [norm, swiglu, has_bias] = form;
        let options = QuantizedLinearOptions {
            rms_norm: norm.then_some((&scales, 1e-3)),
            swiglu,
            bias: has_bias.then_some(&bias),
        };
        let before = device.executor().device().queue_stats().dispatches;
        x.storage().unwrap();
        let got = blocks.linear_with(&x, &options).unwrap();
        got.storage().unwrap();
        let dispatches = device.executor().device().queue_stats().dispatches - before;
        let mut want = x.to_dtype(DType::F32).unwrap();
        if norm {
            want = want.rms_norm([64], Some(&scales), 1e-3).unwrap();
        }
        want = blocks.linear(&want, options.bias).unwrap();
        if swiglu {
            want = want.swiglu(-1, GateHalf::First).unwrap();
        }
        // Of results up to 200.
        let bound = if dtype == DType::F32 { 1e-3 } else { 0.3 };
        near(&got, &want.to_dtype(got.dtype()).unwrap(), bound);
        // Without the norm, or the gates, it is something else.
        if norm && dims != [64] {
            let plain = QuantizedLinearOptions {
                rms_norm: None,
                ..options
            };
            let plain = values(&blocks.linear_with(&x, &plain).unwrap());
            assert_ne!(plain, values(&got));
        }
        dispatches
    };
    for form in 0..8 {
        let form = [1, 2, 4].map(|bit| form & bit > 0);
        for dtype in [DType::F32, DType::F16] {
            for dims in [&[64][..], &[1, 64], &[1, 1, 64], &[3, 64], &[2, 11, 64]] {
                of(&whole, dims, dtype, form);
            }
        }
        of(&parts, &[1, 64], DType::F32, form);
    }
    // A norm of the input's dtype, and gates: one dispatch, where there was one for each.
    let own = Device::open_blocking(DeviceOptions::default()).unwrap();
    let one = of(&own, &[1, 1, 64], DType::F32, [true, true, false]);
    let several = of(&own, &[2, 64], DType::F32, [true, true, false]);
    assert_eq!((one, several), (1, 3));
}

#[test]
fn fused_and_unfused_have_the_same_bits() {
    let device = device();
    let weight = tensor(&device, &[40, 64], 6).quantize_blocking(BlockFormat::Q4_0);
    let weight = weight.unwrap();
    let bias = tensor(&device, &[40], 7);
    for rows in [2, 30] {
        let x = tensor(&device, &[rows, 64], 8);
        let run = || {
            let gate = weight.linear(&x, Some(&bias)).unwrap().silu().unwrap();
            values(&gate.mul(weight.linear(&x, None).unwrap()).unwrap())
        };
        let fused = run();
        let _scope = FusionPolicy::Unfused.enter();
        assert_eq!(fused, run(), "{rows} rows");
    }
}

#[test]
fn an_embedding_is_that_of_its_numbers() {
    for device in [device(), limited()] {
        let table = tensor(&device, &[300, 32], 9);
        let table = table.quantize_blocking(BlockFormat::Q8_0).unwrap();
        let dense = table.dequantize(DType::F32).unwrap();
        let ids = [0, 299, -1, -300, 7, 150, 128, 111];
        let ids = Tensor::from_slice(&device, &ids, [2, 4]).unwrap();
        let got = table.embedding(&ids, DType::F32).unwrap();
        assert_eq!(values(&got), values(&dense.embedding(&ids).unwrap()));
        // Outside: the nearest end.
        let beyond = Tensor::from_slice(&device, &[-301i32, 300, 4000], [3]).unwrap();
        let got = table.embedding(&beyond, DType::F32).unwrap();
        assert_eq!(values(&got), values(&dense.embedding(&beyond).unwrap()));
        let unsigned = Tensor::from_slice(&device, &[5u32, 299, u32::MAX], [3]).unwrap();
        let got = table.embedding(&unsigned, DType::F16).unwrap();
        assert_eq!(got.dtype(), DType::F16);
        let want = dense.embedding(&unsigned).unwrap();
        assert_eq!(values(&got), values(&want.to_dtype(DType::F16).unwrap()));
        let none = Tensor::zeros(&device, [0], DType::I32).unwrap();
        assert_eq!(table.embedding(&none, DType::F32).unwrap().dims(), [0, 32]);
    }
}

#[test]
fn a_capture_holds_it() {
    let device = device();
    let table = tensor(&device, &[50, 64], 10);
    let table = table.quantize_blocking(BlockFormat::Q8_0).unwrap();
    let ids = |id: i32| Tensor::from_slice(&device, &[id], [1, 1]).unwrap();
    let pass = |ids: &Tensor| -> Result<Tensor, Error> {
        let x = table.embedding(ids, DType::F32)?;
        table.linear(&x, None)?.softmax(-1)
    };
    let captured = device
        .capture(&[&ids(3)], |inputs| Ok(vec![pass(&inputs[0])?]))
        .unwrap();
    for id in [4, 49, 0] {
        let got = captured.run(&[&ids(id)]).unwrap();
        assert_eq!(values(&got[0]), values(&pass(&ids(id)).unwrap()));
    }
}

#[test]
fn an_index_that_names_no_row_is_seen_in_the_checked_mode() {
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    device.set_index_checks(true);
    let table = tensor(&device, &[8, 32], 11);
    let table = table.quantize_blocking(BlockFormat::Q4_1).unwrap();
    let ids = Tensor::from_slice(&device, &[7i32, 8], [2]).unwrap();
    let rows = table.embedding(&ids, DType::F32).unwrap();
    let error = rows.to_vec_blocking::<f32>().unwrap_err();
    assert!(error.to_string().starts_with("embedding: "), "{error}");
}

#[test]
fn memory_is_that_of_the_blocks() {
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let zeros = vec![0; 18 * 64 * 1024];
    let before = device.usage().live;
    let weight = QuantizedTensor::from_blocks(&device, &zeros, [1024, 2048], BlockFormat::Q4_0);
    let weight = weight.unwrap();
    assert_eq!(weight.bytes(), 18 * 64 * 1024);
    let live = device.usage().live - before;
    assert!(
        live >= weight.bytes() && live < weight.bytes() * 5 / 4,
        "{live}"
    );
}

/// A call that fails, the kind of its error, and how the text begins.
type Mistake = (Result<(), Error>, fn(&Error) -> bool, &'static str);

#[test]
fn mistakes_are_errors_that_say_what_was_given() {
    let device = device();
    let weight = tensor(&device, &[8, 64], 12);
    let weight = weight.quantize_blocking(BlockFormat::Q8_0).unwrap();
    let f = |dims: &[usize]| Tensor::zeros(&device, dims, DType::F32).unwrap();
    let ids = Tensor::zeros(&device, [2], DType::I32).unwrap();
    let blocks = |bytes: &[u8], dims: &[usize], format| {
        QuantizedTensor::from_blocks(&device, bytes, dims, format).map(drop)
    };
    let quantize = |x: &Tensor, format| x.quantize_blocking(format).map(drop);
    let infinite = Tensor::from_slice(&device, &[f32::INFINITY; 32], [1, 32]).unwrap();
    let huge = Tensor::from_slice(&device, &[1e30f32; 32], [1, 32]).unwrap();
    let cases: [Mistake; 13] = [
        (
            weight.linear(&f(&[2, 32]), None).map(drop),
            Error::is_shape,
            "linear: input and weight differ in the last dimension: left is [2, 32], right is [8, 64]",
        ),
        (
            weight.linear(&f(&[]), None).map(drop),
            Error::is_shape,
            "linear: input and weight differ in the last dimension: left is [], right is [8, 64]",
        ),
        (
            weight.linear(&f(&[2, 64]), Some(&f(&[9]))).map(drop),
            Error::is_shape,
            "linear: the bias must be [8]: it is [9]",
        ),
        (
            weight
                .linear(&f(&[2, 64]).to_dtype(DType::I32).unwrap(), None)
                .map(drop),
            Error::is_dtype,
            "linear: the numbers of blocks are floats: i32 asked for",
        ),
        (
            weight.dequantize(DType::U8).map(drop),
            Error::is_dtype,
            "dequantize: the numbers of blocks are floats: u8 asked for",
        ),
        (
            weight.embedding(&f(&[2]), DType::F32).map(drop),
            Error::is_dtype,
            "embedding: indices must be integers: they are f32",
        ),
        (
            weight.embedding(&ids, DType::Bool).map(drop),
            Error::is_dtype,
            "embedding: the numbers of blocks are floats: bool asked for",
        ),
        (
            blocks(&[0; 33], &[1, 32], BlockFormat::Q8_0),
            Error::is_shape,
            "from_blocks: [1, 32] of Q8_0 must have 34 bytes: 33 given",
        ),
        (
            blocks(&[0; 34], &[34], BlockFormat::Q8_0),
            Error::is_shape,
            "from_blocks: only matrices are quantised: the shape is [34]",
        ),
        (
            blocks(&[], &[1, 128], BlockFormat::Q6_K),
            Error::is_shape,
            "from_blocks: blocks: rows of Q6_K must be whole blocks of 256 elements, but they have 128",
        ),
        (
            quantize(&f(&[2, 256]), BlockFormat::Q4_K),
            Error::is_argument,
            "quantize: Q4_K is only read: Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0 are written",
        ),
        (
            quantize(&infinite, BlockFormat::Q8_0),
            Error::is_argument,
            "quantize: element 0 is inf: only finite numbers can be quantised",
        ),
        (
            quantize(&huge, BlockFormat::Q4_0),
            Error::is_argument,
            "quantize: the block at element 0 needs the scale -125000",
        ),
    ];
    for (result, kind, text) in cases {
        let error = result.unwrap_err();
        let got = error.to_string();
        assert!(
            kind(&error) && got.starts_with(text),
            "{got}, should be {text}"
        );
    }
    let rows = quantize(&f(&[2, 40]), BlockFormat::Q8_0).unwrap_err();
    assert!(rows.is_shape(), "{rows}");
    let half = Tensor::from_slice(&device, &[f16::ONE; 64], [2, 32]).unwrap();
    assert!(half.quantize_blocking(BlockFormat::Q8_0).is_ok());
}
