//! The search for the first operation whose finite inputs give a NaN: every family, fused chains, captures, users'
//! kernels, and what is no finding.

use crate::tensor_kernel::devices;
use ziggurat_tensor::software::assert_clean;
use ziggurat_tensor::{
    Any, Attention, AxisRange, BlockFormat, Conv2dOptions, ConvTranspose2dOptions, CustomKernel,
    CustomOp, CustomReduce, DType, Device, DeviceOptions, Error, Generator, GridSampleOptions,
    InterpolateMode, InterpolateOptions, KvCache, KvSlots, NanReport, Pad, Pool2dOptions,
    QuantizedTensor, RopeForm, RopeTable, Sequence, Tensor, TensorKernel, like,
};

/// A device of one test's own: a trace sees what all threads run on it.
pub(crate) fn fresh() -> Device {
    Device::open_blocking(DeviceOptions::default()).unwrap()
}

pub(crate) type Model = fn(&Device) -> Result<Tensor, Error>;

/// Traces a function, and reads what it gives.
fn traced(device: &Device, model: impl Fn(&Device) -> Result<Tensor, Error>) -> NanReport {
    let trace = device.trace_nan().unwrap();
    let result = model(device).unwrap();
    result.eval_blocking().unwrap();
    trace.finish_blocking().unwrap()
}

fn of(device: &Device, dims: &[usize], values: &[f32]) -> Tensor {
    let len = dims.iter().product();
    let values: Vec<f32> = values.iter().copied().cycle().take(len).collect();
    Tensor::from_slice(device, &values, dims).unwrap()
}

/// Large numbers whose sums and products are infinite.
fn large(device: &Device, dims: &[usize]) -> Tensor {
    of(device, dims, &[3e38])
}

fn index(device: &Device, values: &[i32]) -> Tensor {
    Tensor::from_slice(device, values, [values.len()]).unwrap()
}

/// A model of each family whose finite inputs give something infinite or NaN, and the name of the operation.
pub(crate) const FAMILIES: &[(&str, Model)] = &[
    ("exp", |d| of(d, &[2, 2], &[1.0, 100.0]).exp()),
    ("log", |d| of(d, &[3], &[1.0, -1.0]).log()),
    ("div", |d| of(d, &[5], &[1.0]).div(of(d, &[5], &[1.0, 0.0]))),
    ("to_dtype", |d| {
        of(d, &[2, 9], &[1.0, 7e4]).to_dtype(DType::F16)
    }),
    ("sum", |d| large(d, &[4, 300]).sum([1], false)),
    ("prod", |d| large(d, &[4, 3]).prod([0], false)),
    ("norm", |d| large(d, &[4, 70]).norm(1.0, [1], false)),
    ("cumsum", |d| large(d, &[4, 9]).cumsum(1)),
    ("rms_norm", |d| {
        of(d, &[2, 8], &[0.0]).rms_norm([8], None, 0.0)
    }),
    ("layer_norm", |d| {
        let x = of(d, &[2, 8], &[1.0]);
        x.layer_norm([8], None, None, 0.0)
    }),
    ("matmul", |d| large(d, &[20, 9]).matmul(&large(d, &[9, 7]))),
    ("matmul", |d| {
        let x = of(d, &[64, 64], &[6e4]).to_dtype(DType::F16)?;
        x.matmul(&x)
    }),
    ("conv2d", |d| {
        let weight = large(d, &[3, 2, 3, 3]);
        large(d, &[1, 2, 8, 8]).conv2d(&weight, None, &Conv2dOptions::default())
    }),
    ("avg_pool2d", |d| {
        let options = Pool2dOptions::new([2, 2]);
        large(d, &[1, 1, 4, 4]).avg_pool2d(&options)
    }),
    ("scaled_dot_product_attention", |d| {
        let q = of(d, &[1, 1, 4, 8], &[1e30]);
        q.scaled_dot_product_attention(&q, &q, &Attention::default())
    }),
    ("scatter_add", |d| {
        let to = index(d, &[0, 0, 1]);
        large(d, &[2]).scatter_add(0, &to, &large(d, &[3]))
    }),
    ("inverse", |d| of(d, &[2, 2], &[0.0]).inverse()),
    ("rope", |d| {
        let table = RopeTable::new(d, 4, 4, 1e4)?;
        of(d, &[1, 1, 4, 4], &[3.4e38]).rope(&table, RopeForm::default())
    }),
    ("conv_transpose2d", |d| {
        let weight = large(d, &[2, 3, 3, 3]);
        large(d, &[1, 2, 4, 4]).conv_transpose2d(&weight, None, &ConvTranspose2dOptions::default())
    }),
    ("interpolate", |d| {
        let x = of(d, &[1, 1, 1, 4], &[-3.4e38, 3.4e38]);
        let options = InterpolateOptions {
            mode: InterpolateMode::Cubic,
            ..InterpolateOptions::default()
        };
        x.interpolate(&[1, 9], &options)
    }),
    ("linear", |d| {
        let weight = of(d, &[8, 32], &[64.0]).quantize_blocking(BlockFormat::Q8_0)?;
        QuantizedTensor::linear(&weight, &of(d, &[2, 32], &[3e38]), None)
    }),
    ("blow", |d| {
        let text = "fn apply(x: f32) -> f32 { return x * 1e30; }";
        let op = CustomOp::elementwise("blow", text)?;
        op.call(&[&of(d, &[6], &[1e20])])
    }),
    ("total", |d| {
        let text = "fn combine(a: f32, b: f32) -> f32 { return a + b; }";
        CustomReduce::new("total", 0.0, text)?.call(&large(d, &[3, 5]), [1], false)
    }),
    ("grow", |d| {
        let kernel = TensorKernel::wgsl(
            "grow",
            "fn kernel(i: u32) { y_store(i, x_at(i) * x_at(i)); }",
        )
        .input("x", Any::floats())
        .output("y", like("x"))
        .writes_all();
        let results = kernel.call(&[&large(d, &[7])]).run()?;
        Ok(results.clone())
    }),
    ("custom", |d| {
        let text = "@group(0) @binding(0) var<storage, read> x: array<f32>;
            @group(0) @binding(1) var<storage, read_write> y: array<f32>;
            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x < arrayLength(&x) { y[id.x] = x[id.x] * 10.0; }
            }";
        let kernel = CustomKernel::wgsl("custom", text)
            .input("x", DType::F32)
            .output("y", DType::F32);
        kernel.call(&[&large(d, &[64])]).run()
    }),
    ("twice/custom", |d| {
        let text = "@group(0) @binding(0) var<storage, read_write> y: array<f32>;
            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x < arrayLength(&y) { y[id.x] = y[id.x] * 10.0; }
            }";
        let kernel = CustomKernel::wgsl("custom", text);
        let mut twice = Sequence::new(d, "twice");
        let y = twice.copy(&of(d, &[64], &[1e38]))?;
        twice.step(&kernel, [y]).elements(64).run()?;
        twice.finish(y)
    }),
];

