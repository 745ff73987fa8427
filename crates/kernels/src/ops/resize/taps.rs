//! Which elements an output of a resampled axis is made of, and with which weights: pure numbers, in f64.
//!
//! Coordinates and modes are those of ONNX's Resize (operator set 19); the cubic kernel is R. Keys, "Cubic convolution
//! interpolation for digital image processing", IEEE TASSP 29(6), 1981. With antialiasing the kernel is stretched by the
//! factor of the reduction, and cut off at the edges, as in Pillow and PyTorch.

/// Where in the input an output's centre lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Coordinates {
    /// `(i + 0.5) / scale - 0.5`
    #[default]
    HalfPixel,
    /// The same, but 0 where the output has one element.
    PytorchHalfPixel,
    /// Half-pixel coordinates around the middle of the input, for scales that do not give whole extents.
    HalfPixelSymmetric,
    /// `i / scale`
    Asymmetric,
    /// The first and last elements fall together.
    AlignCorners,
    /// Over the part of the axis that the region says, in fractions of the extent; outside of the input is the extrapolation
    /// value.
    TfCropAndResize,
}

/// Which element is the nearest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NearestMode {
    /// Halves go down.
    #[default]
    RoundPreferFloor,
    /// Halves go up.
    RoundPreferCeil,
    /// Always down.
    Floor,
    /// Always up.
    Ceil,
}

/// How elements become an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResizeMode {
    /// The nearest one.
    Nearest(NearestMode),
    /// Two neighbours per axis by distance.
    Linear,
    /// Four neighbours per axis by Keys' kernel with this parameter.
    Cubic(f64),
}

/// How axes are resampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResizeOptions {
    /// How elements become an output.
    pub mode: ResizeMode,
    /// Where an output lies in the input.
    pub coordinates: Coordinates,
    /// Weights of positions outside of the input are dropped and the rest scaled to 1, instead of taking the edge's element.
    pub exclude_outside: bool,
    /// Where the input is reduced, average over all elements that an output covers.
    pub antialias: bool,
    /// The value of outputs outside of the input, with [`Coordinates::TfCropAndResize`].
    pub extrapolation: f32,
}

impl Default for ResizeOptions {
    fn default() -> Self {
        Self {
            mode: ResizeMode::Linear,
            coordinates: Coordinates::HalfPixel,
            exclude_outside: false,
            antialias: false,
            extrapolation: 0.0,
        }
    }
}

/// One axis of a resampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResizeAxis {
    /// Output elements per input element; `None`: the ratio of the extents.
    pub scale: Option<f64>,
    /// The part of the axis for [`Coordinates::TfCropAndResize`], in fractions of the extent.
    pub region: [f64; 2],
}

impl Default for ResizeAxis {
    fn default() -> Self {
        Self {
            scale: None,
            region: [0.0, 1.0],
        }
    }
}

/// Index of an output without a source; the shader has the same number.
pub(crate) const OUTSIDE: u32 = u32::MAX;

/// Extents and options of one axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) input: usize,
    pub(crate) output: usize,
    pub(crate) axis: ResizeAxis,
}

impl Axis {
    /// The scale, if it is not the ratio of the extents.
    fn odd_scale(&self) -> Option<f64> {
        let ratio = self.output as f64 / self.input as f64;
        self.axis.scale.filter(|&scale| scale != ratio)
    }

    /// Whether outputs are the inputs.
    pub(crate) fn is_identity(&self, options: &ResizeOptions) -> bool {
        self.input == self.output
            && self.odd_scale().is_none()
            && (options.coordinates != Coordinates::TfCropAndResize
                || self.axis.region == [0.0, 1.0])
    }

    /// Everything that the taps depend on, as numbers.
    pub(crate) fn key(&self, options: &ResizeOptions) -> [u64; 8] {
        let (mode, parameter) = match options.mode {
            ResizeMode::Nearest(nearest) => (nearest as u64, 0.0),
            ResizeMode::Linear => (8, 0.0),
            ResizeMode::Cubic(a) => (9, a),
        };
        let flags = u64::from(options.exclude_outside) | u64::from(options.antialias) << 1;
        [
            self.input as u64,
            self.output as u64,
            self.axis.scale.map_or(u64::MAX, f64::to_bits),
            self.axis.region[0].to_bits(),
            self.axis.region[1].to_bits(),
            mode | (options.coordinates as u64) << 8 | flags << 16,
            parameter.to_bits(),
            0,
        ]
    }

