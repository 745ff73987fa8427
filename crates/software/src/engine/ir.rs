//! The engine's own form of a program: a tree of operations on virtual 32-bit registers.
//!
//! A register holds one 32-bit word per invocation: an `f32`, an integer, a `bool` (all bits or
//! none), an `f16` (widened to `f32`; operations round it back), an `i16` or `u16` (extended to 32
//! bits; operations extend it anew), or half of a 64-bit value. Before slots are given (`pass::allocate`) a register is a number; after it, a slot of lane vectors or,
//! with [`Reg::UNIFORM`] set, a word shared by the workgroup.
//!
//! A register that several operations write is written by [`Op::Mov`], [`Op::Put`] and [`Op::Merge`] only
//! until masks are decided: only these know masks.

mod texture;
mod uses;

use std::sync::atomic::AtomicU64;

pub(super) use texture::{TextureOp, TextureWhat};
pub(super) use uses::Use;

use super::check::{Check, Site, Variable};
use super::print::Prints;
use super::scalar::{Bin, Fun, Tri, Un};

/// A virtual register, later a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Reg(pub(super) u32);

impl Reg {
    /// Set in places that hold one word for the workgroup.
    pub(super) const UNIFORM: u32 = 1 << 31;

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a register holds from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Input {
    Bits(u32),
    /// Elements of a runtime array at byte `offset` of a binding.
    Length {
        binding: u32,
        offset: u32,
        stride: u32,
    },
    /// A word of the immediates.
    Immediate(u32),
    /// A word of a uniform buffer.
    Constant {
        binding: u32,
        offset: u32,
    },
    WorkgroupId(u32),
    Workgroups(u32),
    LocalIndex,
    LocalId(u32),
    GlobalId(u32),
    SubgroupLane,
    SubgroupId,
}

impl Input {
    /// Whether it differs between invocations of a workgroup.
    pub(super) fn varies(self) -> bool {
        matches!(
            self,
            Self::LocalIndex
                | Self::LocalId(_)
                | Self::GlobalId(_)
                | Self::SubgroupLane
                | Self::SubgroupId
        )
    }
}

/// Memory that is addressed in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// Number in [`Code::bindings`].
    Binding(u32),
    Workgroup,
    Immediate,
}

/// `index * stride`, out of bounds unless `index < len`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scaled {
    pub(super) index: Reg,
    pub(super) len: Reg,
    pub(super) stride: u32,
}

/// A byte address: `offset`, plus `base`, plus `scaled`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addr {
    pub(super) space: Space,
    pub(super) offset: u32,
    pub(super) base: Option<Reg>,
    pub(super) scaled: Option<Scaled>,
}

/// What two bytes of memory are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Narrow {
    Float,
    Signed,
    Unsigned,
}

/// What a read-modify-write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rmw {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Min { signed: bool },
    Max { signed: bool },
    AddFloat,
    SubFloat,
    MinFloat,
    MaxFloat,
    Exchange,
    CompareExchange,
}

/// What a subgroup operation does with one component.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sub {
    /// Bits of the active invocations whose predicate is set, four words.
    Ballot,
    All,
    Any,
    Reduce(Fun),
    Inclusive(Fun),
    Exclusive(Fun),
    First,
    /// From the invocation whose number in the subgroup is the second operand.
    Shuffle,
    ShuffleDown,
    ShuffleUp,
    ShuffleXor,
    QuadBroadcast,
    /// From the invocation of the quad whose number differs in these bits.
    QuadSwap(u32),
}

pub(super) type Block = Vec<Op>;

