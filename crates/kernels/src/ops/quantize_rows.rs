//! Rows of floats as integers of 8 bits with a factor each, as caches of keys and values keep them.
//!
//! One kernel finds the factor of a row, divides by it, rounds, and stores both where they belong: in their order, or each at the
//! position that an index names. Invariants: what is stored is that of the ops one by one, bit for bit; NaN and infinity are never
//! dropped; whatever an index holds, nothing is written outside of the batch and head that the row is of.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use crate::fused::Operand;
use crate::limits::ability::Ability;
use crate::limits::split::{halves, middle, stride};
use crate::num::{saturated, wrap};
use crate::ops::index::Scatter;
use crate::ops::reduce::lanes::{self, Lanes, Side};
use crate::ops::reduce::only_memory;
use crate::run::call::{Call, CallKind, Operands, Sink};
use crate::run::checks::{check_dtype, check_shape};
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::launch::check_output;
use crate::run::plan::{Planned, Planner};
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

const OP: &str = "quantize_rows";

params! {
    /// Parameters of rows that become integers.
    pub(crate) struct QuantizeParams {
        rows: u32,
        len: u32,
        offset: u32,
        out_offset: u32,
        factors_offset: u32,
        positions_offset: u32,
        positions_stride: u32,
        capacity: u32,
        heads: u32,
        count: u32,
        reserved_0: u32,
        reserved_1: u32,
        strides: [u32; 4],
        out_strides: [u32; 4],
        factors_strides: [u32; 4],
    }
}

/// What a variant depends on besides the dtype of the rows.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// Positions are given.
    given: bool,
    /// Rows of integers are whole words.
    words: bool,
}

fn choice(dtype: DType, Form { given, words }: Form, lanes: &Lanes) -> KernelChoice {
    let choice = KernelChoice::new(OP)
        .name(dtype.name())
        .name(if given { "given" } else { "in_order" })
        .name(if words { "words" } else { "bytes" })
        .parts(&[prelude::FLOAT, "quantize_rows/params.wgsl"])
        .load(dtype)
        .store(DType::I8)
        .writes(DType::I8, words);
    let choice = match given {
        true => choice.parts(&["index/position.wgsl", "quantize_rows/given.wgsl"]),
        false => choice.part("quantize_rows/in_order.wgsl"),
    };
    choice
        .part(match words {
            true => "quantize_rows/put_words.wgsl",
            false => "quantize_rows/put_bytes.wgsl",
        })
        .parts(&[
            "functions/divide.wgsl",
            "elementwise/unary/round.wgsl",
            "reduce/tree.wgsl",
            "quantize_rows/body.wgsl",
        ])
        .constant("WG", lanes.wg)
        .constant("ROWS", lanes.rows)
        .constant("LANES", lanes.lanes)
}

/// Every float dtype in every form.
pub(crate) fn variants() -> Vec<Candidate> {
    let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
    let lanes = lanes::choose(64, 128, Side::Reduced, false, &Ability::WEBGPU);
    let forms = [(false, false), (false, true), (true, false), (true, true)];
    floats
        .flat_map(|dtype| {
            forms.map(|(given, words)| {
                let choice = choice(dtype, Form { given, words }, &lanes);
                Candidate::new(choice, QuantizeParams::FIELDS)
            })
        })
        .collect()
}

impl Executor {
    /// Writes the rows of `a` `[batch, heads, n, D]` as integers from -127 to 127 to `numbers`, and what these are multiplied by to
    /// `factors`, in f32: the greatest magnitude of a row (at least 1e-30) divided by 127. An integer is the quotient of element and
    /// factor, rounded to the nearest, halves to even. NaN or infinity make the factor of their row NaN or infinite.
    ///
    /// Without `positions`, `numbers` has the shape of `a`, and `factors` that with 1 in place of D. With them (i32 or u32
    /// `[batch]`) n is 1, and both outputs have any number of positions in its place, of which that of each batch is written and
    /// nothing else. An index that names none is taken for the nearest end, a negative i32 counts from the end first.
    ///
    /// # Errors
    /// [`KernelError::Dtype`], [`KernelError::Operand`] and [`KernelError::Operands`] for operands that are not as said, outputs
    /// without a position, or outputs in memory that is read or that of the other one; [`KernelError::Output`];
    /// [`KernelError::OverlappingOutput`].
    pub fn quantize_rows(
        &self,
        a: &View,
        positions: Option<&View>,
        numbers: &View,
        factors: &View,
    ) -> Result<Completion, KernelError> {
        let operands = Operands {
            first: a.into(),
            others: [positions, None, None, None, None],
        };
        let sink = Sink {
            also: Some(factors),
            ..Sink::new(numbers)
        };
        self.run(&Call::new(CallKind::QuantizeRows), &operands, sink)
    }
}

