//! Rows as integers of 8 bits with a factor: in every bit those of the ops one by one, and of the host.

use crate::common;
use crate::operands::{Arrangement, Output, Random, given, operand, output, output_in, shape};
use ziggurat_kernels::reference::quantize_rows::quantize;
use ziggurat_kernels::{Binary, DType, Executor, Reduce, Unary, View};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
/// What rows have, one after the other; the last three have no finite factor.
const KINDS: usize = 10;

/// An element of a row of a kind: the first is what makes the kind where one is enough.
fn element(dtype: DType, kind: usize, is_first: bool, rng: &mut Random) -> f64 {
    let any = rng.value(DType::F32);
    match (kind, is_first) {
        (2, _) => 0.0 * any,
        (3, _) => 1e-38 * any,
        (4, _) => 1e-30 * any,
        (5, _) if dtype == DType::F16 => 3e4 * any,
        (5, _) => 1.7e38 * any,
        // Halves between integers.
        (6, true) => 127.0,
        (6, false) => (63.0 * any).round() + 0.5,
        (7, true) => f64::NAN,
        (8, true) => f64::INFINITY,
        (9, true) => f64::NEG_INFINITY,
        _ => any,
    }
}

/// Bits of integers and factors as they lie in two outputs.
#[derive(Debug, PartialEq)]
struct Bits(Vec<i8>, Vec<u32>);

impl Bits {
    fn of(numbers: &[f64], factors: &[f64]) -> Self {
        // An f32 as f64 and back is itself; a NaN is one of the host's then.
        let bits = |&x: &f64| {
            if x.is_nan() {
                u32::MAX
            } else {
                (x as f32).to_bits()
            }
        };
        Self(
            numbers.iter().map(|&x| x as i8).collect(),
            factors.iter().map(bits).collect(),
        )
    }

    fn read(exec: &Executor, [numbers, factors]: &[Output; 2]) -> Self {
        Self::of(&numbers.read(exec), &factors.read(exec))
    }

    /// What the host computes of rows.
    fn expected(values: &[f64], len: usize) -> Self {
        let (numbers, factors): (Vec<_>, Vec<_>) = values.chunks(len.max(1)).map(quantize).unzip();
        Self::of(&numbers.concat(), &factors)
    }
}

fn with_last(dims: &[usize], last: usize) -> Vec<usize> {
    let (_, outer) = dims.split_last().unwrap();
    [outer, &[last]].concat()
}

/// The same by the ops one by one.
fn one_by_one(exec: &Executor, a: &View) -> Bits {
    let (whole, rows) = (a.dims().to_vec(), with_last(a.dims(), 1));
    let new = |dims: &[usize], dtype| exec.alloc(&shape(dims), dtype).unwrap();
    let f32 = |dims: &[usize]| new(dims, DType::F32);
    let spread = |view: &View, dims: &[usize]| {
        let layout = view.layout.expand(shape(dims)).unwrap();
        view.with_layout(layout).unwrap()
    };
    let number = |x: f32| spread(&exec.scalar(DType::F32, f64::from(x)).unwrap(), &rows);
    let floats = f32(&whole);
    let _done = exec.cast(a, &floats).unwrap();
    let magnitudes = f32(&whole);
    let _done = exec.unary(Unary::Abs, &floats, &magnitudes).unwrap();
    let kept = |view: &View| {
        let layout = view.layout.reshape(shape(&rows)).unwrap();
        view.with_layout(layout.unwrap()).unwrap()
    };
    let (_, outer) = whole.split_last().unwrap();
    let most = f32(outer);
    let _done = exec.reduce(Reduce::Max, &magnitudes, &[3], &most).unwrap();
    let (least, factor) = (f32(&rows), f32(&rows));
    let _done = exec
        .binary(Binary::Maximum, &kept(&most), &number(1e-30), &least)
        .unwrap();
    let _done = exec
        .binary(Binary::Div, &least, &number(127.0), &factor)
        .unwrap();
    let (quotients, nearest) = (f32(&whole), f32(&whole));
    let _done = exec
        .binary(Binary::Div, &floats, &spread(&factor, &whole), &quotients)
        .unwrap();
    let _done = exec.unary(Unary::Round, &quotients, &nearest).unwrap();
    let numbers = new(&whole, DType::I8);
    let _done = exec.cast(&nearest, &numbers).unwrap();
    let read = |view: &View| exec.download(view).unwrap().wait().unwrap();
    let numbers = read(&numbers)
        .iter()
        .map(|&byte| byte.cast_signed())
        .collect();
    let bits = |four: &[u8]| match u32::from_le_bytes(four.try_into().unwrap()) {
        bits if f32::from_bits(bits).is_nan() => u32::MAX,
        bits => bits,
    };
    Bits(numbers, read(&factor).chunks(4).map(bits).collect())
}

