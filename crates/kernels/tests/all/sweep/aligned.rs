//! Kernels for aligned rows, planes and long keys, which no operands of the sweep choose: on the folded device they give the
//! bits that an ordinary one gives.

use ziggurat_kernels::core::encode;
use ziggurat_kernels::{
    AttentionOperands, AttentionOptions, DType, Executor, Pool, Pool2dOptions, View,
};

use crate::common;
use crate::operands::{Random, output, shape};
use crate::sweep::complete::body;

/// Workgroups in a row and in a plane of the folded device, and invocations of one where the kernel leaves them open.
const ROW: usize = 24;
const PLANE: usize = ROW * ROW;
const WORKGROUP: usize = 8;

/// Extents of most results: four elements per invocation make more than a plane of workgroups.
const RESULT: [usize; 2] = [150, 132];

/// A call that one kernel body is chosen for.
struct Case {
    what: &'static str,
    body: &'static str,
    dtypes: &'static [DType],
    /// Workgroups that the body is dispatched with, before a row of them that loops is cut short.
    groups: usize,
    call: fn(&Executor, &mut Operands) -> Written,
}

/// An output and the whole memory that it lies in.
struct Written {
    whole: View,
    view: View,
}

/// Random operands of a dtype, the same on every executor.
struct Operands {
    dtype: DType,
    random: Random,
}

impl Operands {
    fn dense_of(&mut self, exec: &Executor, dtype: DType, dims: &[usize]) -> View {
        let shape = shape(dims);
        let values: Vec<f64> = (0..shape.len()).map(|_| self.random.value(dtype)).collect();
        let bytes = encode(dtype, &values);
        exec.upload_bytes(dtype, &bytes, &shape).unwrap()
    }

    fn dense(&mut self, exec: &Executor, dims: &[usize]) -> View {
        self.dense_of(exec, self.dtype, dims)
    }

    /// Rows of a wider matrix, which begin at multiples of four elements.
    fn rows_of(&mut self, exec: &Executor, dtype: DType) -> View {
        rows(&self.dense_of(exec, dtype, &WIDER))
    }

    fn rows(&mut self, exec: &Executor) -> View {
        self.rows_of(exec, self.dtype)
    }

    /// One row, or one element of each row, for the whole result.
    fn broadcast(&mut self, exec: &Executor, dims: [usize; 2]) -> View {
        let view = self.dense(exec, &dims);
        view.with_layout(view.layout.expand(shape(&RESULT)).unwrap())
            .unwrap()
    }

    fn out(&self, exec: &Executor, dims: &[usize]) -> Written {
        dense_output(exec, self.dtype, dims)
    }
}

const ONE_ROW: [usize; 2] = [1, RESULT[1]];
const ONE_COLUMN: [usize; 2] = [RESULT[0], 1];
const WIDER: [usize; 2] = [RESULT[0], RESULT[1] + 8];

fn rows(wider: &View) -> View {
    let layout = wider.layout.narrow(1, 4, RESULT[1]).unwrap();
    wider.with_layout(layout).unwrap()
}

fn dense_output(exec: &Executor, dtype: DType, dims: &[usize]) -> Written {
    let out = output(exec, dtype, dims, 4);
    Written {
        whole: out.whole,
        view: out.view,
    }
}

/// An output of rows in wider memory that must not change.
fn rows_output(exec: &Executor, dtype: DType) -> Written {
    let Written { view, whole } = dense_output(exec, dtype, &WIDER);
    Written {
        view: rows(&view),
        whole,
    }
}

fn transposed(exec: &Executor, o: &mut Operands, [batch, rows, cols]: [usize; 3]) -> Written {
    let a = o.dense(exec, &[batch, cols, rows]);
    let a = a.with_layout(a.layout.transpose(1, 2).unwrap()).unwrap();
    let out = o.out(exec, &[batch, rows, cols]);
    let _done = exec.copy(&a, &out.view).unwrap();
    out
}

