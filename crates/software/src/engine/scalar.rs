//! Operations on one lane: bits in, bits out.
//!
//! The frequent ones are rows of three tables, from which come the enums, the evaluation of
//! constants and the loops over lanes; they are free of branches so that the loops vectorise. The
//! rest are plain functions ([`Fun`]), called lane by lane.

pub(super) mod bits;
pub(super) mod float;
pub(super) mod pack;
pub(super) mod wide;

use float::{f, round_half};

/// A rare function of up to 8 words with up to 2 results.
#[derive(Clone, Copy)]
pub(super) struct Fun(pub(super) fn(&[u32; 8]) -> [u32; 2]);

impl std::fmt::Debug for Fun {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Fun")
    }
}

/// All bits for true, none for false.
#[inline(always)]
pub(super) fn flag(on: bool) -> u32 {
    if on { !0 } else { 0 }
}

/// Calls a macro with the rows `Name => |x| bits` of the unary operations.
macro_rules! unary_table {
    ($m:ident, $($pass:tt)*) => { $m! { ($($pass)*)
        NegF => |x| x ^ 0x8000_0000,
        AbsF => |x| x & 0x7fff_ffff,
        Floor => |x| float::floor(f(x)).to_bits(),
        Ceil => |x| float::ceil(f(x)).to_bits(),
        Trunc => |x| float::trunc(f(x)).to_bits(),
        Round => |x| float::round(f(x)).to_bits(),
        Sqrt => |x| f(x).sqrt().to_bits(),
        InverseSqrt => |x| (1.0 / f(x).sqrt()).to_bits(),
        Exp => |x| float::exp(f(x)).to_bits(),
        Exp2 => |x| float::exp2(f(x)).to_bits(),
        Log => |x| f(x).ln().to_bits(),
        Log2 => |x| f(x).log2().to_bits(),
        Sin => |x| f(x).sin().to_bits(),
        Cos => |x| f(x).cos().to_bits(),
        Tanh => |x| f(x).tanh().to_bits(),
        SignF => |x| float::sign(f(x)).to_bits(),
        Saturate => |x| float::min(float::max(f(x), 0.0), 1.0).to_bits(),
        IsNan => |x| flag((x & 0x7fff_ffff) > 0x7f80_0000),
        IsInf => |x| flag((x & 0x7fff_ffff) == 0x7f80_0000),
        RoundHalf => |x| round_half(x),
        NegI => |x| x.wrapping_neg(),
        AbsI => |x| (x as i32).wrapping_abs() as u32,
        SignI => |x| (x as i32).signum() as u32,
        Not => |x| !x,
        SignExtend => |x| bits::sign_extended(x),
        // To the largest float of the integer's range, as WGSL has it.
        IntFromF => |x| float::min(f(x), 2_147_483_520.0) as i32 as u32,
        UintFromF => |x| float::min(f(x), 4_294_967_040.0) as u32,
        FFromInt => |x| (x as i32 as f32).to_bits(),
        FFromUint => |x| (x as f32).to_bits(),
        BoolFromF => |x| flag(x << 1 != 0),
        BoolFromInt => |x| flag(x != 0),
        CountOnes => |x| x.count_ones(),
        LeadingZeros => |x| x.leading_zeros(),
        TrailingZeros => |x| x.trailing_zeros(),
        ReverseBits => |x| x.reverse_bits(),
        FirstTrailing => |x| if x == 0 { !0 } else { x.trailing_zeros() },
        FirstLeadingU => |x| if x == 0 { !0 } else { 31 - x.leading_zeros() },
        FirstLeadingI => |x| bits::first_leading_signed(x),
    } };
}

