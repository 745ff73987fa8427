//! f64 reference of attention for one head.

use crate::ops::attention::AttentionOptions;

/// One head: `q` `[queries, dim]`, `k` `[keys, dim]`, `v` `[keys, value_dim]`, `bias` `[queries, keys]` with −inf for what is
/// hidden. `count` is how many keys count. Keys that may not be seen do not touch the result.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// Queries.
    pub q: &'a [f64],
    /// Keys.
    pub k: &'a [f64],
    /// Values.
    pub v: &'a [f64],
    /// What is added to the scores.
    pub bias: &'a [f64],
    /// Extents: queries, keys, dim, value_dim.
    pub extents: [usize; 4],
    /// How many keys count.
    pub count: usize,
}

/// `[queries, value_dim]`; the shift is that of `options`.
#[must_use]
pub fn attention(head: &Head<'_>, options: &AttentionOptions) -> Vec<f64> {
    let [queries, keys, dim, value_dim] = head.extents;
    let mut out = Vec::with_capacity(queries * value_dim);
    for i in 0..queries {
        let position = i as i64 + i64::from(options.shift);
        let mut scores = Vec::new();
        for j in 0..keys.min(head.count) {
            let behind = position - j as i64;
            let hidden = (options.causal && behind < 0)
                || options.left_window.is_some_and(|w| behind > i64::from(w))
                || options.right_window.is_some_and(|w| -behind > i64::from(w))
                || head.bias[i * keys + j] == f64::NEG_INFINITY;
            if hidden {
                continue;
            }
            let dot: f64 = (0..dim)
                .map(|d| head.q[i * dim + d] * head.k[j * dim + d])
                .sum();
            let raw = dot * f64::from(options.scale);
            let cap = f64::from(options.softcap);
            let score = if cap > 0.0 {
                cap * (raw / cap).tanh()
            } else {
                raw
            };
            scores.push((j, score + head.bias[i * keys + j]));
        }
        let top = scores
            .iter()
            .map(|(_, s)| *s)
            .fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|(_, s)| (s - top).exp()).sum();
        for d in 0..value_dim {
            out.push(if scores.is_empty() {
                if options.zero_masked_rows {
                    0.0
                } else {
                    f64::NAN
                }
            } else {
                let weighted = |&(j, s): &(usize, f64)| (s - top).exp() * head.v[j * value_dim + d];
                scores.iter().map(weighted).sum::<f64>() / total
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_give_the_mean_of_what_may_be_seen() {
        let head = Head {
            q: &[0., 0.],
            k: &[1., 2., 3.],
            v: &[10., 20., 60.],
            bias: &[0.; 6],
            extents: [2, 3, 1, 1],
            count: 3,
        };
        let options = AttentionOptions::default();
        assert_eq!(attention(&head, &options), [30., 30.]);
        let causal = AttentionOptions {
            causal: true,
            ..options
        };
        assert_eq!(attention(&head, &causal), [10., 15.]);
        let short = Head { count: 0, ..head };
        assert!(attention(&short, &options)[0].is_nan());
    }
}
