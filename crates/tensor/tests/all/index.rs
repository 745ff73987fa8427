//! Reading and writing what indices name: PyTorch's forms, and what happens out of range.

use crate::common;
use ziggurat_tensor::{AxisRange, DType, Device, Error, Scatter, Tensor};

fn counted(device: &Device, dims: &[usize]) -> Tensor {
    let len = dims.iter().product::<usize>() as i32;
    Tensor::from_slice(device, &(0..len).collect::<Vec<i32>>(), dims).unwrap()
}

fn line(device: &Device, values: &[i32]) -> Tensor {
    Tensor::from_slice(device, values, [values.len()]).unwrap()
}

fn values(tensor: &Tensor) -> Vec<i32> {
    tensor.to_vec_blocking::<i32>().unwrap()
}

#[test]
fn elements_and_slices_are_read_by_index() {
    let device = common::device();
    let a = counted(&device, &[3, 4]);
    let at = line(&device, &[2, -3]);
    assert_eq!(
        values(&a.index_select(0, &at).unwrap()),
        [8, 9, 10, 11, 0, 1, 2, 3]
    );
    assert_eq!(
        values(&a.t().unwrap().index_select(-1, &at).unwrap()),
        [8, 0, 9, 1, 10, 2, 11, 3]
    );
    let one = Tensor::from_value(&device, -1i8).unwrap();
    assert_eq!(values(&a.index_select(1, &one).unwrap()), [3, 7, 11]);
    let ids = counted(&device, &[2, 1]);
    assert_eq!(a.embedding(&ids).unwrap().dims(), [2, 1, 4]);
    assert_eq!(
        values(&a.t().unwrap().take(&line(&device, &[1, -1])).unwrap()),
        [4, 11]
    );
    let rows = counted(&device, &[2, 1]);
    assert_eq!(values(&a.index(&[&rows, &at]).unwrap()), [2, 1, 6, 5]);
    assert_eq!(
        values(&a.index(&[&at]).unwrap()),
        [8, 9, 10, 11, 0, 1, 2, 3]
    );
    let scalar = Tensor::from_value(&device, 7i32).unwrap();
    let zero = Tensor::from_value(&device, 0i32).unwrap();
    assert_eq!(values(&scalar.gather(0, &zero).unwrap()), [7]);
    let pending = (&at + 1).unwrap();
    assert_eq!(
        values(&(&a + 1).unwrap().index_select(1, &pending).unwrap()),
        [4, 3, 8, 7, 12, 11]
    );
    let none = Tensor::zeros(&device, [0], DType::I32).unwrap();
    assert_eq!(a.index_select(0, &none).unwrap().dims(), [0, 4]);
    let empty = Tensor::zeros(&device, [0, 4], DType::I32).unwrap();
    assert_eq!(empty.index_select(0, &none).unwrap().dims(), [0, 4]);
    assert!(empty.index_select(0, &at).unwrap_err().is_shape());
}

