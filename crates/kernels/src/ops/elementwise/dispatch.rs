//! How an elementwise op reads its operands: in vec4s of all elements where everything is dense, of rows where only the innermost
//! axis is, strides where not.
//!
//! Invariants: the output is dense (`with_dense_out` sees to it); inputs have the output's shape, with
//! stride 0 where they are broadcast; operands too large for one binding are halved along their outermost axis until
//! they fit, so no op needs to know the limit.

use ziggurat_core::{Coalesced, coalesce};
use ziggurat_pipeline::{Arg, Grid, KernelKey};

use crate::fused::form::{Access, row};
use crate::limits::split::{halves, halving};
use crate::num::wrap;
use crate::ops::elementwise::row::{NAN_EACH, NAN_ELSEWHERE};
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::list::List;
use crate::source::params::{Params, params};
use crate::source::prelude;

params! {
    /// Parameters of the flat bodies.
    pub(crate) struct FlatParams {
        len: u32,
        offset_out: u32,
        offset_a: u32,
        offset_b: u32,
        offset_c: u32,
    }
}

params! {
    /// Parameters of the strided bodies and of the scatter.
    pub(crate) struct StridedParams {
        len: u32,
        offset_out: u32,
        offset_a: u32,
        offset_b: u32,
        offset_c: u32,
        unused_0: u32,
        unused_1: u32,
        unused_2: u32,
        axes: [[u32; 4]; 8],
    }
}

/// Elements that one invocation of these kernels handles per step.
pub(crate) const PER_INVOCATION: u32 = 4;

/// An elementwise op for given dtypes, before it is known how its operands lie in memory.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    /// The op's name.
    pub(crate) op: &'static str,
    /// Further names for the label: dtypes.
    pub(crate) names: List<&'static str, 3>,
    /// Load and store preludes.
    pub(crate) preludes: List<&'static str, 4>,
    /// Shared functions and the snippet with `apply`.
    pub(crate) snippet: List<&'static str, 6>,
    pub(crate) bodies: Bodies,
    /// Vectors of four that an invocation has in flight, of dense operands: 1, 2 or 4.
    pub(crate) steps: u32,
}

/// The bodies of ops with as many operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bodies {
    operands: usize,
    /// For dense operands.
    flat: &'static str,
    /// For operands of which four neighbours along the innermost axis lie side by side, or are one element.
    rows: &'static str,
    /// For operands of any strides.
    strided: &'static str,
}

impl Bodies {
    pub(crate) const UNARY: Self = Self {
        operands: 1,
        flat: "elementwise/unary_flat.wgsl",
        rows: "elementwise/unary_rows.wgsl",
        strided: "elementwise/unary_strided.wgsl",
    };
    pub(crate) const BINARY: Self = Self {
        operands: 2,
        flat: "elementwise/binary_flat.wgsl",
        rows: "elementwise/binary_rows.wgsl",
        strided: "elementwise/binary_strided.wgsl",
    };
    pub(crate) const WHERE: Self = Self {
        operands: 3,
        flat: "elementwise/where_flat.wgsl",
        rows: "elementwise/where_rows.wgsl",
        strided: "elementwise/where_strided.wgsl",
    };

    /// Vectors of elements of so many bytes that an invocation has in flight: on an H200 the fewest that reach the speed of memory.
    pub(crate) const fn steps(&self, bytes: usize) -> u32 {
        match (bytes, self.operands) {
            (1, _) => 4,
            (2, _) | (_, 1) => 2,
            _ => 1,
        }
    }
}

/// The most inputs that an elementwise op has.
const MAX_INPUTS: usize = 3;

const SCALARS: [&str; MAX_INPUTS] = ["SCALAR_A", "SCALAR_B", "SCALAR_C"];
const SPLATS: [&str; MAX_INPUTS] = ["SPLAT_A", "SPLAT_B", "SPLAT_C"];

