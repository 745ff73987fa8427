//! Products with blocks that normalise their input first, or have gates: against f64.

use super::*;
use ziggurat_kernels::{
    Binary, Call, CallKind, CannotFuse, Expression, FusedOp, FusedOutput, LinearForm, Operands,
    Sink,
};

const EPS: f32 = 1e-3;
/// Scales with which gates are neither all open nor all shut.
const SMALL: [f32; 4] = [0.001, -0.0005, 0.002, 0.0003];

fn form(norm: bool, swiglu: bool) -> LinearForm {
    LinearForm {
        rms_norm: norm.then(|| EPS.into()),
        swiglu,
    }
}

/// A product with a form, its operands on a device, and what it should be.
struct Product {
    call: Call,
    x: View,
    weight: Blocks,
    scales: Option<View>,
    /// Results, and how far off they may be before they are rounded.
    want: Vec<(f64, f64)>,
}

impl Product {
    fn new(
        exec: &Executor,
        (format, form): (BlockFormat, LinearForm),
        [n, k]: [usize; 2],
        dtype: DType,
        random: &mut Random,
    ) -> Self {
        let (weight, numbers) = matrix(exec, format, [n, k], &SMALL, random);
        let upload = |dims: &[usize], numbers: &[f64]| {
            let bytes = encode(dtype, numbers);
            exec.upload_bytes(dtype, &bytes, &shape(dims)).unwrap()
        };
        let x: Vec<f64> = (0..k).map(|_| random.number()).collect();
        let scales: Vec<f64> = (0..k).map(|_| 1.0 + random.number()).collect();
        let squares: f64 = x.iter().map(|x| x * x).sum();
        let (mut factor, mut rows) = (1.0, x.clone());
        if form.rms_norm.is_some() {
            factor = 1.0 / (squares / k as f64 + f64::from(EPS)).sqrt();
            let scaled = rows.iter_mut().zip(&scales);
            scaled.for_each(|(x, scale)| *x *= scale);
        }
        let sums: Vec<(f64, f64)> = numbers
            .chunks_exact(k)
            .map(|w| {
                let terms = rows.iter().zip(w).map(|(x, &w)| x * f64::from(w) * factor);
                let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term: f64| {
                    (sum + term, size + term.abs())
                });
                // The factor and the product with it are a few more roundings.
                (sum, (k + 12) as f64 * 2f64.powi(-24) * size)
            })
            .collect();
        let want = match form.swiglu {
            false => sums,
            true => {
                let (gates, ups) = sums.split_at(n / 2);
                let both = gates.iter().zip(ups);
                both.map(|(&(gate, off), &(up, up_off))| {
                    let open = gate / (1.0 + (-gate).exp());
                    // The slope of SiLU is 1.1 at most, and it is within 7 units itself.
                    let off = 1.1 * off + 8.0 * 2f64.powi(-24) * open.abs();
                    (open * up, off * (up.abs() + up_off) + open.abs() * up_off)
                })
                .collect()
            }
        };
        Self {
            x: upload(&[1, k], &x),
            scales: form.rms_norm.map(|_| upload(&[k], &scales)),
            call: Call::new(CallKind::QuantizedLinear {
                weight: weight.shape,
                form,
            }),
            weight,
            want,
        }
    }

    fn operands(&self) -> Operands<'_> {
        Operands {
            first: (&self.x).into(),
            others: [
                Some(&self.weight.words),
                self.scales.as_ref(),
                None,
                None,
                None,
            ],
        }
    }

    fn is_one_kernel(&self, exec: &Executor) -> bool {
        let CallKind::QuantizedLinear { weight, form } = self.call.kind() else {
            panic!("another call");
        };
        exec.quantized_linear_is_one_kernel(&self.x, weight, *form)
    }

    /// Whether a device without room for the kernel says so, and nothing else.
    fn is_refused(&self, exec: &Executor, out: &View) -> bool {
        let refused = |error| matches!(error, KernelError::CannotFuse(CannotFuse::Rows));
        !self.is_one_kernel(exec) && self.run(exec, out).is_err_and(refused)
    }

    fn run<'a>(&self, exec: &Executor, out: impl Into<Sink<'a>>) -> Result<(), KernelError> {
        exec.run(&self.call, &self.operands(), out.into()).map(drop)
    }

    /// How many results are further off than they may be, rounded to a dtype.
    fn wrong(&self, got: &[f64], out: DType) -> usize {
        assert_eq!(got.len(), self.want.len());
        let step = match out {
            DType::F16 => 2f64.powi(-11),
            DType::BF16 => 2f64.powi(-8),
            _ => 2f64.powi(-24),
        };
        let all = got.iter().zip(&self.want);
        let is_wrong = |got: f64, want: f64, off: f64| {
            let bound = off + (want.abs() + off) * step + 1e-7 * step;
            (got - want).abs().total_cmp(&bound).is_gt()
        };
        all.filter(|&(&got, &(want, off))| is_wrong(got, want, off))
            .count()
    }
}