fn pooled(exec: &Executor, o: &mut Operands, op: Pool, [kernel, stride]: [usize; 2]) -> Written {
    let side = 21 * stride + kernel;
    let x = o.dense(exec, &[2, 20, side, side]);
    let out = o.out(exec, &POOLED);
    let _done = exec
        .pool(op, &x, &windows(kernel, stride), &out.view)
        .unwrap();
    out
}

fn windows(kernel: usize, stride: usize) -> Pool2dOptions {
    Pool2dOptions {
        stride: [stride; 2],
        ..Pool2dOptions::new([kernel; 2])
    }
}

const POOLED: [usize; 4] = [2, 20, 22, 22];

fn attended(exec: &Executor, o: &mut Operands, [heads, queries, keys]: [usize; 3]) -> Written {
    let q = o.dense(exec, &[1, heads, queries, 8]);
    let k = o.dense(exec, &[1, heads, keys, 8]);
    let v = o.dense(exec, &[1, heads, keys, 16]);
    let out = o.out(exec, &[1, heads, queries, 16]);
    let operands = AttentionOperands {
        q: &q,
        k: &k,
        v: &v,
        mask: None,
        lengths: None,
        factors: None,
    };
    let _done = exec
        .attention(&operands, &AttentionOptions::default(), &out.view)
        .unwrap();
    out
}

/// The same to keys and values of i8.
fn attended_integers(
    exec: &Executor,
    o: &mut Operands,
    [heads, queries, keys]: [usize; 3],
) -> Written {
    let q = o.dense(exec, &[1, heads, queries, 8]);
    let k = o.dense_of(exec, DType::I8, &[1, heads, keys, 8]);
    let v = o.dense_of(exec, DType::I8, &[1, heads, keys, 16]);
    let factors = o.dense_of(exec, DType::F32, &[1, heads, keys, 2]);
    let out = o.out(exec, &[1, heads, queries, 16]);
    let operands = AttentionOperands {
        q: &q,
        k: &k,
        v: &v,
        mask: None,
        lengths: None,
        factors: Some(&factors),
    };
    let _done = exec
        .attention(&operands, &AttentionOptions::default(), &out.view)
        .unwrap();
    out
}

const FLOATS: &[DType] = &[DType::F32, DType::F16];
const WIDTHS: &[DType] = &[DType::F32, DType::F16, DType::U8];
const PACKED: &[DType] = &[DType::F16, DType::U8];
const HALF: &[DType] = &[DType::F16];
const WORD: &[DType] = &[DType::F32];

/// Workgroups for as many elements as [`RESULT`], four per invocation.
const BY_FOURS: usize = (RESULT[0] * RESULT[1]).div_ceil(4 * WORKGROUP);
const WINDOWS: usize = POOLED[0] * POOLED[1] * POOLED[2] * POOLED[3];

macro_rules! cases {
    ($($what:literal, $body:literal, $dtypes:expr, $groups:expr, $call:expr;)*) => {
        const CASES: &[Case] = &[$(Case {
            what: $what,
            body: $body,
            dtypes: $dtypes,
            groups: $groups,
            call: $call,
        }),*];
    };
}

