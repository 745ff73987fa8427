//! Queries rotated, and rotated keys and values written to caches: the same bits as by [`Executor::rope`] and by hand.

use crate::common;
use crate::operands::shape;
use ziggurat_kernels::core::{decode, encode, round_to};
use ziggurat_kernels::{
    CannotFuse, DType, Executor, KernelError, Layout, RopeAppend, RopeAppended, RopeOptions,
    RopePositions, View,
};

const CAPACITY: usize = 5;
const ROWS: usize = 7;

struct Step {
    joined: View,
    tables: [View; 2],
    positions: View,
    at: Vec<f64>,
    interleaved: bool,
    outs: [View; 3],
    heads: [usize; 2],
}

fn numbers(len: usize, seed: usize) -> Vec<f64> {
    (0..len)
        .map(|i| ((i * 37 + seed * 11) % 61) as f64 / 16.0 - 1.75)
        .collect()
}

fn upload(exec: &Executor, dtype: DType, dims: &[usize], values: &[f64]) -> View {
    exec.upload_bytes(dtype, &encode(dtype, values), &shape(dims))
        .unwrap()
}

fn read(exec: &Executor, view: &View) -> Vec<f64> {
    decode(view.dtype, &exec.download(view).unwrap().wait().unwrap())
}

impl Step {
    /// The rows lie in larger ones, from their eighth element on.
    fn new(
        exec: &Executor,
        [dtype, kept]: [DType; 2],
        heads: [usize; 2],
        [len, pairs]: [usize; 2],
        at: &[f64],
    ) -> Self {
        let (slots, all) = (at.len(), heads[0] + 2 * heads[1]);
        let row = all * len + 12;
        let memory = upload(exec, dtype, &[slots * row], &numbers(slots * row, 1));
        let strides = [row, len, 1].map(usize::cast_signed);
        let layout = Layout::new(shape(&[slots, all, len]), &strides, 8).unwrap();
        let table = |seed| {
            let values = numbers(ROWS * pairs, seed);
            upload(exec, DType::F32, &[ROWS, pairs], &values)
        };
        let cache = |seed| {
            let dims = [slots, heads[1], CAPACITY, len];
            upload(exec, kept, &dims, &numbers(dims.iter().product(), seed))
        };
        Self {
            joined: memory.with_layout(layout).unwrap(),
            tables: [table(2), table(3)],
            positions: upload(exec, DType::I32, &[slots], at),
            at: at.to_vec(),
            interleaved: false,
            outs: [
                exec.alloc(&shape(&[slots, heads[0], 1, len]), kept)
                    .unwrap(),
                cache(4),
                cache(5),
            ],
            heads,
        }
    }

    fn reads(&self) -> RopeAppend<'_> {
        RopeAppend {
            joined: &self.joined,
            tables: [&self.tables[0], &self.tables[1]],
            positions: &self.positions,
            interleaved: self.interleaved,
        }
    }

    fn writes(&self) -> RopeAppended<'_> {
        let [queries, keys, values] = &self.outs;
        RopeAppended {
            queries,
            keys,
            values,
        }
    }

    fn run(&self, exec: &Executor) -> Result<(), KernelError> {
        exec.rope_append(&self.reads(), &self.writes()).map(drop)
    }

    /// What the three outputs should be.
    fn expected(&self, exec: &Executor) -> [Vec<f64>; 3] {
        let &[slots, all, len] = self.joined.dims() else {
            panic!("rank 3");
        };
        let [heads, key_heads] = self.heads;
        let options = RopeOptions {
            interleaved: self.interleaved,
            positions_before_heads: true,
        };
        let row = self.joined.layout.strides()[0];
        let four = Layout::new(
            shape(&[slots, 1, all, len]),
            &[row, row, len.cast_signed(), 1],
            self.joined.layout.offset(),
        );
        let four = self.joined.with_layout(four.unwrap()).unwrap();
        let out = exec
            .alloc(&shape(&[slots, 1, all, len]), self.joined.dtype)
            .unwrap();
        let ids = upload(exec, DType::I32, &[slots, 1], &self.at);
        let (cos, sin) = (&self.tables[0], &self.tables[1]);
        drop(
            exec.rope(&four, cos, sin, RopePositions::Given(&ids), options, &out)
                .unwrap(),
        );
        // From f32 there is one rounding.
        let kept = self.outs[0].dtype;
        let rounded = |view: &View| -> Vec<f64> {
            let all = read(exec, view).into_iter();
            all.map(|number| round_to(kept, number)).collect()
        };
        let (rotated, given) = (rounded(&out), rounded(&self.joined));
        let head = |from: &[f64], slot: usize, head: usize| {
            from[(slot * all + head) * len..][..len].to_vec()
        };
        let queries = (0..slots)
            .flat_map(|slot| (0..heads).flat_map(move |at| vec![(slot, at)]))
            .flat_map(|(slot, at)| head(&rotated, slot, at));
        let mut outs = [queries.collect(), numbers_of(self, 4), numbers_of(self, 5)];
        for slot in 0..slots {
            let at = self.at[slot];
            let from_end = if at < 0.0 { at + CAPACITY as f64 } else { at };
            let position = from_end.clamp(0.0, CAPACITY as f64 - 1.0) as usize;
            for own in 0..key_heads {
                let to = ((slot * key_heads + own) * CAPACITY + position) * len;
                outs[1][to..to + len].copy_from_slice(&head(&rotated, slot, heads + own));
                let value = head(&given, slot, heads + key_heads + own);
                outs[2][to..to + len].copy_from_slice(&value);
            }
        }
        outs
    }
}