    /// `i / scale`, exact where the scale is a ratio of extents and the result whole.
    fn over_scale(&self, i: f64) -> f64 {
        match self.odd_scale() {
            Some(scale) => i / scale,
            None => i * self.input as f64 / self.output as f64,
        }
    }

    fn coordinate(&self, i: usize, coordinates: Coordinates) -> f64 {
        let (i, n, o) = (i as f64, self.input as f64, self.output as f64);
        let half_pixel = self.over_scale(i + 0.5) - 0.5;
        let [from, to] = self.axis.region;
        match coordinates {
            Coordinates::PytorchHalfPixel if self.output == 1 => 0.0,
            Coordinates::HalfPixel | Coordinates::PytorchHalfPixel => half_pixel,
            Coordinates::HalfPixelSymmetric => {
                let full = self.odd_scale().map_or(o, |scale| scale * n);
                n / 2.0 * (1.0 - o / full) + half_pixel
            }
            Coordinates::Asymmetric => self.over_scale(i),
            Coordinates::AlignCorners => {
                let last = self.odd_scale().map_or(o, |scale| scale * n) - 1.0;
                if self.output == 1 || last == 0.0 {
                    0.0
                } else {
                    i * (n - 1.0) / last
                }
            }
            Coordinates::TfCropAndResize if self.output == 1 => 0.5 * (from + to) * (n - 1.0),
            Coordinates::TfCropAndResize => {
                from * (n - 1.0) + i * (to - from) * (n - 1.0) / (o - 1.0)
            }
        }
    }

    /// Index and weight of every tap of output `i`, none if it lies outside.
    pub(crate) fn taps(&self, i: usize, options: &ResizeOptions) -> Vec<(usize, f64)> {
        let x = self.coordinate(i, options.coordinates);
        let last = self.input as isize - 1;
        if options.coordinates == Coordinates::TfCropAndResize && !(0.0..=last as f64).contains(&x)
        {
            return Vec::new();
        }
        let inside = |at: f64| (at as isize).clamp(0, last) as usize;
        let a = match options.mode {
            ResizeMode::Nearest(mode) => {
                let nearest = match mode {
                    NearestMode::RoundPreferFloor => (x - 0.5).ceil(),
                    NearestMode::RoundPreferCeil => (x + 0.5).floor(),
                    NearestMode::Floor => x.floor(),
                    NearestMode::Ceil => x.ceil(),
                };
                return vec![(inside(nearest), 1.0)];
            }
            ResizeMode::Linear => None,
            ResizeMode::Cubic(a) => Some(a),
        };
        let reach = if a.is_some() { 2.0 } else { 1.0 };
        let shrink = self
            .odd_scale()
            .unwrap_or(self.output as f64 / self.input as f64)
            .min(1.0);
        let stretched = options.antialias && shrink < 1.0;
        let (low, high, step) = if stretched {
            let low = (x - reach / shrink).ceil().max(0.0);
            (low, (x + reach / shrink).floor().min(last as f64), shrink)
        } else {
            (x.floor() - reach + 1.0, x.floor() + reach, 1.0)
        };
        let mut taps = Vec::new();
        let mut at = low;
        while at <= high {
            let weight = kernel((at - x) * step, a);
            let is_inside = (0.0..=last as f64).contains(&at);
            if is_inside || !options.exclude_outside {
                taps.push((inside(at), weight));
            }
            at += 1.0;
        }
        if stretched || options.exclude_outside {
            let sum: f64 = taps.iter().map(|(_, weight)| weight).sum();
            for (_, weight) in &mut taps {
                *weight /= sum;
            }
        }
        taps
    }

    /// The taps of every output, as many for each: pairs of index and bits of the weight.
    pub(crate) fn table(&self, options: &ResizeOptions) -> (usize, Vec<u32>) {
        let all: Vec<_> = (0..self.output).map(|i| self.taps(i, options)).collect();
        let count = all.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let mut table = Vec::with_capacity(all.len().saturating_mul(2 * count));
        for taps in &all {
            let first = taps.first().map_or(OUTSIDE, |&(index, _)| index as u32);
            for at in 0..count {
                let (index, weight) = taps
                    .get(at)
                    .map_or((first, 0.0), |&(index, weight)| (index as u32, weight));
                table.extend([index, (weight as f32).to_bits()]);
            }
        }
        (count, table)
    }
}

