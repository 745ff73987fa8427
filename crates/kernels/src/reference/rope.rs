//! f64 reference of the rotary embedding.

/// Rotates one head: the first `2 · cos.len()` elements in pairs.
#[must_use]
pub fn rotate(head: &[f64], cos: &[f64], sin: &[f64], interleaved: bool) -> Vec<f64> {
    let mut out = head.to_vec();
    let half = cos.len();
    for i in 0..half {
        let (first, second) = if interleaved {
            (2 * i, 2 * i + 1)
        } else {
            (i, i + half)
        };
        out[first] = cos[i] * head[first] - sin[i] * head[second];
        out[second] = sin[i] * head[first] + cos[i] * head[second];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_turn_swaps_a_pair() {
        let x = [1., 2., 3., 4., 5.];
        assert_eq!(
            rotate(&x, &[0., 1.], &[1., 0.], false),
            [-3., 2., 1., 4., 5.]
        );
        assert_eq!(
            rotate(&x, &[0., 1.], &[1., 0.], true),
            [-2., 1., 3., 4., 5.]
        );
    }
}