cases! {
    "rows, negated", "elementwise/unary_rows.wgsl", WIDTHS, BY_FOURS, |exec, o| {
        let (a, out) = (o.rows(exec), o.out(exec, &RESULT));
        let _done = exec.neg(&a, &out.view).unwrap();
        out
    };
    "copies of one row", "elementwise/unary_rows.wgsl", WIDTHS, BY_FOURS, |exec, o| {
        let (a, out) = (o.broadcast(exec, ONE_ROW), o.out(exec, &RESULT));
        let _done = exec.copy(&a, &out.view).unwrap();
        out
    };
    "rows plus one row", "elementwise/binary_rows.wgsl", WIDTHS, BY_FOURS, |exec, o| {
        let (a, b) = (o.rows(exec), o.broadcast(exec, ONE_ROW));
        let out = o.out(exec, &RESULT);
        let _done = exec.add(&a, &b, &out.view).unwrap();
        out
    };
    "an element per row minus rows", "elementwise/binary_rows.wgsl", WIDTHS, BY_FOURS, |exec, o| {
        let (a, b) = (o.broadcast(exec, ONE_COLUMN), o.rows(exec));
        let out = o.out(exec, &RESULT);
        let _done = exec.sub(&a, &b, &out.view).unwrap();
        out
    };
    "rows where rows are true", "elementwise/where_rows.wgsl", WIDTHS, BY_FOURS, |exec, o| {
        let cond = o.rows_of(exec, DType::Bool);
        let (a, b) = (o.rows(exec), o.broadcast(exec, ONE_COLUMN));
        let out = o.out(exec, &RESULT);
        let _done = exec.where_(&cond, &a, &b, &out.view).unwrap();
        out
    };
    "rows where rows are true, else rows", "elementwise/where_rows.wgsl", WIDTHS, BY_FOURS, |exec, o| {
        let cond = o.rows_of(exec, DType::Bool);
        let (a, b) = (o.rows(exec), o.rows(exec));
        let out = o.out(exec, &RESULT);
        let _done = exec.where_(&cond, &a, &b, &out.view).unwrap();
        out
    };
    "rows assigned", "elementwise/scatter_rows.wgsl", WIDTHS, BY_FOURS, |exec, o| {
        let (a, out) = (o.rows(exec), rows_output(exec, o.dtype));
        let _done = exec.copy(&a, &out.view).unwrap();
        out
    };
    "rows assigned an element each", "elementwise/scatter_rows.wgsl", WIDTHS, BY_FOURS, |exec, o| {
        let (a, out) = (o.broadcast(exec, ONE_COLUMN), rows_output(exec, o.dtype));
        let _done = exec.copy(&a, &out.view).unwrap();
        out
    };
    "matrices, transposed", "elementwise/transpose.wgsl", WIDTHS, 600, |exec, o| {
        transposed(exec, o, [600, 16, 20])
    };
    "matrices of odd sides, transposed", "elementwise/transpose.wgsl", WORD, 600, |exec, o| {
        transposed(exec, o, [600, 17, 18])
    };
    "one matrix of several tiles, transposed", "elementwise/transpose.wgsl", HALF, 650, |exec, o| {
        transposed(exec, o, [1, 1600, 1664])
    };
    "rows by their index", "index/gather_rows.wgsl", WIDTHS, BY_FOURS, |exec, o| {
        let a = o.dense(exec, &[70, RESULT[1]]);
        let indices: Vec<i32> = (0..RESULT[0]).map(|i| (i * 37 % 70) as i32).collect();
        let indices = exec.upload(&indices, &shape(&[RESULT[0]])).unwrap();
        let out = o.out(exec, &RESULT);
        let _done = exec.index_select(&a, 0, &indices, &out.view).unwrap();
        out
    };
    "rows by an index that has no sign", "index/gather_rows.wgsl", WIDTHS, BY_FOURS, |exec, o| {
        let a = o.dense(exec, &[70, RESULT[1]]);
        let indices: Vec<u32> = (0..RESULT[0]).map(|i| (i * 37 % 70) as u32).collect();
        let indices = exec.upload(&indices, &shape(&[RESULT[0]])).unwrap();
        let out = o.out(exec, &RESULT);
        let _done = exec.index_select(&a, 0, &indices, &out.view).unwrap();
        out
    };
    "means of 2 x 2", "pool/window_element.wgsl", WORD, WINDOWS.div_ceil(WORKGROUP), |exec, o| {
        pooled(exec, o, Pool::Average, [2, 2])
    };
    "maxima of 3 x 3", "pool/window_element.wgsl", WORD, WINDOWS.div_ceil(WORKGROUP), |exec, o| {
        pooled(exec, o, Pool::Max, [3, 1])
    };
    "places of maxima of 3 x 3", "pool/window_element.wgsl", WIDTHS, WINDOWS.div_ceil(WORKGROUP), |exec, o| {
        let x = o.dense(exec, &[2, 20, 24, 24]);
        let out = dense_output(exec, DType::I32, &POOLED);
        let _done = exec.max_pool_indices(&x, &windows(3, 1), &out.view).unwrap();
        out
    };
    "means of 2 x 2 in words", "pool/window_vec4.wgsl", HALF, WINDOWS.div_ceil(4 * WORKGROUP), |exec, o| {
        pooled(exec, o, Pool::Average, [2, 2])
    };
    "maxima of 3 x 3 in words", "pool/window_vec4.wgsl", PACKED, WINDOWS.div_ceil(4 * WORKGROUP), |exec, o| {
        pooled(exec, o, Pool::Max, [3, 1])
    };
    "two queries of many heads", "attention/few.wgsl", FLOATS, 600, |exec, o| {
        attended(exec, o, [600, 2, 20])
    };
    "two queries with long keys, in four splits", "attention/few.wgsl", FLOATS, 120, |exec, o| {
        attended(exec, o, [30, 2, 1024])
    };
    "two queries with long keys of i8", "attention/few.wgsl", FLOATS, 120, |exec, o| {
        attended_integers(exec, o, [30, 2, 1024])
    };
    "one query with long keys, merged", "attention/merge.wgsl", FLOATS, 30, |exec, o| {
        attended(exec, o, [30, 1, 2048])
    };
    "many queries with long keys, merged", "attention/merge.wgsl", FLOATS, 640, |exec, o| {
        attended(exec, o, [10, 64, 512])
    };
}