/// What a cache held.
fn numbers_of(step: &Step, seed: usize) -> Vec<f64> {
    let (dtype, len) = (step.outs[1].dtype, step.outs[1].len());
    decode(dtype, &encode(dtype, &numbers(len, seed)))
}

fn differences(got: &[Vec<f64>; 3], want: &[Vec<f64>; 3]) -> usize {
    let of = |(got, want): (&Vec<f64>, &Vec<f64>)| {
        assert_eq!(got.len(), want.len());
        let pairs = got.iter().zip(want);
        pairs
            .filter(|(got, want)| got.to_bits() != want.to_bits())
            .count()
    };
    got.iter().zip(want).map(of).sum()
}

#[test]
fn every_form_has_the_bits_of_its_parts() {
    for exec in [common::executor(), common::plain_executor()] {
        let [f32, f16, bf16] = [DType::F32, DType::F16, DType::BF16];
        for dtypes in [[f32; 2], [f16; 2], [bf16; 2], [f32, f16], [f32, bf16]] {
            for (heads, sizes, at) in [
                ([3, 3], [8, 4], &[2.0][..]),
                ([4, 2], [16, 8], &[0.0, 4.0, 1.0]),
                // Behind the cache and the table, and from the end.
                ([4, 1], [16, 4], &[9.0, -1.0, -20.0]),
            ] {
                for interleaved in [false, true] {
                    let mut step = Step::new(&exec, dtypes, heads, sizes, at);
                    step.interleaved = interleaved;
                    assert!(exec.rope_append_is_one_kernel(&step.reads(), &step.writes()));
                    let want = step.expected(&exec);
                    step.run(&exec).unwrap();
                    let mut got = step.outs.each_ref().map(|out| read(&exec, out));
                    let what = format!("{dtypes:?} {heads:?} {sizes:?} {at:?} {interleaved}");
                    assert_eq!(differences(&got, &want), 0, "{what}");
                    // The comparison sees what is wrong.
                    got[1][0] += 0.5;
                    assert_eq!(differences(&got, &want), 1, "{what}");
                }
            }
        }
    }
}

#[test]
fn what_is_not_one_kernel_says_so() {
    let exec = common::executor();
    let step = |len, pairs| Step::new(&exec, [DType::F32; 2], [2, 1], [len, pairs], &[1.0]);
    let is_refused = |step: &Step| {
        assert!(!exec.rope_append_is_one_kernel(&step.reads(), &step.writes()));
        let error = step.run(&exec).unwrap_err();
        let expected = matches!(error, KernelError::CannotFuse(CannotFuse::Heads));
        assert!(expected, "{error}");
    };
    is_refused(&step(6, 2));
    is_refused(&step(8, 3));
    let mut odd = step(8, 4);
    let layout = Layout::new(shape(&[1, 4, 8]), &[32, 8, 1], 1).unwrap();
    odd.joined = odd.joined.with_layout(layout).unwrap();
    is_refused(&odd);
}

#[test]
fn what_does_not_fit_is_refused() {
    let exec = common::executor();
    let good = || Step::new(&exec, [DType::F32; 2], [2, 1], [8, 4], &[1.0, 2.0]);
    let alloc = |dims: &[usize], dtype| exec.alloc(&shape(dims), dtype).unwrap();
    let f = |dims: &[usize]| alloc(dims, DType::F32);
    let refused = |change: &dyn Fn(&mut Step), part: &str| {
        let mut step = good();
        change(&mut step);
        let error = step.run(&exec).unwrap_err().to_string();
        assert!(error.starts_with("rope_append: "), "{error}");
        assert!(error.contains(part), "{error}");
    };
    refused(&|s| s.joined = f(&[2, 32]), "a must have rank 3");
    refused(&|s| s.joined = alloc(&[2, 4, 8], DType::I32), "a is i32");
    refused(&|s| s.joined = f(&[2, 5, 8]), "a must have a head");
    refused(&|s| s.joined = f(&[3, 4, 8]), "positions must be one");
    refused(
        &|s| s.tables = [f(&[7, 5]), f(&[7, 5])],
        "cos must have a row",
    );
    refused(
        &|s| s.tables = [f(&[0, 4]), f(&[0, 4])],
        "cos must have a row",
    );
    refused(&|s| s.tables[1] = f(&[7, 3]), "sin must be contiguous rows");
    refused(&|s| s.positions = f(&[2]), "positions is f32");
    refused(
        &|s| s.positions = alloc(&[1], DType::I32),
        "positions must be one",
    );
    refused(&|s| s.outs[0] = f(&[2, 2, 8]), "rank 4 with one position");
    refused(
        &|s| s.outs[0] = alloc(&[2, 2, 1, 8], DType::F16),
        "out is f16",
    );
    refused(&|s| s.outs[1] = f(&[2, 1, 5]), "keys must have rank 4");
    refused(
        &|s| s.outs[2] = f(&[2, 1, 6, 8]),
        "values must have the shape",
    );
    refused(
        &|s| s.outs[2] = s.outs[1].clone(),
        "must not be memory that is read",
    );
    refused(
        &|s| (s.outs[1], s.outs[2]) = (f(&[2, 1, 0, 8]), f(&[2, 1, 0, 8])),
        "keys must have room",
    );
    // No slots: nothing happens.
    let none = Step::new(&exec, [DType::F32; 2], [2, 1], [8, 4], &[]);
    none.run(&exec).unwrap();
}
