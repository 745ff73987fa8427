//! Operations on textures.

use super::{Reg, Rmw};

/// One operation on a texture. Operands: coordinates, then the layer, then the level, then what is written.
#[derive(Clone, Debug)]
pub(in crate::engine) struct TextureOp {
    pub(in crate::engine) what: TextureWhat,
    /// Number in [`super::Code::textures`].
    pub(in crate::engine) texture: u32,
    pub(in crate::engine) d: Vec<Reg>,
    pub(in crate::engine) coordinates: Vec<Reg>,
    pub(in crate::engine) layer: Option<Reg>,
    pub(in crate::engine) level: Option<Reg>,
    pub(in crate::engine) v: Vec<Reg>,
}

/// What is done.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum TextureWhat {
    Load,
    Store,
    /// Read-modify-write of a texel of one word.
    Atomic(Rmw),
    Sample {
        /// Number in [`super::Code::samplers`].
        sampler: u32,
        offset: [i32; 3],
        to_edge: bool,
    },
    Size,
    Levels,
    Layers,
}

impl TextureWhat {
    /// Whether it changes the texture.
    pub(in crate::engine) fn writes(self) -> bool {
        matches!(self, Self::Store | Self::Atomic(_))
    }
}