#[test]
fn elements_and_slices_are_written_by_index() {
    let device = common::device();
    let a = Tensor::zeros(&device, [2, 3], DType::I32).unwrap();
    let at = line(&device, &[2, 0]);
    let src = counted(&device, &[2, 2]);
    assert_eq!(
        values(&a.index_copy(1, &at, &src).unwrap()),
        [1, 0, 0, 3, 0, 2]
    );
    assert_eq!(values(&a), [0; 6], "the source is as it was");
    // Of a longer source only as much as there are indices.
    let one = counted(&device, &[1, 1]);
    let longer = (counted(&device, &[2, 2]) + 9).unwrap();
    assert_eq!(
        values(&a.scatter(1, &one, &longer).unwrap()),
        [9, 0, 0, 0, 0, 0]
    );
    let last = line(&device, &[2, 2]).reshape([2, 1]).unwrap();
    assert_eq!(
        values(&a.scatter_add(1, &last, &longer).unwrap()),
        [0, 0, 9, 0, 0, 11]
    );
    let twice = line(&device, &[1, 1]);
    assert_eq!(
        values(&a.index_add(1, &twice, &src).unwrap()),
        [0, 1, 0, 0, 5, 0]
    );
    assert_eq!(
        values(&a.index_fill(0, &line(&device, &[-1]), 9).unwrap()),
        [0, 0, 0, 9, 9, 9]
    );
    let index = Tensor::from_slice(&device, &[0i32, 1, 1, 1], [2, 2]).unwrap();
    assert_eq!(values(&a.scatter(1, &index, &src).unwrap())[..3], [0, 1, 0]);
    let (i, j) = (line(&device, &[1, 0, 1]), line(&device, &[2, 0, 2]));
    let five = Tensor::from_value(&device, 5i32).unwrap();
    assert_eq!(
        values(&a.index_put(&[&i, &j], &five, false).unwrap()),
        [5, 0, 0, 0, 0, 5]
    );
    assert_eq!(
        values(&a.index_put(&[&i, &j], &five, true).unwrap()),
        [5, 0, 0, 0, 0, 10]
    );
    let row = counted(&device, &[3]);
    assert_eq!(
        values(&a.index_put(&[&line(&device, &[1])], &row, true).unwrap()),
        [0, 0, 0, 0, 1, 2]
    );
    let tuples = Tensor::from_slice(&device, &[1i32, 1], [1, 2]).unwrap();
    let update = line(&device, &[-4]);
    assert_eq!(
        values(&a.scatter_nd(&tuples, &update, Scatter::Min).unwrap()),
        [0, 0, 0, 0, -4, 0]
    );
    let zero = Tensor::from_value(&device, 0i32).unwrap();
    assert_eq!(values(&five.scatter_add(0, &zero, &five).unwrap()), [10]);
}

#[test]
fn parts_are_assigned() {
    let device = common::device();
    for dtype in DType::ALL {
        let a = Tensor::zeros(&device, [2, 5], dtype).unwrap();
        let ones = Tensor::ones(&device, [2], dtype).unwrap();
        let b = a.slice_scatter(1, 1.., 2, &ones).unwrap();
        assert_eq!(
            b.to_f64_vec_blocking().unwrap(),
            [0., 1., 0., 1., 0.].repeat(2),
            "{dtype}"
        );
        let b = a.slice_assign(
            &[AxisRange::from(1..), (0..1).into()],
            &ones.narrow(0, 0, 1).unwrap(),
        );
        assert_eq!(
            b.unwrap().to_f64_vec_blocking().unwrap()[4..6],
            [0., 1.],
            "{dtype}"
        );
    }
    let a = counted(&device, &[4]);
    let backwards = a.slice_scatter(0, .., -1, &a).unwrap();
    assert_eq!(values(&backwards), [3, 2, 1, 0]);
    let nothing = Tensor::zeros(&device, [0], DType::I32).unwrap();
    assert_eq!(
        values(&a.slice_scatter(0, (2, 2), 1, &nothing).unwrap()),
        [0, 1, 2, 3]
    );
}

#[test]
fn an_index_out_of_range_is_the_nearest_end_or_an_error_of_the_result() {
    let device = common::device();
    // A device of its own: checks are switched for all handles.
    let device = Device::from_executor(device.executor());
    let a = counted(&device, &[3, 2]);
    let at = line(&device, &[1, -9, 9]);
    assert_eq!(values(&a.index_select(0, &at).unwrap()), [2, 3, 0, 1, 4, 5]);
    device.set_index_checks(true);
    let text = |result: Result<Tensor, Error>| {
        let result = result.unwrap();
        // Reads of the result tell, each of them, and no other.
        let error = result.to_vec_blocking::<i32>().unwrap_err();
        assert!(error.is_shape());
        assert_eq!(values(&a), [0, 1, 2, 3, 4, 5]);
        assert_eq!(
            result.to_f64_vec_blocking().unwrap_err().to_string(),
            error.to_string()
        );
        error.to_string()
    };
    assert_eq!(
        text(a.index_select(0, &at)),
        "index_select: the index -9 at position [1] is out of range for 3 positions"
    );
    let wide = Tensor::from_slice(&device, &[0i32, 1, 2, 0], [2, 2]).unwrap();
    assert_eq!(
        text(a.gather(1, &wide)),
        "gather: the index 2 at position [1, 0] is out of range for 2 positions"
    );
    let fine = Tensor::from_slice(&device, &[0i32, 1, -3, -2], [2, 2]).unwrap();
    assert_eq!(values(&a.gather_nd(&fine, 0).unwrap()), [1, 0]);
}

