//! Every kernel of the catalogue belongs to an op of the sweep, with its dtypes.

use std::collections::{BTreeMap, BTreeSet};

use ziggurat_kernels::pipeline::{ShaderSource, Trace};
use ziggurat_kernels::{DType, catalogue};

use crate::sweep::all_cases;

/// Kernels that are no op of their own, and what runs them.
const PARTS: &[(&str, &str)] = &[
    (
        "count_non_finite",
        "what traces NaN: the tests of `non_finite` run it on every dtype, through views and on small grids",
    ),
    ("exchange_rows", "lu"),
    (
        "halves",
        "the first read behind a kernel with f16: the unit tests of numerics fold its grid",
    ),
    ("scatter_keys", "scatter_add and scatter_mul of floats"),
    ("numerics", "the probe of numerics, which has its own tests"),
];

/// Ops and the dtypes that the labels of their kernels name first; none where storage is moved, whatever it holds.
fn kernels() -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut ops: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for variant in catalogue().unwrap() {
        let label = variant.descriptor.source.name().to_owned();
        let mut names = label.split('/');
        let op = names.next().unwrap_or_default().to_owned();
        let dtype = names
            .flat_map(|name| name.split('_'))
            .find_map(|name| name.parse::<DType>().ok());
        ops.entry(op).or_default().extend(dtype.map(DType::name));
    }
    ops
}

/// Bodies that no small device reaches by size, and what runs them.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "attention/matrix.wgsl",
        "matrix units, which the software device has: the tests of attention run every way",
    ),
    ("attention/pieces.wgsl", "likewise"),
    (
        "attention/ranges.wgsl",
        "what comes before them for bf16 and f32",
    ),
    (
        "conv/packed/extremes.wgsl",
        "what packs operands for matrix units: `conv::packed`",
    ),
    ("conv/packed/flags.wgsl", "likewise"),
    ("conv/packed/pack.wgsl", "likewise"),
    ("conv/packed/pack_scaled.wgsl", "likewise"),
    (
        "elementwise/non_finite.wgsl",
        "what counts NaN has tests of its own, on small grids too",
    ),
    (
        "elementwise/probe.wgsl",
        "the probe of numerics has tests of its own",
    ),
    (
        "index/pieces.wgsl",
        "more than 4,096 updates of one element: the tests of indices",
    ),
    (
        "matmul/align.wgsl",
        "what copies operands for matrix units, as below",
    ),
    (
        "matmul/pack.wgsl",
        "what packs operands for matrix units, as below",
    ),
    (
        "matmul/tile_cooperative.wgsl",
        "matrix units, which the software device has: the unit tests of products run every way",
    ),
    ("matmul/tile_cooperative_64.wgsl", "likewise"),
    ("matmul/tile_pieces.wgsl", "likewise"),
    ("matmul/tile_split.wgsl", "likewise"),
    ("matmul/tile_streamed.wgsl", "likewise"),
    (
        "matmul/tile_wide.wgsl",
        "outputs that fill a device: the unit tests of products run every way",
    ),
    (
        "quantised/cooperative.wgsl",
        "matrix units: `quantised::cooperative`",
    ),
    ("quantised/packed_rows.wgsl", "likewise"),
    (
        "reduce/layers.wgsl",
        "sums of shares of many outputs: the unit tests of products run them",
    ),
];

/// Bodies for rows that a workgroup cannot keep in registers: the adapter's largest workgroup tells whether the sizes of the
/// sweep are such rows. `long_loops` of the tensor crate runs them on every adapter. And those for subgroups, which not every
/// adapter has, with the one whose place they take, and what sorts rows that no block holds: the tests of attention and of sorts
/// run them, on the software device too.
const BY_WORKGROUP: &[&str] = &[
    "attention/few.wgsl",
    "attention/lanes.wgsl",
    "attention/lanes_rows.wgsl",
    "norm/long.wgsl",
    "softmax/long.wgsl",
    "sort/block_digits.wgsl",
    "sort/keys.wgsl",
    "sort/split.wgsl",
];

