//! Reading and writing elements that indices name: gather, scatter, and a check of the indices.
//!
//! All forms are one plan ([`plan`]): a position names an element of the data by its axes, and the components of its index
//! add to that. Indices are i32 or u32. Invariants: an index that names no element is taken for the nearest end (a
//! negative i32 counts from the end first), so nothing is read or written out of bounds; updates of one element never
//! mix, whatever their dtype's width.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::limits::ability::Ability;
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::copy::bits;
use crate::ops::elementwise::dispatch::PER_INVOCATION;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::launch::check_output;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::Params;
use crate::source::prelude;

mod ordered;
mod parts;
pub(crate) mod plan;

use parts::LEAST_SCATTERED;
use plan::{How, IndexParams, Located, Plan};

/// What a scatter does with an element and an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scatter {
    /// The update replaces the element. Of several updates of one element any one stays, whole.
    Set,
    /// Their sum; integers wrap, for bool it is *or*.
    Add,
    /// Their product; integers wrap, for bool it is *and*.
    Mul,
    /// The larger one; NaN wins.
    Max,
    /// The smaller one; NaN wins.
    Min,
}

impl Scatter {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Set, Self::Add, Self::Mul, Self::Max, Self::Min];

    /// The name in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Set => "scatter",
            Self::Add => "scatter_add",
            Self::Mul => "scatter_mul",
            Self::Max => "scatter_max",
            Self::Min => "scatter_min",
        }
    }

    /// Whether results depend on the order of updates: floats are rounded after each.
    pub(crate) const fn rounds(self, dtype: DType) -> bool {
        matches!(self, Self::Add | Self::Mul) && dtype.is_float()
    }

    /// The binary op that combines element and update; none replaces.
    pub(crate) const fn binary(self) -> Option<Binary> {
        match self {
            Self::Set => None,
            Self::Add => Some(Binary::Add),
            Self::Mul => Some(Binary::Mul),
            Self::Max => Some(Binary::Maximum),
            Self::Min => Some(Binary::Minimum),
        }
    }
}

/// What a variant depends on besides its op and dtype.
#[derive(Clone, Copy, Debug)]
struct Form {
    rank: u32,
    components: u32,
    signed: bool,
}

impl Form {
    fn of(located: &Located, indices: &View) -> Self {
        Self {
            rank: located.rank,
            components: located.components,
            signed: indices.dtype == DType::I32,
        }
    }

    fn constants(self, choice: KernelChoice) -> KernelChoice {
        choice
            .constant("RANK", self.rank)
            .constant("COMPONENTS", self.components)
            .constant("SIGNED", u8::from(self.signed))
    }
}

/// With vec4, four neighbours that an index names are read at once.
fn gather(bytes: usize, form: Form, vec4: bool) -> KernelChoice {
    let (name, load, store) = bits(bytes);
    let (by, body) = if vec4 {
        ("rows", "index/gather_rows.wgsl")
    } else {
        ("elements", "index/gather.wgsl")
    };
    let choice = KernelChoice::new("gather").name(name).name(by).parts(&[
        prelude::FLOAT,
        load,
        store,
        "index/position.wgsl",
        "index/locate.wgsl",
        "index/located.wgsl",
        "elementwise/emit.wgsl",
        body,
    ]);
    form.constants(choice)
}

/// A choice with the parts that say what an update does to an element.
fn updating(op: Scatter, dtype: DType) -> KernelChoice {
    let choice = KernelChoice::new(op.name());
    let (name, load, store, apply) = match op.binary() {
        Some(binary) => (
            dtype.name(),
            prelude::load(dtype),
            prelude::store(dtype),
            binary.spec().snippets.of(dtype),
        ),
        None => {
            let (name, load, store) = bits(dtype.bytes());
            (name, load, store, "index/set.wgsl")
        }
    };
    let choice = choice.name(name).parts(&[prelude::FLOAT, load]);
    let choice = if dtype.bytes() == 4 {
        choice.part("index/updated_word.wgsl")
    } else {
        choice
            .part(store)
            .part("index/updated_element.wgsl")
            .constant("CELL_BITS", 8 * dtype.bytes() as u32)
    };
    choice.part(apply)
}

/// A choice with the parts that find the element of a position.
fn located(choice: KernelChoice, form: Form) -> KernelChoice {
    let choice = choice.parts(&[
        prelude::FLOAT,
        "index/position.wgsl",
        "index/locate.wgsl",
        "index/located.wgsl",
    ]);
    form.constants(choice)
}

