//! [`Ability`]: what an adapter can do, as far as the choice of a kernel depends on it.

use ziggurat_pipeline::device::wgpu::CooperativeScalarType;
use ziggurat_pipeline::device::{AdapterKind, Caps, CooperativeShape, Device};

use crate::run::error::KernelError;

/// What an adapter can do, in the numbers that choices of kernels depend on: small and `Copy`, so that every choice is a
/// pure function of a problem and of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ability {
    /// Most invocations of a workgroup, all along x.
    pub(crate) invocations: u32,
    /// Preferred invocations of a one-dimensional workgroup.
    pub(crate) workgroup_size: u32,
    /// Bytes of workgroup memory.
    pub(crate) workgroup_bytes: u32,
    /// Workgroups of 256 invocations that keep the device busy: fewer, and a long reduction is cut into chunks. Adapters do
    /// not say, so it is by their kind.
    pub(crate) busy_groups: u64,
    /// Invocations without work take as long as others, because they are lanes of a processor's vectors.
    pub(crate) idle_costs: bool,
    /// Loop iterations of an invocation in one dispatch.
    pub(crate) loop_budget: u64,
    /// Invocations of every subgroup; 0 where there are no subgroups, or of different sizes.
    pub(crate) subgroup: u32,
    /// Barriers of a subgroup alone.
    pub(crate) subgroup_barriers: bool,
    /// Bytes of a binding, at most.
    pub(crate) binding_bytes: u64,
    /// Arithmetic on 16-bit floats.
    pub(crate) f16: bool,
    /// Arithmetic on 64-bit integers.
    pub(crate) int64: bool,
    /// Atomic sums of f32.
    pub(crate) float_atomics: bool,
    /// Products of matrix units.
    pub(crate) cooperative: Cooperative,
    /// Which of an op's ways is taken where there are so many: 0, the default, but in tests of the others.
    pub(crate) way: u8,
}

/// Whether a device can have matrix units. WebGPU has none, so a program for the web leaves out what is for them.
pub(crate) const MATRIX_UNITS: bool = cfg!(not(target_arch = "wasm32"));

/// The error of what is for matrix units where no device has them, and nothing chooses it.
pub(crate) const fn no_matrix_units(op: &'static str) -> KernelError {
    let what = "a kernel for matrix units was chosen where there are none";
    KernelError::internal(op, what)
}

/// Shapes and types of matrix products that a subgroup can do together, of those that kernels are written for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Cooperative(u8);

impl Cooperative {
    pub(crate) const NONE: Self = Self(0);
    /// 16 × 16 × 16, f16 in, f32 out.
    pub(crate) const F16_F32_16: Self = Self(1);

    const fn of_shape(shape: &CooperativeShape) -> Self {
        use CooperativeScalarType::{F16, F32};
        match (shape.m, shape.n, shape.k, shape.input, shape.output) {
            (16, 16, 16, F16, F32) => Self::F16_F32_16,
            _ => Self::NONE,
        }
    }

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether these are all there.
    pub(crate) const fn has(self, other: Self) -> bool {
        MATRIX_UNITS && self.0 & other.0 == other.0
    }
}

/// Workgroup memory of all workgroups that a processor runs at a time: 48 KiB on an H100 by NVIDIA's Vulkan driver, though it has
/// 228. A workgroup of more than half of that has a processor for itself, which may take twice as long.
pub(crate) const PROCESSOR_BYTES: u32 = 49_152;

/// Workgroups that keep a device of this kind busy. Those of a discrete GPU fill 132 multiprocessors with 2,048 invocations.
const fn busy_groups(kind: AdapterKind) -> u64 {
    match kind {
        AdapterKind::Discrete => 1056,
        AdapterKind::Integrated => 128,
        AdapterKind::Virtual | AdapterKind::Software | AdapterKind::Other => 512,
    }
}

impl Ability {
    /// The least that WebGPU promises.
    pub(crate) const WEBGPU: Self = Self {
        invocations: 256,
        workgroup_size: 256,
        workgroup_bytes: 16_384,
        busy_groups: 512,
        idle_costs: false,
        loop_budget: 1 << 15,
        subgroup: 0,
        subgroup_barriers: false,
        binding_bytes: 1 << 27,
        f16: false,
        int64: false,
        float_atomics: false,
        cooperative: Cooperative::NONE,
        way: 0,
    };

    /// A large GPU with everything that kernels are written for.
    pub(crate) const LARGE: Self = Self {
        invocations: 1024,
        workgroup_bytes: 49_152,
        busy_groups: busy_groups(AdapterKind::Discrete),
        subgroup: 32,
        subgroup_barriers: true,
        binding_bytes: (1 << 31) - 4,
        f16: true,
        int64: true,
        float_atomics: true,
        cooperative: Cooperative::F16_F32_16,
        ..Self::WEBGPU
    };

    /// Devices that differ in what they choose, for the catalogue.
    pub(crate) const SAMPLES: [Self; 2] = [Self::WEBGPU, Self::LARGE];

    /// Whether it is a GPU of many multiprocessors, as far as the kind of the adapter tells; browsers do not say what theirs is.
    pub(crate) const fn is_large(&self) -> bool {
        cfg!(not(target_arch = "wasm32")) && self.busy_groups >= Self::LARGE.busy_groups
    }

    pub(crate) fn of(device: &Device) -> Self {
        Self::new(device.caps(), device.adapter().kind)
    }

    fn new(caps: &Caps, kind: AdapterKind) -> Self {
        let limits = &caps.limits;
        let (least, most) = caps.subgroup_size;
        let shapes = caps.cooperative_matrix.iter().map(Cooperative::of_shape);
        Self {
            invocations: limits
                .max_compute_invocations_per_workgroup
                .min(limits.max_compute_workgroup_size_x),
            workgroup_size: caps.workgroup_size,
            workgroup_bytes: limits.max_compute_workgroup_storage_size,
            busy_groups: busy_groups(kind),
            idle_costs: kind == AdapterKind::Software,
            loop_budget: u64::from(caps.max_loop_iterations),
            subgroup: if least == most { least } else { 0 },
            subgroup_barriers: caps.subgroup_barriers,
            binding_bytes: caps.max_binding_bytes,
            f16: caps.f16,
            int64: caps.int64,
            float_atomics: caps.float_atomics,
            cooperative: shapes.fold(Cooperative::NONE, Cooperative::with),
            way: 0,
        }
    }
}