/// The weight at a distance: Keys' kernel, or a triangle.
fn kernel(distance: f64, a: Option<f64>) -> f64 {
    let d = distance.abs();
    match a {
        None => (1.0 - d).max(0.0),
        Some(a) if d <= 1.0 => ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0,
        Some(a) if d < 2.0 => ((d - 5.0) * d + 8.0) * d * a - 4.0 * a,
        Some(_) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn axis(input: usize, output: usize) -> Axis {
        Axis {
            input,
            output,
            axis: ResizeAxis::default(),
        }
    }

    fn resampled(x: &[f64], output: usize, options: &ResizeOptions) -> Vec<f64> {
        let axis = axis(x.len(), output);
        (0..output)
            .map(|i| axis.taps(i, options).iter().map(|&(j, w)| x[j] * w).sum())
            .collect()
    }

    #[test]
    fn linear_values_are_those_of_the_contract() {
        let y = resampled(&[0.0, 1.0], 4, &ResizeOptions::default());
        assert_eq!(y, [0.0, 0.25, 0.75, 1.0]);
        let corners = ResizeOptions {
            coordinates: Coordinates::AlignCorners,
            ..ResizeOptions::default()
        };
        let y = resampled(&[0.0, 1.0], 4, &corners);
        for (got, wanted) in y.iter().zip([0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]) {
            assert!((got - wanted).abs() < 1e-15);
        }
    }

    #[test]
    fn nearest_modes_differ_at_halves() {
        let x = [0.0, 1.0, 2.0, 3.0];
        let nearest = |mode| {
            let options = ResizeOptions {
                mode: ResizeMode::Nearest(mode),
                ..ResizeOptions::default()
            };
            resampled(&x, 2, &options)
        };
        // Outputs lie at 0.5 and 2.5.
        assert_eq!(nearest(NearestMode::RoundPreferFloor), [0.0, 2.0]);
        assert_eq!(nearest(NearestMode::RoundPreferCeil), [1.0, 3.0]);
        assert_eq!(nearest(NearestMode::Floor), [0.0, 2.0]);
        assert_eq!(nearest(NearestMode::Ceil), [1.0, 3.0]);
    }

    #[test]
    fn weights_sum_to_one() {
        for mode in [ResizeMode::Linear, ResizeMode::Cubic(-0.75)] {
            for (antialias, exclude_outside) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let options = ResizeOptions {
                    mode,
                    antialias,
                    exclude_outside,
                    ..ResizeOptions::default()
                };
                for (input, output) in [(7, 3), (3, 7), (1, 4), (9, 1), (5, 5)] {
                    for i in 0..output {
                        let taps = axis(input, output).taps(i, &options);
                        let sum: f64 = taps.iter().map(|(_, w)| w).sum();
                        assert!((sum - 1.0).abs() < 1e-12, "{options:?} {input} {output}");
                    }
                }
            }
        }
    }

    #[test]
    fn antialiasing_averages_what_an_output_covers() {
        let options = ResizeOptions {
            antialias: true,
            ..ResizeOptions::default()
        };
        let y = resampled(&[0.0, 0.0, 0.0, 0.0, 8.0, 0.0, 0.0, 0.0], 2, &options);
        // A triangle of radius 4 around 1.5 and 5.5; Pillow and PyTorch give the same.
        assert!(
            (y[0] - 8.0 * 0.375 / 3.5).abs() < 1e-12 && (y[1] - 8.0 * 0.625 / 3.5).abs() < 1e-12,
            "{y:?}"
        );
    }

    #[test]
    fn crops_have_outputs_without_a_source() {
        let axis = Axis {
            input: 4,
            output: 3,
            axis: ResizeAxis {
                scale: None,
                region: [0.5, 1.5],
            },
        };
        let options = ResizeOptions {
            coordinates: Coordinates::TfCropAndResize,
            ..ResizeOptions::default()
        };
        // At 1.5, 3 and 4.5.
        assert_eq!(axis.taps(0, &options), [(1, 0.5), (2, 0.5)]);
        assert!(axis.taps(2, &options).is_empty());
        let (count, table) = axis.table(&options);
        assert_eq!((count, table[2 * 2 * 2]), (2, OUTSIDE));
    }
}
