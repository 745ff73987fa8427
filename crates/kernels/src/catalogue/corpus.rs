//! Fused graphs for the catalogue: fused kernels are without number, so these stand for them in every check.
//!
//! For each dtype a few graphs call every op that exists for it, once over dense operands and once over strides; the others
//! are small and show one thing each: in place, several outputs, mixed dtypes, many strided operands.

use ziggurat_core::DType;
use ziggurat_pipeline::UNIFORM_PART;

use crate::fused::form::{Access, Form};
use crate::fused::generate::{self, Host};
use crate::fused::graph::{Graph, MADE, Slots, Source};
use crate::fused::op::FusedOp;
use crate::fused::user::MAX_OPERANDS;
use crate::fused::{ends, params};
use crate::ops::conv;
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::ops::elementwise::predicate::Predicate;
use crate::ops::elementwise::unary::Unary;
use crate::ops::matmul::{self, MatmulParams};
use crate::ops::norm::{self, NormParams};
use crate::ops::quantised::{self, BlockParams};
use crate::ops::reduce::geometry::ReduceParams;
use crate::ops::rope::{self, RopeParams};
use crate::ops::{arg_reduce, reduce, softmax};
use crate::run::error::KernelError;
use crate::source::candidate::Variant;
use crate::source::choice::{CATALOGUE_WG, KernelChoice};
use crate::source::params::{ParamField, Params};

/// The most bindings that a kernel may have on WebGPU's default limits: eight storage buffers, less the one that WebGPU's
/// implementations keep for themselves.
const MOST_BINDINGS: usize = 7;

/// A graph that is built without an expression, and so without memory.
#[derive(Default)]
struct Sketch {
    graph: Graph,
    inputs: Vec<Access>,
}

impl Sketch {
    fn input(&mut self, dtype: DType, access: Access) -> Source {
        self.inputs.push(access);
        self.graph.input(dtype, self.inputs.len() - 1)
    }

    fn op(&mut self, op: FusedOp, operands: &[Source]) -> Result<Source, KernelError> {
        let dtypes: Vec<DType> = operands
            .iter()
            .map(|source| self.graph.dtype(*source))
            .collect();
        let dtype = op.dtype(&dtypes)?;
        let mut places = [Source::Input(0); MAX_OPERANDS];
        for (place, operand) in places.iter_mut().zip(operands) {
            *place = *operand;
        }
        Ok(self.graph.step(op, places, dtype))
    }

    fn output(mut self, sources: &[Source]) -> Self {
        self.graph.outputs.extend(sources);
        self
    }

    fn variant(self, name: String, rank: usize) -> Result<Variant, KernelError> {
        let form = Form {
            inputs: self.inputs,
            rank,
        };
        let rows = Slots::of(&self.graph, &form).rows;
        Ok(Variant {
            name: format!("fused/{name} uniform"),
            descriptor: generate::descriptor(&self.graph, &form, UNIFORM_PART, CATALOGUE_WG)?,
            params: params::fields(params::HEAD, rows).into(),
        })
    }
}

/// `x` and `y` of a dtype combined by a few ops, for a kernel that reads the value; with `few` nothing else is read.
fn value(dtype: DType, access: Access, few: bool) -> Result<Sketch, KernelError> {
    let mut sketch = Sketch::default();
    let x = sketch.input(dtype, Access::Vec4);
    let y = sketch.input(dtype, access);
    let z = if few {
        sketch.graph.scalar(DType::F32, 2.0)
    } else {
        sketch.input(DType::F32, one_for_all(access))
    };
    let s = sketch.graph.scalar(DType::F32, 0.5);
    let most = sketch.op(FusedOp::Binary(Binary::Maximum), &[x, y])?;
    let wide = sketch.op(FusedOp::Cast(DType::F32), &[most])?;
    let product = sketch.op(FusedOp::Binary(Binary::Mul), &[wide, z])?;
    let sum = sketch.op(FusedOp::Binary(Binary::Add), &[product, s])?;
    let back = sketch.op(FusedOp::Cast(dtype), &[sum])?;
    Ok(sketch.output(&[back]))
}

/// How a number for many elements is read with an operand that is read like this.
fn one_for_all(access: Access) -> Access {
    match access {
        Access::Row => Access::Splat,
        _ => Access::Scalar,
    }
}

