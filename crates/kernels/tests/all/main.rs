//! Tests of the kernels on a device, in one program: it links the libraries once and opens each kind of device once.
//!
//! What counts the allocations of a thread has a program of its own, `allocations.rs`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "../common/campaign.rs"]
mod campaign;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/edge_runs.rs"]
mod edge_runs;
#[path = "../common/edge_values.rs"]
mod edge_values;
#[path = "../common/expect.rs"]
mod expect;
#[path = "../common/fusion.rs"]
mod fusion;
#[path = "../common/layer.rs"]
mod layer;
#[path = "../common/operands.rs"]
mod operands;
#[path = "../common/reducing.rs"]
mod reducing;
#[path = "../common/samples.rs"]
mod samples;

mod any_arguments;
mod attention;
mod between;
mod calls;
mod capture;
mod catalogue;
mod composite;
mod compositions;
mod conv;
mod edges;
mod edges_binary;
mod elementwise;
mod epilogue;
mod errors;
mod every_half;
mod formulas;
mod fused;
mod fused_forms;
mod fused_structure;
mod grid_sample;
mod huge_extents;
mod index;
mod large;
mod linalg;
mod matmul;
mod movement;
mod moves;
mod non_finite;
mod norm;
mod packed_products;
mod pool;
mod prologue;
mod quantised;
mod quantize_rows;
mod random;
mod reduce;
mod reduce_statistics;
mod resize;
mod rope;
mod rope_append;
mod scan;
mod selections;
mod softmax;
mod sort;
mod special_pairs;
mod sweep;
mod tune;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
