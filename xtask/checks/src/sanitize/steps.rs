//! What runs under the sanitizer.
//!
//! Everything is built for the whole workspace, as the other stages build it, so that nothing is compiled anew.

use std::path::Path;
use std::process::Command;

use xtask::failure::{Failure, Outcome};
use xtask::{process, workspace};

/// One command.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: &'static str,
    /// Which kind of GPU the software device looks like.
    profile: &'static str,
    /// `ZIGGURAT_LIMITS`, if it is to be set.
    limits: &'static str,
    what: What,
}

#[derive(Debug)]
enum What {
    /// Tests of the kernels and of tensors whose paths contain one of the first, and none of the second.
    Tests(&'static [&'static str], &'static [&'static str]),
    /// A program by its path in the folder of builds, with its arguments.
    Program(&'static [&'static str]),
}

/// Each op with each dtype over each arrangement of memory, fused kernels of each form, and graphs that fuse, at random and
/// by hand.
const WHOLE: &[&str] = &[
    "sweep::",
    "fused_forms::",
    "fused::",
    "prologue::",
    "epilogue::",
    "between::",
    "fusion::",
    "prologue_ops::",
];

/// Tests of these whose names contain this are left out: what is larger than a binding takes minutes and gigabytes when
/// each word is checked, and other tests run the same kernels.
const TOO_LARGE: &[&str] = &["over_the_binding_limit"];

/// Tests that run what an op has several kernels for. The others of their files run the same kernels again, with more
/// sizes.
const FORMS: &[&str] = &[
    "attention::factors::every_way_reads_integers",
    "attention::forms::every_dtype_has_every_mask",
    "attention::forms::every_way_of_many_rows",
    "attention::forms::heads_of_any_range",
    "conv::axes::planes_and_volumes_of_every_dtype_take_every_kernel",
    "conv::axes::kernels_of_one_element_agree",
    "conv::axes::every_way_gives",
    "edges::the_probe_of_numerics",
    "elementwise::operands_of_one_element",
    "index::scatters_write",
    "index::scatters_in_any_order",
    "matmul::every_dtype_moves_by_words",
    "matmul::every_way_gives",
    "matmul::few_columns_give",
    "matmul::vectors_of_every_dtype",
    "packed_products::epilogues",
    "packed_products::what_is_not_finite",
    "pool::results_that_end_within_a_word",
    "pool::rows_of_adaptive_windows_agree",
    "quantised::an_embedding_has_the_rows",
    "quantised::every_format_decodes",
    "quantised::forms::a_form_is_written_through",
    "quantised::forms::every_part_of_the_forms_runs",
    "quantised::products::a_product_is_written_through",
    "quantised::products::every_part_of_the_kernels_runs",
    "quantised::products::rows_are_written_through",
    "quantize_rows::every_dtype_and_form",
    "rope_append::every_form_has_the_bits",
    "matmul::floats_may_be_written_wider",
    "non_finite::nans_and",
    "random::words_are",
    "reduce::every_reduction_of_every_dtype_takes_two_passes",
    "reduce_statistics::extremes_come_with_their_positions",
    "reduce_statistics::arguments_are_used_in_one_pass_and_in_two",
    "reduce_statistics::variances_and_means_come_from_one_kernel",
    "rope::every_pairing_position_and_arrangement",
    "scan::every_scan_of_every_dtype_takes_one_pass_and_three",
    "sort::every_dtype_is_sorted_in_blocks_and_by_digits",
];

/// Tests of kernels that no loop of few iterations leaves room for.
const LONG: &[&str] = &[
    "conv::packed::expressions_are_written_by_every",
    "conv::packed::few_channels_are_read_by_rows",
    "conv::packed::operands_are_packed",
    "conv::packed::channels_of_few_tiles_are_shared",
    "conv::shares::planes_and_volumes",
    "conv::transposed::phases_give",
    "conv::transposed::expressions_are_written",
    "conv::transposed::taps_that_overlap",
    "conv::transposed::volumes_have",
    "quantised::cooperative::every_part_of_the_kernels_runs",
    "quantised::cooperative::products_on_matrix_units",
];

