//! How products with blocks run: in one kernel, or with numbers in memory between two.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use super::cooperative::Cooperative;
use super::kernel;
use super::tile::{GROUP, Tile, few_rows, runs};
use super::{BlockParams, BlockShape, LinearForm};
use crate::compose::assemble::narrow;
use crate::fused::Operand;
use crate::limits::ability::{Ability, MATRIX_UNITS, no_matrix_units};
use crate::limits::budget::nested;
use crate::num::{saturated, wrap};
use crate::ops::reduce::only_memory;
use crate::ops::ways::Ways;
use crate::run::call::{Call, CallKind, F32Bits, Operands};
use crate::run::checks::check_shape;
use crate::run::ends::Ends;
use crate::run::error::{CannotFuse, KernelError};
use crate::run::executor::Executor;
use crate::run::plan::{Bound, Planned, Planner};
use crate::run::view::View;
use crate::tune::{Class, Named, WayName, bucket};

const LINEAR: &str = "quantized_linear";

/// How a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Each workgroup decodes some rows of the weight.
    Few(Tile),
    /// The same, with fewer invocations for each row and none of them idle.
    Full(Tile),
    /// Matrix units multiply what is decoded meanwhile.
    Cooperative(Cooperative),
    /// The weight is decoded into memory first.
    Decoded,
}

impl Named for Way {
    fn name(&self) -> WayName {
        match self {
            Self::Few(_) => WayName::new("few", [0; 3]),
            Self::Full(_) => WayName::new("full", [0; 3]),
            Self::Cooperative(cooperative) => cooperative.name(),
            Self::Decoded => WayName::new("decoded", [0; 3]),
        }
    }
}

/// Rows of an input whose elements lie side by side: how many, the step from one to the next, and whether they are so few that each
/// reads the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) m: u64,
    pub(super) row: isize,
    few: bool,
}

impl Input {
    /// `None` if its rows do not lie at equal steps and in whole vectors of four elements.
    fn of(x: &View) -> Option<Self> {
        let layout = &x.layout;
        let (cols, outer) = layout.dims().split_last()?;
        let (step, steps) = layout.strides().split_last()?;
        let mut long = outer.iter().zip(steps).filter(|(dim, _)| **dim > 1);
        let row = match (long.next(), long.next()) {
            _ if layout.is_contiguous() => isize::try_from(*cols).ok()?,
            (None, _) => 0,
            (Some((_, step)), None) => *step,
            (Some(_), Some(_)) => return None,
        };
        let aligned = layout.offset().is_multiple_of(4) && row % 4 == 0;
        let m = outer.iter().map(|&dim| dim as u64).product();
        let few = m <= few_rows(x.dtype);
        (*step == 1 && aligned).then_some(Self { m, row, few })
    }
}

/// Only a product with one row has a form; decoded blocks have none.
fn ways(
    input: Option<Input>,
    x: DType,
    weight: &BlockShape,
    form: LinearForm,
    ability: &Ability,
) -> Ways<Way> {
    let without = ways_without_units(input, weight, form, ability);
    let Some(m) = input.map(|input| input.m).filter(|_| form.is_plain()) else {
        return without;
    };
    match Cooperative::new(m, x, weight, ability).map(Way::Cooperative) {
        Some(way) if Cooperative::pays(m, x, weight) => Ways::new(way, without.all()),
        Some(way) if m > 1 => Ways::new(without.default, without.all().skip(1).chain([way])),
        _ => without,
    }
}

/// Those that any device may have.
fn ways_without_units(
    input: Option<Input>,
    weight: &BlockShape,
    form: LinearForm,
    ability: &Ability,
) -> Ways<Way> {
    let decoded = Ways::new(Way::Decoded, []);
    let suits = |input: &Input| input.few && (input.m == 1 || form.is_plain());
    let Some(input) = input.filter(suits) else {
        return decoded;
    };
    let fits = |tile: &Tile| {
        ability.invocations >= GROUP
            && ability.workgroup_bytes >= tile.workgroup_bytes(weight.format, form)
            && iterations(weight, *tile) <= ability.loop_budget
    };
    let few = Tile::of(input.m, weight, form, ability.busy_groups);
    if !fits(&few) {
        return decoded;
    }
    let full = (input.m == 1).then(|| Tile::full(weight, form));
    let decoded = form.is_plain().then_some(Way::Decoded);
    match full.filter(|full| *full != few && fits(full)) {
        Some(full) if ability.idle_costs => {
            let others = [Some(Way::Few(few)), decoded];
            Ways::new(Way::Full(full), others.into_iter().flatten())
        }
        full => {
            let others = [full.map(Way::Full), decoded];
            Ways::new(Way::Few(few), others.into_iter().flatten())
        }
    }
}