#[test]
fn each_family_is_named() {
    let device = fresh();
    for (at, (name, model)) in FAMILIES.iter().enumerate() {
        let report = traced(&device, model);
        let found = report.first();
        let found = found.unwrap_or_else(|| panic!("{at} {name}: nothing in {report:?}"));
        assert_eq!(found.op, *name, "{at}: {report}");
        assert!(found.nans + found.infinities > 0 && !found.inputs.is_empty());
        let error = report.check().unwrap_err();
        assert!(
            error.is_non_finite() && error.to_string().starts_with(name),
            "{error}"
        );
    }
}

#[test]
fn each_family_is_named_on_every_kind_of_device() {
    for device in devices().iter().skip(1) {
        for (at, (name, model)) in FAMILIES.iter().enumerate() {
            let report = traced(device, model);
            let found = report.first().map(|found| found.op.as_str());
            assert_eq!(found, Some(*name), "{at} on {}: {report:?}", device.name());
        }
    }
}

/// What moves or compares finite numbers, or draws them, makes nothing else of them.
pub(crate) const FINITE: &[Model] = &[
    |d| of(d, &[4, 6], &[1.0, 2.0, -3.0]).softmax(1),
    |d| of(d, &[4, 6], &[50.0, 2.0]).log_softmax(1),
    |d| of(d, &[4, 6], &[2.0, 1.0]).gather(1, &index(d, &[0, 3]).reshape([2, 1])?),
    |d| Ok(of(d, &[40], &[2.0, 1.0, 3.0]).sort(0, false)?.0),
    |d| Ok(of(d, &[4, 6], &[2.0, 1.0]).max_with_indices(1, false)?.0),
    |d| Tensor::randn(d, [100], DType::F32, &mut Generator::new(3)),
    |d| Tensor::arange(d, 0, 10, 1, DType::F32),
    |d| {
        let x = of(d, &[1, 1, 1, 2], &[3e38, -3e38]);
        x.interpolate(&[1, 5], &InterpolateOptions::default())
    },
    |d| {
        let x = of(d, &[1, 2, 4, 6], &[3e38, -3e38]);
        x.max_pool2d(&Pool2dOptions::new([2, 2]))
    },
    |d| {
        let x = of(d, &[1, 1, 3, 3], &[3e38, 1.0]);
        let grid = of(d, &[1, 2, 2, 2], &[0.5, -0.25]);
        x.grid_sample(&grid, &GridSampleOptions::default())
    },
    |d| Tensor::concat(&[&large(d, &[2, 3]), &of(d, &[1, 3], &[2.0])], 0),
    |d| large(d, &[4, 6]).roll([1, 2], [0, 1]),
    |d| large(d, &[4, 6]).argmax(1, false),
    |d| {
        let x = of(d, &[3, 3], &[1.0, 2.0]);
        x.slice_assign(
            &[AxisRange::from(1..), AxisRange::from(..)],
            &of(d, &[3], &[7.0]),
        )
    },
    |d| {
        let weight = of(d, &[8, 32], &[0.5, -0.25]).quantize_blocking(BlockFormat::Q8_0)?;
        QuantizedTensor::linear(&weight, &of(d, &[2, 32], &[1.0]), None)
    },
    |d| {
        let mut cache = KvCache::new(d, [1, 2], 8, [4, 4], DType::F32)?;
        let new = of(d, &[1, 2, 3, 4], &[1.0, 2.0]);
        cache.append(&new, &new)?;
        cache.keys()? + 1.0
    },
    |d| {
        let mut cache = KvSlots::new(d, [1, 2], 8, [4, 4], DType::I8)?;
        let new = of(d, &[1, 2, 3, 4], &[1.0, 2.0]);
        cache.write(0, 0, &new, &new)?;
        cache.attend(0, 3, &new, &Attention::default())
    },
];

