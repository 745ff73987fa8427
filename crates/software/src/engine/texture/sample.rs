//! Sampling with an explicit level, in f32.

use super::{Axes, View};

/// What a coordinate outside the texture means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrap {
    Clamp,
    Repeat,
    Mirror,
}

/// Which texels or levels a sample is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    Nearest,
    Linear,
}

/// A sampler's rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampler {
    pub(crate) wrap: [Wrap; 3],
    pub(crate) magnify: Filter,
    pub(crate) minify: Filter,
    pub(crate) mipmap: Filter,
    pub(crate) least_level: f32,
    pub(crate) most_level: f32,
}

/// Up to two texels along an axis with the weight of the second.
#[derive(Clone, Copy)]
struct Pair {
    first: u32,
    second: u32,
    weight: f32,
}

impl Wrap {
    /// The texel that `index` means, of `size`.
    fn texel(self, index: i64, size: u32) -> u32 {
        let size = i64::from(size.max(1));
        let texel = match self {
            Self::Clamp => index.clamp(0, size - 1),
            Self::Repeat => index.rem_euclid(size),
            Self::Mirror => {
                let at = index.rem_euclid(2 * size);
                at.min(2 * size - 1 - at)
            }
        };
        u32::try_from(texel).unwrap_or(0)
    }

    fn pair(self, coordinate: f32, offset: i32, size: u32, filter: Filter) -> Pair {
        let at = coordinate * size as f32;
        let offset = i64::from(offset);
        match filter {
            Filter::Nearest => {
                let texel = self.texel(at.floor() as i64 + offset, size);
                Pair {
                    first: texel,
                    second: texel,
                    weight: 0.0,
                }
            }
            Filter::Linear => {
                let at = at - 0.5;
                let floor = at.floor();
                let first = floor as i64 + offset;
                Pair {
                    first: self.texel(first, size),
                    second: self.texel(first + 1, size),
                    weight: at - floor,
                }
            }
        }
    }
}

/// Where a sample is taken.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Sample {
    pub(in crate::engine) at: [f32; 3],
    pub(in crate::engine) layer: u32,
    pub(in crate::engine) offset: [i32; 3],
    pub(in crate::engine) level: f32,
    /// Half a texel away from the edges, whatever the sampler says.
    pub(in crate::engine) to_edge: bool,
}

impl View {
    /// The four floats of a sample.
    pub(in crate::engine) fn sample(&self, sampler: &Sampler, sample: &Sample) -> [u32; 4] {
        let last = self.levels.len().saturating_sub(1) as f32;
        let level = sample.level.max(sampler.least_level);
        let level = level.min(sampler.most_level);
        let filter = if level <= 0.0 {
            sampler.magnify
        } else {
            sampler.minify
        };
        let level = level.clamp(0.0, last);
        match sampler.mipmap {
            Filter::Nearest => {
                let level = (level + 0.5).floor().min(last);
                self.in_level(sampler, sample, filter, level as u32)
            }
            Filter::Linear => {
                let low = level.floor();
                let weight = level - low;
                let a = self.in_level(sampler, sample, filter, low as u32);
                if weight == 0.0 {
                    return a;
                }
                let b = self.in_level(sampler, sample, filter, low as u32 + 1);
                mixed(a, b, weight)
            }
        }
    }

    fn in_level(&self, sampler: &Sampler, sample: &Sample, filter: Filter, level: u32) -> [u32; 4] {
        let size = self.size(level);
        let mut pairs = [Pair {
            first: 0,
            second: 0,
            weight: 0.0,
        }; 3];
        let axes = self.axes.count();
        for (axis, pair) in pairs.iter_mut().enumerate().take(axes) {
            let of = |all: [f32; 3]| all.get(axis).copied().unwrap_or(0.0);
            let extent = size.get(axis).copied().unwrap_or(1);
            let mut at = of(sample.at);
            let mut wrap = sampler.wrap.get(axis).copied().unwrap_or(Wrap::Clamp);
            if sample.to_edge {
                let half = 0.5 / extent.max(1) as f32;
                at = at.clamp(half, 1.0 - half);
                wrap = Wrap::Clamp;
            }
            let offset = sample.offset.get(axis).copied().unwrap_or(0);
            *pair = wrap.pair(at, offset, extent, filter);
        }
        if self.axes != Axes::Three {
            let layer = sample.layer.min(size[2].saturating_sub(1));
            pairs[2] = Pair {
                first: layer,
                second: layer,
                weight: 0.0,
            };
        }
        let [x, y, z] = pairs;
        let row = |y: u32, z: u32| self.along(x, |x| self.load(level, [x, y, z]));
        let slice = |z: u32| self.along(y, |y| row(y, z));
        self.along(z, slice)
    }

    fn along(&self, pair: Pair, texel: impl Fn(u32) -> [u32; 4]) -> [u32; 4] {
        let first = texel(pair.first);
        if pair.weight == 0.0 {
            return first;
        }
        mixed(first, texel(pair.second), pair.weight)
    }
}

fn mixed(a: [u32; 4], b: [u32; 4], weight: f32) -> [u32; 4] {
    let mut out = a;
    for (out, b) in out.iter_mut().zip(b) {
        let (a, b) = (f32::from_bits(*out), f32::from_bits(b));
        *out = (a * (1.0 - weight) + b * weight).to_bits();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_outside_wrap() {
        let clamp: Vec<_> = (-2..6).map(|i| Wrap::Clamp.texel(i, 3)).collect();
        assert_eq!(clamp, [0, 0, 0, 1, 2, 2, 2, 2]);
        let repeat: Vec<_> = (-2..6).map(|i| Wrap::Repeat.texel(i, 3)).collect();
        assert_eq!(repeat, [1, 2, 0, 1, 2, 0, 1, 2]);
        let mirror: Vec<_> = (-4..8).map(|i| Wrap::Mirror.texel(i, 3)).collect();
        assert_eq!(mirror, [2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
    }

    #[test]
    fn linear_is_exact_at_centres() {
        let pair = Wrap::Clamp.pair(0.5 / 4.0, 0, 4, Filter::Linear);
        assert_eq!((pair.first, pair.weight), (0, 0.0));
        let pair = Wrap::Repeat.pair(0.0, 0, 4, Filter::Linear);
        assert_eq!((pair.first, pair.second, pair.weight), (3, 0, 0.5));
    }
}