/// Adds a constant for each operand that is marked or not.
fn marked(choice: KernelChoice, names: [&'static str; MAX_INPUTS], marks: &[bool]) -> KernelChoice {
    names
        .iter()
        .zip(marks)
        .fold(choice, |choice, (name, mark)| {
            choice.constant(name, u8::from(*mark))
        })
}

/// Marks as bits.
fn bits(marks: &[bool]) -> u64 {
    let fold = |bits, &mark: &bool| (bits << 1) | u64::from(mark);
    marks.iter().rev().fold(0, fold)
}

impl Recipe {
    fn start(&self, params: &'static str) -> KernelChoice {
        self.start_with(params, NAN_EACH)
    }

    /// Of functions that see to NaN, if there are any, the ones that do so in this way.
    fn start_with(&self, params: &'static str, nan: &'static str) -> KernelChoice {
        let nan = &nan;
        let snippet = self.snippet.iter();
        self.names
            .iter()
            .fold(KernelChoice::new(self.op), |choice, name| choice.name(name))
            .part(params)
            .part(prelude::FLOAT)
            .more_parts(self.preludes.iter())
            .part("elementwise/emit.wgsl")
            .more_parts(snippet.map(|part| if *part == NAN_EACH { nan } else { part }))
    }

    /// What tells this recipe's variants from all others: op, dtypes, then which body and how it is specialised.
    /// Parts and constants follow from these, so that a recorded op need not list them.
    fn key(&self, body: &'static str, variant: u64) -> KernelKey {
        let mut key = KernelKey::new(self.op);
        key.push_tag("coalesced");
        key.push_tag(body);
        for name in self.names.iter() {
            key.push_tag(name);
        }
        key.push_number(variant);
        key
    }

    /// The variant for dense operands, those marked being scalars.
    pub(crate) fn flat(&self, scalars: &[bool]) -> KernelChoice {
        let choice = self
            .start_with("elementwise/flat_params.wgsl", NAN_ELSEWHERE)
            .name("flat")
            .part(self.bodies.flat);
        let choice = match (
            self.bodies.operands,
            self.snippet.iter().any(|part| *part == NAN_EACH),
        ) {
            (1, true) => choice.part("elementwise/results_numbers.wgsl"),
            (1, false) => choice.part("elementwise/results.wgsl"),
            _ => choice,
        };
        marked(choice.constant("STEPS", self.steps), SCALARS, scalars)
    }

    /// The variant for operands that are read in vec4s along the innermost of `rank` axes, or, those marked, are one element
    /// along it.
    pub(crate) fn rows(&self, rank: u32, splats: &[bool]) -> KernelChoice {
        let choice = self
            .start("elementwise/strided_params.wgsl")
            .name("rows")
            .part("elementwise/address.wgsl")
            .part(self.bodies.rows)
            .constant("RANK", rank);
        marked(choice, SPLATS, splats)
    }

    /// The variant for operands of any strides, over `rank` axes.
    pub(crate) fn strided(&self, rank: u32) -> KernelChoice {
        let choice = self
            .start("elementwise/strided_params.wgsl")
            .name("strided");
        choice
            .part("elementwise/address.wgsl")
            .part(self.bodies.strided)
            .constant("RANK", rank)
    }
}

impl Candidate {
    /// The flat variants with no scalar and with each operand a scalar, those of rows with and without one element for a row,
    /// and the strided one.
    pub(crate) fn of_recipe(recipe: &Recipe, operands: usize) -> Vec<Self> {
        let mut all = vec![Self::new(
            recipe.flat(&vec![false; operands]),
            FlatParams::FIELDS,
        )];
        all.push(Self::new(
            recipe.flat(&vec![true; operands]),
            FlatParams::FIELDS,
        ));
        let mut splats = vec![false; operands];
        all.push(Self::new(recipe.rows(3, &splats), StridedParams::FIELDS));
        if let Some(last) = splats.last_mut() {
            *last = true;
        }
        all.push(Self::new(recipe.rows(2, &splats), StridedParams::FIELDS));
        all.push(Self::new(recipe.strided(3), StridedParams::FIELDS));
        all
    }
}

/// Extents and strides as the shader reads them.
pub(crate) fn axes(coalesced: &Coalesced) -> [[u32; 4]; 8] {
    let mut rows = [[0; 4]; 8];
    for (d, (row, &dim)) in rows.iter_mut().zip(&coalesced.dims).enumerate() {
        let [extent, strides @ ..] = row;
        *extent = wrap(dim as isize);
        for (slot, operand) in strides.iter_mut().zip(&coalesced.strides) {
            *slot = operand.get(d).copied().map_or(0, wrap);
        }
    }
    rows
}

/// `count` as u32: operands are limited to what `bind_read` accepts.
pub(crate) fn count(op: &'static str, elements: usize) -> Result<u32, KernelError> {
    let limit = crate::run::launch::MAX_INDEX;
    let elements = elements as u64;
    match u32::try_from(elements) {
        Ok(count) if elements <= limit => Ok(count),
        _ => Err(KernelError::IndexTooLarge {
            op,
            elements,
            limit,
        }),
    }
}

/// Whether the vector of four that an element is in may be read whole, for each element of a view.
pub(crate) fn reads_whole(view: &View) -> bool {
    let bytes = view.dtype.bytes() as u64;
    view.layout
        .span()
        .is_some_and(|(_, high)| (high as u64 / 4 + 1) * 4 * bytes <= view.buffer.capacity())
}

/// Whether the view is one element seen from every index, and its vec4 may be read whole.
pub(crate) fn is_scalar(view: &View) -> bool {
    view.layout.span().is_some_and(|(low, high)| low == high) && reads_whole(view)
}

/// Whether all inputs can be read in vec4s along the innermost axis: which of them are one element along it.
pub(super) fn splats<'a>(
    inputs: impl Iterator<Item = &'a View>,
    coalesced: &Coalesced,
) -> Option<[bool; MAX_INPUTS]> {
    let mut splats = [false; MAX_INPUTS];
    for ((input, strides), splat) in inputs.zip(&coalesced.strides).zip(&mut splats) {
        *splat = row(input, &coalesced.dims, strides)? == Access::Splat;
    }
    Some(splats)
}