#[test]
fn what_is_finite_is_no_finding() {
    let device = fresh();
    for (at, model) in FINITE.iter().enumerate() {
        let report = traced(&device, model);
        assert!(
            report.found.is_empty() && report.given.is_none(),
            "{at}: {report:?}"
        );
        assert!(report.operations > 0, "{at}");
        report.check().unwrap();
    }
}

#[test]
fn what_the_program_gives_is_no_finding_and_is_told() {
    let device = fresh();
    let given: [(&str, Model); 5] = [
        ("exp", |d| of(d, &[3], &[f32::NAN]).exp()),
        ("mul", |d| {
            Tensor::full(d, [3], f32::INFINITY, DType::F32)?.mul(0.0)
        }),
        ("masked_fill", |d| {
            let x = of(d, &[2, 4], &[1.0, 2.0]);
            x.masked_fill(&x.gt(1.5)?, f32::NEG_INFINITY)?.softmax(1)
        }),
        ("pad", |d| {
            of(d, &[3], &[1.0]).pad([[1, 1]], Pad::Constant, f32::NEG_INFINITY)
        }),
        ("matmul", |d| {
            of(d, &[2, 2], &[f32::INFINITY]).matmul(&of(d, &[2, 2], &[0.0]))
        }),
    ];
    for (name, model) in given {
        let report = traced(&device, model);
        assert!(report.found.is_empty(), "{name}: {report:?}");
        if name != "mul" {
            assert_eq!(report.given.as_deref(), Some(name));
        }
    }
}

#[test]
fn what_is_made_finite_again_is_not_the_first() {
    let device = fresh();
    // The branch that is not taken, then a real overflow.
    let report = traced(&device, |d| {
        let x = of(d, &[4], &[200.0, -1.0]);
        let safe = x.lt(0.0)?.where_(&x.exp()?, 1.0)?;
        safe.mul(3e38)?.mul(&x)
    });
    assert_eq!(report.found.len(), 2, "{report:?}");
    assert!(report.found[0].is_absorbed && report.found[0].op == "exp");
    assert_eq!(report.first().unwrap().op, "mul");
    // Whoever reads the infinity as it is keeps it.
    let report = traced(&device, |d| {
        let high = of(d, &[4], &[200.0]).exp()?;
        let _finite = high.minimum(1.0)?;
        high + 1.0
    });
    assert_eq!(report.first().unwrap().op, "exp");
}

/// A function that is on the stack of what it calls.
#[inline(never)]
fn chain(x: &Tensor) -> Result<Tensor, Error> {
    x.mul(2.0)?.exp()?.sub(1.0)?.sum([1], false)?.sqrt()
}

