//! Tests of tensors on a device, in one program: it links the libraries once and opens the shared device once.
//!
//! Programs of their own have `capture_allocations` and `flat_memory` (an allocator that counts), `many_devices` (threads
//! and devices that come and go; drivers keep data per process), and `stress` (built again under the thread sanitizer).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

#[path = "../../../kernels/tests/common/campaign.rs"]
mod campaign;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/counts.rs"]
mod counts;
#[path = "../common/einsum_reference.rs"]
mod einsum_reference;
#[path = "../../../kernels/tests/common/expect.rs"]
mod expect;
#[path = "../../../kernels/tests/common/operands.rs"]
mod operands;
#[path = "../common/problems.rs"]
mod problems;
#[path = "../../../kernels/tests/common/reducing.rs"]
mod reducing;

mod any_files;
mod arithmetic;
mod attention;
mod bad_kernels;
mod cached_capture;
mod capture;
mod capture_memory;
mod check_kernel;
mod checked_indices;
mod conformance;
mod contract;
mod conv;
mod custom;
mod custom_op;
mod custom_reduce;
mod custom_scan;
mod digits;
mod elementwise;
mod epilogue;
mod explained;
mod failures;
mod files;
mod fusion;
mod fusion_smooth;
mod fuzz;
mod fuzz_values;
mod huge_extents;
mod index;
mod kernel_debug;
mod kv_slots;
mod kv_slots_8_bit;
mod kv_slots_8_bit_writes;
mod kv_slots_any;
mod kv_slots_rope;
mod lazy;
mod linalg;
mod linear;
mod long_loops;
mod long_windows;
mod loss_under_load;
mod losses;
mod matmul_precision;
mod movement;
mod named_arguments;
mod nan_trace;
mod normalisation;
mod parts;
mod pool;
mod prologue;
mod prologue_ops;
mod quantized;
mod random;
mod reading;
mod recorded_calls;
mod recovery;
mod reductions;
mod resize;
mod sanitize;
mod saved_files;
mod sequence;
mod several_operands;
mod sort;
mod storage;
mod tensor_kernel;
mod tune;
mod views;
#[cfg(debug_assertions)]
mod watched;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
