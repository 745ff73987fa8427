//! Textures as programs see them: a view's levels in memory, and reads, writes and samples of it.
//!
//! A texture is one [`Storage`]: level after level, each a tight sequence of layers (or slices), rows and texels.
//! What is out of bounds reads zeros and is not written.

mod format;
mod sample;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Storage;

pub(crate) use format::Texel;
pub(in crate::engine) use sample::Sample;
pub(crate) use sample::{Filter, Sampler, Wrap};

/// One level of a view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// Byte at which the view's first layer begins.
    pub(crate) offset: u64,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Slices of a 3D texture, else layers of the view.
    pub(crate) depth: u32,
}

/// How many coordinates a texel has, without its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axes {
    One,
    Two,
    Three,
}

impl Axes {
    pub(super) fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Three => 3,
        }
    }
}

/// A view of a texture's memory.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) storage: Arc<Storage>,
    pub(crate) texel: Texel,
    pub(crate) axes: Axes,
    pub(crate) levels: Vec<Level>,
}

impl View {
    fn level(&self, level: u32) -> Option<&Level> {
        self.levels.get(level as usize)
    }

    /// The byte of a texel.
    fn at(&self, level: u32, [x, y, z]: [u32; 3]) -> Option<u64> {
        let level = self.level(level)?;
        if x >= level.width || y >= level.height || z >= level.depth {
            return None;
        }
        let row = u64::from(z) * u64::from(level.height) + u64::from(y);
        let index = row * u64::from(level.width) + u64::from(x);
        Some(level.offset + index * self.texel.bytes() as u64)
    }

    /// The words of a texel; `z` is its layer where there are layers.
    pub(super) fn load(&self, level: u32, place: [u32; 3]) -> [u32; 4] {
        let Some(at) = self.at(level, place) else {
            return [0; 4];
        };
        let mut bytes = [0; 16];
        if let Some(texel) = bytes.get_mut(..self.texel.bytes()) {
            self.storage.read(at, texel);
        }
        self.texel.decode(bytes)
    }

    /// Writes a texel of the first level.
    pub(super) fn store(&self, place: [u32; 3], words: [u32; 4]) {
        if let Some(at) = self.at(0, place)
            && let Some(bytes) = self.texel.encode(words).get(..self.texel.bytes())
        {
            self.storage.write(at, bytes);
        }
    }

    /// Changes a texel of one word of the first level, as one step for all threads.
    pub(super) fn update(&self, place: [u32; 3], new: impl Fn(u32) -> u32) {
        if let Some(at) = self.at(0, place)
            && let [word, ..] = self.storage.words(at, 4)
        {
            let _old = word.fetch_update(Relaxed, Relaxed, |old| Some(new(old)));
        }
    }

    /// Width, height and depth (or layers) of a level; zeros for one that is not there.
    pub(super) fn size(&self, level: u32) -> [u32; 3] {
        let level = self.level(level);
        level.map_or([0; 3], |level| [level.width, level.height, level.depth])
    }
}

/// A view or a sampler bound to `@group(group) @binding(binding)`.
#[derive(Clone, Debug)]
pub(crate) struct BoundHandle {
    pub(crate) group: u32,
    pub(crate) binding: u32,
    pub(crate) what: Handle,
}

/// See [`BoundHandle`].
#[derive(Clone, Debug)]
pub(crate) enum Handle {
    View(Arc<View>),
    Sampler(Sampler),
}
