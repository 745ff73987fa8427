//! Scans, sorts and selections: PyTorch's rules on their edges.

use crate::common;
use ziggurat_tensor::{DType, Device, Error, ScanOptions, Tensor};

fn floats(device: &Device, values: &[f32]) -> Tensor {
    Tensor::from_slice(device, values, [values.len()]).unwrap()
}

fn ints(tensor: &Tensor) -> Vec<i32> {
    tensor.to_vec_blocking::<i32>().unwrap()
}

fn text(tensor: &Tensor) -> String {
    format!("{:?}", tensor.to_vec_blocking::<f32>().unwrap())
}

#[test]
fn scans_follow_pytorch() {
    let device = common::device();
    let a = floats(&device, &[1.0, f32::NAN, 2.0]);
    assert_eq!(text(&a.cumsum(0).unwrap()), "[1.0, NaN, NaN]");
    assert_eq!(text(&a.cummax(0).unwrap().0), "[1.0, NaN, NaN]");
    assert_eq!(ints(&a.cummax(0).unwrap().1), [0, 1, 1]);
    let ties = floats(&device, &[1.0, 3.0, 3.0]);
    assert_eq!(ints(&ties.cummax(-1).unwrap().1), [0, 1, 2]);
    let low = floats(&device, &[f32::NEG_INFINITY, 0.0]);
    assert_eq!(text(&low.logcumsumexp(0).unwrap()), "[-inf, 0.0]");
    let bools = Tensor::from_slice(&device, &[true, false, true], [3]).unwrap();
    assert_eq!(ints(&bools.cumsum(0).unwrap()), [1, 1, 2]);
    assert_eq!(ints(&bools.cumprod(0).unwrap()), [1, 0, 0]);
    let bytes = Tensor::from_slice(&device, &[200u8, 100], [2]).unwrap();
    assert_eq!(ints(&bytes.cumsum(0).unwrap()), [200, 300]);
    assert_eq!(bytes.logcumsumexp(0).unwrap().dtype(), DType::F32);
    let grid = Tensor::arange(&device, 1, 7, 1, DType::I32)
        .unwrap()
        .reshape([2, 3])
        .unwrap();
    assert_eq!(
        ints(&grid.t().unwrap().cumsum(0).unwrap()),
        [1, 4, 3, 9, 6, 15]
    );
    let options = ScanOptions {
        exclusive: true,
        reverse: true,
    };
    assert_eq!(
        ints(&grid.cumsum_with(1, options).unwrap()),
        [5, 3, 0, 11, 6, 0]
    );
    assert_eq!(
        ints(&grid.cumprod_with(0, options).unwrap()),
        [4, 5, 6, 1, 1, 1]
    );
    assert_eq!(ints(&grid.cummin(1).unwrap().0), [1, 1, 1, 4, 4, 4]);
    let one = Tensor::from_value(&device, 5i32).unwrap();
    assert_eq!(ints(&one.cumsum(-1).unwrap()), [5]);
    assert_eq!(ints(&one.cummax(0).unwrap().1), [0]);
    let none = Tensor::zeros(&device, [0, 2], DType::F32).unwrap();
    assert_eq!(none.cumsum(0).unwrap().dims(), [0, 2]);
    assert_eq!(none.cummax(0).unwrap().0.dims(), [0, 2]);
    assert!(grid.cumsum(2).unwrap_err().is_shape());
    assert!(one.cumsum(1).unwrap_err().is_shape());
}