#[test]
fn the_checked_mode_covers_every_operation_with_indices() {
    let device = common::device();
    let device = Device::from_executor(device.executor());
    device.set_index_checks(true);
    let a = counted(&device, &[3, 2]);
    let far = line(&device, &[5]);
    let tuple = Tensor::from_slice(&device, &[0i32, -3], [1, 2]).unwrap();
    let grid = Tensor::from_slice(&device, &[7i32, 0], [1, 2]).unwrap();
    let (row, one) = (counted(&device, &[1, 2]), line(&device, &[1]));
    let calls: Vec<(Result<Tensor, Error>, &str)> = vec![
        (
            a.embedding(&far),
            "embedding: the index 5 at position [0] is out of range for 3 positions",
        ),
        (
            a.take(&line(&device, &[-7])),
            "take: the index -7 at position [0] is out of range for 6 positions",
        ),
        (
            a.gather_nd(&tuple, 0),
            "gather_nd: the index -3 at position [0, 1] is out of range for 2 positions",
        ),
        (
            a.index(&[&far, &one]),
            "index: the index 5 at position [0, 0]",
        ),
        (
            a.scatter_add(0, &grid, &row),
            "scatter_add: the index 7 at position [0, 0]",
        ),
        (
            a.index_add(0, &far, &row),
            "index_add: the index 5 at position [0]",
        ),
        (
            a.index_fill(0, &far, 1),
            "index_fill: the index 5 at position [0]",
        ),
        (
            a.scatter_nd(&tuple, &one, Scatter::Set),
            "scatter_nd: the index -3 at position [0, 1]",
        ),
    ];
    assert_eq!(values(&a), [0, 1, 2, 3, 4, 5], "no other tensor");
    for (call, text) in calls {
        let error = call.unwrap().to_bytes_blocking().unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
    }
    assert!(device.synchronize_blocking().is_ok());
    let _kept = a.embedding(&far).unwrap();
    assert!(device.synchronize_blocking().unwrap_err().is_shape());
    device.set_index_checks(false);
    assert!(a.embedding(&far).unwrap().to_bytes_blocking().is_ok());
}

