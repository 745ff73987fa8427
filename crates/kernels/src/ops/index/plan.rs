//! How positions and indices name elements of the data: pure functions of shapes.
//!
//! A [`Plan`] is a list of axes to iterate over. Each has a stride in the data (0 where the index decides instead) and may be an
//! axis of the indices; the components of an index add a stride of the data each. Invariant: an element that a plan names
//! lies in the data, whatever the indices hold.

use ziggurat_core::{DType, Shape, sort_few_by_key};

use crate::limits::split::{halves, middle};
use crate::num::{saturated, wrap};
use crate::ops::elementwise::dispatch::count;
use crate::ops::reduce::axes::{Axis, merge};
use crate::run::checks::{check_axis, check_shape};
use crate::run::error::KernelError;
use crate::run::view::View;
use crate::source::params::params;

params! {
    /// Parameters of everything that indexes.
    pub(crate) struct IndexParams {
        len: u32,
        offset_out: u32,
        offset_data: u32,
        offset_index: u32,
        offset_update: u32,
        component_stride: u32,
        positions: u32,
        lanes: u32,
        first: u32,
        unused_0: u32,
        unused_1: u32,
        unused_2: u32,
        axes: [[u32; 4]; 8],
        targets: [[u32; 4]; 4],
    }
}

impl IndexParams {
    /// Whether an index names whole vectors of `vector` elements of the data, neighbours along the innermost of `rank` axes, each
    /// beginning at a multiple of that.
    pub(crate) fn names_vectors(&self, rank: u32, vector: u32) -> bool {
        let axes = self.axes.get(..rank as usize).unwrap_or_default();
        let Some(([extent, data, index, _], outer)) = axes.split_last() else {
            return false;
        };
        // Strides in two's complement: a multiple of a power of two either way.
        let in_step = |stride: &u32| stride.is_multiple_of(vector);
        let strides = self
            .targets
            .iter()
            .flat_map(|[_, first, _, second]| [first, second]);
        (*data, *index) == (1, 0)
            && in_step(extent)
            && in_step(&self.offset_data)
            && in_step(&self.offset_out)
            && outer.iter().all(|[_, data, ..]| in_step(data))
            && strides.into_iter().all(in_step)
    }

    /// The plan in units of `unit` neighbouring elements, for a gather of whole vectors of those.
    pub(crate) fn in_units(mut self, rank: u32, unit: u32) -> Self {
        let step = |stride: &mut u32| {
            *stride = (stride.cast_signed() / unit.cast_signed()).cast_unsigned();
        };
        for at in [&mut self.len, &mut self.offset_data, &mut self.offset_out] {
            *at /= unit;
        }
        if let Some((inner, outer)) = self
            .axes
            .get_mut(..rank as usize)
            .and_then(<[_]>::split_last_mut)
        {
            inner[0] /= unit;
            outer.iter_mut().for_each(|[_, data, ..]| step(data));
        }
        for [_, first, _, second] in &mut self.targets {
            step(first);
            step(second);
        }
        self
    }
}

/// How indices name elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// One per position, along this axis.
    Along(usize),
    /// Slices of this axis.
    Slices(usize),
    /// Tuples behind so many batch axes.
    Tuples(usize),
}

impl How {
    pub(crate) fn plan(
        self,
        op: &'static str,
        data: &View,
        indices: &View,
    ) -> Result<Plan, KernelError> {
        match self {
            Self::Along(axis) => Plan::along(op, data, axis, indices),
            Self::Slices(axis) => Plan::slices(op, data, axis, indices),
            Self::Tuples(batch) => Plan::tuples(op, data, indices, batch),
        }
    }
}

/// The axes to iterate over, and what an index adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Extents of the result of a gather, or of the updates of a scatter.
    dims: Vec<usize>,
    /// The data's stride along each.
    data: Vec<isize>,
    /// Which axis of the data each is.
    data_axis: Vec<Option<usize>>,
    /// Which axis of the indices each is.
    index: Vec<Option<usize>>,
    /// Extent and stride of the data's axis that each component names.
    targets: Vec<(usize, isize)>,
    /// The axis of the indices along which the components lie.
    components: Option<usize>,
    /// Which axis of the updates each is, where that is another one.
    update: Vec<usize>,
}