/// Plans [`CallKind::QuantizeRows`].
pub(crate) fn plan(p: &mut Planner<'_>) -> Result<Planned, KernelError> {
    let rows = Rows::of(p.ends)?;
    rows.check()?;
    if rows.a.is_empty() {
        return Ok(Planned::Nothing);
    }
    if p.exec.exceeds_binding(&rows.all()) {
        return Ok(Planned::Parts);
    }
    steps(p, &rows)?;
    Ok(Planned::Steps)
}

/// Runs [`CallKind::QuantizeRows`] on parts of operands that one binding cannot hold.
pub(crate) fn run_parts(exec: &Executor, ends: &Ends<'_>) -> Result<(), KernelError> {
    Rows::of(ends)?.run(exec)
}

fn steps(p: &mut Planner<'_>, rows: &Rows) -> Result<(), KernelError> {
    let (read, numbers, positions) = (p.first()?, p.raw_out()?, p.other(0)?);
    let factors = p.raw_also()?.ok_or_else(|| without_factors(&rows.a))?;
    let [outer, len] = rows.counts();
    let ability = p.exec.ability();
    let lanes = lanes::choose(outer, len, Side::Reduced, false, &ability);
    let count = |n: usize| saturated(n as u64);
    let [_, heads, each, _] = four(rows.a.dims()).map(count);
    let strides = |view: &View| four(view.layout.strides()).map(wrap);
    let positions_stride = (rows.positions.as_ref())
        .and_then(|view| view.layout.strides().first().copied())
        .unwrap_or(0);
    let params = QuantizeParams {
        rows: saturated(outer),
        len: saturated(len),
        offset: read.offset,
        out_offset: numbers.offset,
        factors_offset: factors.offset,
        positions_offset: positions.map_or(0, |bound| bound.offset),
        positions_stride: wrap(positions_stride),
        capacity: rows.numbers.dims().get(2).map_or(1, |&n| count(n)),
        heads,
        count: each,
        strides: strides(&rows.a),
        out_strides: strides(&rows.numbers),
        factors_strides: strides(&rows.factors),
        ..QuantizeParams::default()
    };
    let form = Form {
        given: positions.is_some(),
        words: fill_words(&rows.numbers, numbers.offset),
    };
    let choice = choice(rows.a.dtype, form, &lanes);
    let bindings = [read, numbers, factors].into_iter().chain(positions);
    p.last(
        choice,
        bindings,
        &params,
        Grid::elements(lanes.invocations(outer), 1),
    );
    Ok(())
}

/// Whether rows of integers are whole words, where `offset` elements stand in front of the first.
fn fill_words(numbers: &View, offset: u32) -> bool {
    let (dims, strides) = (numbers.dims(), numbers.layout.strides());
    let [outer @ .., 1] = strides else {
        return false;
    };
    let in_words = |(dim, step): (&usize, &isize)| *dim < 2 || step % 4 == 0;
    offset.is_multiple_of(4)
        && dims.last().is_some_and(|len| len.is_multiple_of(4))
        && dims.iter().zip(outer).all(in_words)
}

/// What a list of four holds.
fn four<T: Copy + Default>(list: &[T]) -> [T; 4] {
    std::array::from_fn(|at| list.get(at).copied().unwrap_or_default())
}

fn without_factors(a: &View) -> KernelError {
    let rule = "must be given besides the integers";
    KernelError::operand(OP, "factors", rule, *a.shape())
}

/// The views of a call.
#[derive(Clone, Debug)]
struct Rows {
    a: View,
    positions: Option<View>,
    numbers: View,
    factors: View,
}

impl Rows {
    fn of(ends: &Ends<'_>) -> Result<Self, KernelError> {
        let Operand::Memory(a) = ends.a else {
            return Err(only_memory(OP));
        };
        let [positions, ..] = ends.others;
        let factors = ends.also.ok_or_else(|| without_factors(a))?;
        Ok(Self {
            a: a.clone(),
            positions: positions.cloned(),
            numbers: ends.out.clone(),
            factors: factors.clone(),
        })
    }

