//! Products with blocks, and rows of them. The blocks are always the same; their numbers are exact in every float dtype.

use ziggurat_kernels::core::f16;
use ziggurat_kernels::reference::quantize_rows::quantize;
use ziggurat_kernels::{BlockFormat, BlockShape, Blocks, DType, Executor, KernelError};

use crate::expect;
use crate::operands::Expected;
use crate::sweep::case::{Case, Fit, Kind, Rule, any, each, fit};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
const COLS: usize = 64;
const ROWS: usize = 7;

/// Integers from -15 to 15, and their scale.
fn integer(i: usize) -> i8 {
    (i * 37 % 31) as i8 - 15
}

const SCALE: f32 = 0.03125;

fn numbers(rows: usize) -> Vec<f64> {
    let all = (0..rows * COLS).map(integer);
    all.map(|q| f64::from(q) * f64::from(SCALE)).collect()
}

fn matrix(exec: &Executor, rows: usize) -> Result<Blocks, KernelError> {
    let mut bytes = Vec::new();
    for block in 0..rows * COLS / 32 {
        bytes.extend(f16::from_f32(SCALE).to_le_bytes());
        bytes.extend((block * 32..block * 32 + 32).map(|i| integer(i).cast_unsigned()));
    }
    let shape = BlockShape::new(BlockFormat::Q8_0, [rows, COLS])?;
    exec.upload_blocks(shape, &bytes)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut all = vec![product(), decoded()];
    all.extend([DType::I32, DType::U32].map(embedding));
    for len in [7, 8] {
        all.push(rows_in_order(len));
        all.extend([DType::I32, DType::U32].map(|index| rows_by_position(len, index)));
    }
    all
}

fn product() -> Case {
    Case::new("quantized_linear", FLOATS)
        .reads(any())
        .extents(|kind| -> Fit {
            let [batch, m] = match kind {
                Kind::Views => [3, 5],
                Kind::Scalar => return Err("a product needs rows and columns"),
                Kind::Empty => [2, 0],
                Kind::Hollow => [0, 3],
                Kind::Ones => [1, 1],
                Kind::Size(n) => [1, n],
            };
            fit(&[&[batch, m, COLS]], &[&[batch, m, ROWS]])
        })
        .up_to(300)
        .call(|exec, a, out| exec.quantized_linear(&a[0], &matrix(exec, ROWS)?, &out[0]))
        .gives(|g| {
            let rows = numbers(ROWS);
            // Its transpose.
            let w: Vec<f64> = (0..ROWS * COLS)
                .map(|i| rows[i % ROWS * COLS + i / ROWS])
                .collect();
            let x = (&g.values[0][..], &g.dims[0][..]);
            expect::products(x, (&w, &[COLS, ROWS]), &g.dims[0][..1], g.dtype)
        })
}

fn decoded() -> Case {
    Case::new("dequantize", FLOATS)
        .extents(|kind| -> Fit {
            let rows = match kind {
                Kind::Views => 5,
                Kind::Scalar => return Err("a matrix has two axes"),
                Kind::Empty | Kind::Hollow => 0,
                Kind::Ones => 1,
                Kind::Size(n) => n,
            };
            fit(&[], &[&[rows, COLS]])
        })
        .up_to(1100)
        .call(|exec, _, out| exec.dequantize(&matrix(exec, out[0].dims()[0])?, &out[0]))
        .gives(|g| {
            let all = numbers(g.out[0][0]);
            all.into_iter().map(Expected::exact).collect()
        })
}

fn embedding(index: DType) -> Case {
    let indices = each(move |_, rng| {
        let near = rng.below(2 * ROWS) as f64;
        match (index, rng.below(8)) {
            (DType::I32, 0) => f64::from(i32::MIN),
            (DType::I32, 1..=3) => -near,
            (DType::U32, 0) => f64::from(u32::MAX),
            _ => near,
        }
    });
    Case::new("quantized_embedding", FLOATS)
        .form(format!("by {index}"))
        .reads_as(Rule::Is(index), &[], indices)
        .extents(|kind| -> Fit {
            let dims = match kind {
                Kind::Views => vec![3, 5],
                Kind::Scalar => vec![],
                Kind::Empty => vec![2, 0],
                Kind::Hollow => vec![0],
                Kind::Ones => vec![1, 1],
                Kind::Size(n) => vec![n],
            };
            fit(&[&dims], &[&[&dims[..], &[COLS]].concat()])
        })
        .up_to(1100)
        .call(|exec, a, out| exec.quantized_embedding(&a[0], &matrix(exec, ROWS)?, &out[0]))
        .gives(|g| {
            let rows = numbers(ROWS);
            let row = |&index: &f64| {
                let from_end = if index < 0.0 {
                    index + ROWS as f64
                } else {
                    index
                };
                let at = from_end.clamp(0.0, ROWS as f64 - 1.0) as usize;
                rows[at * COLS..][..COLS]
                    .iter()
                    .copied()
                    .map(Expected::exact)
            };
            g.values[0].iter().flat_map(row).collect()
        })
}