fn check(
    exec: &Executor,
    (format, form): (BlockFormat, LinearForm),
    dims: [usize; 2],
    [x, out]: [DType; 2],
) {
    let random = &mut Random((dims[0] * 7 + dims[1]) as u64);
    let product = Product::new(exec, (format, form), dims, x, random);
    let columns = product.want.len();
    let target = exec.alloc(&shape(&[1, columns]), out).unwrap();
    // Where loops are cut short, the parts are put together by the caller.
    if product.is_refused(exec, &target) {
        return;
    }
    product.run(exec, &target).unwrap();
    let got = read(exec, &target);
    let wrong = product.wrong(&got, out);
    assert_eq!(wrong, 0, "{format} {form:?} {dims:?} {x} to {out}: {got:?}");
    // The comparison sees what is wrong.
    let off = got.iter().map(|&got| got * 1.02 + 0.5).collect::<Vec<_>>();
    assert!(product.wrong(&off, out) > 0, "{form:?}");
}

const FORMS: [[bool; 2]; 3] = [[true, false], [false, true], [true, true]];

#[test]
fn every_format_has_every_form() {
    let devices = [common::executor(), common::plain_executor()];
    for exec in devices {
        for way in 0..2 {
            let exec = exec.in_way(way);
            for &format in BlockFormat::ALL {
                for [norm, swiglu] in FORMS {
                    let form = form(norm, swiglu);
                    let k = 3 * format.elements();
                    let random = &mut Random(1);
                    let any = Product::new(&exec, (format, form), [26, k], DType::F32, random);
                    assert!(any.is_one_kernel(&exec), "{format} {form:?}");
                    check(&exec, (format, form), [26, k], [DType::F32; 2]);
                }
            }
        }
    }
}

/// Small, for the sanitizer.
#[test]
fn every_part_of_the_forms_runs() {
    let exec = common::executor();
    for dtype in FLOATS {
        for [norm, swiglu] in FORMS {
            let of = (BlockFormat::Q4_K, form(norm, swiglu));
            check(&exec, of, [10, 512], [dtype; 2]);
            check(&exec, of, [10, 512], [dtype, DType::F32]);
        }
    }
    for &format in BlockFormat::ALL {
        let of = (format, form(true, true));
        check(&exec, of, [6, format.elements()], [DType::F32; 2]);
    }
}

/// Several tiles in a workgroup, of which the last have no rows, and rows of more units than invocations.
#[test]
fn every_extent_has_every_form() {
    let exec = common::executor();
    for [norm, swiglu] in FORMS {
        let form = form(norm, swiglu);
        for rows in [2, 8, 18, 66, 4098] {
            let of = (BlockFormat::Q4_0, form);
            check(&exec, of, [rows, 32], [DType::F32; 2]);
            check(&exec, of, [rows, 19 * 32], [DType::F16; 2]);
        }
        check(
            &exec,
            (BlockFormat::Q8_0, form),
            [6, 5 * 1024],
            [DType::F32; 2],
        );
    }
}

#[test]
fn a_form_is_written_through_an_expression() {
    let exec = common::executor();
    for [norm, swiglu] in FORMS {
        let of = (BlockFormat::Q6_K, form(norm, swiglu));
        let product = Product::new(&exec, of, [12, 512], DType::F32, &mut Random(5));
        let columns = product.want.len();
        let plain = exec.alloc(&shape(&[1, columns]), DType::F32).unwrap();
        if product.is_refused(&exec, &plain) {
            continue;
        }
        product.run(&exec, &plain).unwrap();
        let mut e = Expression::new();
        let (result, bias) = (
            e.computed(DType::F32),
            e.input(exec.upload(&[0.5f32], &shape(&[1])).unwrap()),
        );
        let value = e.op(FusedOp::Binary(Binary::Add), &[result, bias]).unwrap();
        let out = exec.alloc(&shape(&[1, columns]), DType::F32).unwrap();
        let written = FusedOutput {
            expression: &e,
            value,
            shape: *out.shape(),
            also: &[],
        };
        product
            .run(&exec, Sink::new(&out).through(&written))
            .unwrap();
        let plain = read(&exec, &plain);
        let want = plain.iter().map(|&x| round_to(DType::F32, x + 0.5));
        assert_same(&read(&exec, &out), &want.collect::<Vec<_>>(), "an epilogue");
    }
}