/// Loop iterations of an invocation of a product.
pub(super) fn iterations(weight: &BlockShape, tile: Tile) -> u64 {
    let steps = weight.units().div_ceil(u64::from(tile.lanes));
    let runs = u64::from(runs(weight.format));
    let brought = u64::from(tile.lanes)
        .saturating_mul(runs * 4)
        .div_ceil(u64::from(GROUP));
    // With the squares of a norm.
    let totals = u64::from(tile.lines * tile.rows) + 1;
    // Sums of sums, each of which may have to be computed once more.
    let sums = nested(&[totals, steps, runs]) + totals + u64::from(tile.lanes);
    nested(&[steps, runs + nested(&[brought, u64::from(tile.lines)])]) + sums
}

/// The first operand, and the words of the blocks if they are another.
pub(super) fn memory<'a>(op: &'static str, ends: &Ends<'a>) -> Result<&'a View, KernelError> {
    match ends.a {
        Operand::Memory(view) => Ok(view),
        Operand::Fused(_) => Err(only_memory(op)),
    }
}

/// Refuses words that are not those of the shape.
pub(super) fn check_words(
    op: &'static str,
    words: &View,
    shape: &BlockShape,
) -> Result<(), KernelError> {
    if words.dtype != DType::U32 {
        return Err(KernelError::dtype(
            op,
            "the memory of the blocks",
            "planes are words: u32",
            words.dtype,
        ));
    }
    if !words.is_vec4() || words.len() as u64 * 4 != shape.device_bytes() {
        return Err(KernelError::operand(
            op,
            "the memory of the blocks",
            "must be the dense words that their shape says",
            *words.shape(),
        ));
    }
    Ok(())
}

pub(super) fn check_out(p: &Planner<'_>, outer: &[usize], last: usize) -> Result<(), KernelError> {
    let expected = Shape::new([outer, &[last]].concat()).map_err(KernelError::shape(p.op))?;
    check_shape(p.op, p.ends.out, &expected)
}

/// Whether views can be bound whole; what an epilogue writes must be.
pub(super) fn whole(p: &Planner<'_>, views: &[&View]) -> Result<bool, KernelError> {
    if !p.exec.exceeds_binding(views) {
        return Ok(true);
    }
    if p.ends.epilogue.is_some() {
        p.exec.refuse_over_binding(views.iter().copied())?;
    }
    Ok(false)
}

pub(super) fn params(shape: &BlockShape, words: Bound) -> BlockParams {
    // Words begin at a multiple of four.
    let planes = shape.planes().map(|start| start + words.offset / 4);
    BlockParams {
        n: saturated(shape.rows as u64),
        units: saturated(shape.units()),
        planes,
        ..BlockParams::default()
    }
}

/// Elements of a weight up to which each workgroup of a product normalises its input: of 4,096 × 6,144 that takes 14 µs more on an
/// H100, where a kernel of its own takes 4, of 576 × 3,072 less than one.
const NORMED: usize = 1 << 23;

/// Whether a product of one row by the weight is a kernel that should have this form.
pub(crate) fn is_one_kernel(
    exec: &Executor,
    x: &View,
    weight: &BlockShape,
    form: LinearForm,
) -> bool {
    if form.rms_norm.is_some() && weight.rows.saturating_mul(weight.cols) > NORMED {
        return false;
    }
    let form = LinearForm {
        swiglu: true,
        ..form
    };
    let input = Input::of(x).filter(|_| weight.cols > 0);
    ways(input, x.dtype, weight, form, &exec.ability()).default != Way::Decoded
}

/// The weight of a norm, if there is one: a number of the input's dtype for each element of a row, dense.
fn norm_weight<'a>(
    op: &'static str,
    (ends, form): (&Ends<'a>, LinearForm),
    (cols, dtype): (usize, DType),
) -> Result<Option<&'a View>, KernelError> {
    if form.rms_norm.is_none() {
        return Ok(None);
    }
    let (weight, operand) = (ends.other(op, 1, "the norm's weight")?, "the norm's weight");
    if weight.dtype != dtype {
        let rule = "it must have the dtype of x";
        return Err(KernelError::dtype(op, operand, rule, weight.dtype));
    }
    if weight.dims() != [cols] || !weight.is_vec4() {
        let rule = "must be dense, an element for each of a row of x";
        return Err(KernelError::operand(op, operand, rule, *weight.shape()));
    }
    Ok(Some(weight))
}

