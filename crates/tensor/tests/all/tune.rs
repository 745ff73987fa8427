//! Tuning of tensors: plans that were remembered are made anew, and results keep their bounds.

use std::time::Duration;

use ziggurat_tensor::{DType, Device, DeviceOptions, Error, Tensor, TuneOptions, TunedOutcome};

fn quick() -> TuneOptions {
    TuneOptions::default()
        .rounds(1)
        .batch(Duration::from_micros(100))
}

fn model(x: &Tensor, w: &Tensor) -> Result<Tensor, Error> {
    // Fused behind the product, so that the plan is one that is remembered.
    (x.matmul(w)? * x.sum([1], true)?)?.relu()
}

fn operands(device: &Device) -> [Tensor; 2] {
    let values = |len: u16| (0..len).map(|i| f32::from(i % 7) - 2.0).collect::<Vec<_>>();
    let x = Tensor::from_slice(device, &values(40 * 48), [40, 48]).unwrap();
    let w = Tensor::from_slice(device, &values(48 * 36), [48, 36]).unwrap();
    [x, w]
}

#[test]
fn a_model_that_ran_before_is_met_and_planned_anew() {
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let [x, w] = operands(&device);
    let wanted = model(&x, &w).unwrap().to_vec_blocking::<f32>().unwrap();
    // Sums of integers: every way gives the same.
    assert_eq!(
        model(&x, &w).unwrap().to_vec_blocking::<f32>().unwrap(),
        wanted
    );
    let remembered = device.plan_stats();
    let report = device
        .tune_blocking(quick(), || Ok([model(&x, &w)?]))
        .unwrap();
    assert_eq!(report.met, 1, "{report}");
    assert!(
        matches!(report.problems[0].outcome, TunedOutcome::Chosen(_)),
        "{report}"
    );
    assert_eq!(device.tuning().len(), 1);
    assert_eq!(
        model(&x, &w).unwrap().to_vec_blocking::<f32>().unwrap(),
        wanted
    );
    assert!(
        device.plan_stats().misses > remembered.misses,
        "plans of before were used"
    );
    let known = device
        .tune_blocking(quick(), || Ok([model(&x, &w)?]))
        .unwrap();
    assert_eq!(known.problems[0].outcome, TunedOutcome::Known);
}

#[test]
fn nothing_is_tuned_by_itself_and_errors_are_those_of_the_program() {
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let [x, w] = operands(&device);
    drop(model(&x, &w).unwrap().to_vec_blocking::<f32>().unwrap());
    assert!(device.tuning().is_empty());
    let error = device
        .tune_blocking(quick(), || Ok(vec![w.matmul(&x)?]))
        .unwrap_err();
    assert!(error.to_string().contains("matmul"), "{error}");
    let ones = Tensor::ones(&device, [4], DType::F32).unwrap();
    let report = device
        .tune_blocking(quick(), || Ok([(&ones + &ones)?]))
        .unwrap();
    assert_eq!((report.met, report.problems.len()), (0, 0));
}