/// The part that updates words by an atomic operation of devices, where they have it.
fn atomic_update(op: Scatter, dtype: DType, ability: &Ability) -> Option<&'static str> {
    let is_word = dtype.bytes() == 4;
    match op {
        Scatter::Set if is_word => Some("index/update_set.wgsl"),
        Scatter::Add if is_word && (dtype.is_int() || ability.float_atomics) => {
            Some("index/update_add.wgsl")
        }
        Scatter::Max if is_word && dtype.is_int() => Some("index/update_max.wgsl"),
        Scatter::Min if is_word && dtype.is_int() => Some("index/update_min.wgsl"),
        _ => None,
    }
}

fn scatter(op: Scatter, dtype: DType, form: Form, ability: &Ability) -> KernelChoice {
    let choice = match atomic_update(op, dtype, ability) {
        Some(update) => {
            let (name, load) = match op {
                Scatter::Set => {
                    let (name, load, _) = bits(dtype.bytes());
                    (name, load)
                }
                _ => (dtype.name(), prelude::load(dtype)),
            };
            let choice = KernelChoice::new(op.name()).name(name).name("atomic");
            let choice = if op == Scatter::Add && dtype.is_float() {
                choice.enable("enable/float_atomics.wgsl")
            } else {
                choice
            };
            choice.parts(&[prelude::FLOAT, load, update])
        }
        None => updating(op, dtype).part("index/update_any.wgsl"),
    };
    form.constants(choice.parts(&[
        "index/position.wgsl",
        "index/locate.wgsl",
        "index/located.wgsl",
        "index/scatter.wgsl",
    ]))
}

fn check(form: Form) -> KernelChoice {
    let choice = KernelChoice::new("check_indices").parts(&[
        prelude::FLOAT,
        "index/position.wgsl",
        "index/locate.wgsl",
        "index/check.wgsl",
    ]);
    form.constants(choice)
}

/// Every width of gather, every reduction of every dtype, with one component and with several.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    let one = Form {
        rank: 4,
        components: 1,
        signed: true,
    };
    let several = Form {
        components: 3,
        signed: false,
        ..one
    };
    for form in [one, several] {
        for dtype in [DType::U32, DType::F16, DType::U8] {
            all.extend([false, true].map(|vec4| gather(dtype.bytes(), form, vec4)));
            all.push(scatter(Scatter::Set, dtype, form, &Ability::WEBGPU));
        }
        all.push(check(form));
    }
    for op in [Scatter::Add, Scatter::Mul, Scatter::Max, Scatter::Min] {
        all.extend(DType::ALL.map(|dtype| scatter(op, dtype, one, &Ability::WEBGPU)));
    }
    all.push(scatter(Scatter::Add, DType::F32, one, &Ability::LARGE));
    let mut all: Vec<Candidate> = all
        .into_iter()
        .map(|choice| Candidate::new(choice, IndexParams::FIELDS))
        .collect();
    all.extend(ordered::variants(one));
    all
}

impl Executor {
    /// `out[.., i, ..] = a[.., indices[.., i, ..], ..]` along `axis`: one index per element of `out`, which has the
    /// indices' shape. Along the other axes the indices reach at most as far as `a`.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless the indices are i32 or u32 and both others agree; [`KernelError::Shape`] for an axis
    /// that `a` does not have; [`KernelError::Operands`], [`KernelError::Output`] for shapes; [`KernelError::Operand`] if
    /// the axis has no elements to name.
    pub fn gather(
        &self,
        a: &View,
        axis: usize,
        indices: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.gather_how("gather", How::Along(axis), a, indices, out)
    }

    /// `out[P.., J.., R..] = a[P.., indices[J..], R..]` where P are the axes before `axis` and R those behind it: whole
    /// slices by their index. An embedding is this along axis 0.
    ///
    /// # Errors
    /// As [`Executor::gather`].
    pub fn index_select(
        &self,
        a: &View,
        axis: usize,
        indices: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.gather_how("index_select", How::Slices(axis), a, indices, out)
    }

    /// `out[B.., J.., R..] = a[B.., indices[B.., J.., 0], .., indices[B.., J.., m − 1], R..]` where B are `batch`
    /// leading axes that both have and m is the last extent of the indices.
    ///
    /// # Errors
    /// As [`Executor::gather`]; [`KernelError::Operands`] if m is more than the axes behind the batch.
    pub fn gather_nd(
        &self,
        a: &View,
        indices: &View,
        batch: usize,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.gather_how("gather_nd", How::Tuples(batch), a, indices, out)
    }