/// Plans [`Call::QuantizedLinear`].
pub(crate) fn plan_linear(
    p: &mut Planner<'_>,
    weight: &BlockShape,
    form: LinearForm,
) -> Result<Planned, KernelError> {
    let (op, ends) = (p.op, p.ends);
    let (x, words) = (memory(op, ends)?, ends.other(op, 0, "the blocks")?);
    check_words(op, words, weight)?;
    if !x.dtype.is_float() {
        return Err(KernelError::dtype(op, "x", "it must be a float", x.dtype));
    }
    let computed = ends.computed();
    if computed != x.dtype && computed != DType::F32 {
        return Err(KernelError::dtype(
            op,
            "out",
            "it must have the dtype of x, or f32",
            computed,
        ));
    }
    let Some((&k, outer)) = x.dims().split_last().filter(|(_, outer)| !outer.is_empty()) else {
        return Err(KernelError::operand(
            op,
            "x",
            "must have rank 2 or more",
            *x.shape(),
        ));
    };
    if k != weight.cols {
        let right = Shape::new(weight.dims()).map_err(KernelError::shape(op))?;
        return Err(KernelError::operands(
            op,
            "inner dimensions differ",
            *x.shape(),
            right,
        ));
    }
    if form.swiglu && !weight.rows.is_multiple_of(2) {
        let got = Shape::new(weight.dims()).map_err(KernelError::shape(op))?;
        let rule = "must have as many rows of gates as of others";
        return Err(KernelError::operand(op, "the weight", rule, got));
    }
    let norm = norm_weight(op, (ends, form), (k, x.dtype))?;
    check_out(p, outer, form.columns(weight.rows))?;
    if ends.out.is_empty() {
        return Ok(Planned::Nothing);
    }
    let input = Input::of(x).filter(|_| k > 0);
    let class = || {
        let dtypes = [x.dtype, computed].map(|dtype| dtype as u64);
        let extents = [input.map_or(0, |input| bucket(input.m)), weight.cols as u64];
        let format = [weight.format as u64, weight.rows as u64];
        let form = [form.rms_norm.is_some(), form.swiglu].map(u64::from);
        Class::new("quantized_linear", [dtypes, extents, format, form].concat())
    };
    let all = |ability: &Ability| ways(input, x.dtype, weight, form, ability);
    let way = p.way(class, |ability| all(ability).default, all);
    let (way, Some(input)) = (way, input) else {
        return Ok(Planned::Parts);
    };
    if way == Way::Decoded || !whole(p, &[x, norm.unwrap_or(x), ends.out])? {
        return Ok(Planned::Parts);
    }
    let tile = match way {
        Way::Few(tile) | Way::Full(tile) => tile,
        Way::Cooperative(_) if !MATRIX_UNITS => return Err(no_matrix_units(op)),
        Way::Cooperative(cooperative) => {
            cooperative.steps(p, (input, weight), [x.dtype, computed])?;
            return Ok(Planned::Steps);
        }
        Way::Decoded => return Ok(Planned::Parts),
    };
    let (left, blocks, out) = (p.first()?, p.needed(0)?, p.out()?);
    let scales = norm.map(|_| p.needed(1)).transpose()?;
    let along = tile.workgroups(weight.rows as u64);
    let params = BlockParams {
        m: saturated(input.m),
        x_offset: left.offset,
        x_row: wrap(input.row),
        out_offset: out.offset,
        along: saturated(along),
        norm_offset: scales.map_or(0, |bound| bound.offset),
        eps: form.rms_norm.map_or(0.0, F32Bits::get),
        ..params(weight, blocks)
    };
    let choice = kernel::product(weight.format, [x.dtype, computed], form, tile);
    let groups = along * input.m.div_ceil(u64::from(tile.lines));
    let grid = Grid::elements(groups.saturating_mul(u64::from(GROUP)), 1);
    let bindings = [Some(left), Some(blocks), Some(out), scales];
    p.last(choice, bindings.into_iter().flatten(), &params, grid);
    Ok(Planned::Steps)
}