/// Infinities and NaN of the input, of scales and of weights reach the results.
#[test]
fn what_is_not_finite_stays_in_forms() {
    let exec = common::executor();
    for [norm, swiglu] in FORMS {
        for bad in [f64::INFINITY, f64::NAN] {
            let of = (BlockFormat::Q8_0, form(norm, swiglu));
            let mut product = Product::new(&exec, of, [8, 64], DType::F32, &mut Random(6));
            let mut x = read(&exec, &product.x);
            x[37] = bad;
            let bytes = encode(DType::F32, &x);
            product.x = exec
                .upload_bytes(DType::F32, &bytes, &shape(&[1, 64]))
                .unwrap();
            let columns = product.want.len();
            let out = exec.alloc(&shape(&[1, columns]), DType::F32).unwrap();
            product.run(&exec, &out).unwrap();
            let got = read(&exec, &out);
            // An infinity through a norm is infinity times zero. A gate of -inf is shut: -0 times an infinity.
            let all_nan = norm || bad.is_nan();
            for got in got {
                assert!(!got.is_finite(), "{norm} {swiglu} {bad}: {got}");
                assert!(got.is_nan() || !all_nan, "{norm} {swiglu} {bad}: {got}");
            }
        }
    }
}

#[test]
fn forms_that_cannot_be_are_refused() {
    let exec = common::executor();
    let of = (BlockFormat::Q8_0, form(true, true));
    let product = Product::new(&exec, of, [8, 64], DType::F32, &mut Random(7));
    let alloc = |dims: &[usize], dtype| exec.alloc(&shape(dims), dtype).unwrap();
    let out = alloc(&[1, 4], DType::F32);
    let with = |x: &View, scales: Option<&View>, out: &View| {
        let operands = Operands {
            first: x.into(),
            others: [Some(&product.weight.words), scales, None, None, None],
        };
        exec.run(&product.call, &operands, out.into())
            .map(drop)
            .unwrap_err()
    };
    let scales = product.scales.as_ref();
    let text = |error: KernelError| error.to_string();
    assert_eq!(
        text(with(&product.x, scales, &alloc(&[1, 8], DType::F32))),
        "quantized_linear: the output must be [1, 4], but it is [1, 8]"
    );
    assert_eq!(
        text(with(&product.x, None, &out)),
        "quantized_linear: the norm's weight must be given besides the first operand, but its shape is [1, 64]"
    );
    let halves = alloc(&[64], DType::F16);
    let error = with(&product.x, Some(&halves), &out);
    assert!(matches!(error, KernelError::Dtype { .. }), "{error}");
    let error = with(&product.x, Some(&alloc(&[32], DType::F32)), &out);
    assert!(matches!(error, KernelError::Operand { .. }), "{error}");
    // Two rows, and a row whose elements are apart, are what callers put together themselves.
    let rows = alloc(&[2, 64], DType::F32);
    let apart = Layout::new(shape(&[1, 64]), &[128, 2], 0).unwrap();
    let apart = alloc(&[1, 128], DType::F32).with_layout(apart).unwrap();
    for (x, out) in [(&rows, &alloc(&[2, 4], DType::F32)), (&apart, &out)] {
        assert!(!exec.quantized_linear_is_one_kernel(x, &product.weight.shape, form(true, true)));
        let error = with(x, scales, out);
        assert!(
            matches!(error, KernelError::CannotFuse(CannotFuse::Rows)),
            "{error}"
        );
    }
    let is_one = |shape, form| exec.quantized_linear_is_one_kernel(&product.x, shape, form);
    assert!(is_one(&product.weight.shape, form(true, true)));
    // A large weight takes a norm of its own.
    let large = BlockShape::new(BlockFormat::Q8_0, [1 << 18, 64]).unwrap();
    assert!(is_one(&large, form(false, true)) && !is_one(&large, form(true, false)));
    let odd = (BlockFormat::Q8_0, form(false, true));
    let odd = Product::new(&exec, odd, [7, 64], DType::F32, &mut Random(8));
    let error = odd.run(&exec, &alloc(&[1, 3], DType::F32)).unwrap_err();
    assert!(matches!(error, KernelError::Operand { .. }), "{error}");
}
