//! Products with blocks, and rows of them. The blocks are always the same; their numbers are exact in every float dtype.

use ziggurat_kernels::core::f16;
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