#[test]
fn sorts_follow_pytorch() {
    let device = common::device();
    let a = floats(&device, &[2.0, f32::NAN, -1.0, f32::INFINITY, -0.0, 0.0]);
    let (values, at) = a.sort(0, false).unwrap();
    assert_eq!(text(&values), "[-1.0, -0.0, 0.0, 2.0, inf, NaN]");
    assert_eq!(ints(&at), [2, 4, 5, 0, 3, 1]);
    let (values, at) = a.sort(-1, true).unwrap();
    assert_eq!(text(&values), "[NaN, inf, 2.0, -0.0, 0.0, -1.0]");
    assert_eq!(ints(&at), [1, 3, 0, 4, 5, 2]);
    let (values, _) = floats(&device, &[1.0, f32::NAN, 3.0])
        .topk(2, 0, true)
        .unwrap();
    assert_eq!(text(&values), "[NaN, 3.0]");
    assert_eq!(a.topk(0, 0, true).unwrap().0.dims(), [0]);
    let grid = Tensor::from_slice(&device, &[3i32, 1, 2, 6, 5, 4], [2, 3]).unwrap();
    let (values, at) = grid.topk(2, 1, false).unwrap();
    assert_eq!(
        (ints(&values), ints(&at)),
        (vec![1, 2, 4, 5], vec![1, 2, 2, 1])
    );
    assert_eq!(
        ints(&grid.t().unwrap().argsort(0, true).unwrap()),
        [0, 0, 2, 1, 1, 2]
    );
    let (value, at) = grid.kthvalue(2, 1, false).unwrap();
    assert_eq!((ints(&value), ints(&at)), (vec![2, 5], vec![2, 1]));
    assert_eq!(grid.kthvalue(1, 0, true).unwrap().0.dims(), [1, 3]);
    let (value, at) = floats(&device, &[4.0, 1.0, 3.0, 2.0])
        .median(0, false)
        .unwrap();
    assert_eq!((text(&value), ints(&at)), ("[2.0]".to_owned(), vec![3]));
    let (value, at) = floats(&device, &[4.0, f32::NAN, 3.0, f32::NAN])
        .median(0, true)
        .unwrap();
    assert_eq!((text(&value), ints(&at)), ("[NaN]".to_owned(), vec![1]));
    assert_eq!(ints(&grid.median(1, false).unwrap().0), [2, 5]);
    let one = Tensor::from_value(&device, 5i32).unwrap();
    assert_eq!(ints(&one.sort(0, false).unwrap().0), [5]);
    assert_eq!(ints(&one.topk(1, -1, true).unwrap().0), [5]);
    assert_eq!(ints(&one.median(0, false).unwrap().0), [5]);
    for (error, says) in [
        (
            grid.topk(4, 1, true).map(|pair| pair.0),
            "topk: the axis must have at least 4 positions: axis 1 of [2, 3] has 3",
        ),
        (
            grid.kthvalue(0, 1, true).map(|pair| pair.0),
            "kthvalue: k counts from 1: it is 0",
        ),
        (grid.sort(2, true).map(|pair| pair.0), "sort: "),
        (
            Tensor::zeros(&device, [0], DType::F32)
                .unwrap()
                .median(0, true)
                .map(|pair| pair.0),
            "median: the axis must have",
        ),
        (one.searchsorted(&grid, true), "searchsorted: "),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
    }
}

#[test]
fn selections_have_the_size_that_the_values_ask_for() {
    let device = common::device();
    let a = Tensor::from_slice(&device, &[0i32, 5, 0, 7, 0, 9], [2, 3]).unwrap();
    assert_eq!(
        a.nonzero_blocking()
            .unwrap()
            .to_vec2_blocking::<i32>()
            .unwrap(),
        [[0, 1], [1, 0], [1, 2]]
    );
    assert_eq!(
        a.t()
            .unwrap()
            .nonzero_blocking()
            .unwrap()
            .to_vec2_blocking::<i32>()
            .unwrap(),
        [[0, 1], [1, 0], [2, 1]]
    );
    let none = Tensor::zeros(&device, [4], DType::F32).unwrap();
    assert_eq!(none.nonzero_blocking().unwrap().dims(), [0, 1]);
    assert_eq!(
        Tensor::from_value(&device, 3i32)
            .unwrap()
            .nonzero_blocking()
            .unwrap()
            .dims(),
        [1, 0]
    );
    assert_eq!(
        Tensor::from_value(&device, 0i32)
            .unwrap()
            .nonzero_blocking()
            .unwrap()
            .dims(),
        [0, 0]
    );
    assert_eq!(
        Tensor::zeros(&device, [0, 2], DType::I8)
            .unwrap()
            .nonzero_blocking()
            .unwrap()
            .dims(),
        [0, 2]
    );
    let mask = a.gt(4).unwrap();
    assert_eq!(ints(&a.masked_select_blocking(&mask).unwrap()), [5, 7, 9]);
    let rows = Tensor::from_slice(&device, &[false, true], [2, 1]).unwrap();
    assert_eq!(ints(&a.masked_select_blocking(&rows).unwrap()), [7, 0, 9]);
    let never = a.gt(100).unwrap();
    assert_eq!(a.masked_select_blocking(&never).unwrap().dims(), [0]);
    assert!(a.masked_select_blocking(&a).unwrap_err().is_dtype());
    let long = Tensor::arange(&device, 0, 5000, 1, DType::I32).unwrap();
    let seventh = long
        .sub(long.div_trunc(7).unwrap().mul(7).unwrap())
        .unwrap()
        .eq(0)
        .unwrap();
    let picked = ints(&long.masked_select_blocking(&seventh).unwrap());
    assert!(picked.iter().enumerate().all(|(i, &x)| x == 7 * i as i32) && picked.len() == 715);
}