    /// `out[.., indices[.., i, ..], ..] op= updates[.., i, ..]` along `axis`; the indices have the updates' shape. `out`
    /// keeps its other elements. Sums and products of floats are of the element and then its updates in row-major order, in
    /// f32, rounded once (those beyond the first 4,096 in pieces of as many); see [`Executor::set_deterministic`].
    ///
    /// # Errors
    /// As [`Executor::gather`], with `out` in place of `a`; [`KernelError::OverlappingOutput`].
    pub fn scatter(
        &self,
        op: Scatter,
        updates: &View,
        axis: usize,
        indices: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.scatter_how(op, How::Along(axis), updates, indices, out)
    }

    /// `out[P.., indices[j], R..] op= updates[P.., j, R..]`: whole slices by their index; see [`Executor::scatter`].
    ///
    /// # Errors
    /// As [`Executor::scatter`].
    pub fn index_scatter(
        &self,
        op: Scatter,
        updates: &View,
        axis: usize,
        indices: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.scatter_how(op, How::Slices(axis), updates, indices, out)
    }

    /// `out[indices[J.., 0], .., indices[J.., m − 1], R..] op= updates[J.., R..]`; see [`Executor::scatter`].
    ///
    /// # Errors
    /// As [`Executor::scatter`] and [`Executor::gather_nd`].
    pub fn scatter_nd(
        &self,
        op: Scatter,
        updates: &View,
        indices: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.scatter_how(op, How::Tuples(0), updates, indices, out)
    }

    /// Lowers the one u32 of `out` to the least row-major position of an index that names no element, if there is one
    /// below what stands there. Component `m` of the last axis of the indices names one of `extents[m]` positions; with
    /// one extent, every index does.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless the indices are i32 or u32 and `out` is u32; [`KernelError::Operand`] unless `out`
    /// has one element and the indices as many components.
    pub fn check_indices(
        &self,
        indices: &View,
        extents: &[usize],
        out: &View,
    ) -> Result<Completion, KernelError> {
        let op = "check_indices";
        let plan = Plan::checked(op, indices, extents)?;
        if out.dtype != DType::U32 || out.len() != 1 {
            return Err(KernelError::operand(
                op,
                "out",
                "must be one u32",
                *out.shape(),
            ));
        }
        if indices.is_empty() {
            return Ok(self.completion());
        }
        let (read, write) = (self.bind_read(op, indices)?, self.bind_write(op, out)?);
        let located = plan.located(op, indices, None)?;
        let params = IndexParams {
            offset_index: read.offset,
            offset_out: write.offset,
            ..located.params
        };
        self.launch(
            &check(Form::of(&located, indices)),
            &[read.arg, write.arg],
            &params,
            Grid::stride(u64::from(params.len), 1),
        )?;
        Ok(self.completion())
    }

    fn gather_how(
        &self,
        op: &'static str,
        how: How,
        a: &View,
        indices: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let plan = how.plan(op, a, indices)?;
        if out.dtype != a.dtype {
            return Err(KernelError::dtype(
                op,
                "out",
                "it must have the dtype of a",
                out.dtype,
            ));
        }
        plan.check_result(op, out)?;
        a.check()?;
        indices.check()?;
        self.with_dense_out(op, out, &[a, indices], |out| {
            self.gather_parts(op, how, [a, indices], out)
        })?;
        Ok(self.completion())
    }

    /// Gathers, in parts where an operand exceeds a binding.
    fn gather_parts(
        &self,
        op: &'static str,
        how: How,
        [a, indices]: [&View; 2],
        out: &View,
    ) -> Result<(), KernelError> {
        if out.is_empty() {
            return Ok(());
        }
        let plan = how.plan(op, a, indices)?;
        if let Some(axis) = self.named_axis(&plan, (how, 2), a, indices) {
            return self.gather_halves(op, (how, axis), [a, indices], out);
        }
        let much_data = self.exceeds_binding(&[a]);
        if (much_data || self.exceeds_binding(&[indices, out]))
            && let Some(cut) = plan.halving(much_data)
        {
            for [a, indices, out] in plan.halves(op, cut, [a, indices, out])? {
                self.gather_parts(op, how, [&a, &indices], &out)?;
            }
            return Ok(());
        }
        // Parts may start within a vec4 or leave gaps; the whole is dense.
        self.with_dense_out(op, out, &[], |out| {
            self.gather_bound(op, &plan, [a, indices], out)
        })
    }