#[test]
fn every_dtype_and_form_is_that_of_the_ops_one_by_one() {
    let mut rng = Random(7);
    let all = [
        common::executor(),
        common::plain_executor(),
        common::narrow_executor(),
    ];
    let mut odd = 0;
    for (exec, dtype) in all
        .iter()
        .flat_map(|exec| FLOATS.map(|dtype| (exec, dtype)))
    {
        for len in [1, 3, 4, 64, 65, 128, 200] {
            let dims = [1, 2, KINDS / 2, len];
            for arrangement in Arrangement::ALL {
                let (seed, mut at) = (rng.bits(), 0);
                let a = operand(exec, dtype, &dims, arrangement, || {
                    // In the order of memory, so kinds mix where that is not the order of rows.
                    at += 1;
                    let (row, column) = ((at - 1) / len % KINDS, (at - 1) % len);
                    element(dtype, row, column == 0, &mut Random(seed ^ at as u64))
                });
                let front = rng.pick(&[0, 4, 3]);
                let rows = with_last(&dims, 1);
                let to = |how| {
                    [(DType::I8, &dims[..]), (DType::F32, &rows[..])]
                        .map(|(dtype, dims)| output_in(exec, dtype, dims, front, how))
                };
                let how = rng.pick(&[
                    Arrangement::Contiguous,
                    Arrangement::Contiguous,
                    Arrangement::Sliced,
                ]);
                let outs = to(how);
                let [numbers, factors] = &outs;
                let run = |exec: &Executor| {
                    exec.quantize_rows(&a.view, None, &numbers.view, &factors.view)
                        .map(drop)
                };
                let captured = exec.capture(run).unwrap();
                assert_eq!(captured.len(), 1);
                run(exec).unwrap();
                let got = Bits::read(exec, &outs);
                let what = format!("{dtype} {len} {arrangement:?} {how:?} {front}");
                assert_eq!(got, Bits::expected(&a.values, len), "{what}");
                assert_eq!(got, one_by_one(exec, &a.view), "{what}");
                odd += got.1.iter().filter(|&&bits| bits >= 0x7f80_0000).count();
                let mut other = Bits::read(exec, &outs);
                other.0[rng.below(got.0.len())] ^= 1;
                assert_ne!(got, other, "a bit is seen");
                other = Bits::read(exec, &outs);
                other.1[rng.below(got.1.len())] ^= 1;
                assert_ne!(got, other, "a bit is seen");
            }
        }
    }
    assert!(odd > 100, "{odd}");
}

/// Rows by position, into memory with all zeros.
fn by_position(exec: &Executor, [batch, heads, capacity, len]: [usize; 4], at: &[f64]) {
    let mut rng = Random(len as u64);
    let a = operand(
        exec,
        DType::F32,
        &[batch, heads, 1, len],
        Arrangement::Contiguous,
        || rng.value(DType::F32),
    );
    let positions = given(exec, DType::I32, &[batch], at);
    let all = [(DType::I8, len), (DType::F32, 1)]
        .map(|(dtype, last)| output(exec, dtype, &[batch, heads, capacity, last], 0));
    for out in &all {
        let _done = exec.fill(&out.view, 0.0).unwrap();
    }
    let [numbers, factors] = &all;
    let _done = exec
        .quantize_rows(&a.view, Some(&positions.view), &numbers.view, &factors.view)
        .unwrap();
    let rows = Bits::expected(&a.values, len);
    let mut expected = Bits(
        vec![0; batch * heads * capacity * len],
        vec![0; batch * heads * capacity],
    );
    for row in 0..batch * heads {
        let to = row * capacity + at[row / heads] as usize;
        expected.0[to * len..][..len].copy_from_slice(&rows.0[row * len..][..len]);
        expected.1[to] = rows.1[row];
    }
    let what = format!("{:?}", [batch, heads, capacity, len]);
    assert!(Bits::read(exec, &all) == expected, "{what}");
}

