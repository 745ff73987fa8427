//! The parameter blocks of the kernels, written once and published field by field.
//!
//! A shader's `Params` and the host's struct must agree byte for byte. [`params!`] declares the host struct
//! and its list of (name, type, offset); `cargo xtask wgsl` compares that list with the offsets naga computes
//! for the shader's struct, so a field that was added on one side only is found before anything runs.

use bytemuck::Pod;

/// The types a `Params` struct may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamType {
    /// `u32`
    U32,
    /// `i32`
    I32,
    /// `f32`
    F32,
    /// `vec4<u32>`
    Vec4U32,
}

impl ParamType {
    /// The type's name in WGSL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::Vec4U32 => "vec4<u32>",
        }
    }
}

/// One field of a parameter block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParamField {
    /// The field's name, the same on both sides.
    pub name: &'static str,
    /// The field's type, or the type of its elements.
    pub ty: ParamType,
    /// `None` for a single value, `Some(n)` for `array<ty, n>`.
    pub count: Option<u32>,
    /// The field's offset in bytes.
    pub offset: u32,
}

/// A host struct that mirrors a shader's `Params`.
pub trait Params: Pod + Send + Sync + 'static {
    /// The struct's fields, in order.
    const FIELDS: &'static [ParamField];
}

/// Maps a host field type to its WGSL type; only the types a `Params` may hold have an entry.
pub(crate) trait Field {
    const TYPE: ParamType;
    const COUNT: Option<u32>;
}

impl Field for u32 {
    const TYPE: ParamType = ParamType::U32;
    const COUNT: Option<Self> = None;
}

impl Field for i32 {
    const TYPE: ParamType = ParamType::I32;
    const COUNT: Option<u32> = None;
}

impl Field for f32 {
    const TYPE: ParamType = ParamType::F32;
    const COUNT: Option<u32> = None;
}

impl Field for [u32; 4] {
    const TYPE: ParamType = ParamType::Vec4U32;
    const COUNT: Option<u32> = None;
}

impl<const N: usize> Field for [[u32; 4]; N] {
    const TYPE: ParamType = ParamType::Vec4U32;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "arrays of parameters are short"
    )]
    const COUNT: Option<u32> = Some(N as u32);
}

/// Declares a host parameter struct and publishes its fields.
macro_rules! params {
    ($(#[$meta:meta])* $visibility:vis struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        $visibility struct $name { $($(#[$field_meta])* pub $field: $ty,)* }

        impl $crate::source::params::Params for $name {
            const FIELDS: &'static [$crate::source::params::ParamField] = &[$($crate::source::params::ParamField {
                name: stringify!($field),
                ty: <$ty as $crate::source::params::Field>::TYPE,
                count: <$ty as $crate::source::params::Field>::COUNT,
                offset: std::mem::offset_of!($name, $field) as u32,
            },)*];
        }
    };
}
pub(crate) use params;