    /// Gathers by one dispatch: all operands fit a binding, and the output is dense.
    fn gather_bound(
        &self,
        op: &'static str,
        plan: &Plan,
        [a, indices]: [&View; 2],
        out: &View,
    ) -> Result<(), KernelError> {
        let data = self.bind_read(op, a)?;
        let index = self.bind_read(op, indices)?;
        let target = self.bind_write(op, out)?;
        let located = plan.located(op, indices, None)?;
        let params = IndexParams {
            offset_out: target.offset,
            offset_data: data.offset,
            offset_index: index.offset,
            ..located.params
        };
        let (rank, bytes) = (located.rank, a.dtype.bytes());
        let unit = 4 / bytes as u32;
        // Packed elements that fill words move as words.
        let (bytes, params) = match params.names_vectors(rank, 4 * unit) {
            true => (4, params.in_units(rank, unit)),
            false => (bytes, params),
        };
        let vec4 = params.names_vectors(rank, 4);
        let each = if vec4 {
            2 * PER_INVOCATION
        } else {
            PER_INVOCATION
        };
        self.launch(
            &gather(bytes, Form::of(&located, indices), vec4),
            &[data.arg, index.arg, target.arg],
            &params,
            Grid::stride(u64::from(params.len), each),
        )
    }

    fn scatter_how(
        &self,
        op: Scatter,
        how: How,
        updates: &View,
        indices: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let name = op.name();
        let plan = how.plan(name, out, indices)?;
        if updates.dtype != out.dtype {
            return Err(KernelError::dtype(
                name,
                "updates",
                "it must have the output's dtype",
                updates.dtype,
            ));
        }
        plan.check_updates(name, updates)?;
        check_output(name, out)?;
        updates.check()?;
        indices.check()?;
        if updates.is_empty() {
            return Ok(self.completion());
        }
        // What is read must not be what is written.
        let separate = |view: &View| match view.buffer.same_memory(&out.buffer) {
            true => self.to_dense(name, view),
            false => Ok(view.clone()),
        };
        let (updates, indices) = (separate(updates)?, separate(indices)?);
        self.scatter_parts(op, how, [&updates, &indices], out)?;
        Ok(self.completion())
    }

    /// Scatters, in parts where an operand exceeds a binding: earlier updates first.
    fn scatter_parts(
        &self,
        op: Scatter,
        how: How,
        [updates, indices]: [&View; 2],
        out: &View,
    ) -> Result<(), KernelError> {
        let name = op.name();
        if self.exceeds_binding(&[out]) && !self.exceeds_dense(out) {
            let room = self.to_dense(name, out)?;
            self.scatter_parts(op, how, [updates, indices], &room)?;
            return self.copy_into(name, &room, out);
        }
        let plan = how.plan(name, out, indices)?;
        if let Some(axis) = self.named_axis(&plan, (how, LEAST_SCATTERED), out, indices) {
            return self.scatter_halves(op, (how, axis), [updates, indices], out);
        }
        let much_data = self.exceeds_binding(&[out]);
        if (much_data || self.exceeds_binding(&[updates, indices]))
            && let Some(cut) = plan.halving(much_data)
        {
            for [out, indices, updates] in plan.halves(name, cut, [out, indices, updates])? {
                self.scatter_parts(op, how, [&updates, &indices], &out)?;
            }
            return Ok(());
        }
        if op.rounds(out.dtype) && self.is_deterministic() {
            return self.scatter_in_order(op, &plan, updates, indices, out);
        }
        let update = self.bind_read(name, updates)?;
        let index = self.bind_read(name, indices)?;
        let data = self.bind_write(name, out)?;
        let located = plan.located(name, indices, Some(updates))?;
        let params = IndexParams {
            offset_data: data.offset,
            offset_index: index.offset,
            offset_update: update.offset,
            ..located.params
        };
        self.launch(
            &scatter(
                op,
                out.dtype,
                Form::of(&located, indices),
                &Ability::of(self.device()),
            ),
            &[update.arg, index.arg, data.arg],
            &params,
            Grid::stride(u64::from(params.len), 1),
        )
    }
}
