//! References of movement, on dense row-major values.

use crate::ops::pad::Pad;

/// `a`, of extents `dims`, continued to the extents `out` as [`Pad`] says; `begin` is where it starts in them.
#[must_use]
pub fn pad(
    a: &[f64],
    dims: &[usize],
    begin: &[isize],
    mode: Pad,
    value: f64,
    out: &[usize],
) -> Vec<f64> {
    let len: usize = out.iter().product();
    (0..len)
        .map(|i| {
            let (mut rest, mut stride, mut at) = (i, 1, Some(0));
            for axis in (0..out.len()).rev() {
                let place = (rest % out[axis]) as isize - begin[axis];
                rest /= out[axis];
                let found = continued(place, dims[axis], mode);
                at = at.zip(found).map(|(at, place)| at + place * stride);
                stride *= dims[axis];
            }
            at.map_or(value, |at| a[at])
        })
        .collect()
}

/// The position in `n` elements that stands at `place`, walked to step by step.
fn continued(mut place: isize, n: usize, mode: Pad) -> Option<usize> {
    let last = n as isize - 1;
    while !(0..=last).contains(&place) {
        place = match mode {
            Pad::Constant => return None,
            Pad::Replicate => place.clamp(0, last),
            Pad::Circular => place + if place < 0 { n as isize } else { -(n as isize) },
            Pad::Reflect if last == 0 => 0,
            Pad::Reflect if place < 0 => -place,
            Pad::Reflect => 2 * last - place,
            Pad::Symmetric if place < 0 => -1 - place,
            Pad::Symmetric => 2 * last + 1 - place,
        };
    }
    usize::try_from(place).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modes_continue_as_their_docs_say() {
        let around = |mode| pad(&[1., 2., 3.], &[3], &[2], mode, 0., &[7]);
        assert_eq!(around(Pad::Constant), [0., 0., 1., 2., 3., 0., 0.]);
        assert_eq!(around(Pad::Reflect), [3., 2., 1., 2., 3., 2., 1.]);
        assert_eq!(around(Pad::Symmetric), [2., 1., 1., 2., 3., 3., 2.]);
        assert_eq!(around(Pad::Replicate), [1., 1., 1., 2., 3., 3., 3.]);
        assert_eq!(around(Pad::Circular), [2., 3., 1., 2., 3., 1., 2.]);
    }

    #[test]
    fn a_negative_begin_crops() {
        assert_eq!(
            pad(&[1., 2., 3.], &[3], &[-1], Pad::Constant, 9., &[3]),
            [2., 3., 9.]
        );
    }
}