/// A walking kernel that reads a value of a dtype.
fn reading(
    dtype: DType,
    choice: &KernelChoice,
    host: Host,
    (access, rank): (Access, usize),
) -> Result<Variant, KernelError> {
    let Sketch { mut graph, inputs } = value(dtype, access, false)?;
    graph.consume_outputs();
    let form = Form { inputs, rank };
    let rows = Slots::of(&graph, &form).rows;
    Ok(Variant {
        name: format!("{} {access:?} uniform", choice.label()),
        descriptor: ends::descriptor(
            choice,
            [Some((&graph, &form)), None],
            host,
            UNIFORM_PART,
            CATALOGUE_WG,
        )?,
        params: params::fields(host.fields, rows).into(),
    })
}

/// `max(made, y) · z + s`, cast to another dtype, for a kernel that writes it in place of what it made; if there is room,
/// it stores that too. With `few` z is no input.
fn result(made: DType, access: Access, to: DType, few: bool) -> Result<Sketch, KernelError> {
    let mut sketch = Sketch::default();
    sketch.inputs.push(Access::Given);
    let x = sketch.graph.input(made, MADE);
    let y = sketch.input(made, access);
    let z = if few {
        sketch.graph.scalar(DType::F32, 2.0)
    } else {
        sketch.input(DType::F32, one_for_all(access))
    };
    let s = sketch.graph.scalar(DType::F32, 0.5);
    let most = sketch.op(FusedOp::Binary(Binary::Maximum), &[x, y])?;
    let wide = sketch.op(FusedOp::Cast(DType::F32), &[most])?;
    let product = sketch.op(FusedOp::Binary(Binary::Mul), &[wide, z])?;
    let sum = sketch.op(FusedOp::Binary(Binary::Add), &[product, s])?;
    let cast = sketch.op(FusedOp::Cast(to), &[sum])?;
    Ok(match access {
        access if access.is_strided() => sketch.output(&[cast]),
        _ => sketch.output(&[cast, x]),
    })
}

/// A kernel that writes a value over what it made.
fn writing(
    made: DType,
    choice: &KernelChoice,
    host: Host,
    (access, rank): (Access, usize),
    to: DType,
) -> Result<Variant, KernelError> {
    let all = result(made, access, to, false)?;
    let further = all.inputs.len() - 1 + all.graph.outputs.len() - 1;
    let Sketch { graph, inputs } = if host.bindings + further > MOST_BINDINGS {
        result(made, access, to, true)?
    } else {
        all
    };
    let form = Form { inputs, rank };
    let rows = Slots::of(&graph, &form).rows;
    Ok(Variant {
        name: format!("{} result {access:?} {to} uniform", choice.label()),
        descriptor: ends::descriptor(
            choice,
            [None, Some((&graph, &form))],
            host,
            UNIFORM_PART,
            CATALOGUE_WG,
        )?,
        params: params::fields(host.fields, rows).into(),
    })
}

/// A walking kernel that reads a value and writes another.
fn between(
    (read, made): (DType, DType),
    choice: &KernelChoice,
    host: Host,
    (access, rank): (Access, usize),
    to: DType,
) -> Result<Variant, KernelError> {
    let (value, result) = (value(read, access, true)?, result(made, access, to, true)?);
    let form = |inputs| Form { inputs, rank };
    let (value_form, result_form) = (form(value.inputs), form(result.inputs));
    let mut graph = value.graph;
    graph.consume_outputs();
    let both = [(&graph, &value_form), (&result.graph, &result_form)];
    let rows = both.map(|(graph, form)| Slots::of(graph, form).rows);
    Ok(Variant {
        name: format!("{} between {access:?} {to} uniform", choice.label()),
        descriptor: ends::descriptor(choice, both.map(Some), host, UNIFORM_PART, CATALOGUE_WG)?,
        params: params::fields(host.fields, rows.iter().sum()).into(),
    })
}

/// The most results that one graph of [`every_op`] joins; a function with a loop has its own. Drivers inline the functions that
/// they come from, each up to four times: Chromium's software adapter loses its device on a kernel of all at once.
const RESULTS: usize = 4;

