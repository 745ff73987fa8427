//! f64 reference of normalised rows, on dense row-major values.

use crate::ops::norm::{Channels, Norm};

/// Rows of `len` elements, normalised and then scaled by `weight` and moved by `bias` per channel.
#[must_use]
pub fn normalize(
    op: Norm,
    values: &[f64],
    len: usize,
    eps: f64,
    (weight, bias): (Option<&[f64]>, Option<&[f64]>),
    channels: Channels,
) -> Vec<f64> {
    let mut out = Vec::with_capacity(values.len());
    for (o, row) in values.chunks(len.max(1)).enumerate() {
        let mean = match op {
            Norm::Layer => row.iter().sum::<f64>() / len as f64,
            Norm::Rms | Norm::Length => 0.0,
        };
        let squares: f64 = row.iter().map(|x| (x - mean) * (x - mean)).sum();
        let divisor = match op {
            Norm::Layer | Norm::Rms => (squares / len as f64 + eps).sqrt(),
            Norm::Length if squares.is_nan() => f64::NAN,
            Norm::Length => squares.sqrt().max(eps),
        };
        for (r, x) in row.iter().enumerate() {
            let channel = (o % channels.period) * channels.step + r / channels.span;
            let y = (x - mean) / divisor;
            out.push(y * weight.map_or(1.0, |w| w[channel]) + bias.map_or(0.0, |b| b[channel]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalises_by_the_textbook() {
        let plain = |op, values: &[f64], eps| {
            normalize(
                op,
                values,
                values.len(),
                eps,
                (None, None),
                Channels::default(),
            )
        };
        assert_eq!(plain(Norm::Layer, &[1., 3.], 0.0), [-1., 1.]);
        assert_eq!(plain(Norm::Layer, &[5., 5.], 1e-5), [0., 0.]);
        assert_eq!(plain(Norm::Rms, &[-2., 2.], 0.0), [-1., 1.]);
        assert_eq!(plain(Norm::Length, &[3., 4.], 1e-12), [0.6, 0.8]);
        assert_eq!(plain(Norm::Length, &[0., 0.], 1e-12), [0., 0.]);
    }

    #[test]
    fn channels_repeat_with_their_period() {
        let channels = Channels {
            period: 2,
            step: 2,
            span: 2,
        };
        // Two groups of two channels of two elements each.
        let ones = [1.0; 8];
        let bias = [1., 2., 3., 4.];
        let y = normalize(Norm::Layer, &ones, 4, 1.0, (None, Some(&bias)), channels);
        assert_eq!(y, [1., 1., 2., 2., 3., 3., 4., 4.]);
    }
}