/// A plan for operands that lie in memory in a certain way.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) params: IndexParams,
    pub(crate) rank: u32,
    pub(crate) components: u32,
}

fn extent(view: &View, axis: usize) -> usize {
    view.dims().get(axis).copied().unwrap_or(0)
}

fn stride(view: &View, axis: usize) -> isize {
    view.layout.strides().get(axis).copied().unwrap_or(0)
}

fn check_dtype(op: &'static str, indices: &View) -> Result<(), KernelError> {
    if matches!(indices.dtype, DType::I32 | DType::U32) {
        return Ok(());
    }
    Err(KernelError::dtype(
        op,
        "indices",
        "indices are i32 or u32",
        indices.dtype,
    ))
}

fn unfit(op: &'static str, rule: &'static str, data: &View, indices: &View) -> KernelError {
    KernelError::operands(op, rule, *data.shape(), *indices.shape())
}

impl Plan {
    /// One index per position, which stands for the position along `axis`.
    pub(crate) fn along(
        op: &'static str,
        data: &View,
        axis: usize,
        indices: &View,
    ) -> Result<Self, KernelError> {
        check_dtype(op, indices)?;
        let _extent = check_axis(op, data, axis)?;
        let within = data.rank() == indices.rank()
            && (0..data.rank()).all(|at| at == axis || extent(indices, at) <= extent(data, at));
        if !within {
            let rule = "the indices must reach no further than the data along the other axes";
            return Err(unfit(op, rule, data, indices));
        }
        let plan = Self {
            dims: indices.dims().to_vec(),
            data: (0..data.rank())
                .map(|at| if at == axis { 0 } else { stride(data, at) })
                .collect(),
            data_axis: (0..data.rank())
                .map(|at| (at != axis).then_some(at))
                .collect(),
            index: (0..data.rank()).map(Some).collect(),
            targets: vec![(extent(data, axis), stride(data, axis))],
            components: None,
            update: Vec::new(),
        };
        plan.with_targets(op, data)
    }

    /// The axes of the indices in place of `axis`.
    pub(crate) fn slices(
        op: &'static str,
        data: &View,
        axis: usize,
        indices: &View,
    ) -> Result<Self, KernelError> {
        check_dtype(op, indices)?;
        let _extent = check_axis(op, data, axis)?;
        let mut plan = Self::empty();
        plan.targets.push((extent(data, axis), stride(data, axis)));
        for at in 0..axis {
            plan.push_data(data, at, None);
        }
        for at in 0..indices.rank() {
            plan.push(extent(indices, at), 0, Some(at));
        }
        for at in axis + 1..data.rank() {
            plan.push_data(data, at, None);
        }
        plan.with_targets(op, data)
    }

    /// The last axis of the indices holds an index per axis of the data behind the batch.
    pub(crate) fn tuples(
        op: &'static str,
        data: &View,
        indices: &View,
        batch: usize,
    ) -> Result<Self, KernelError> {
        check_dtype(op, indices)?;
        let Some(last) = indices.rank().checked_sub(1).filter(|&last| batch <= last) else {
            let rule = "the indices must have an axis behind the batch";
            return Err(unfit(op, rule, data, indices));
        };
        let components = extent(indices, last);
        if batch.saturating_add(components) > data.rank() {
            let rule =
                "an index must not have more components than the data has axes behind the batch";
            return Err(unfit(op, rule, data, indices));
        }
        if (0..batch).any(|at| extent(data, at) != extent(indices, at)) {
            return Err(unfit(op, "the batch axes must agree", data, indices));
        }
        let mut plan = Self::empty();
        plan.components = Some(last);
        for at in 0..batch {
            plan.push_data(data, at, Some(at));
        }
        for at in batch..last {
            plan.push(extent(indices, at), 0, Some(at));
        }
        for at in batch..batch + components {
            plan.targets.push((extent(data, at), stride(data, at)));
        }
        for at in batch + components..data.rank() {
            plan.push_data(data, at, None);
        }
        plan.with_targets(op, data)
    }