/// Every op of a dtype, some in each graph.
fn every_op(dtype: DType, access: Access) -> Result<Vec<Sketch>, KernelError> {
    let unary = (Unary::ALL.iter())
        .filter(|op| op.spec().dtypes.contains(&dtype))
        .map(|op| FusedOp::Unary(*op));
    let binary = (Binary::ALL.iter())
        .filter(|op| op.spec().dtypes.contains(&dtype))
        .map(|op| FusedOp::Binary(*op));
    let compare = Compare::ALL.iter().map(|op| FusedOp::Compare(*op));
    let predicates = (Predicate::ALL.iter())
        .filter(|op| op.spec().dtypes.contains(&dtype))
        .map(|op| FusedOp::Predicate(*op));
    let casts = DType::ALL.into_iter().filter(|to| *to != dtype);
    let (looping, others): (Vec<_>, Vec<_>) = (unary.chain(binary))
        .chain(compare)
        .chain(predicates)
        .chain(casts.map(FusedOp::Cast))
        .partition(|op| op.code_facts().loop_iterations > 0);
    (others.chunks(RESULTS))
        .chain(looping.chunks(1))
        .map(|some| joined(dtype, access, some))
        .collect()
}

/// The greatest of what ops make of the same inputs: of results of other ops, compilers that look through selections take a
/// time that doubles with each. The second operand is alternately an input and a scalar; a result of another dtype chooses, or
/// is cast back.
fn joined(dtype: DType, access: Access, ops: &[FusedOp]) -> Result<Sketch, KernelError> {
    let mut sketch = Sketch::default();
    let x = sketch.input(dtype, access);
    let y = sketch.input(dtype, access);
    let s = sketch.graph.scalar(dtype, 1.0);
    let mut greatest = y;
    for (op, other) in ops.iter().zip([y, s].into_iter().cycle()) {
        let operands = [x, other];
        let made = sketch.op(*op, &operands[..op.arity()])?;
        let made = match op {
            FusedOp::Cast(_) => sketch.op(FusedOp::Cast(dtype), &[made])?,
            FusedOp::Compare(_) | FusedOp::Predicate(_) => {
                sketch.op(FusedOp::Where, &[made, x, y])?
            }
            _ => made,
        };
        greatest = sketch.op(FusedOp::Binary(Binary::Maximum), &[greatest, made])?;
    }
    Ok(sketch.output(&[greatest]))
}

/// `√(a·b + s)`, in place of `a`.
fn in_place() -> Result<Sketch, KernelError> {
    let mut sketch = Sketch::default();
    let a = sketch.input(DType::F32, Access::InPlace(0));
    let b = sketch.input(DType::F32, Access::Vec4);
    let s = sketch.graph.scalar(DType::F32, 0.5);
    let product = sketch.op(FusedOp::Binary(Binary::Mul), &[a, b])?;
    let sum = sketch.op(FusedOp::Binary(Binary::Add), &[product, s])?;
    let root = sketch.op(FusedOp::Unary(Unary::Sqrt), &[sum])?;
    Ok(sketch.output(&[root]))
}

/// A dense input with a bias and a mask of other dtypes, both broadcast; the sum and its sign.
fn mixed(bias: Access, mask: Access) -> Result<Sketch, KernelError> {
    let mut sketch = Sketch::default();
    let x = sketch.input(DType::BF16, Access::Vec4);
    let bias = sketch.input(DType::F32, bias);
    let mask = sketch.input(DType::U8, mask);
    let low = sketch.graph.scalar(DType::F32, -1e9);
    let zero = sketch.graph.scalar(DType::F32, 0.0);
    let wide = sketch.op(FusedOp::Cast(DType::F32), &[x])?;
    let sum = sketch.op(FusedOp::Binary(Binary::Add), &[wide, bias])?;
    let mask = sketch.op(FusedOp::Cast(DType::Bool), &[mask])?;
    let masked = sketch.op(FusedOp::Where, &[mask, sum, low])?;
    let sign = sketch.op(FusedOp::Compare(Compare::Ge), &[masked, zero])?;
    let narrow = sketch.op(FusedOp::Cast(DType::BF16), &[masked])?;
    Ok(sketch.output(&[narrow, sign]))
}

/// More strided operands than one row of strides holds.
fn many_strided() -> Result<Sketch, KernelError> {
    let mut sketch = Sketch::default();
    let mut sum = sketch.input(DType::F32, Access::Scalar);
    for _ in 0..5 {
        let next = sketch.input(DType::F32, Access::Strided);
        sum = sketch.op(FusedOp::Binary(Binary::Add), &[sum, next])?;
    }
    Ok(sketch.output(&[sum]))
}

