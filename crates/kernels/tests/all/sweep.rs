//! The sweep: every op of the catalogue × arrangements of memory, edge shapes, sizes around vectors, workgroups and rows of
//! workgroups × dtypes, against f64 references.
//!
//! An op is a [`case::Case`] in one of the files by family; there is one loop ([`run`]) and one comparison, each use of
//! which is shown to be able to fail. [`complete`] refuses a kernel without a case, [`distinct`] two cases that the
//! samples do not tell apart.

mod aligned;
mod case;
mod complete;
mod distinct;
mod elementwise;
mod indexed;
mod layouts;
mod products;
mod quantised;
mod run;
mod windows;

use crate::common;
use case::{Case, Kind};
use run::{Scope, sizes_around, sweep};
use ziggurat_kernels::DType;

/// Every case of every family.
fn all_cases() -> Vec<Case> {
    let mut all = elementwise::unary_cases();
    all.extend(elementwise::binary_cases());
    all.extend(elementwise::other_cases());
    all.extend(layouts::reduction_cases());
    all.extend(layouts::row_cases());
    all.extend(indexed::cases());
    all.extend(windows::cases());
    all.extend(products::cases());
    all.extend(quantised::cases());
    all
}

/// Cases of one executor: drivers keep some megabytes per pipeline.
const AT_ONCE: usize = 24;

/// The first dtype for each width of storage.
fn one_per_width(case: &Case) -> Vec<DType> {
    let mut dtypes: Vec<DType> = Vec::new();
    for &dtype in &case.dtypes {
        if dtypes.iter().all(|other| other.bytes() != dtype.bytes()) {
            dtypes.push(dtype);
        }
    }
    dtypes
}

/// Every dtype, arrangement, edge shape, and size around a vector and a workgroup, on the software device. On every other
/// adapter, whose compiler takes ten times as long for a pipeline, and under other limits, there is one dtype for each width
/// of storage, and fewer sizes, unless `ZIGGURAT_SWEEP=whole` says otherwise; under the sanitizer, which looks at how memory
/// is used and not at values, there are few sizes.
fn everything(cases: &[Case]) {
    let is_set = |name| std::env::var_os(name).is_some();
    let is_sanitized = is_set("ZIGGURAT_SANITIZE");
    let is_whole = std::env::var("ZIGGURAT_SWEEP").is_ok_and(|value| value == "whole");
    for cases in cases.chunks(AT_ONCE) {
        let exec = common::fresh_executor();
        let is_software = exec.device().adapter().is_software_device();
        let is_second = !is_sanitized && !is_whole && (!is_software || is_set("ZIGGURAT_LIMITS"));
        let workgroup = exec.device().caps().workgroup_size as usize;
        let mut kinds = vec![Kind::Views];
        if is_sanitized {
            kinds.extend([5, workgroup + 1, 5000].map(Kind::Size));
        } else {
            kinds.extend(Kind::EDGES);
            let mut sizes = sizes_around(workgroup);
            if is_second {
                // Another number of elements along an axis is often another pipeline, and those take the time.
                sizes = vec![5, workgroup + 1, 4 * workgroup + 1];
            }
            kinds.extend(sizes.into_iter().map(Kind::Size));
        }
        let dtypes = |case: &Case| {
            if is_second {
                one_per_width(case)
            } else {
                case.dtypes.clone()
            }
        };
        let scope = Scope {
            kinds: &kinds,
            dtypes: &dtypes,
            through_views: &[workgroup + 1, 4 * workgroup + 1],
        };
        sweep(&exec, cases, &scope);
    }
}

/// Grids of more than a row, and of more than a plane, of workgroups: the device allows 24 along each dimension, and
/// workgroups are of 8 invocations. One op for each kernel body, one dtype for each width of storage, dense and through
/// views, and what only aligned operands choose; which bodies ran is told by the kernels that were made.
#[test]
fn every_body_holds_beyond_a_plane_of_workgroups() {
    let exec = common::folded_executor();
    let caps = exec.device().caps();
    assert_eq!((caps.max_workgroups, caps.workgroup_size), (24, 8));
    let ops = complete::one_op_per_body();
    let mut cases = all_cases();
    cases.retain(|case| ops.contains(case.op));
    // A workgroup per output passes a row at 25 and a plane at 577, one of 8 invocations of four elements at 769 and 18,433.
    let sizes = [30, 600, 800, 18_500];
    let kinds = sizes.map(Kind::Size);
    let scope = Scope {
        kinds: &kinds,
        dtypes: &one_per_width,
        through_views: &sizes,
    };
    sweep(&exec, &cases, &scope);
    aligned::hold_beyond_a_plane(&exec);
    complete::assert_all_bodies_ran(&exec.pipelines().trace());
}

macro_rules! families {
    ($($test:ident: $cases:expr;)*) => {$(
        #[test]
        fn $test() {
            everything(&$cases);
        }
    )*};
}

families! {
    rows_of_one_operand_hold_everywhere: elementwise::unary_cases();
    rows_of_two_operands_hold_everywhere: elementwise::binary_cases();
    casts_moves_and_fused_kernels_hold_everywhere: elementwise::other_cases();
    reductions_hold_everywhere: layouts::reduction_cases();
    rows_and_scans_hold_everywhere: layouts::row_cases();
    indexed_ops_hold_everywhere: indexed::cases();
    windowed_ops_hold_everywhere: windows::cases();
    products_hold_everywhere: products::cases();
    blocks_hold_everywhere: quantised::cases();
}