/// One operation over all invocations.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Un {
        op: Un,
        d: Reg,
        a: Reg,
    },
    Bin {
        op: Bin,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Tri {
        op: Tri,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    Mov {
        d: Reg,
        a: Reg,
        masked: bool,
    },
    /// Where `c` equals `on`, among active lanes.
    Merge {
        d: Reg,
        a: Reg,
        c: Reg,
        on: bool,
    },
    /// A rare function, lane by lane: up to 8 words in, up to 2 out.
    Call {
        f: Fun,
        d: Vec<Reg>,
        a: Vec<Reg>,
    },
    /// A part of a byte address.
    Index {
        d: Reg,
        base: Option<Reg>,
        scaled: Scaled,
    },
    /// Consecutive words; with `half` one number each, of 2 bytes.
    Load {
        d: Vec<Reg>,
        at: Addr,
        half: Option<Narrow>,
    },
    Store {
        v: Vec<Reg>,
        at: Addr,
        half: Option<Narrow>,
    },
    /// The register that `index` names, the last one if out of bounds.
    Pick {
        d: Reg,
        from: Vec<Reg>,
        index: Reg,
    },
    /// Into the register that `index` names, nowhere if out of bounds.
    Put {
        into: Vec<Reg>,
        index: Reg,
        v: Reg,
        masked: bool,
    },
    /// The value of the first active invocation, for all.
    First {
        d: Reg,
        a: Reg,
    },
    /// `d`: old value (empty if unused), then for compare-exchange whether it was exchanged.
    Atomic {
        rmw: Rmw,
        d: Vec<Reg>,
        v: Vec<Reg>,
        compare: Vec<Reg>,
        at: Addr,
    },
    Subgroup {
        sub: Sub,
        d: Vec<Reg>,
        a: Vec<Reg>,
    },
    Matrix(Box<Matrix>),
    Texture(Box<TextureOp>),
    /// A `debug_print` of site `site`, by every active invocation.
    Print {
        site: u32,
        v: Vec<Reg>,
    },
    /// Only in programs for a sanitizer.
    Check(Box<Check>),
    If {
        c: Reg,
        then: Block,
        other: Block,
    },
    /// `id` names the loop or scope within its nest.
    Loop {
        id: u32,
        body: Block,
        cont: Block,
        until: Option<Reg>,
        line: u32,
    },
    Scope {
        id: u32,
        body: Block,
    },
    /// Out of loop `id`.
    Break(u32),
    /// Out of loop `id` where `c` equals `on`.
    BreakIf {
        id: u32,
        c: Reg,
        on: bool,
    },
    Continue(u32),
    /// To the end of scope `id`.
    Leave(u32),
}

/// Operations on matrices whose elements are spread over a subgroup: element `e`, counted row by
/// row, is in invocation `e % size`, register `e / size`.
#[derive(Clone, Debug)]
pub(super) enum Matrix {
    Load {
        d: Vec<Reg>,
        at: Addr,
        stride: Reg,
        shape: MatrixShape,
    },
    Store {
        v: Vec<Reg>,
        at: Addr,
        stride: Reg,
        shape: MatrixShape,
    },
    /// `d = a * b + c`, `size` by `size`, rounded to `f16` if `half`.
    MultiplyAdd {
        d: Vec<Reg>,
        a: Vec<Reg>,
        b: Vec<Reg>,
        c: Vec<Reg>,
        size: u32,
        half: bool,
    },
}

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatrixShape {
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) row_major: bool,
    /// Bytes between neighbouring elements.
    pub(super) element: u32,
    /// Bytes that one step of `stride` stands for.
    pub(super) unit: u32,
    /// Elements are 16-bit floats of two bytes.
    pub(super) half: bool,
}

/// A program.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) workgroup: [u32; 3],
    pub(super) subgroup: u32,
    pub(super) inputs: Vec<(Reg, Input)>,
    pub(super) block: Block,
    /// Virtual registers, before places are given.
    pub(super) registers: u32,
    /// Slots of lane vectors.
    pub(super) slots: u32,
    /// Words shared by the workgroup.
    pub(super) uniforms: u32,
    /// Loops and scopes nested in each other at most.
    pub(super) depth: u32,
    /// `(group, binding)` of each buffer.
    pub(super) bindings: Vec<(u32, u32)>,
    /// `(group, binding)` of each texture.
    pub(super) textures: Vec<(u32, u32)>,
    /// `(group, binding)` of each sampler.
    pub(super) samplers: Vec<(u32, u32)>,
    pub(super) workgroup_bytes: u32,
    /// The order in which workgroups run can show in results.
    pub(super) ordered: bool,
    pub(super) prints: Prints,
    /// Nanoseconds that a workgroup took in the last run.
    pub(super) pace: AtomicU64,
    /// It has checks.
    pub(super) checked: bool,
    /// Checks look at memory in parts of two bytes.
    pub(super) halves: bool,
    /// Workgroup memory starts as zero as far as the program may know.
    pub(super) zeroed: bool,
    pub(super) sites: Vec<Site>,
    /// By binding.
    pub(super) variables: Vec<Variable>,
}

impl Code {
    /// Invocations of a workgroup.
    pub(super) fn invocations(&self) -> usize {
        self.workgroup.iter().map(|n| *n as usize).product()
    }
}
