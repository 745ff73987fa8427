//! `cargo xtask replay`: runs what a program recorded (`Device::record_calls`) on another adapter, and names the first operation
//! whose result differs.

use std::path::PathBuf;

use clap::Args;
use ziggurat_kernels::FusedOp;
use ziggurat_tensor::{
    AdapterWish, Device, DeviceOptions, RecordedCalls, ReplayOptions, SoftwareWish,
};

use crate::setup;
use xtask::failure::{Failure, Outcome};

/// What is run, where, and how exact it must be.
#[derive(Args, Clone, Debug)]
pub(crate) struct Choice {
    /// The folder of the recording
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The adapter whose name contains this, or `software` and `software:PROFILE`; else ZIGGURAT_ADAPTER, else the best one
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
    /// Results must be the same bits
    #[arg(long)]
    exact: bool,
}

/// The documented errors of elementwise operations.
fn accuracy(op: FusedOp) -> Option<[f64; 3]> {
    let tolerance = match op {
        FusedOp::Unary(op) => op.spec().tolerance,
        FusedOp::Binary(op) => op.spec().tolerance,
        FusedOp::Compare(_) | FusedOp::Predicate(_) | FusedOp::Where | FusedOp::Cast(_) => {
            return Some([0.0; 3]);
        }
        _ => return None,
    };
    Some([tolerance.ulps, tolerance.ulps_per_input, tolerance.absolute])
}

/// The adapter of a name.
fn wish(name: &str) -> AdapterWish {
    let profile = match name.split_once(':') {
        Some(("software", profile)) => Some(SoftwareWish::Named(profile.to_owned())),
        None if name == "software" => Some(SoftwareWish::default()),
        _ => None,
    };
    AdapterWish {
        name: profile.is_none().then(|| name.to_owned()),
        software: profile,
        ..AdapterWish::default()
    }
}

/// Replays, and prints what was found.
pub(crate) fn run(choice: &Choice) -> Outcome<String> {
    let recorded = RecordedCalls::open(&choice.folder)?;
    let device = Device::open_blocking(DeviceOptions {
        adapter: choice
            .adapter
            .as_deref()
            .map_or_else(AdapterWish::default, wish),
        ..DeviceOptions::default()
    })?;
    println!("recorded on: {}", recorded.adapter());
    println!("replayed on: {}", setup::describe(device.adapter()));
    let options = ReplayOptions::default().accuracy(accuracy);
    let options = if choice.exact {
        options.exact()
    } else {
        options
    };
    let report = recorded.replay(&device, &options)?;
    print!("{report}");
    match (report.first(), report.compared) {
        (Some(first), _) => Err(Failure::new(format!(
            "operation {}, {}, is the first that differs",
            first.call, first.op
        ))),
        (None, 0) => Err(Failure::new("no operation could be compared")),
        (None, compared) => Ok(format!(
            "{compared} operations compared, none differs; {} could not run here",
            report.not_run.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use ziggurat_tensor::{DType, Tensor};

    #[test]
    fn a_recording_replays_and_a_planted_difference_fails() {
        let device = Device::open_blocking(DeviceOptions::default()).unwrap();
        let name = format!("ziggurat-replay-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let recording = device.record_calls(&folder).unwrap();
        let x = Tensor::arange(&device, 1, 7, 1, DType::F32).unwrap();
        x.exp().unwrap().log().unwrap().eval_blocking().unwrap();
        assert_eq!(recording.finish().unwrap(), 3);
        let mut choice = Choice {
            folder: folder.clone(),
            adapter: None,
            exact: false,
        };
        assert!(run(&choice).unwrap().starts_with("3 operations compared"));
        choice.exact = true;
        run(&choice).unwrap();
        choice.exact = false;
        choice.adapter = Some("software:nvidia".to_owned());
        run(&choice).unwrap();
        choice.adapter = None;
        // exp is said to have been log.
        let calls = folder.join("calls.jsonl");
        let text = std::fs::read_to_string(&calls).unwrap();
        std::fs::write(&calls, text.replacen("unary op=exp", "unary op=log", 1)).unwrap();
        let failure = run(&choice).unwrap_err().to_string();
        assert!(failure.contains("operation 1, exp"), "{failure}");
        choice.folder = folder.join("nothing");
        assert!(run(&choice).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