/// Integers and factors of rows, one behind the other.
fn quantized(rows: &[f64], len: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    rows.chunks(len).map(quantize).unzip()
}

/// Rows that fill words, or end within one.
fn rows_in_order(len: usize) -> Case {
    Case::new("quantize_rows", FLOATS)
        .form(format!("in order, {len} of a row or any"))
        .reads(any())
        .writes(&[Rule::Is(DType::I8), Rule::Is(DType::F32)])
        .extents(move |kind| -> Fit {
            let dims = match kind {
                Kind::Views => [3, 2, 5, len],
                Kind::Scalar => return Err("rows have four axes"),
                Kind::Empty => [2, 3, 0, len],
                Kind::Hollow => [0, 3, 2, len],
                Kind::Ones => [1; 4],
                Kind::Size(n) if len == 7 => [1, 2, 2, n],
                Kind::Size(n) => [1, 2, n, len],
            };
            let [outer @ .., _] = dims;
            fit(&[&dims], &[&dims, &[&outer[..], &[1]].concat()])
        })
        .call(|exec, a, out| exec.quantize_rows(&a[0], None, &out[0], &out[1]))
        .gives_all(|g| {
            let (numbers, factors) = quantized(&g.values[0], g.dims[0][3].max(1));
            vec![expect::exact(&numbers.concat()), expect::exact(&factors)]
        })
}

/// What stands where nothing is written.
const BEFORE: [f64; 2] = [-3.0, 0.5];

fn rows_by_position(len: usize, index: DType) -> Case {
    const CAPACITY: usize = 4;
    Case::new("quantize_rows", FLOATS)
        .form(format!("by position in {index}, {len} of a row"))
        .reads(any())
        .reads_as(
            Rule::Is(index),
            &[],
            each(|dtype, rng| {
                let wild = if dtype == DType::I32 { -9.0 } else { 0.0 };
                rng.pick(&[0.0, 1.0, 3.0, 4.0, 2e9, wild])
            }),
        )
        .writes(&[Rule::Is(DType::I8), Rule::Is(DType::F32)])
        .extents(move |kind| -> Fit {
            let [batch, heads] = match kind {
                Kind::Views => [5, 3],
                Kind::Scalar => return Err("rows have four axes"),
                Kind::Empty => [2, 0],
                Kind::Hollow => [0, 2],
                Kind::Ones => [1, 1],
                Kind::Size(n) => [n, 1],
            };
            let all = |len| [batch, heads, CAPACITY, len];
            fit(&[&[batch, heads, 1, len], &[batch]], &[&all(len), &all(1)])
        })
        .call(|exec, a, out| {
            for (out, before) in out.iter().zip(BEFORE) {
                let _filled = exec.fill(out, before)?;
            }
            exec.quantize_rows(&a[0], Some(&a[1]), &out[0], &out[1])
        })
        .gives_all(move |g| {
            let (numbers, factors) = quantized(&g.values[0], len);
            let mut all = [len, 1]
                .map(|len| vec![BEFORE[usize::from(len == 1)]; CAPACITY * len * factors.len()]);
            let heads = g.dims[0][1];
            for (row, (numbers, factor)) in numbers.iter().zip(&factors).enumerate() {
                let at = g.values[1][row / heads];
                let at = if at < 0.0 { at + CAPACITY as f64 } else { at };
                let at = row * CAPACITY + at.clamp(0.0, CAPACITY as f64 - 1.0) as usize;
                all[0][at * len..][..len].copy_from_slice(numbers);
                all[1][at] = *factor;
            }
            all.map(|values| expect::exact(&values)).into()
        })
}