#[test]
fn misuse_is_an_error_that_says_what_was_given() {
    let device = common::device();
    let a = counted(&device, &[2, 3]);
    let (at, float) = (
        line(&device, &[0, 1]),
        Tensor::ones(&device, [2, 3], DType::F32).unwrap(),
    );
    type Call = (Result<Tensor, Error>, fn(&Error) -> bool, &'static str);
    let calls: Vec<Call> = vec![
        (
            a.index_select(0, &float),
            Error::is_dtype,
            "index_select: indices must be integers: they are f32",
        ),
        (a.index_select(2, &at), Error::is_shape, "index_select: "),
        (
            a.gather(0, &at),
            Error::is_shape,
            "gather: the indices must reach no further",
        ),
        (
            a.gather_nd(&counted(&device, &[1, 3]), 0),
            Error::is_shape,
            "gather_nd: the last axis of the indices must have a component",
        ),
        (a.gather_nd(&at, 9), Error::is_shape, "gather_nd: "),
        (
            a.index(&[]),
            Error::is_argument,
            "index: at least one index tensor",
        ),
        (
            a.index(&[&at, &counted(&device, &[3])]),
            Error::is_shape,
            "index: ",
        ),
        (
            a.index(&[&at, &at, &at]),
            Error::is_shape,
            "index: not more index tensors than axes: 3 given for [2, 3]",
        ),
        (
            a.scatter(0, &a, &float),
            Error::is_dtype,
            "scatter: both dtypes must be equal: i32 and f32 given",
        ),
        (
            a.scatter(0, &a, &counted(&device, &[1, 3])),
            Error::is_shape,
            "scatter: the updates must have the shape",
        ),
        (
            a.index_fill(0, &at, 0.5),
            Error::is_dtype,
            "index_fill: the value must be of the tensor's category: a float is not for i32",
        ),
        (
            a.to_dtype(DType::U8).unwrap().index_fill(0, &at, 300),
            Error::is_argument,
            "index_fill: the number must fit the dtype: 300 does not fit u8",
        ),
        (a.index_add(0, &at, &at), Error::is_shape, "index_add: "),
        (
            a.slice_assign(&[(..).into(); 3], &a),
            Error::is_shape,
            "slice_assign: not more ranges than axes",
        ),
        (
            a.slice_assign(&[(..).into()], &counted(&device, &[4])),
            Error::is_shape,
            "slice_assign: ",
        ),
        (
            a.slice_scatter(0, .., 0, &a),
            Error::is_shape,
            "slice_scatter: ",
        ),
    ];
    for (i, (result, kind, text)) in calls.into_iter().enumerate() {
        let error = result.expect_err(&format!("call {i}: {text}"));
        assert!(error.to_string().starts_with(text), "call {i}: {error}");
        assert!(kind(&error), "call {i}: {error}");
    }
}

/// `a.masked_scatter(mask, source)` of PyTorch 2.15.
#[test]
fn a_source_fills_a_mask_in_order() {
    let device = common::device();
    let a = Tensor::from_slice(&device, &[1i32, 2, 3, 4, 5, 6], [2, 3]).unwrap();
    let mask = Tensor::from_slice(&device, &[true, false, true], [3]).unwrap();
    let source = Tensor::from_slice(&device, &[10i32, 20, 30, 40, 50], [5]).unwrap();
    let y = a.masked_scatter(&mask, &source).unwrap();
    assert_eq!(
        y.to_vec2_blocking::<i32>().unwrap(),
        [[10, 2, 20], [30, 5, 40]]
    );
    let y = a
        .t()
        .unwrap()
        .masked_scatter(&mask.unsqueeze(1).unwrap(), &source);
    assert_eq!(
        y.unwrap().to_vec2_blocking::<i32>().unwrap(),
        [[10, 20], [2, 5], [30, 40]]
    );
    let none = Tensor::zeros(&device, [0], DType::I32).unwrap();
    assert_eq!(
        a.masked_scatter(&mask, &none).unwrap_err().to_string(),
        "masked_scatter: the source must have elements: it is [0]"
    );
    assert_eq!(
        none.masked_scatter(&mask.narrow(0, 0, 1).unwrap(), &none)
            .unwrap()
            .dims(),
        [0]
    );
    assert!(a.masked_scatter(&a, &source).unwrap_err().is_dtype());
    let float = source.to_dtype(DType::F32).unwrap();
    assert!(a.masked_scatter(&mask, &float).unwrap_err().is_dtype());
    let long = Tensor::zeros(&device, [4], DType::Bool).unwrap();
    assert!(a.masked_scatter(&long, &source).unwrap_err().is_shape());
}

#[test]
fn errors_name_the_operation_that_was_called() {
    let device = common::device();
    let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [2, 2]).unwrap();
    let at = Tensor::from_slice(&device, &[0i32, 1], [2]).unwrap();
    let three = Tensor::zeros(&device, [3], DType::F32).unwrap();
    let says = |error: Result<Tensor, Error>| error.unwrap_err().to_string();
    for (error, op) in [
        (a.index(&[&at, &at, &at]), "index: "),
        (a.index(&[&a]), "index: "),
        (a.index(&[]), "index: "),
        (a.index_put(&[&at, &at, &at], &three, false), "index_put: "),
        (a.index_put(&[&at], &three, false), "index_put: "),
        (
            a.index_put(&[&at], &at.unsqueeze(1).unwrap(), true),
            "index_put: ",
        ),
        (a.index_put(&[&a], &three, true), "index_put: "),
    ] {
        let text = says(error);
        assert!(text.starts_with(op), "{text}");
    }
}