/// Unit tests that run what is chosen on larger devices, or for larger operands.
const WAYS: &[&str] = &[
    "matmul::tests::every_way_gives",
    "matmul::tests::streamed::",
    "conv::transposed::tests::every_way_gives",
];

/// So few turns of its loops for an invocation that what takes many of them in tests of millions of elements, and is cut into
/// several dispatches then, is cut at any size.
const SHORT_LOOPS: &str = "iterations:4";

/// Tests of what is cut.
const CUT: &[&str] = &[
    "sweep::windowed_ops_hold_everywhere",
    "sweep::rows_and_scans_hold_everywhere",
    "sweep::products_hold_everywhere",
    "attention::forms::every_dtype_has_every_mask",
    "attention::masks_of_either_kind_and_lengths",
    "fused_forms::norms_of_expressions_take_weights_and_biases",
    "fused_forms::shares_and_their_logarithms",
    "prologue::softmax_reads_an_expression",
    "prologue::norms_of_random_expressions",
    "between::softmax_writes_an_expression",
    "between::norms_write_an_expression",
    "epilogue::a_dense_layer",
];

/// All steps; between them every variant of the catalogue has to run.
pub(super) fn all() -> Vec<Step> {
    let step = |name, profile, what| Step {
        name,
        profile,
        limits: "",
        what,
    };
    // Generated vectors have millions of elements.
    let vectors = What::Program(&[
        "examples/conformance",
        "crates/tensor/conformance",
        "--filter",
        "!gen_",
    ]);
    let mut steps = vec![
        step("conformance", "webgpu-default", vectors),
        step("ops", "nvidia", What::Tests(WHOLE, TOO_LARGE)),
        step("forms", "nvidia", What::Tests(FORMS, &[])),
        step("long forms", "nvidia", What::Tests(LONG, &[])),
        step("ways", "nvidia", What::Tests(WAYS, &[])),
        Step {
            limits: SHORT_LOOPS,
            ..step("cut", "nvidia", What::Tests(CUT, &[]))
        },
        Step {
            limits: SHORT_LOOPS,
            ..step("cut forms", "nvidia", What::Tests(FORMS, &[]))
        },
    ];
    for words in [
        &["digits"][..],
        &["examples/first"],
        &["examples/executor"],
        &["examples/custom_wgsl"],
    ] {
        let name = words.first().copied().unwrap_or_default();
        steps.push(step(name, "nvidia", What::Program(words)));
    }
    steps
}

/// Builds what the steps run.
pub(super) fn build() -> Outcome {
    let mut command = workspace::cargo();
    process::stream(command.args(["build", "--workspace", "--examples", "--bin", "digits"]))
}

impl Step {
    pub(super) fn run(&self, folder: &Path) -> Outcome {
        let mut command = match &self.what {
            What::Tests(names, without) => tests(names, without),
            What::Program(words) => program(words)?,
        };
        command
            .current_dir(workspace::root())
            .env("ZIGGURAT_SANITIZE", folder)
            .env("ZIGGURAT_ADAPTER", format!("software:{}", self.profile));
        if !self.limits.is_empty() {
            command.env("ZIGGURAT_LIMITS", self.limits);
        }
        process::stream(&mut command)
    }
}

/// Runs tests of these names without those.
fn tests(names: &[&str], without: &[&str]) -> Command {
    let mut command = workspace::cargo();
    command.args([
        "test",
        "-q",
        "--workspace",
        "--no-fail-fast",
        "--lib",
        "--test",
        "all",
        "--",
    ]);
    command.args(names);
    command.args(without.iter().flat_map(|name| ["--skip", name]));
    command
}

/// A program that is built.
fn program(words: &[&str]) -> Outcome<Command> {
    let (name, arguments) = words
        .split_first()
        .ok_or_else(|| Failure::new("a program without a name"))?;
    let mut command = workspace::program(name)?;
    command.args(arguments);
    Ok(command)
}
