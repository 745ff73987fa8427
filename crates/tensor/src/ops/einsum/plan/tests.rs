//! Plans of equations: their shapes, their steps and what is refused.

#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;

fn plan(equation: &str, shapes: &[&[usize]]) -> Contraction {
    let shapes: Vec<Shape> = shapes
        .iter()
        .map(|dims| Shape::new(dims).unwrap())
        .collect();
    Contraction::einsum(equation, &shapes).unwrap()
}

#[test]
fn a_matrix_product_is_one_step_of_the_operands_as_they_lie() {
    let plan = plan("bij,bjk->bik", &[&[2, 3, 4], &[2, 4, 5]]);
    let [ContractionStep::Product { left, right, dims }] = &plan.steps[..] else {
        unreachable!("{plan:?}")
    };
    assert_eq!(
        (left.value, &left.axes[..], &left.dims[..]),
        (0, &[0, 1, 2][..], &[2, 3, 4][..])
    );
    assert_eq!(
        (right.value, &right.axes[..], &right.dims[..]),
        (1, &[0, 1, 2][..], &[2, 4, 5][..])
    );
    assert_eq!(dims[..], [2, 3, 5]);
    assert_eq!(plan.order, [0, 1, 2]);
}

#[test]
fn the_small_product_goes_first() {
    // [3, 1000] by [1000, 1000] adds nothing, [1000, 1000] by [1000, 3] neither: the first of equals.
    let plan = plan("ab,bc,cd->ad", &[&[3, 1000], &[1000, 1000], &[1000, 3]]);
    assert!(matches!(
        plan.steps[..],
        [ContractionStep::Product { ref left, ref right, ref dims, .. }, _]
            if (left.value, right.value) == (0, 1) && dims[..] == [3, 1000]
    ));
    // The first pair would make [1000, 1000].
    let plan = self::plan("ab,bc,cd->ad", &[&[1000, 2], &[2, 1000], &[1000, 2]]);
    assert!(matches!(
        plan.steps[..],
        [ContractionStep::Product { ref left, ref right, ref dims, .. }, _]
            if (left.value, right.value) == (1, 2) && dims[..] == [2, 2]
    ));
}

#[test]
fn what_one_operand_alone_has_is_summed_before_the_product() {
    let plan = plan("ij,k->i", &[&[3, 4], &[5]]);
    assert!(matches!(
        plan.steps[..],
        [
            ContractionStep::Sum { value: 0, .. },
            ContractionStep::Sum { value: 1, .. },
            ContractionStep::Elementwise { .. }
        ]
    ));
}

#[test]
fn diagonals_and_broadcast_axes_are_views() {
    let plan = plan("iij,ji->ij", &[&[3, 3, 2], &[1, 3]]);
    let layout = Layout::contiguous(Shape::new([3, 3, 2]).unwrap());
    let seen = plan.seen(0, &layout).unwrap().unwrap();
    assert_eq!((seen.dims(), seen.strides()), (&[3, 2][..], &[8, 1][..]));
    let layout = Layout::contiguous(Shape::new([1, 3]).unwrap());
    let seen = plan.seen(1, &layout).unwrap().unwrap();
    assert_eq!((seen.dims(), seen.strides()), (&[3][..], &[1][..]));
}

#[test]
fn a_result_of_too_many_axes_is_an_error() {
    let five = Shape::new([2; 5]).unwrap();
    let error = Contraction::einsum("abcde,fghij->abcdefghij", &[five, five]).unwrap_err();
    assert_eq!(error.to_string(), "einsum: rank 10 is above the limit of 8");
    let error = Contraction::tensordot("tensordot", (&five, &[]), (&five, &[])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tensordot: rank 10 is above the limit of 8"
    );
    assert!(Contraction::einsum("", &[]).is_err());
}

#[test]
fn hundreds_of_operands_are_planned_at_once() {
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    let (count, pair) = (512, Shape::new([2, 2]).unwrap());
    let terms: Vec<String> = (0..count)
        .map(|at| {
            let of = |at: usize| letters[at % letters.len()];
            format!("{}{}", of(at), of(at + 1 + at / letters.len()))
        })
        .collect();
    let equation = format!("{}->", terms.join(","));
    let shapes = vec![pair; count];
    let start = std::time::Instant::now();
    // An intermediate result of more than eight axes is an answer too; it comes at the end.
    let _plan = Contraction::einsum(&equation, &shapes);
    assert!(
        start.elapsed() < std::time::Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    let chain: Vec<String> = (0..count)
        .map(|at| format!("{}", letters[at % letters.len()]))
        .collect();
    let equation = format!("{}->", chain.join(","));
    let plan = Contraction::einsum(&equation, &vec![Shape::new([2]).unwrap(); count]).unwrap();
    assert!(plan.steps.len() >= count - 1);
    assert!(
        start.elapsed() < std::time::Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}
