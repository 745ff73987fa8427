//! What problems and ways are called in a store.

use std::fmt;
use std::sync::LazyLock;

use ziggurat_pipeline::TuningKey;
use ziggurat_shaders::files;

/// A sort of kernel and its sizes: what tells a way from the other ways of a problem, and is the same for all problems of a
/// class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WayName {
    kind: &'static str,
    sizes: [u32; 3],
}

impl WayName {
    pub(crate) const fn new(kind: &'static str, sizes: [u32; 3]) -> Self {
        Self { kind, sizes }
    }

    /// How the store knows it.
    pub(crate) fn bits(&self) -> u64 {
        TuningKey::new(self.kind, self.sizes.map(u64::from)).bits()
    }
}

impl fmt::Display for WayName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)?;
        let sizes = self.sizes.iter().take_while(|&&size| size > 0);
        for (i, size) in sizes.enumerate() {
            let before = if i == 0 { " " } else { "×" };
            write!(f, "{before}{size}")?;
        }
        Ok(())
    }
}

/// A way that a store can name.
pub(crate) trait Named: Copy {
    fn name(&self) -> WayName;
}

/// Problems for which the same way is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) family: &'static str,
    pub(crate) key: TuningKey,
}

impl Class {
    /// The class of the problems of a family that have these numbers in common. What the shaders' texts are is in it too: other
    /// kernels are other classes.
    pub(crate) fn new(family: &'static str, words: impl IntoIterator<Item = u64>) -> Self {
        static CONTENT: LazyLock<u64> = LazyLock::new(|| {
            let texts = files().iter().flat_map(|(path, text)| [*path, *text]);
            let words = texts.map(|text| TuningKey::new(text, []).bits());
            TuningKey::new("shaders", words).bits()
        });
        Self {
            family,
            key: TuningKey::new(family, std::iter::once(*CONTENT).chain(words)),
        }
    }
}

/// Extents that vary from call to call (rows, keys, images) count by their power of two beyond 16.
pub(crate) const fn bucket(extent: u64) -> u64 {
    match extent.checked_next_power_of_two() {
        _ if extent <= 16 => extent,
        Some(power) => power,
        None => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_print_their_sizes_and_have_bits_of_their_own() {
        let tile = WayName::new("tile", [64, 32, 16]);
        assert_eq!(tile.to_string(), "tile 64×32×16");
        assert_eq!(WayName::new("dot", [0; 3]).to_string(), "dot");
        assert_ne!(tile.bits(), WayName::new("tile", [64, 16, 32]).bits());
        assert_ne!(tile.bits(), WayName::new("wide", [64, 32, 16]).bits());
    }

    #[test]
    fn extents_count_by_their_power_of_two() {
        let all = [0, 1, 15, 16, 17, 32, 33, 1000, u64::MAX].map(bucket);
        assert_eq!(all, [0, 1, 15, 16, 32, 32, 64, 1024, u64::MAX]);
    }
}
