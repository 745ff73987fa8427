//! Kernels that are compiled without wgpu's checks, because this crate vouches for their text.

use ziggurat_pipeline::{Checks, KernelDescriptor};

/// The kernel with these checks left out: of a text that is made of files of `shaders/` and of what the generator writes
/// between them, and dispatched by this crate's own plans.
pub(crate) fn trusted(descriptor: KernelDescriptor, checks: Checks) -> KernelDescriptor {
    #[expect(
        unsafe_code,
        reason = "the checks are left out only for text that somebody vouches for"
    )]
    // SAFETY: custom kernels have descriptors of their own. The functions of users' ops (`fused/user.rs`) reach this function
    // with `Checks::Divisions` alone, or with checks that are put back where such a text has a loop or an index
    // (`generate::checked`): what is left loops nowhere, indexes nothing, and keeps the checks of its divisions. Every loop of these
    // files has a bound that its plan knows (`limits/budget.rs` adds them up, and the software device, which ends a
    // dispatch that goes on, runs every kernel of the catalogue), except those that repeat a compare-exchange, of which
    // some invocation always succeeds. Indices into arrays of a kernel's own are below their lengths by construction,
    // which the sanitizer checks of every variant. `Checks::None` comes from `without_division_checks` alone, whose
    // callers know their divisors.
    unsafe {
        descriptor.with_checks(checks)
    }
}