/// The file that a kernel's text ends with.
pub(crate) fn body(source: &ShaderSource) -> String {
    let last = source.parts().last();
    last.map(|part| part.file.to_string()).unwrap_or_default()
}

/// Fails if a body of the catalogue is in no kernel of the trace, unless it is known to be run elsewhere, and if one of
/// those is in the trace after all.
pub(crate) fn assert_all_bodies_ran(trace: &Trace) {
    let ran: BTreeSet<String> = trace
        .kernels()
        .iter()
        .map(|kernel| body(&kernel.source))
        .collect();
    let all = catalogue().unwrap().into_iter();
    let all: BTreeSet<String> = all
        .map(|variant| body(&variant.descriptor.source))
        .collect();
    for body in BY_WORKGROUP {
        assert!(all.contains(*body), "the catalogue has no {body}");
    }
    let missed = all.difference(&ran).map(String::as_str);
    let missed: Vec<&str> = missed.filter(|body| !BY_WORKGROUP.contains(body)).collect();
    let known: Vec<&str> = ELSEWHERE.iter().map(|(body, _)| *body).collect();
    assert_eq!(
        missed, known,
        "bodies that were not run, and those of which that is known"
    );
}

/// For each kernel body the first op of the sweep that runs it.
pub(crate) fn one_op_per_body() -> BTreeSet<String> {
    let mut by_body: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for variant in catalogue().unwrap() {
        let source = &variant.descriptor.source;
        let op = source.name().split('/').next().unwrap_or_default();
        let ops = by_body.entry(body(source)).or_default();
        ops.insert(op.to_owned());
    }
    let cases = all_cases();
    let first = |ops: BTreeSet<String>| {
        let case = cases.iter().find(|case| ops.contains(case.op));
        case.map(|case| case.op.to_owned())
    };
    by_body.into_values().filter_map(first).collect()
}

#[test]
fn every_op_is_seen_through_views_and_in_every_size() {
    use crate::sweep::case::Kind;
    let mut seen: BTreeMap<&str, bool> = BTreeMap::new();
    for case in all_cases() {
        let has = |kind| (case.extents)(kind).is_ok();
        *seen.entry(case.op).or_default() |= has(Kind::Views) && has(Kind::Size(65));
    }
    for (op, seen) in seen {
        assert!(seen, "no form of {op} is seen through views, or in sizes");
    }
}

#[test]
fn every_kernel_of_the_catalogue_has_a_case() {
    let mut swept: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for case in all_cases() {
        let dtypes = case.dtypes.iter().map(|dtype| dtype.name());
        swept.entry(case.op).or_default().extend(dtypes);
    }
    let mut missing = Vec::new();
    for (op, dtypes) in kernels() {
        if PARTS.iter().any(|(part, _)| *part == op) {
            continue;
        }
        match swept.get(op.as_str()) {
            None => missing.push(format!("`{op}`")),
            Some(known) => {
                let lacking = dtypes.difference(known);
                missing.extend(lacking.map(|dtype| format!("`{op}` of {dtype}")));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "{missing:?} have kernels but no case in the sweep: add one to the family's file in crates/kernels/tests/all/sweep/ \
         (elementwise, walks, indexed, windows, products): `Case::new(<first part of the kernel's label>, <dtypes>)`, the \
         operands (`reads`), their extents for each `Kind` or the reason why there are none, the `call` and what it `gives`"
    );
}

#[test]
fn every_case_is_an_op_of_the_catalogue() {
    let ops = kernels();
    for case in all_cases() {
        assert!(ops.contains_key(case.op), "{} has no kernel", case.name());
    }
    for (part, _) in PARTS {
        assert!(ops.contains_key(*part), "{part} has no kernel");
    }
}
