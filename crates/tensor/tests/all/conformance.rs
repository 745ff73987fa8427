//! The committed conformance vectors, through the public interface.
//!
//! Every case of an op that is built must pass; an op is either built or on `conformance-unbuilt.txt`. A second folder of
//! vectors can be named by `ZIGGURAT_CONFORMANCE_EXTRA`.
#[path = "../../examples/conformance/suite.rs"]
mod suite;

use crate::common;
use std::path::{Path, PathBuf};

use suite::case::{self, Case};
use suite::folder::{negative_control, run_folder};
use suite::report::read_list;
use ziggurat_tensor::{Device, DeviceOptions, FusionPolicy};

fn crate_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn check_folder(folder: &Path, fusion: FusionPolicy) {
    let device = common::device();
    // A handle of its own: the policy is not that of other tests.
    let device = Device::from_executor(device.executor());
    device.set_fusion(fusion);
    check_on(&device, folder, None);
}

fn check_on(device: &Device, folder: &Path, filter: Option<&str>) {
    let list = read_list(&std::fs::read_to_string(crate_path("conformance-unbuilt.txt")).unwrap());
    let report = run_folder(device, folder, filter, |op| {
        println!("{}", op.text());
    })
    .unwrap();
    println!("{}", report.totals());
    assert_eq!(report.json()["passed"], report.passed());
    assert!(report.passed() > 0, "nothing passed");
    let disagreements = report.disagreements(&list);
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
    let failures: Vec<String> = report
        .ops
        .iter()
        .filter(|op| op.failed() > 0)
        .map(|op| op.text())
        .collect();
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.join("\n"),
        report.totals()
    );
}

#[test]
fn every_case_of_a_built_op_passes() {
    check_folder(&crate_path("conformance"), FusionPolicy::Fused);
}

#[test]
fn every_case_of_a_built_op_passes_unfused() {
    check_folder(&crate_path("conformance"), FusionPolicy::Unfused);
}

/// Operands of more than 64 KiB are taken apart; without the vectors of millions of elements, whose parts are many.
#[test]
fn every_case_passes_where_bindings_are_small() {
    let options = DeviceOptions {
        max_binding_bytes: Some(64 << 10),
        ..DeviceOptions::default()
    };
    let device = Device::open_blocking(options).unwrap();
    check_on(&device, &crate_path("conformance"), Some("!gen_"));
}

#[test]
fn every_case_of_the_extra_folder_passes() {
    match std::env::var_os("ZIGGURAT_CONFORMANCE_EXTRA") {
        Some(folder) => check_folder(Path::new(&folder), FusionPolicy::Fused),
        None => eprintln!("SKIPPED: ZIGGURAT_CONFORMANCE_EXTRA names no folder"),
    }
}

#[test]
fn the_list_of_unbuilt_ops_names_only_ops_of_the_vectors() {
    let list = read_list(&std::fs::read_to_string(crate_path("conformance-unbuilt.txt")).unwrap());
    let cases = case::read(&crate_path("conformance")).unwrap();
    for op in &list {
        assert!(
            cases.iter().any(|case| case.op == *op),
            "{op} is in no case"
        );
        assert!(
            !suite::ops::is_built(op),
            "{op} is built: take it off the list"
        );
    }
}

/// Cases of several kinds: close and exact and ulp tolerances, samples, integers, bool, f16, two outputs.
const CONTROLS: &[&str] = &[
    "add",
    "arg_max",
    "cast",
    "equal",
    "expand",
    "matmul",
    "max_pool2d",
    "relu",
    "softmax",
    "where",
];

#[test]
fn wrong_expected_values_are_noticed() {
    let device = common::device();
    let folder = crate_path("conformance");
    let wanted =
        |case: &Case| CONTROLS.contains(&case.op.as_str()) && !case.name.starts_with("torch/gen_");
    let noticed = negative_control(&device, &folder, wanted).unwrap();
    println!("{noticed:?}");
    for (corruption, count) in noticed {
        assert!(
            count >= 10,
            "{corruption:?} was tried on {count} cases only"
        );
    }
}

#[test]
fn a_folder_that_is_not_there_is_an_error_that_names_it() {
    let error = case::read(Path::new("/no/such/folder")).unwrap_err();
    assert!(error.contains("/no/such/folder/cases.jsonl"), "{error}");
}