    /// Every index, to be compared with these extents.
    pub(crate) fn checked(
        op: &'static str,
        indices: &View,
        extents: &[usize],
    ) -> Result<Self, KernelError> {
        check_dtype(op, indices)?;
        let last = indices.dims().last().copied();
        if extents.is_empty()
            || extents.len() > 8
            || (extents.len() > 1 && last != Some(extents.len()))
        {
            return Err(KernelError::operand(
                op,
                "indices",
                "must have one of at most 8 extents per component",
                *indices.shape(),
            ));
        }
        Ok(Self {
            dims: indices.dims().to_vec(),
            data: vec![0; indices.rank()],
            data_axis: vec![None; indices.rank()],
            index: (0..indices.rank()).map(Some).collect(),
            targets: extents.iter().map(|&extent| (extent, 0)).collect(),
            components: None,
            update: Vec::new(),
        })
    }

    const fn empty() -> Self {
        Self {
            dims: Vec::new(),
            data: Vec::new(),
            data_axis: Vec::new(),
            index: Vec::new(),
            targets: Vec::new(),
            components: None,
            update: Vec::new(),
        }
    }

    fn push(&mut self, dim: usize, data: isize, index: Option<usize>) {
        self.dims.push(dim);
        self.data.push(data);
        self.data_axis.push(None);
        self.index.push(index);
    }

    /// An axis of the data, which is perhaps one of the indices too.
    fn push_data(&mut self, data: &View, axis: usize, index: Option<usize>) {
        self.push(extent(data, axis), stride(data, axis), index);
        if let Some(own) = self.data_axis.last_mut() {
            *own = Some(axis);
        }
    }

    /// Where to halve what is walked: the first axis, or that of the data with the longest steps.
    pub(crate) fn halving(&self, of_data: bool) -> Option<(usize, usize)> {
        let axis = if of_data {
            self.own_steps().max_by_key(|&(_, step)| step)?.0
        } else {
            self.dims.iter().position(|&dim| dim > 1)?
        };
        Some((axis, middle(self.dims.get(axis).copied()?)))
    }

    /// The longest step from one element of the data to the next along an axis that indices do not name.
    pub(crate) fn longest_step(&self) -> Option<usize> {
        self.own_steps().map(|(_, step)| step).max()
    }

    /// Axes of the data that are walked and have more than one position, and the steps along them.
    fn own_steps(&self) -> impl Iterator<Item = (usize, usize)> {
        let axes = self
            .dims
            .iter()
            .zip(&self.data_axis)
            .zip(&self.data)
            .enumerate();
        axes.filter(|(_, ((dim, own), _))| **dim > 1 && own.is_some())
            .map(|(axis, (_, step))| (axis, step.unsigned_abs()))
    }

    /// Data, indices and walked view of both halves.
    pub(crate) fn halves(
        &self,
        op: &'static str,
        (axis, at): (usize, usize),
        [data, indices, walked]: [&View; 3],
    ) -> Result<[[View; 3]; 2], KernelError> {
        let cut = |view: &View, own: Option<usize>| match own {
            Some(own) => halves(op, view, own, at),
            None => Ok([view.clone(), view.clone()]),
        };
        let own = |list: &[Option<usize>]| list.get(axis).copied().flatten();
        let [first_data, second_data] = cut(data, own(&self.data_axis))?;
        let [first_indices, second_indices] = cut(indices, own(&self.index))?;
        let [first, second] = cut(walked, Some(axis))?;
        Ok([
            [first_data, first_indices, first],
            [second_data, second_indices, second],
        ])
    }