/// Runs [`Call::QuantizedLinear`] with the weight's numbers in memory, in f32 or rounded to the dtype of the input.
pub(crate) fn run_linear(
    exec: &Executor,
    ends: &Ends<'_>,
    weight: &BlockShape,
    form: LinearForm,
) -> Result<(), KernelError> {
    let op = LINEAR;
    if !form.is_plain() {
        return Err(CannotFuse::Rows.into());
    }
    let (x, words) = (memory(op, ends)?, ends.other(op, 0, "the blocks")?);
    let call = Call::new(CallKind::QuantizedLinear {
        weight: *weight,
        form,
    });
    let ability = exec.ability();
    let rows: usize = x.dims().iter().rev().skip(1).product();
    let few = rows as u64 <= few_rows(x.dtype);
    if few && Input::of(x).is_none() && ability.way == 0 {
        // Rows that kernels can read are worth a copy.
        let dense = exec.to_dense(op, x)?;
        let a = Operand::Memory(&dense);
        return exec.run_ends(&call, &Ends { a, ..*ends });
    }
    // Numbers of x's dtype take the least memory. But f16 would make infinities of some, and a few rows are multiplied by
    // unrounded numbers in whatever way.
    let dtype = match x.dtype {
        DType::F16 if !weight.fits_f16 => DType::F32,
        _ if few => DType::F32,
        own => own,
    };
    let row = (weight.cols as u64)
        .saturating_mul(dtype.bytes() as u64)
        .max(1);
    let limit = exec.device().caps().max_binding_bytes.saturating_sub(512);
    let most = usize::try_from(limit / row).unwrap_or(usize::MAX).max(1);
    if most < weight.rows && ends.epilogue.is_some() {
        let bytes = row.saturating_mul(weight.rows as u64);
        return Err(CannotFuse::LargeView { bytes, limit }.into());
    }
    let last = ends.out.rank().saturating_sub(1);
    for first in (0..weight.rows).step_by(most) {
        let len = most.min(weight.rows - first);
        let shape = Shape::new([len, weight.cols]).map_err(KernelError::shape(op))?;
        let numbers = exec.alloc(&shape, dtype)?;
        let decode = Call::new(CallKind::Dequantize {
            blocks: *weight,
            rows: [first, len],
        });
        let _decoded = exec.run(&decode, &Operands::one(words), (&numbers).into())?;
        let transposed = numbers
            .layout
            .transpose(0, 1)
            .map_err(KernelError::shape(op))?;
        let right = numbers.with_layout(transposed)?;
        let out;
        let part = Ends {
            others: [Some(&right), None, None, None, None],
            out: if len == weight.rows {
                ends.out
            } else {
                out = narrow(op, ends.out, last, first, len)?;
                &out
            },
            ..*ends
        };
        exec.run_ends(&Call::matmul(), &part)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ziggurat_core::BlockFormat;

    use super::*;

    const PLAIN: LinearForm = LinearForm {
        rms_norm: None,
        swiglu: false,
    };

    #[test]
    fn processors_take_tiles_without_idle_invocations_and_gpus_can() {
        let weight = BlockShape::new(BlockFormat::Q4_1, [576, 576]).expect("whole blocks");
        let of = |m, ability: &Ability| {
            let few = m <= 16;
            let input = Input { m, row: 576, few };
            let all = ways(Some(input), DType::F32, &weight, PLAIN, ability);
            all.all().collect::<Vec<_>>()
        };
        let processor = Ability {
            idle_costs: true,
            ..Ability::WEBGPU
        };
        let few = Way::Few(Tile::of(1, &weight, PLAIN, 512));
        let full = Way::Full(Tile::full(&weight, PLAIN));
        assert_eq!(of(1, &Ability::WEBGPU), [few, full, Way::Decoded]);
        assert_eq!(of(1, &processor), [full, few, Way::Decoded]);
        for m in [2, 16, 17] {
            assert_eq!(of(m, &processor), of(m, &Ability::WEBGPU), "{m} rows");
        }
        // Rows with as many units as invocations have one tile.
        let weight = BlockShape::new(BlockFormat::Q4_1, [1 << 16, 4096]).expect("whole blocks");
        let one = Input {
            m: 1,
            row: 4096,
            few: true,
        };
        let all = ways(Some(one), DType::F32, &weight, PLAIN, &processor);
        let tiles = [Tile::of(1, &weight, PLAIN, 512), Tile::full(&weight, PLAIN)];
        assert_eq!(tiles[0], tiles[1]);
        assert_eq!(all.all().count(), 2);
    }
}