/// The bytes around and in an output, and where its last element is.
fn run(case: &Case, exec: &Executor, dtype: DType) -> (Vec<u8>, usize) {
    let mut operands = Operands {
        dtype,
        random: Random(23),
    };
    let out = (case.call)(exec, &mut operands);
    let read = exec.download(&out.whole).unwrap().wait().unwrap();
    let last = out.view.layout.offsets().last().unwrap();
    (read, last * out.view.dtype.bytes())
}

/// Bodies that others take the place of where subgroups are of one size.
const BY_SUBGROUPS: [(&str, &str); 1] = [("attention/few.wgsl", "attention/lanes_rows.wgsl")];

/// Whether a kernel with this body was made for the dtype, by its name or as bare bits; or one with that which takes its place.
fn has_run(exec: &Executor, case: &Case, dtype: DType) -> bool {
    let bits = format!("bits{}", 8 * dtype.bytes());
    let is_body = |found: &str| found == case.body || BY_SUBGROUPS.contains(&(case.body, found));
    exec.pipelines().trace().kernels().iter().any(|kernel| {
        let mut names = kernel.source.name().split('/');
        is_body(&body(&kernel.source)) && names.any(|name| name == dtype.name() || name == bits)
    })
}

/// Runs each case on the folded device and on an ordinary one.
pub(super) fn hold_beyond_a_plane(folded: &Executor) {
    let ordinary = common::fresh_executor();
    assert!(ordinary.device().caps().max_workgroups as usize > PLANE);
    for case in CASES {
        let all = CASES.iter().filter(|other| other.body == case.body);
        let most = all.map(|case| case.groups).max().unwrap_or(0);
        assert!(case.groups > ROW && most > PLANE, "{}", case.what);
        for &dtype in case.dtypes {
            let what = format!("{} of {dtype}", case.what);
            let (wanted, last) = run(case, &ordinary, dtype);
            let (actual, _) = run(case, folded, dtype);
            assert!(has_run(folded, case, dtype), "{what}: {}", case.body);
            let first = actual.iter().zip(&wanted).position(|(a, b)| a != b);
            assert_eq!(first, None, "{what}: the first byte that differs");
            assert_eq!(actual.len(), wanted.len(), "{what}");
            // The control: one bit of the last element, beyond a plane where the case is, is seen.
            let mut spoilt = actual;
            spoilt[last] ^= 1;
            assert_ne!(spoilt, wanted, "{what}: another last element passes");
        }
    }
}