#[test]
fn the_operation_within_a_fused_chain_is_named_with_place_and_counts() {
    let device = fresh();
    let x = of(&device, &[3, 40], &[1.0, 2.0, 90.0]);
    let unfused = {
        let trace = device.trace_nan().unwrap();
        let result = chain(&x).unwrap();
        let report = trace.finish_blocking().unwrap();
        let found = report.first().unwrap();
        assert_eq!((found.op.as_str(), found.call), ("exp", 1));
        assert_eq!((found.infinities, found.nans), (40, 0));
        assert_eq!(found.first, [0, 2]);
        assert_eq!(found.output.0.dims(), [3, 40]);
        // A stripped program has no names of functions, and then no caller is known.
        let calls = std::backtrace::Backtrace::force_capture().to_string();
        match found.caller.as_deref() {
            Some(caller) => assert!(caller.contains("nan_trace"), "{caller}"),
            None => assert!(!calls.contains("nan_trace"), "named in {calls}"),
        }
        result
    };
    // The same bits as without, and nothing is traced any more.
    let fused = chain(&x).unwrap();
    assert_eq!(
        unfused.to_vec_blocking::<f32>().unwrap(),
        fused.to_vec_blocking::<f32>().unwrap()
    );
}

#[test]
fn values_recorded_before_are_traced_when_they_are_asked_for() {
    let device = fresh();
    let x = of(&device, &[8], &[100.0]);
    let pending = x.exp().unwrap().sum([0], false).unwrap();
    let trace = device.trace_nan().unwrap();
    pending.eval_blocking().unwrap();
    let found = trace.finish_blocking().unwrap();
    assert_eq!(found.first().unwrap().op, "sum of exp");
}

#[test]
fn a_replay_is_one_operation_and_captures_are_refused_meanwhile() {
    let device = fresh();
    let like = of(&device, &[4], &[1.0]);
    let captured = device.capture(&[&like], |x| Ok(vec![x[0].exp()?.sum([0], false)?]));
    let captured = captured.unwrap();
    let report = traced(&device, |d| {
        Ok(captured.run(&[&of(d, &[4], &[1.0, 99.0])])?.remove(0))
    });
    let found = report.first().unwrap();
    assert_eq!((found.op.as_str(), found.infinities), ("replay", 1));
    let report = traced(&device, |_| Ok(captured.run(&[&like])?.remove(0)));
    assert_eq!(report.first(), None);

    let trace = device.trace_nan().unwrap();
    let error = device.capture(&[&like], |x| Ok(x.to_vec())).unwrap_err();
    assert!(
        error.is_argument() && error.to_string().starts_with("capture: "),
        "{error}"
    );
    assert!(
        device.trace_nan().unwrap_err().is_argument(),
        "one at a time"
    );
    drop(trace);
    drop(device.trace_nan().unwrap());
    let refused = device.capture(&[&like], |x| {
        assert!(x[0].device().trace_nan().unwrap_err().is_argument());
        Ok(x.to_vec())
    });
    refused.unwrap();
}

#[test]
fn long_programs_views_and_empty_tensors_are_traced() {
    let device = fresh();
    let trace = device.trace_nan().unwrap();
    let mut x = of(&device, &[6, 4], &[1.0]).t().unwrap();
    for _ in 0..800 {
        x = (x + 1e-3).unwrap();
    }
    let empty = Tensor::zeros(&device, [0, 4], DType::F32).unwrap();
    drop((empty.exp().unwrap() / 0.0).unwrap());
    // A view whose base has infinities where it does not look.
    let mixed = of(&device, &[4, 4], &[1.0, f32::INFINITY]);
    let clean = mixed.slice_step(1, .., 2).unwrap().exp().unwrap();
    let last = x.t().unwrap().mul(3e38).unwrap();
    let report = trace.finish_blocking().unwrap();
    assert!(report.operations > 800);
    assert_eq!(report.given, None, "the view is finite");
    let found = report.first().unwrap();
    assert_eq!(
        (found.op.as_str(), found.first.as_slice()),
        ("mul", &[0, 0][..])
    );
    drop((clean, last));
}

#[test]
fn a_trace_is_clean_under_the_sanitizer() {
    assert_clean(|device: &Device| {
        for (_, model) in FAMILIES {
            let report = traced(device, model);
            assert!(report.first().is_some());
        }
    });
}
