//! Views of axes, joining, repeating, rolling, padding and patterns: PyTorch's rules on their edges.

use crate::common;
use ziggurat_tensor::{DType, DepthOrder, Device, Error, Pad, Tensor, interop};

fn counted(device: &Device, dims: &[usize]) -> Tensor {
    let len = dims.iter().product::<usize>() as i32;
    Tensor::from_slice(device, &(0..len).collect::<Vec<i32>>(), dims).unwrap()
}

fn values(tensor: &Tensor) -> Vec<i32> {
    tensor.to_vec_blocking::<i32>().unwrap()
}

#[test]
fn axis_views_share_the_memory_of_their_source() {
    let device = common::device();
    let a = counted(&device, &[2, 6, 4]);
    let mut views = vec![
        a.swapaxes(0, -1).unwrap(),
        a.movedim([0], [2]).unwrap(),
        a.unflatten(1, [2, -1]).unwrap(),
        a.t().unwrap().unflatten(-1, [3, 2]).unwrap(),
        a.unfold(1, 3, 2).unwrap(),
        a.diagonal(-1, 1, 2).unwrap(),
    ];
    views.extend(a.chunk(4, 1).unwrap());
    views.extend(a.split(4, -2).unwrap());
    views.extend(a.split_sizes([1, 5], 1).unwrap());
    views.extend(a.unbind(2).unwrap());
    for (i, view) in views.iter().enumerate() {
        let (source, seen) = (interop::buffer(&a).unwrap(), interop::buffer(view).unwrap());
        assert!(source.buffer == seen.buffer, "view {i} copied");
    }
}

#[test]
fn axes_are_moved_split_and_cut_as_in_pytorch() {
    let device = common::device();
    let a = counted(&device, &[2, 3, 4]);
    assert_eq!(a.movedim([0, 2], [1, 0]).unwrap().dims(), [4, 2, 3]);
    assert_eq!(a.movedim([-1], [0]).unwrap().dims(), [4, 2, 3]);
    assert_eq!(a.movedim([], []).unwrap().dims(), [2, 3, 4]);
    assert_eq!(a.unflatten(2, [2, 2]).unwrap().dims(), [2, 3, 2, 2]);
    let sizes =
        |parts: Vec<Tensor>| -> Vec<usize> { parts.iter().map(|part| part.dims()[0]).collect() };
    let line = |n: usize| counted(&device, &[n]);
    assert_eq!(sizes(line(5).split(2, 0).unwrap()), [2, 2, 1]);
    assert_eq!(sizes(line(4).chunk(3, 0).unwrap()), [2, 2]);
    assert_eq!(sizes(line(7).chunk(3, 0).unwrap()), [3, 3, 1]);
    assert_eq!(sizes(line(2).chunk(5, 0).unwrap()), [1, 1]);
    assert_eq!(sizes(line(0).chunk(2, 0).unwrap()), [0, 0]);
    assert_eq!(sizes(line(3).split_sizes([0, 3, 0], 0).unwrap()), [0, 3, 0]);
    assert_eq!(values(&line(7).split(3, -1).unwrap()[1]), [3, 4, 5]);
    let windows = line(7).unfold(0, 3, 2).unwrap();
    assert_eq!(windows.dims(), [3, 3]);
    assert_eq!(values(&windows), [0, 1, 2, 2, 3, 4, 4, 5, 6]);
    assert_eq!(a.unfold(1, 2, 1).unwrap().dims(), [2, 2, 4, 2]);
    assert_eq!(values(&line(3).unfold(0, 0, 2).unwrap()), [0i32; 0]);
    assert_eq!(
        values(&a.diagonal(0, 0, 1).unwrap()),
        [0, 16, 1, 17, 2, 18, 3, 19]
    );
    assert_eq!(
        values(&a.diagonal(1, 1, 2).unwrap()),
        [1, 6, 11, 13, 18, 23]
    );
    assert_eq!(a.diagonal(4, 1, 2).unwrap().dims(), [2, 0]);
    // Windows and diagonals of a flipped view.
    let back = line(5).flip([0]).unwrap();
    assert_eq!(values(&back.unfold(0, 2, 3).unwrap()), [4, 3, 1, 0]);
}