/// Rows of the binary operations.
macro_rules! binary_table {
    ($m:ident, $($pass:tt)*) => { $m! { ($($pass)*)
        AddF => |x, y| (f(x) + f(y)).to_bits(),
        SubF => |x, y| (f(x) - f(y)).to_bits(),
        MulF => |x, y| (f(x) * f(y)).to_bits(),
        DivF => |x, y| (f(x) / f(y)).to_bits(),
        RemF => |x, y| (f(x) % f(y)).to_bits(),
        MinF => |x, y| float::min(f(x), f(y)).to_bits(),
        MaxF => |x, y| float::max(f(x), f(y)).to_bits(),
        PowF => |x, y| f(x).powf(f(y)).to_bits(),
        Atan2 => |x, y| f(x).atan2(f(y)).to_bits(),
        Add => |x, y| x.wrapping_add(y),
        Sub => |x, y| x.wrapping_sub(y),
        Mul => |x, y| x.wrapping_mul(y),
        DivI => |x, y| if y == 0 { x } else { (x as i32).wrapping_div(y as i32) as u32 },
        RemI => |x, y| if y == 0 { 0 } else { (x as i32).wrapping_rem(y as i32) as u32 },
        DivU => |x, y| x.checked_div(y).unwrap_or(x),
        RemU => |x, y| x.checked_rem(y).unwrap_or(0),
        MinI => |x, y| (x as i32).min(y as i32) as u32,
        MaxI => |x, y| (x as i32).max(y as i32) as u32,
        MinU => |x, y| x.min(y),
        MaxU => |x, y| x.max(y),
        And => |x, y| x & y,
        Or => |x, y| x | y,
        Xor => |x, y| x ^ y,
        Shl => |x, y| x << (y & 31),
        ShrI => |x, y| ((x as i32) >> (y & 31)) as u32,
        ShrU => |x, y| x >> (y & 31),
        EqF => |x, y| flag(f(x) == f(y)),
        NeF => |x, y| flag(f(x) != f(y)),
        LtF => |x, y| flag(f(x) < f(y)),
        LeF => |x, y| flag(f(x) <= f(y)),
        Eq => |x, y| flag(x == y),
        Ne => |x, y| flag(x != y),
        LtI => |x, y| flag((x as i32) < (y as i32)),
        LeI => |x, y| flag((x as i32) <= (y as i32)),
        LtU => |x, y| flag(x < y),
        LeU => |x, y| flag(x <= y),
        // One of the two `f16` of a word.
        UnpackHalf => |x, y| float::f32_from_half(x >> ((y & 1) << 4)),
        // The same of one that is positive and normal.
        UnpackNormal => |x, y| float::f32_from_normal(x >> ((y & 1) << 4)),
    } };
}

/// Rows of the ternary operations.
macro_rules! ternary_table {
    ($m:ident, $($pass:tt)*) => { $m! { ($($pass)*)
        // Two roundings, as the product and the sum would have.
        MulAdd => |x, y, z| (f(x) * f(y) + f(z)).to_bits(),
        Fma => |x, y, z| float::fma(f(x), f(y), f(z)).to_bits(),
        Select => |m, y, z| (y & m) | (z & !m),
        AndOr => |x, y, z| (x & y) | z,
        UnpackNormalSub => |x, y, z| (f(float::f32_from_normal(x >> ((y & 1) << 4))) - f(z)).to_bits(),
    } };
}

macro_rules! un_enum {
    (() $($name:ident => |$x:ident| $body:expr,)*) => {
        /// Operations with one operand.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Un { $($name,)* }
        impl Un {
            /// The result for one lane.
            pub(super) fn eval(self, a: u32) -> u32 {
                match self { $(Self::$name => { let $x = a; $body })* }
            }
        }
    };
}
macro_rules! bin_enum {
    (() $($name:ident => |$x:ident, $y:ident| $body:expr,)*) => {
        /// Operations with two operands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Bin { $($name,)* }
        impl Bin {
            /// The result for one lane.
            pub(super) fn eval(self, a: u32, b: u32) -> u32 {
                match self { $(Self::$name => { let ($x, $y) = (a, b); $body })* }
            }
        }
    };
}
macro_rules! tri_enum {
    (() $($name:ident => |$x:ident, $y:ident, $z:ident| $body:expr,)*) => {
        /// Operations with three operands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Tri { $($name,)* }
        impl Tri {
            /// The result for one lane.
            pub(super) fn eval(self, a: u32, b: u32, c: u32) -> u32 {
                match self { $(Self::$name => { let ($x, $y, $z) = (a, b, c); $body })* }
            }
        }
    };
}
unary_table!(un_enum,);
binary_table!(bin_enum,);
ternary_table!(tri_enum,);

pub(super) use {binary_table, ternary_table, unary_table};