#[test]
fn what_is_larger_than_a_binding_is_written_in_parts() {
    let exec = common::limited_executor(8 << 10, u32::MAX);
    // Slots, heads, and positions of one head that are more than a binding; so are the factors of the last.
    for dims in [
        [9, 2, 30, 32],
        [1, 9, 60, 33],
        [2, 2, 300, 32],
        [1, 1, 3000, 4],
    ] {
        let last = dims[2] as f64 - 1.0;
        let at: Vec<f64> = (0..dims[0])
            .map(|slot| if slot % 2 == 0 { last } else { 3.0 })
            .collect();
        by_position(&exec, dims, &at);
    }
    let mut rng = Random(3);
    for dims in [[9, 2, 30, 32], [1, 9, 60, 33], [1, 1, 3000, 4]] {
        for arrangement in [
            Arrangement::Contiguous,
            Arrangement::Transposed,
            Arrangement::Broadcast,
        ] {
            let a = operand(&exec, DType::F32, &dims, arrangement, || {
                rng.value(DType::F32)
            });
            let [_, _, _, len] = dims;
            let outs = [(DType::I8, len), (DType::F32, 1)]
                .map(|(dtype, last)| output(&exec, dtype, &with_last(&dims, last), 0));
            let [numbers, factors] = &outs;
            let _done = exec
                .quantize_rows(&a.view, None, &numbers.view, &factors.view)
                .unwrap();
            let (got, expected) = (Bits::read(&exec, &outs), Bits::expected(&a.values, len));
            assert!(got == expected, "{dims:?} {arrangement:?}");
        }
    }
}

#[test]
fn no_rows_are_fine_and_wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let new = |dims: &[usize], dtype| exec.alloc(&shape(dims), dtype).unwrap();
    for dims in [[0, 2, 1, 4], [2, 0, 1, 4], [2, 3, 1, 0]] {
        let (a, at) = (new(&dims, DType::F16), new(&[dims[0]], DType::I32));
        let (numbers, factors) = (new(&dims, DType::I8), new(&with_last(&dims, 1), DType::F32));
        for positions in [None, Some(&at)] {
            let _done = exec
                .quantize_rows(&a, positions, &numbers, &factors)
                .unwrap();
        }
    }
    let a = new(&[2, 3, 1, 4], DType::F32);
    let (numbers, factors) = (
        new(&[2, 3, 5, 4], DType::I8),
        new(&[2, 3, 5, 1], DType::F32),
    );
    let (at, alike) = (new(&[2], DType::I32), new(&[2, 3, 1, 4], DType::I8));
    let one = new(&[2, 3, 1, 1], DType::F32);
    let call = |a: &View, at: Option<&View>, numbers: &View, factors: &View| {
        exec.quantize_rows(a, at, numbers, factors).err()
    };
    let shared = View::new(one.buffer.clone(), alike.layout, DType::I8).unwrap();
    common::refused([
        (
            call(&at, None, &alike, &one),
            "quantize_rows: a must have rank 4",
        ),
        (
            call(&numbers, Some(&at), &numbers, &factors),
            "quantize_rows: a is i8",
        ),
        (call(&a, None, &a, &one), "quantize_rows: out is f32"),
        (
            call(&a, None, &alike, &alike),
            "quantize_rows: factors is i8",
        ),
        (
            call(&a, Some(&one), &numbers, &factors),
            "quantize_rows: positions is f32",
        ),
        (
            call(&a, None, &numbers, &factors),
            "quantize_rows: the output must be",
        ),
        (
            call(&a, Some(&at), &numbers, &one),
            "quantize_rows: the output must be",
        ),
        (
            call(&a, None, &shared, &one),
            "quantize_rows: out must not be memory that is read",
        ),
    ]);
    let none = (
        new(&[2, 3, 0, 4], DType::I8),
        new(&[2, 3, 0, 1], DType::F32),
    );
    let error = call(&a, Some(&at), &none.0, &none.1).unwrap().to_string();
    assert!(error.contains("must have room for a position"), "{error}");
    let several = new(&[2, 3, 5, 4], DType::F32);
    let error = call(&several, Some(&at), &numbers, &factors)
        .unwrap()
        .to_string();
    assert!(
        error.contains("there must be a position per batch"),
        "{error}"
    );
}
