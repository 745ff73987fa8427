//! Geometry of convolutions against plain loops, and what is refused.

#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use crate::ops::conv::Conv2dOptions;

fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims).unwrap()
}

fn output(x: &[usize], w: &[usize], options: &Conv2dOptions) -> Result<[usize; 2], KernelError> {
    options
        .geometry(&shape(x), &shape(w), None)
        .map(|g| [g.output[1], g.output[2]])
}

#[test]
fn extents_follow_stride_padding_and_dilation() {
    let plain = Conv2dOptions::default();
    assert_eq!(
        output(&[1, 3, 7, 8], &[4, 3, 3, 3], &plain).unwrap(),
        [5, 6]
    );
    let options = Conv2dOptions {
        stride: [2, 3],
        padding_begin: [1, 0],
        padding_end: [2, 0],
        dilation: [2, 1],
        groups: 1,
        same: false,
    };
    assert_eq!(
        output(&[1, 3, 7, 8], &[4, 3, 3, 3], &options).unwrap(),
        [3, 2]
    );
    assert_eq!(
        output(&[0, 3, 7, 8], &[4, 3, 7, 8], &plain).unwrap(),
        [1, 1]
    );
}

#[test]
fn operands_that_do_not_fit_are_errors() {
    let plain = Conv2dOptions::default();
    let grouped = Conv2dOptions { groups: 2, ..plain };
    for (x, w, options) in [
        (&[3, 7, 8][..], &[4, 3, 3, 3][..], &plain),
        (&[1, 3, 7, 8], &[4, 3, 3], &plain),
        (&[1, 3, 7, 8], &[4, 2, 3, 3], &plain),
        (&[1, 4, 7, 8], &[3, 2, 3, 3], &grouped),
        (&[1, 3, 7, 8], &[4, 3, 8, 3], &plain),
        (&[1, 3, 7, 8], &[4, 3, 0, 3], &plain),
        (
            &[1, 0, 7, 8],
            &[4, 0, 3, 3],
            &Conv2dOptions { groups: 0, ..plain },
        ),
        (
            &[1, 3, 7, 8],
            &[4, 3, 3, 3],
            &Conv2dOptions {
                stride: [0, 1],
                ..plain
            },
        ),
        (
            &[1, 3, 7, 8],
            &[4, 3, 3, 3],
            &Conv2dOptions {
                dilation: [1, 0],
                ..plain
            },
        ),
        (
            &[1, 3, 7, 8],
            &[4, 3, 3, 3],
            &Conv2dOptions {
                padding_end: [usize::MAX, 0],
                ..plain
            },
        ),
    ] {
        assert!(output(x, w, options).is_err(), "{x:?} {w:?} {options:?}");
    }
    let bias = shape(&[5]);
    assert!(
        plain
            .geometry(&shape(&[1, 3, 7, 8]), &shape(&[4, 3, 3, 3]), Some(&bias))
            .is_err()
    );
}

#[test]
fn one_and_three_axes_follow_the_same_rule() {
    let line = (ConvOptions {
        stride: [2],
        ..ConvOptions::default()
    })
    .geometry(&shape(&[2, 3, 9]), &shape(&[4, 3, 3]), None)
    .unwrap();
    assert_eq!(line.output, [1, 1, 4]);
    assert_eq!(line.output_shape(1).unwrap().dims(), [2, 4, 4]);
    assert!(!line.is_volume());
    let volume = ConvOptions::<3>::default()
        .geometry(&shape(&[2, 3, 5, 6, 7]), &shape(&[4, 3, 2, 3, 1]), None)
        .unwrap();
    assert_eq!(volume.output, [4, 4, 7]);
    assert!(volume.is_volume() && !volume.is_pointwise());
    assert_eq!((volume.depth(), volume.plane()), (18, 112));
}

#[test]
fn transposed_extents_are_those_of_the_gradient() {
    let options = ConvTransposeOptions {
        stride: [2],
        padding_begin: [1],
        padding_end: [2],
        dilation: [3],
        output_padding: [2],
        groups: 2,
    };
    let g = options
        .geometry(&shape(&[1, 4, 5]), &shape(&[4, 3, 4]), Some(&shape(&[6])))
        .unwrap();
    // 4 · 2 + (3 · 3 + 1) + 2 - 3
    assert_eq!(g.output, [1, 1, 17]);
    assert_eq!((g.channels, g.filters), (2, 3));
    assert_eq!(g.output_shape(1).unwrap().dims(), [1, 6, 17]);
    for (x, w, options) in [
        ([1, 4, 0], [4, 3, 4], options),
        ([1, 4, 5], [5, 3, 4], options),
        (
            [1, 4, 5],
            [4, 3, 4],
            ConvTransposeOptions {
                output_padding: [3],
                ..options
            },
        ),
        (
            [1, 4, 5],
            [4, 3, 4],
            ConvTransposeOptions {
                padding_end: [19],
                ..options
            },
        ),
        (
            [1, 4, 5],
            [4, 3, 4],
            ConvTransposeOptions {
                stride: [1 << 30],
                ..options
            },
        ),
    ] {
        assert!(
            options.geometry(&shape(&x), &shape(&w), None).is_err(),
            "{x:?} {w:?} {options:?}"
        );
    }
}