    /// Unless nothing is walked, the indexed axes must have elements.
    fn with_targets(self, op: &'static str, data: &View) -> Result<Self, KernelError> {
        let is_run = self.dims.iter().all(|&dim| dim > 0);
        if is_run && self.targets.iter().any(|&(extent, _)| extent == 0) {
            return Err(KernelError::operand(
                op,
                "the data",
                "must have elements along the indexed axes",
                *data.shape(),
            ));
        }
        Ok(self)
    }

    /// The shape of a gather's result or of a scatter's updates.
    pub(crate) fn shape(&self, op: &'static str) -> Result<Shape, KernelError> {
        Shape::new(&self.dims).map_err(KernelError::shape(op))
    }

    /// Whether `out` has the shape of the result.
    pub(crate) fn check_result(&self, op: &'static str, out: &View) -> Result<(), KernelError> {
        check_shape(op, out, &self.shape(op)?)
    }

    /// Whether the updates have an element per position.
    pub(crate) fn check_updates(
        &self,
        op: &'static str,
        updates: &View,
    ) -> Result<(), KernelError> {
        let expected = self.shape(op)?;
        if *updates.shape() == expected {
            return Ok(());
        }
        Err(KernelError::operands(
            op,
            "the updates must have the shape that the indices ask for",
            *updates.shape(),
            expected,
        ))
    }

    /// The plan with the axes that no index belongs to behind the others, and how many positions the others have, each with
    /// how many elements.
    pub(crate) fn indices_first(&self) -> (Self, usize, usize) {
        let mut order: Vec<usize> = (0..self.dims.len()).collect();
        sort_few_by_key(&mut order, |&at| {
            self.index.get(at).copied().flatten().is_none()
        });
        let mut plan = Self {
            targets: self.targets.clone(),
            components: self.components,
            ..Self::empty()
        };
        let (mut positions, mut lanes) = (1, 1);
        for at in order {
            let dim = self.dims.get(at).copied().unwrap_or(1);
            let index = self.index.get(at).copied().flatten();
            *(if index.is_some() {
                &mut positions
            } else {
                &mut lanes
            }) *= dim;
            plan.push(dim, self.data.get(at).copied().unwrap_or(0), index);
            plan.update.push(at);
        }
        (plan, positions, lanes)
    }

    /// The plan for indices (and updates) as they lie in memory.
    pub(crate) fn located(
        &self,
        op: &'static str,
        indices: &View,
        updates: Option<&View>,
    ) -> Result<Located, KernelError> {
        let axes: Vec<Axis<3>> = (0..self.dims.len())
            .map(|at| {
                let own = |list: &[isize]| list.get(at).copied().unwrap_or(0);
                let from_index = self.index.get(at).copied().flatten();
                Axis {
                    dim: self.dims.get(at).copied().unwrap_or(1) as u64,
                    strides: [
                        own(&self.data),
                        from_index.map_or(0, |axis| stride(indices, axis)),
                        updates.map_or(0, |updates| {
                            stride(updates, self.update.get(at).copied().unwrap_or(at))
                        }),
                    ],
                }
            })
            .collect();
        let merged = merge(&axes);
        let mut params = IndexParams {
            len: count(op, self.shape(op)?.len())?,
            component_stride: self
                .components
                .map_or(0, |axis| wrap(stride(indices, axis))),
            ..IndexParams::default()
        };
        for (row, axis) in params.axes.iter_mut().zip(&merged) {
            let [data, index, update] = axis.strides.map(wrap);
            *row = [saturated(axis.dim), data, index, update];
        }
        // naga validates at most 256 bytes of immediates, so two components share a row.
        let slots = params.targets.as_flattened_mut().chunks_exact_mut(2);
        for (slot, &(extent, stride)) in slots.zip(&self.targets) {
            slot.copy_from_slice(&[count(op, extent)?, wrap(stride)]);
        }
        Ok(Located {
            params,
            rank: u32::try_from(merged.len().max(1)).unwrap_or(1),
            components: u32::try_from(self.targets.len()).unwrap_or(0),
        })
    }
}