#[test]
fn tensors_are_joined_with_promotion_and_without_empty_vectors() {
    let device = common::device();
    let a = counted(&device, &[2, 3]);
    let empty = Tensor::zeros(&device, [0], DType::F32).unwrap();
    let joined = Tensor::concat(&[&empty, &a, &a.flip([1]).unwrap()], 1).unwrap();
    assert_eq!(joined.dtype(), DType::F32);
    assert_eq!(
        joined.to_vec_blocking::<f32>().unwrap(),
        [0., 1., 2., 2., 1., 0., 3., 4., 5., 5., 4., 3.]
    );
    assert_eq!(Tensor::concat(&[&empty, &empty], 0).unwrap().dims(), [0]);
    let stacked = Tensor::stack(&[&a, &a, &a], 1).unwrap();
    assert_eq!(stacked.dims(), [2, 3, 3]);
    assert_eq!(values(&stacked)[..9], [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    // Pending values, in one expression, and many inputs.
    let many: Vec<Tensor> = (0..40).map(|i| a.add(i).unwrap()).collect();
    let joined = Tensor::concat(&many.iter().collect::<Vec<_>>(), 0).unwrap();
    assert_eq!(joined.dims(), [80, 3]);
    assert_eq!(values(&joined)[39 * 6..], [39, 40, 41, 42, 43, 44]);
}

#[test]
fn tensors_are_repeated_rolled_and_padded() {
    let device = common::device();
    let a = counted(&device, &[2, 2]);
    assert_eq!(values(&a.tile([2]).unwrap()), [0, 1, 0, 1, 2, 3, 2, 3]);
    assert_eq!(a.tile([3, 1, 2]).unwrap().dims(), [3, 2, 4]);
    assert_eq!(a.tile([0, 2]).unwrap().dims(), [0, 4]);
    assert_eq!(
        values(&a.repeat([1, 2]).unwrap()),
        values(&a.tile([2]).unwrap())
    );
    // As many axes as there may be, all repeated.
    let deep = counted(&device, &[2, 1, 1, 2, 1, 1, 1, 2]);
    let tiled = deep.tile([2, 2, 1, 2, 1, 1, 2, 2]).unwrap();
    assert_eq!(tiled.dims(), [4, 2, 1, 4, 1, 1, 2, 4]);
    let expected: Vec<i32> = (0..4 * 2 * 4 * 2 * 4)
        .map(|i| {
            let (d, b, e) = (i % 4 % 2, i / 8 % 4 % 2, i / 64 % 4 % 2);
            e * 4 + b * 2 + d
        })
        .collect();
    assert_eq!(values(&tiled), expected);
    assert_eq!(
        values(&a.repeat_interleave(2, 0).unwrap()),
        [0, 1, 0, 1, 2, 3, 2, 3]
    );
    assert_eq!(
        values(&a.repeat_interleave(2, 1).unwrap()),
        [0, 0, 1, 1, 2, 2, 3, 3]
    );
    assert_eq!(a.repeat_interleave(0, 1).unwrap().dims(), [2, 0]);

    let line = counted(&device, &[3]);
    assert_eq!(values(&line.roll([4], [0]).unwrap()), [2, 0, 1]);
    assert_eq!(values(&line.roll([-1], [0]).unwrap()), [1, 2, 0]);
    assert_eq!(values(&line.roll([isize::MIN], [0]).unwrap()).len(), 3);
    assert_eq!(values(&a.roll_flat(1).unwrap()), [3, 0, 1, 2]);
    assert_eq!(values(&a.roll([1, 1], [0, 1]).unwrap()), [3, 2, 1, 0]);
    assert_eq!(values(&a.roll([1, 1], [0, 0]).unwrap()), [0, 1, 2, 3]);
    let empty = Tensor::zeros(&device, [0, 2], DType::I32).unwrap();
    assert_eq!(empty.roll([1], [0]).unwrap().dims(), [0, 2]);
    assert_eq!(empty.roll_flat(1).unwrap().dims(), [0, 2]);

    let pad = |pads: [isize; 2], mode| values(&line.pad([pads], mode, 7).unwrap());
    assert_eq!(pad([2, 1], Pad::Constant), [7, 7, 0, 1, 2, 7]);
    assert_eq!(pad([2, 2], Pad::Reflect), [2, 1, 0, 1, 2, 1, 0]);
    assert_eq!(pad([3, 1], Pad::Symmetric), [2, 1, 0, 0, 1, 2, 2]);
    assert_eq!(pad([1, 2], Pad::Replicate), [0, 0, 1, 2, 2, 2]);
    assert_eq!(pad([3, 1], Pad::Circular), [0, 1, 2, 0, 1, 2, 0]);
    assert_eq!(pad([-1, 0], Pad::Circular), [1, 2]);
    // Cropped first: what is cropped cannot come back.
    assert_eq!(pad([-1, 2], Pad::Circular), [1, 2, 1, 2]);
    assert_eq!(pad([-3, 2], Pad::Constant), [7, 7]);
    let nan = Tensor::from_slice(&device, &[f32::NAN], [1]).unwrap();
    let padded = nan.pad([[1, 0]], Pad::Constant, f32::NEG_INFINITY).unwrap();
    let padded = padded.to_vec_blocking::<f32>().unwrap();
    assert!(padded[0] == f32::NEG_INFINITY && padded[1].is_nan());
}

#[test]
fn patterns_hold_for_every_dtype() {
    let device = common::device();
    for dtype in DType::ALL {
        let a = Tensor::ones(&device, [2, 3, 3], dtype).unwrap();
        let lower = a.tril(-1).unwrap();
        assert_eq!(lower.dtype(), dtype);
        let one = [0., 0., 0., 1., 0., 0., 1., 1., 0.];
        assert_eq!(
            lower.to_f64_vec_blocking().unwrap(),
            one.repeat(2),
            "{dtype}"
        );
        let upper = a.triu(isize::MAX).unwrap();
        assert_eq!(upper.to_f64_vec_blocking().unwrap(), [0.0; 18]);
        assert_eq!(
            a.triu(isize::MIN).unwrap().to_f64_vec_blocking().unwrap(),
            [1.0; 18]
        );
        let embedded = Tensor::ones(&device, [2], dtype).unwrap().diag(1).unwrap();
        assert_eq!(
            embedded.to_f64_vec_blocking().unwrap(),
            [0., 1., 0., 0., 0., 1., 0., 0., 0.],
            "{dtype}"
        );
    }
    let nan = Tensor::full(&device, [2, 2], f32::NAN, DType::F32).unwrap();
    assert_eq!(
        nan.tril(-3).unwrap().to_vec_blocking::<f32>().unwrap(),
        [0.0; 4]
    );
    let a = counted(&device, &[2, 3]);
    assert_eq!(values(&a.diag(-1).unwrap()), [3]);
    assert_eq!(a.diag_embed(0).unwrap().dims(), [2, 3, 3]);
    assert_eq!(
        Tensor::zeros(&device, [0], DType::I8)
            .unwrap()
            .diag(0)
            .unwrap()
            .dims(),
        [0, 0]
    );
    for (indices, dtype) in [(vec![1.0, 4.0], DType::U8), (vec![1.0, 3e9], DType::U32)] {
        let bytes = ziggurat_kernels::core::encode(dtype, &indices);
        let hot = Tensor::from_bytes(&device, &bytes, [2], dtype).unwrap();
        let hot = hot.one_hot(3, 0, true, false, DType::Bool).unwrap();
        assert_eq!(hot.dims(), [3, 2]);
        let hot = hot.to_vec_blocking::<bool>().unwrap();
        assert_eq!(hot, [false, false, true, false, false, false], "{dtype}");
    }
    // More places than a u8 counts.
    let byte = Tensor::from_slice(&device, &[255u8], [1]).unwrap();
    let hot = byte.one_hot(300, 0, 1, 0, DType::I32).unwrap();
    let hot = hot.to_vec_blocking::<i32>().unwrap();
    assert_eq!(hot.iter().position(|&x| x == 1), Some(255));
    assert_eq!(hot.iter().sum::<i32>(), 1);
    let line = |n| {
        Tensor::linspace(&device, -1.0, 1.0, n)
            .unwrap()
            .to_vec_blocking::<f32>()
            .unwrap()
    };
    assert_eq!(line(0), [0f32; 0]);
    assert_eq!(line(1), [-1.0]);
    assert_eq!(line(3), [-1.0, 0.0, 1.0]);
    let fine = line(1001);
    assert_eq!((fine[0], fine[1000]), (-1.0, 1.0));
    assert!(
        fine.iter()
            .enumerate()
            .all(|(i, x)| (x - (i as f32 / 500.0 - 1.0)).abs() < 2e-7)
    );
}

#[test]
fn blocks_go_to_the_channels_and_back() {
    let device = common::device();
    let a = counted(&device, &[2, 3, 4, 6]);
    for order in [DepthOrder::BlockFirst, DepthOrder::ChannelFirst] {
        let deep = a.space_to_depth(2, order).unwrap();
        assert_eq!(deep.dims(), [2, 12, 2, 3]);
        assert_eq!(values(&deep.depth_to_space(2, order).unwrap()), values(&a));
    }
}

#[test]
fn misuse_is_an_error_that_says_what_was_given() {
    let device = common::device();
    let a = counted(&device, &[2, 3]);
    let scalar = Tensor::from_value(&device, 1i32).unwrap();
    type Call = (Result<Tensor, Error>, fn(&Error) -> bool, &'static str);
    let first = |parts: Result<Vec<Tensor>, Error>| parts.map(|parts| parts[0].clone());
    let calls: Vec<Call> = vec![
        (
            first(a.chunk(0, 0)),
            Error::is_argument,
            "chunk: the number of chunks must be at least 1: it is 0",
        ),
        (
            first(a.split(0, 0)),
            Error::is_argument,
            "split: the size must be at least 1",
        ),
        (
            first(a.split_sizes([1, 2], 0)),
            Error::is_shape,
            "split_sizes: the sizes must add up",
        ),
        (
            first(a.split_sizes([usize::MAX, 3], 0)),
            Error::is_shape,
            "split_sizes: ",
        ),
        (
            first(scalar.chunk(2, 0)),
            Error::is_shape,
            "chunk: the tensor must have an axis 0: its rank is 0",
        ),
        (
            a.unfold(1, 4, 1),
            Error::is_shape,
            "unfold: a window must not be longer than its axis: 4 positions of axis 1 of [2, 3]",
        ),
        (a.unfold(1, 1, 0), Error::is_argument, "unfold: the step"),
        (
            a.diagonal(0, 1, -1),
            Error::is_shape,
            "diagonal: the axes must differ: 1 and -1 of [2, 3]",
        ),
        (
            a.movedim([0], [0, 1]),
            Error::is_shape,
            "movedim: as many sources",
        ),
        (a.movedim([0, 0], [0, 1]), Error::is_shape, "movedim: "),
        (a.unflatten(1, [2, 2]), Error::is_shape, "unflatten: "),
        (
            Tensor::concat(&[], 0),
            Error::is_argument,
            "concat: at least one tensor",
        ),
        (
            Tensor::concat(&[&a, &scalar], 0),
            Error::is_shape,
            "concat: all extents",
        ),
        (
            Tensor::concat(&[&scalar, &scalar], 0),
            Error::is_shape,
            "concat: the tensor must have an axis",
        ),
        (
            Tensor::stack(&[&a, &a.t().unwrap()], 0),
            Error::is_shape,
            "stack: all shapes must be equal: [[2, 3], [3, 2]] given",
        ),
        (a.tile([usize::MAX, 2]), Error::is_shape, "tile: "),
        (
            a.repeat([2]),
            Error::is_shape,
            "repeat: there must be a number of repeats for every axis: [2] given for [2, 3]",
        ),
        (
            a.repeat_interleave(usize::MAX, 0),
            Error::is_shape,
            "repeat_interleave: ",
        ),
        (
            a.roll([1, 2], [0]),
            Error::is_argument,
            "roll: as many shifts as axes",
        ),
        (a.roll([1], [2]), Error::is_shape, "roll: "),
        (
            a.pad([[0, 0]], Pad::Constant, 0),
            Error::is_argument,
            "pad: one pair per axis is needed: 1 given for [2, 3]",
        ),
        (
            a.pad([[0, 0], [3, 0]], Pad::Reflect, 0),
            Error::is_shape,
            "pad: a reflect pad of 3 positions may be at most 2: 3 and 0 along axis 1 given",
        ),
        (
            a.pad([[0, 3], [0, 0]], Pad::Circular, 0),
            Error::is_shape,
            "pad: a circular pad",
        ),
        (
            a.pad([[-2, -1], [0, 0]], Pad::Constant, 0),
            Error::is_shape,
            "pad: not more can be cropped",
        ),
        (
            a.pad([[isize::MAX, 1], [0, 0]], Pad::Constant, 0),
            Error::is_shape,
            "pad: ",
        ),
        (
            scalar.tril(0),
            Error::is_shape,
            "tril: the tensor must have two axes",
        ),
        (
            scalar.diag(0),
            Error::is_shape,
            "diag: the rank must be 1 or 2",
        ),
        (scalar.diag_embed(0), Error::is_shape, "diag_embed: "),
        (a.diag_embed(isize::MIN), Error::is_shape, "diag_embed: "),
        (
            a.depth_to_space(2, DepthOrder::BlockFirst),
            Error::is_shape,
            "depth_to_space: the input must be [N, C, H, W]",
        ),
        (
            a.reshape([1, 1, 2, 3])
                .unwrap()
                .space_to_depth(2, DepthOrder::BlockFirst),
            Error::is_shape,
            "space_to_depth: the extents",
        ),
        (
            a.reshape([1, 6, 1, 1])
                .unwrap()
                .depth_to_space(0, DepthOrder::BlockFirst),
            Error::is_shape,
            "depth_to_space: the channels",
        ),
        (
            a.gt(0).unwrap().one_hot(2, 0, 1, 0, DType::I32),
            Error::is_dtype,
            "one_hot: indices must be integers: they are bool",
        ),
        (
            a.one_hot(2, 4, 1, 0, DType::I32),
            Error::is_shape,
            "unsqueeze: ",
        ),
        (
            Tensor::linspace(&device, f32::NAN, 1.0, 3),
            Error::is_argument,
            "linspace: start must be finite",
        ),
        (
            first(Tensor::meshgrid(&[&a], true)),
            Error::is_shape,
            "meshgrid: an operand must be a vector, but its shape is [",
        ),
    ];
    for (i, (result, kind, text)) in calls.into_iter().enumerate() {
        let error = result.expect_err(&format!("call {i}: {text}"));
        assert!(error.to_string().starts_with(text), "call {i}: {error}");
        assert!(kind(&error), "call {i}: {error}");
    }
}

/// `torch.logspace(start, end, steps, base)` of PyTorch 2.15.
#[test]
fn powers_are_spaced_evenly() {
    let device = common::device();
    let space = |start, end, n, base| {
        let y = Tensor::logspace(&device, start, end, n, base).unwrap();
        y.to_f64_vec_blocking().unwrap()
    };
    for (got, expected) in [
        (space(-2.0, 2.0, 5, 10.0), vec![0.01, 0.1, 1.0, 10.0, 100.0]),
        (space(3.0, 0.0, 4, 2.0), vec![8.0, 4.0, 2.0, 1.0]),
        (space(0.5, 1.0, 1, 16.0), vec![4.0]),
        (space(0.0, 1.0, 0, 2.0), vec![]),
    ] {
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(&expected) {
            assert!(
                (got - expected).abs() <= 1e-6 * expected,
                "{got} {expected}"
            );
        }
    }
    let error = Tensor::logspace(&device, f32::NAN, 1.0, 3, 10.0).unwrap_err();
    assert!(error.is_argument());
}