/// Catalogue entries.
pub(crate) fn variants() -> Result<Vec<Variant>, KernelError> {
    let mut all = vec![
        in_place()?.variant("in_place".to_owned(), 0)?,
        mixed(Access::Row, Access::Strided)?.variant("mixed".to_owned(), 2)?,
        mixed(Access::Row, Access::Splat)?.variant("mixed_rows".to_owned(), 2)?,
        many_strided()?.variant("many_strided".to_owned(), 8)?,
    ];
    let host = |fields: &'static [ParamField], bindings| Host { fields, bindings };
    let readers = (reduce::reading_fused().into_iter())
        .map(|(dtype, choice)| (dtype, choice, host(ReduceParams::FIELDS, 2)))
        .chain(
            (arg_reduce::reading_fused().into_iter())
                .chain(softmax::reading_fused())
                .map(|(dtype, choice, own)| (dtype, choice, host(ReduceParams::FIELDS, own))),
        )
        .chain(
            (norm::reading_fused().into_iter())
                .map(|(dtype, choice, own)| (dtype, choice, host(NormParams::FIELDS, own))),
        );
    for (dtype, choice, host) in readers {
        all.push(reading(dtype, &choice, host, (Access::Vec4, 0))?);
        all.push(reading(dtype, &choice, host, (Access::Strided, 2))?);
        if choice.reads_vec4() {
            all.push(reading(dtype, &choice, host, (Access::Row, 2))?);
        }
    }
    let products = matmul::writing_fused().into_iter();
    let convolutions = conv::writing_fused().into_iter();
    let writers = products
        .map(|(dtype, choice)| (dtype, choice, host(MatmulParams::FIELDS, 3)))
        .chain(convolutions.map(|(dtype, choice, fields, own)| (dtype, choice, host(fields, own))));
    let blocks = quantised::writing_fused().into_iter();
    let writers = writers
        .chain(blocks.map(|(dtype, choice, own)| (dtype, choice, host(BlockParams::FIELDS, own))));
    let targets = DType::ALL.into_iter().cycle();
    for ((dtype, choice, host), to) in writers.zip(targets) {
        all.push(writing(dtype, &choice, host, (Access::Vec4, 0), to)?);
        let strided = (Access::Strided, 2);
        all.push(writing(dtype, &choice, host, strided, DType::F32)?);
        if choice.writes_vec4() {
            all.push(writing(dtype, &choice, host, (Access::Row, 2), to)?);
        }
    }
    let walking = (reduce::writing_fused().into_iter())
        .map(|(read, made, choice, fused)| {
            (read, made, choice, fused, host(ReduceParams::FIELDS, 2))
        })
        .chain(
            (softmax::writing_fused().into_iter()).map(|(dtype, choice, own, fused)| {
                (dtype, dtype, choice, fused, host(ReduceParams::FIELDS, own))
            }),
        )
        .chain(
            (norm::writing_fused().into_iter()).map(|(dtype, choice, own, fused)| {
                (dtype, dtype, choice, fused, host(NormParams::FIELDS, own))
            }),
        )
        .chain(
            (rope::writing_fused().into_iter()).map(|(dtype, choice, own, fused)| {
                (dtype, dtype, choice, fused, host(RopeParams::FIELDS, own))
            }),
        );
    let targets = DType::ALL.into_iter().cycle();
    let accesses = [(Access::Vec4, 0), (Access::Strided, 2), (Access::Row, 2)]
        .into_iter()
        .cycle();
    for (((read, made, choice, fused, host), to), access) in walking.zip(targets).zip(accesses) {
        all.push(if fused {
            between((read, made), &choice, host, access, to)?
        } else {
            writing(made, &choice, host, access, to)?
        });
    }
    for dtype in DType::ALL {
        for (access, name, rank) in [(Access::Vec4, "flat", 0), (Access::Strided, "strided", 3)] {
            for (i, some) in every_op(dtype, access)?.into_iter().enumerate() {
                all.push(some.variant(format!("{dtype}/every_op_{i}/{name}"), rank)?);
            }
        }
    }
    Ok(all)
}