    fn check(&self) -> Result<(), KernelError> {
        let (a, numbers, factors) = (&self.a, &self.numbers, &self.factors);
        let &[batch, heads, count, len] = a.dims() else {
            return Err(KernelError::operand(
                OP,
                "a",
                "must have rank 4",
                *a.shape(),
            ));
        };
        let check = |name, view: &View, fits, rule| check_dtype(OP, name, view.dtype, fits, rule);
        check("a", a, a.dtype.is_float(), "it must be a float")?;
        check("out", numbers, numbers.dtype == DType::I8, "it must be i8")?;
        check(
            "factors",
            factors,
            factors.dtype == DType::F32,
            "they are f32",
        )?;
        let mut capacity = count;
        if let Some(positions) = &self.positions {
            let is_index = matches!(positions.dtype, DType::I32 | DType::U32);
            check("positions", positions, is_index, "they are i32 or u32")?;
            if positions.dims() != [batch] || count != 1 {
                let rule = "there must be a position per batch, and a row per batch and head";
                let (rows, given) = (*a.shape(), *positions.shape());
                return Err(KernelError::operands(OP, rule, rows, given));
            }
            capacity = numbers.dims().get(2).copied().unwrap_or(0);
        }
        for (out, len) in [(numbers, len), (factors, 1)] {
            let shape = Shape::new([batch, heads, capacity, len]);
            check_shape(OP, out, &shape.map_err(KernelError::shape(OP))?)?;
            check_output(OP, out)?;
        }
        if !a.is_empty() && capacity == 0 {
            let rule = "must have room for a position";
            return Err(KernelError::operand(OP, "out", rule, *numbers.shape()));
        }
        let read = || self.positions.iter().chain([a]);
        read().try_for_each(View::check)?;
        let shares = |out: &View, view: &View| view.buffer.same_memory(&out.buffer);
        if shares(numbers, factors)
            || read().any(|view| shares(numbers, view) || shares(factors, view))
        {
            let rule = "must not be memory that is read, or that of the other output";
            return Err(KernelError::operand(OP, "out", rule, *numbers.shape()));
        }
        Ok(())
    }

    /// How many rows there are, and how many elements each has.
    fn counts(&self) -> [u64; 2] {
        let len = self.a.dims().last().copied().unwrap_or(1);
        [self.a.len() / len.max(1), len].map(|n| n as u64)
    }

    /// All views.
    fn all(&self) -> Vec<&View> {
        let views = [&self.a, &self.numbers, &self.factors];
        views.into_iter().chain(&self.positions).collect()
    }

    /// The axis to halve: the longest steps through a view that cannot be bound, along an axis that all have.
    fn cut(&self, exec: &Executor) -> Option<usize> {
        let shared = if self.positions.is_some() { 2 } else { 3 };
        let large = self
            .all()
            .into_iter()
            .filter(|view| exec.exceeds_binding(&[view]));
        let steps = large.flat_map(|view| {
            let step = move |axis| Some((stride(view, Some(axis))?, axis));
            (0..shared.min(view.rank())).filter_map(step)
        });
        steps.max().map(|(_, axis)| axis)
    }

    /// Both halves along an axis.
    fn halves(&self, axis: usize) -> Result<[Self; 2], KernelError> {
        let at = middle(self.a.dims().get(axis).copied().unwrap_or(0));
        let cut = |view: &View| halves(OP, view, axis, at);
        let ([a, a2], [numbers, numbers2]) = (cut(&self.a)?, cut(&self.numbers)?);
        let [factors, factors2] = cut(&self.factors)?;
        let [positions, positions2] = match &self.positions {
            Some(view) if axis == 0 => cut(view)?.map(Some),
            all => [all.clone(), all.clone()],
        };
        let first = Self {
            a,
            positions,
            numbers,
            factors,
        };
        let second = Self {
            a: a2,
            positions: positions2,
            numbers: numbers2,
            factors: factors2,
        };
        Ok([first, second])
    }

    /// Runs the call, in parts where a view cannot be bound.
    fn run(&self, exec: &Executor) -> Result<(), KernelError> {
        if exec.exceeds_binding(&[&self.a]) && !exec.exceeds_dense(&self.a) {
            let a = exec.to_dense(OP, &self.a)?;
            return Self { a, ..self.clone() }.run(exec);
        }
        if let Some(axis) = self.cut(exec) {
            let [first, second] = self.halves(axis)?;
            first.run(exec)?;
            return second.run(exec);
        }
        if let Some(positions) = &self.positions
            && exec.exceeds_binding(&[&self.numbers, &self.factors])
        {
            return self.scatter(exec, positions);
        }
        let ends = Ends {
            others: [self.positions.as_ref(), None, None, None, None],
            also: Some(&self.factors),
            ..Ends::plain(&self.a, &self.numbers)
        };
        exec.run_planned(OP, &ends, |p| steps(p, self))
    }

    /// Writes the row of one head that has more positions than can be bound: indexing finds its place in parts.
    fn scatter(&self, exec: &Executor, positions: &View) -> Result<(), KernelError> {
        let one = Shape::new([1; 4]).map_err(KernelError::shape(OP))?;
        let numbers = exec.alloc(self.a.shape(), DType::I8)?;
        let factor = exec.alloc(&one, DType::F32)?;
        let _made = exec.quantize_rows(&self.a, None, &numbers, &factor)?;
        for (new, all) in [(&numbers, &self.numbers), (&factor, &self.factors)] {
            let _stored = exec.index_scatter(Scatter::Set, new, 2, positions, all)?;
        }
        Ok(())
    }
}
