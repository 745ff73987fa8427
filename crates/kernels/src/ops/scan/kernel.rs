//! The kernels of scans, and how rows lie over their workgroups.

use ziggurat_core::DType;

use super::{Scan, ScanOp, ScanOptions};
use crate::limits::ability::Ability;
use crate::num::saturated;
use crate::ops::reduce::geometry::{ReduceGeometry, ReduceParams};
use crate::ops::reduce::lanes::{self, Lanes};
use crate::ops::reduce::with_constants;
use crate::source::candidate::Candidate;
use crate::source::choice::{KernelChoice, Reads};
use crate::source::params::Params;
use crate::source::prelude;

impl ScanOp {
    /// Adds the operator part.
    fn operator(self, choice: KernelChoice, input: DType) -> KernelChoice {
        match self {
            Self::Known(op) => choice.parts(op.operator(input)),
            Self::User { op, .. } => choice.part(op.path()),
        }
    }

    fn is_extreme(self) -> bool {
        matches!(self, Self::Known(op) if op.is_extreme())
    }
}

impl Scan {
    const fn operator(self, input: DType) -> &'static [&'static str] {
        match (self, input.compute()) {
            (Self::Sum, DType::Bool) => &["reduce/op/sum_bool.wgsl", "scan/op/zero.wgsl"],
            (Self::Sum, _) => &["reduce/op/sum.wgsl", "scan/op/zero.wgsl"],
            (Self::Product, DType::Bool) => &["scan/op/product_bool.wgsl"],
            (Self::Product, _) => &["scan/op/product.wgsl"],
            (Self::LogSumExp, _) => &[
                "functions/exp.wgsl",
                "functions/log.wgsl",
                "scan/op/logsumexp.wgsl",
            ],
            (_, DType::F32) => &["reduce/key/float.wgsl", "scan/op/extreme.wgsl"],
            (_, DType::Bool) => &["reduce/key/bool.wgsl", "scan/op/extreme.wgsl"],
            _ => &["reduce/key/int.wgsl", "scan/op/extreme.wgsl"],
        }
    }
}

/// What a pass reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Elements to results.
    Whole,
    /// Elements to the totals of chunks.
    Totals,
    /// Totals to what stands before each chunk.
    Carries,
    /// Elements and what stands before their chunk to results.
    Chunks,
}

/// A scan of given dtypes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) op: ScanOp,
    pub(super) input: DType,
    pub(super) output: DType,
    pub(super) options: ScanOptions,
}

/// Vectors of four elements that a lane takes at a time.
const VECTORS: u32 = 4;
/// The most invocations of a workgroup: accumulators of their vectors fit the least workgroup memory that a device may have.
const MAX_INVOCATIONS: u32 = 256;
/// About how many chunks there are where rows are cut: enough that workgroups come and go while others wait for memory, and
/// few enough for a workgroup to scan their totals in a tile or two.
const CHUNKS: u64 = 4096;

/// How rows lie over workgroups, in chunks of whole tiles where there are few of them.
pub(super) fn spread(geometry: &ReduceGeometry, may_split: bool, ability: &Ability) -> Lanes {
    let ability = Ability {
        workgroup_size: ability.workgroup_size.min(MAX_INVOCATIONS),
        ..*ability
    };
    let (outputs, len) = (geometry.outputs, geometry.len);
    let lanes = lanes::vectors(outputs, len, geometry.side(), may_split, &ability);
    if lanes.chunks == 1 {
        return lanes;
    }
    let tile = u64::from(lanes.lanes * lanes.step * VECTORS);
    let tiles = len.div_ceil(tile);
    let groups = outputs.div_ceil(u64::from(lanes.rows));
    let chunk_len = tile * (tiles * groups).div_ceil(CHUNKS);
    Lanes {
        chunks: saturated(len.div_ceil(chunk_len)),
        chunk_len: saturated(chunk_len),
        ..lanes
    }
}