#[test]
fn values_are_grouped_and_counted() {
    let device = common::device();
    let a = Tensor::from_slice(&device, &[4i32, 1, 4, -2, 1, 4], [2, 3]).unwrap();
    let unique = a.unique_blocking().unwrap();
    assert_eq!(ints(&unique.values), [-2, 1, 4]);
    assert_eq!(
        unique.inverse.to_vec2_blocking::<i32>().unwrap(),
        [[2, 1, 2], [0, 1, 2]]
    );
    assert_eq!(ints(&unique.counts), [1, 2, 3]);
    let nan = floats(&device, &[f32::NAN, 0.0, -0.0, f32::NAN])
        .unique_blocking()
        .unwrap();
    assert_eq!(text(&nan.values), "[0.0, NaN, NaN]");
    assert_eq!(ints(&nan.counts), [2, 1, 1]);
    let none = Tensor::zeros(&device, [0], DType::F32)
        .unwrap()
        .unique_blocking()
        .unwrap();
    assert_eq!(
        (none.values.dims(), none.counts.dims(), none.inverse.dims()),
        (&[0][..], &[0][..], &[0][..])
    );
    let one = Tensor::from_value(&device, 3u8)
        .unwrap()
        .unique_blocking()
        .unwrap();
    assert_eq!(
        (
            one.values.to_vec_blocking::<u8>().unwrap(),
            ints(&one.counts)
        ),
        (vec![3], vec![1])
    );

    let b = Tensor::from_slice(&device, &[1u8, 3, 1, 0], [4]).unwrap();
    assert_eq!(ints(&b.bincount_blocking(None, 0).unwrap()), [1, 2, 0, 1]);
    assert_eq!(
        ints(&b.bincount_blocking(None, 6).unwrap()),
        [1, 2, 0, 1, 0, 0]
    );
    let weights = floats(&device, &[0.5, 1.0, 0.25, 4.0]);
    assert_eq!(
        text(&b.bincount_blocking(Some(&weights), 0).unwrap()),
        "[4.0, 0.75, 0.0, 1.0]"
    );
    let none = Tensor::zeros(&device, [0], DType::I32).unwrap();
    assert_eq!(
        none.bincount_blocking(None, 2)
            .unwrap()
            .to_vec_blocking::<i32>()
            .unwrap(),
        [0, 0]
    );
    let negative = Tensor::from_slice(&device, &[1i32, -4], [2]).unwrap();
    let error = negative.bincount_blocking(None, 0).unwrap_err().to_string();
    assert_eq!(
        error,
        "bincount: an element must not be negative, but it is -4"
    );
    assert!(a.bincount_blocking(None, 0).unwrap_err().is_argument());

    let c = floats(
        &device,
        &[0.0, 0.5, 1.0, 2.0, 3.0, f32::NAN, -1.0, 2.5, f32::INFINITY],
    );
    let (counts, edges) = c.histogram(3, 0.0, 3.0).unwrap();
    assert_eq!(
        (ints(&counts), text(&edges)),
        (vec![2, 1, 3], "[0.0, 1.0, 2.0, 3.0]".to_owned())
    );
    let errors: Vec<Result<(Tensor, Tensor), Error>> = vec![
        c.histogram(0, 0.0, 1.0),
        c.histogram(2, 1.0, 1.0),
        c.histogram(2, 0.0, f32::NAN),
    ];
    assert!(
        errors
            .into_iter()
            .all(|error| error.is_err_and(|error| error.is_argument()))
    );
}

