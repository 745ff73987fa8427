//! The cases, by suite. Names and shapes are those of torch_bench.py wherever it has the case.

mod attention;
mod conv;
mod elementwise;
mod growth;
mod matmul;
mod models;
mod movement;
mod quantized;
mod reduce;
mod rows;
mod sort_scan;

use clap::ValueEnum;
use ziggurat_tensor::DType;

use crate::bench::case::Case;

/// A family of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Suite {
    /// Functions of single elements, casts, broadcasts
    Elementwise,
    /// Sums, maxima and positions, over all and along an axis
    Reduce,
    /// Softmax, norms and losses of rows
    Rows,
    /// Copies, permutes, gathers, joins, caches
    Movement,
    /// Matrix products: square, skinny, batched, odd
    Matmul,
    /// Convolutions and pools
    Conv,
    /// Attention: whole sequences and single queries
    Attention,
    /// Sorts, scans, selections, scatters, random numbers
    SortScan,
    /// Layers of models
    Models,
    /// Time per element over sizes, lengths of rows and sizes near multiples of tiles
    Growth,
    /// The smallest ops: what the host pays to record, replay and wait; transfers and copies
    Host,
    /// The same expressions on tensors, unfused and fused: what fusing saves
    Fusion,
    /// From the start of a process to its first result
    Start,
}

/// The suites that a run without `--suite` has: every op at its full size.
pub(crate) const OPS: [Suite; 9] = [
    Suite::Elementwise,
    Suite::Reduce,
    Suite::Rows,
    Suite::Movement,
    Suite::Matmul,
    Suite::Conv,
    Suite::Attention,
    Suite::SortScan,
    Suite::Models,
];

impl Suite {
    /// Its cases; none for suites that are no lists of ops.
    pub(crate) fn cases(self, quick: bool) -> Vec<Case> {
        match self {
            Self::Elementwise => elementwise::cases(quick),
            Self::Reduce => reduce::cases(quick),
            Self::Rows => rows::cases(quick),
            Self::Movement => movement::cases(quick),
            Self::Matmul => {
                let mut cases = matmul::cases(quick);
                cases.extend(quantized::cases(quick));
                cases
            }
            Self::Conv => conv::cases(quick),
            Self::Attention => attention::cases(quick),
            Self::SortScan => sort_scan::cases(quick),
            Self::Models => models::cases(quick),
            Self::Growth => growth::cases(quick),
            Self::Host | Self::Fusion | Self::Start => Vec::new(),
        }
    }
}

/// The first of two sizes, or with `quick` the second.
fn size<T>(quick: bool, full: T, small: T) -> T {
    if quick { small } else { full }
}

/// The two dtypes that memory-bound ops are measured in.
const WIDE_AND_NARROW: [DType; 2] = [DType::F32, DType::F16];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::collections::HashSet;

    use ziggurat_tensor::{Device, DeviceOptions, Tensor};

    use super::*;
    use crate::bench::case::Lab;
    use crate::bench::expect::judge;

    #[test]
    fn every_case_has_its_own_label() {
        for quick in [false, true] {
            let suites = Suite::value_variants().iter();
            let cases = suites.flat_map(|suite| suite.cases(quick));
            let mut labels: Vec<String> = cases.map(|case| case.label()).collect();
            let count = labels.len();
            labels.sort();
            labels.dedup();
            assert_eq!(labels.len(), count);
        }
    }

    /// Something else of the same shape and dtype.
    fn spoiled(out: &Tensor) -> Tensor {
        if out.dtype() == DType::Bool {
            return out.logical_not().unwrap();
        }
        let doubled = out.add(out).unwrap();
        doubled.add(1.0).unwrap().to_dtype(out.dtype()).unwrap()
    }

    #[test]
    fn results_pass_their_checks_and_others_do_not() {
        let device = Device::open_blocking(DeviceOptions::default()).unwrap();
        let lab = Lab::new(&device);
        let mut seen = HashSet::new();
        for suite in OPS {
            for case in suite.cases(true) {
                // One shape of each: they are checked alike.
                if !seen.insert((case.op.clone(), case.dtype)) {
                    continue;
                }
                let ready = case.prepare(&lab).unwrap();
                let out = (ready.run)().unwrap();
                let error = (ready.check)(&out).unwrap();
                assert!(
                    judge(error, ready.bound).is_ok(),
                    "{}: error {error:.2e}",
                    case.label()
                );
                let error = (ready.check)(&spoiled(&out)).unwrap();
                assert!(
                    judge(error, ready.bound).is_err(),
                    "{}: a wrong result passes",
                    case.label()
                );
            }
        }
    }
}