impl Executor {
    /// Calls `f` on equal parts of all views, small enough that each can be bound. The last view is the output.
    pub(crate) fn in_parts(
        &self,
        op: &'static str,
        views: &[&View],
        f: &mut dyn FnMut(&[&View]) -> Result<(), KernelError>,
    ) -> Result<(), KernelError> {
        let cut = if self.exceeds_binding(views) {
            views.last().and_then(|out| halving(&out.layout))
        } else {
            None
        };
        let Some((axis, at)) = cut else {
            return f(views);
        };
        let parts: Vec<[View; 2]> = views
            .iter()
            .map(|view| halves(op, view, axis, at))
            .collect::<Result<_, _>>()?;
        for half in 0..2 {
            let part: Vec<&View> = parts.iter().filter_map(|pair| pair.get(half)).collect();
            self.in_parts(op, &part, f)?;
        }
        Ok(())
    }

    /// Records an elementwise op. Inputs must have the output's shape.
    pub(crate) fn elementwise(
        &self,
        recipe: &Recipe,
        inputs: &[&View],
        out: &View,
    ) -> Result<(), KernelError> {
        let op = recipe.op;
        for input in inputs {
            input.check()?;
        }
        self.with_dense_out(op, out, inputs, |out| {
            if out.is_empty() {
                return Ok(());
            }
            let mut views = [out; MAX_INPUTS + 1];
            for (slot, input) in views.iter_mut().zip(inputs) {
                *slot = input;
            }
            let views = views.get(..=inputs.len()).unwrap_or_default();
            self.in_parts(op, views, &mut |part| {
                let Some((out, inputs)) = part.split_last() else {
                    return Ok(());
                };
                // Halves of a dense output are dense, but may start within a vec4.
                self.with_dense_out(op, out, &[], |out| {
                    self.elementwise_part(recipe, inputs, out)
                })
            })
        })
    }

    pub(super) fn elementwise_part(
        &self,
        recipe: &Recipe,
        inputs: &[&View],
        out: &View,
    ) -> Result<(), KernelError> {
        let op = recipe.op;
        let len = count(op, out.len())?;
        let target = self.bind_write(op, out)?;
        let offset_out = target.offset;
        let mut args = [target.arg; MAX_INPUTS + 1];
        let mut offsets = [0; MAX_INPUTS];
        let mut scalars = [false; MAX_INPUTS];
        let mut flat = true;
        let slots = args.iter_mut().zip(&mut offsets).zip(&mut scalars);
        for (input, ((arg, offset), scalar)) in inputs.iter().zip(slots) {
            let bound = self.bind_read(op, input)?;
            (*arg, *offset) = (bound.arg, bound.offset);
            *scalar = is_scalar(input);
            flat &= *scalar || input.is_vec4();
        }
        let [offset_a, offset_b, offset_c] = offsets;
        let args: &[Arg<'_>] = args.get(..=inputs.len()).unwrap_or_default();
        let scalars = scalars.get(..inputs.len()).unwrap_or_default();
        let grid = Grid::stride(u64::from(len), PER_INVOCATION);
        if flat {
            let params = FlatParams {
                len,
                offset_out,
                offset_a,
                offset_b,
                offset_c,
            };
            // A one-element operand of a one-element output is dense and a scalar: one variant is enough.
            let key = recipe.key("flat", bits(scalars));
            let grid = Grid::stride(u64::from(len), PER_INVOCATION * recipe.steps);
            return self.launch_keyed(key, || recipe.flat(scalars), args, &params, grid);
        }
        let mut layouts = [out.layout; MAX_INPUTS];
        for (slot, input) in layouts.iter_mut().zip(inputs) {
            *slot = input.layout;
        }
        let coalesced = coalesce(layouts.get(..inputs.len()).unwrap_or_default());
        let rank = u32::try_from(coalesced.dims.len()).unwrap_or(1);
        let params = StridedParams {
            len,
            offset_out,
            offset_a,
            offset_b,
            offset_c,
            axes: axes(&coalesced),
            ..StridedParams::default()
        };
        if let Some(splats) = splats(inputs.iter().copied(), &coalesced) {
            let splats = splats.get(..inputs.len()).unwrap_or_default();
            let key = recipe.key("rows", bits(splats) << 32 | u64::from(rank));
            return self.launch_keyed(key, || recipe.rows(rank, splats), args, &params, grid);
        }
        let key = recipe.key("strided", u64::from(rank));
        self.launch_keyed(key, || recipe.strided(rank), args, &params, grid)
    }
}