/// `torch.histc(x, bins, min, max)` of PyTorch 2.15.
#[test]
fn histc_finds_its_own_bounds() {
    let device = common::device();
    let x = Tensor::from_slice(&device, &[1.0f32, 2.0, 1.0, 5.0, f32::NAN], [5]).unwrap();
    let known = x.narrow(0, 0, 4).unwrap();
    let counts = |x: &Tensor, bins, low, high| {
        x.histc(bins, low, high)
            .unwrap()
            .to_vec_blocking::<f32>()
            .unwrap()
    };
    assert_eq!(counts(&known, 4, 0.0, 0.0), [2.0, 1.0, 0.0, 1.0]);
    assert_eq!(counts(&known, 3, 0.0, 3.0), [0.0, 2.0, 1.0]);
    assert_eq!(counts(&known, 2, 2.0, 2.0), [3.0, 1.0]);
    let same = Tensor::full(&device, [3], 7.0, DType::F16).unwrap();
    let y = same.histc(2, 0.0, 0.0).unwrap();
    assert_eq!(y.dtype(), DType::F16);
    assert_eq!(y.to_f64_vec_blocking().unwrap(), [0.0, 3.0]);
    assert_eq!(counts(&x, 2, 0.0, 4.0), [2.0, 1.0], "NaN is nowhere");
    let none = Tensor::zeros(&device, [0], DType::F32).unwrap();
    assert_eq!(counts(&none, 2, 0.0, 0.0), [0.0, 0.0]);
    assert!(x.histc(0, 0.0, 1.0).unwrap_err().is_argument());
    assert!(x.histc(2, 1.0, 0.0).unwrap_err().is_argument());
    let int = x.to_dtype(DType::I32).unwrap();
    assert!(int.histc(2, 0.0, 1.0).unwrap_err().is_dtype());
}

/// `torch.repeat_interleave(a, repeats, dim)` of PyTorch 2.15.
#[test]
fn positions_repeat_as_a_tensor_says() {
    let device = common::device();
    let a = Tensor::from_slice(&device, &[1i32, 2, 3, 4, 5, 6], [2, 3]).unwrap();
    let times = Tensor::from_slice(&device, &[2i32, 0, 1], [3]).unwrap();
    let y = a.repeat_interleave_by_blocking(&times, -1).unwrap();
    assert_eq!(y.to_vec2_blocking::<i32>().unwrap(), [[1, 1, 3], [4, 4, 6]]);
    let y = a
        .t()
        .unwrap()
        .repeat_interleave_by_blocking(&times, 0)
        .unwrap();
    assert_eq!(
        y.to_vec2_blocking::<i32>().unwrap(),
        [[1, 4], [1, 4], [3, 6]]
    );
    let two = Tensor::from_slice(&device, &[2u8], [1]).unwrap();
    let y = a.repeat_interleave_by_blocking(&two, 0).unwrap();
    assert_eq!(y.dims(), [4, 3]);
    let none = Tensor::zeros(&device, [3], DType::I32).unwrap();
    assert_eq!(
        a.repeat_interleave_by_blocking(&none, 1).unwrap().dims(),
        [2, 0]
    );
    let empty = Tensor::zeros(&device, [0, 2], DType::F32).unwrap();
    assert_eq!(
        empty.repeat_interleave_by_blocking(&two, 0).unwrap().dims(),
        [0, 2]
    );
    let negative = Tensor::from_slice(&device, &[1i32, -1, 1], [3]).unwrap();
    assert_eq!(
        a.repeat_interleave_by_blocking(&negative, 1)
            .unwrap_err()
            .to_string(),
        "repeat_interleave_by: repeats must not be negative, but it is -1"
    );
    assert!(
        a.repeat_interleave_by_blocking(&times, 0)
            .unwrap_err()
            .is_argument()
    );
    assert!(
        a.repeat_interleave_by_blocking(&times, 2)
            .unwrap_err()
            .is_shape()
    );
}