/// Whether four elements of a row are read, and four results written, at once, where rows of results are `inner` elements
/// wide and the views begin there in their bindings.
pub(super) fn accesses(
    geometry: &ReduceGeometry,
    inner: u64,
    [read, write]: [u32; 2],
) -> [bool; 2] {
    [
        geometry.has_vec4() && read.is_multiple_of(4),
        inner == 1 && geometry.len.is_multiple_of(4) && write.is_multiple_of(4),
    ]
}

/// With vec4, elements of a row are read (the first) and results written (the second) four at a time.
pub(super) fn choice(
    form: Form,
    pass: Pass,
    [read4, write4]: [bool; 2],
    geometry: &ReduceGeometry,
    lanes: &Lanes,
) -> KernelChoice {
    let Form {
        op,
        input,
        output,
        options,
    } = form;
    let name = match pass {
        Pass::Whole => "whole",
        Pass::Totals => "totals",
        Pass::Carries => "carries",
        Pass::Chunks => "chunks",
    };
    let choice = KernelChoice::new(op.name())
        .name(input.name())
        .name(output.name())
        .name(name);
    let choice = if pass == Pass::Carries {
        choice.parts(&[prelude::FLOAT, prelude::load(input), "reduce/params.wgsl"])
    } else {
        choice.reads(Reads::Memory, input, "reduce/params.wgsl", read4)
    };
    let choice = op.operator(choice.store(output).part("reduce/index.wgsl"), input);
    let choice = if pass == Pass::Carries {
        choice.part("scan/input_acc.wgsl")
    } else {
        let lifted = if op.is_extreme() {
            "scan/input_extreme.wgsl"
        } else {
            "scan/input_elem.wgsl"
        };
        choice
            .access(read4)
            .parts(&["scan/order.wgsl", lifted])
            .constant("REVERSE", u8::from(options.reverse))
    };
    let choice = match pass {
        Pass::Totals | Pass::Carries => choice.part("scan/out_acc.wgsl"),
        Pass::Whole | Pass::Chunks if write4 => choice
            .name("to_vec4")
            .writes(output, true)
            .part("scan/out_vec4.wgsl"),
        Pass::Whole | Pass::Chunks => choice.writes(output, false).part("scan/out_element.wgsl"),
    };
    let carry = match pass {
        Pass::Chunks => "scan/carry.wgsl",
        _ => "scan/no_carry.wgsl",
    };
    let exclusive = match pass {
        Pass::Carries => true,
        Pass::Totals => false,
        Pass::Whole | Pass::Chunks => options.exclusive,
    };
    let choice = choice
        .parts(&[carry, "scan/body.wgsl"])
        .constant("EXCLUSIVE", u8::from(exclusive))
        .constant("TOTALS", u8::from(pass == Pass::Totals))
        .constant("PARTIALS", lanes.wg.saturating_mul(VECTORS))
        .without_zeroed_memory();
    let choice = if op.is_extreme() {
        choice.constant("LEAST", u8::from(op == Scan::ArgMin.into()))
    } else {
        choice
    };
    with_constants(choice, geometry, lanes)
}

/// Every scan of every dtype, in one pass and in three.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    let geometry = ReduceGeometry::rows(64, 4096);
    let lanes = spread(&geometry, true, &Ability::WEBGPU);
    for op in Scan::ALL {
        for input in DType::ALL {
            for output in DType::ALL.into_iter().filter(|&to| op.accepts(input, to)) {
                let accesses = [[false; 2], [true; 2], [true, false], [false, true]];
                let elements = [Pass::Whole, Pass::Totals, Pass::Chunks]
                    .into_iter()
                    .flat_map(|pass| accesses.map(|vec4| (pass, vec4)))
                    .filter(|&(pass, [_, write])| pass != Pass::Totals || !write);
                for (pass, vec4) in elements.chain([(Pass::Carries, [false; 2])]) {
                    let form = Form {
                        op: op.into(),
                        input,
                        output,
                        options: ScanOptions::default(),
                    };
                    all.push(Candidate::new(
                        choice(form, pass, vec4, &geometry, &lanes),
                        ReduceParams::FIELDS,
                    ));
                }
            }
        }
    }
    all
}
