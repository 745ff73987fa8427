//! The glue of a fused kernel: bindings, loads, calls of the ops in order, stores. The only generator of WGSL.
//!
//! No arithmetic is written here except addresses: what an op computes is in its snippet, how elements are unpacked,
//! packed and rounded is in the preludes.

use std::fmt::Write;

use ziggurat_core::DType;
use ziggurat_pipeline::{Checks, KernelDescriptor, ShaderSource};

use memory::{Declared, given};

use crate::fused::MAX_BINDINGS;
use crate::fused::form::{Access, Form};
use crate::fused::graph::{Graph, Slots, Source};
use crate::fused::params::HEAD;
use crate::fused::parts::{self, ResultRounding, compute, function, result_rounding};
use crate::fused::user::UserOp;
use crate::run::error::KernelError;
use crate::source::params::ParamField;
use crate::source::trusted::trusted;

/// The name that errors give for the generated part.
const FILE: &str = "fused/generated.wgsl";

/// The same for the part that reads, where another part writes.
const VALUE_FILE: &str = "fused/generated_value.wgsl";

const MEMBERS: [&str; 4] = ["x", "y", "z", "w"];

/// What the generated part is in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// All of it: a loop over the elements, four at a time.
    Whole,
    /// `load_value` or `load_value4`, from which the kernel around it reads its input.
    Value(Host, Reading),
    /// `store1` or `store4`, by which the kernel around it writes what it computed; called with vec4 or not.
    Result(Host, bool),
}

/// How a kernel reads the value of a generated part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Whether the part has to declare `elem`.
    pub(crate) names_elem: bool,
    /// Four neighbours at a time, the first at a multiple of four; else one by one.
    pub(crate) vec4: bool,
}

/// The kernel around a generated part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Its parameters, which come first.
    pub(crate) fields: &'static [ParamField],
    /// Its bindings, without those of the generated part.
    pub(crate) bindings: usize,
}

/// The kernel of a graph in a form.
pub(crate) fn descriptor(
    graph: &Graph,
    form: &Form,
    params_part: (&'static str, &'static str),
    wg: u32,
) -> Result<KernelDescriptor, KernelError> {
    let source = ShaderSource::new(graph.label()).part(params_part.0, params_part.1);
    let source = append(source, graph, form, Role::Whole)?;
    let descriptor = KernelDescriptor::new(source)
        .entry("main")
        .constant("WG", f64::from(wg));
    Ok(checked(trusted(descriptor, Checks::Divisions), graph))
}

/// The kernel with all checks where it calls a user's function that needs them.
pub(crate) fn checked(descriptor: KernelDescriptor, graph: &Graph) -> KernelDescriptor {
    if graph.users().any(UserOp::needs_checks) {
        descriptor.with_all_checks()
    } else {
        descriptor
    }
}

/// Appends the generated part, behind the files whose functions it calls.
pub(crate) fn append(
    source: ShaderSource,
    graph: &Graph,
    form: &Form,
    role: Role,
) -> Result<ShaderSource, KernelError> {
    let writes = match role {
        Role::Whole => parts::Writes::Vec4,
        Role::Value(..) => parts::Writes::Nothing,
        Role::Result(_, vec4) => parts::Writes::Elements { vec4 },
    };
    let source = parts::append(source, graph, writes)?;
    Ok(source.part(FILE, Glue::new(graph, form, role).text()))
}

/// Appends two generated parts: `value`, which the kernel around them reads, and `result`, which it writes, with
/// `vec4` four at a time. The slots of the second follow those of the first, and so do its bindings.
pub(crate) fn append_both(
    source: ShaderSource,
    (value, value_form): (&Graph, &Form),
    (result, result_form): (&Graph, &Form),
    host: Host,
    (reading, vec4): (Reading, bool),
) -> Result<ShaderSource, KernelError> {
    let written = (result, parts::Writes::Elements { vec4 });
    let source = parts::append_all(source, &[(value, parts::Writes::Nothing), written])?;
    let mut first = Glue::new(value, value_form, Role::Value(host, reading));
    let mut second = {
        let bindings = (host.bindings + value_form.bindings()).saturating_sub(1);
        let host = Host { bindings, ..host };
        Glue::new(result, result_form, Role::Result(host, vec4))
    };
    second.base = first.slots.rows;
    first.rows = first.slots.rows + second.slots.rows;
    second.rows = 0;
    first.names = Names::VALUE;
    Ok(source
        .part(VALUE_FILE, first.text())
        .part(FILE, second.text()))
}

/// What a part calls its own things, so that two of them can stand in one kernel.
#[derive(Clone, Copy, Debug)]
struct Names {
    /// The number of its first input.
    first: usize,
    load: &'static str,
    address: &'static str,
    address_type: &'static str,
    rank: &'static str,
}

impl Names {
    const ALONE: Self = Self {
        first: 0,
        load: "load",
        address: "address",
        address_type: "Address",
        rank: "RANK",
    };
    /// Those of the part that reads, where another one writes.
    const VALUE: Self = Self {
        first: MAX_BINDINGS,
        load: "load_value",
        address: "value_address",
        address_type: "ValueAddress",
        rank: "VALUE_RANK",
    };
}

struct Glue<'a> {
    graph: &'a Graph,
    form: &'a Form,
    role: Role,
    slots: Slots,
    /// Its first row of slots.
    base: usize,
    /// Rows of slots of all parts; 0 where another part declares the parameters.
    rows: usize,
    names: Names,
    out: String,
}

/// Appends a line; writing to a string does not fail.
macro_rules! line {
    ($glue:expr, $($format:tt)*) => {{
        let _ = writeln!($glue.out, $($format)*);
    }};
}

// Behind the macro, which it uses.
mod memory;

impl<'a> Glue<'a> {
    fn new(graph: &'a Graph, form: &'a Form, role: Role) -> Self {
        let slots = Slots::of(graph, form);
        Self {
            graph,
            form,
            role,
            base: 0,
            rows: slots.rows,
            names: Names::ALONE,
            slots,
            out: String::with_capacity(4096),
        }
    }

    fn slot(&self, index: usize) -> String {
        let member = MEMBERS.get(index % 4).copied().unwrap_or_default();
        format!("params.slots[{}].{member}", self.base + index / 4)
    }

    fn text(mut self) -> String {
        match self.role {
            Role::Whole => self.whole(),
            Role::Value(host, reading) => self.value(host, reading),
            Role::Result(host, vec4) => self.result(host, vec4),
        }
        self.out
    }

    /// A kernel of its own.
    fn whole(&mut self) {
        line!(
            self,
            "// Computes: a fused expression: loads, its ops in order, stores. Generated."
        );
        let mut declared = self.read();
        for (i, dtype) in self.outputs() {
            declared.push(Declared {
                name: format!("out_{i}"),
                access: "read_write",
                element: format!("out_words_{dtype}"),
            });
        }
        let bindings = (1..).zip(declared).collect::<Vec<_>>();
        self.list(&bindings);
        line!(
            self,
            "// Grid: one row of workgroups, looping; four elements per invocation and step.\n"
        );
        self.params(HEAD);
        line!(self, "override WG: u32 = 256u;\n");
        self.declare(&bindings);
        self.address();
        self.loads();
        self.stores();
        self.lane("lane");
        self.main();
    }

    /// `load_value` for a kernel that reads one element at a time, `load_value4` for one that reads four.
    fn value(&mut self, host: Host, reading: Reading) {
        line!(
            self,
            "// Value part: the element at an index, computed by a fused expression. Generated."
        );
        // The first input has the place of the one that the kernel would read; the others come behind all of its own.
        let places = std::iter::once(1).chain(host.bindings + 1..);
        let bindings = places.zip(self.read()).collect::<Vec<_>>();
        self.list(&bindings);
        self.params(host.fields);
        self.declare(&bindings);
        self.address();
        let elem = compute(self.first_output());
        if reading.names_elem {
            line!(self, "\nalias elem = {elem};");
        }
        if reading.vec4 {
            return self.value_vec4(elem);
        }
        self.single_loads();
        line!(self, "\nfn load_value(i: u32) -> {elem} {{");
        self.single_inputs();
        self.steps();
        let result = self.graph.outputs.first().copied().map(Self::name);
        line!(self, "    return {};\n}}", result.unwrap_or_default());
    }

    /// `load_value4`, each element by the same function.
    fn value_vec4(&mut self, elem: &'static str) {
        self.loads();
        line!(self, "\nfn value_lane({}) -> {elem} {{", self.lane_inputs());
        self.steps();
        let result = self.graph.outputs.first().copied().map(Self::name);
        line!(self, "    return {};\n}}", result.unwrap_or_default());
        line!(self, "\nfn load_value4(i: u32) -> vec4<{elem}> {{");
        self.vec4_inputs("i", "");
        self.vec4_lanes("value_lane", "");
        line!(
            self,
            "    return vec4<{elem}>(lane_0, lane_1, lane_2, lane_3);\n}}"
        );
    }

    /// The inputs of one element, as a function's.
    fn lane_inputs(&self) -> String {
        let inputs = self.inputs();
        let inputs = inputs.map(|(i, dtype, _)| format!("x_{i}: {}", compute(dtype)));
        inputs.collect::<Vec<_>>().join(", ")
    }

    /// The four elements, by a function.
    fn vec4_lanes(&mut self, function: &str, indent: &str) {
        for (k, member) in MEMBERS.iter().enumerate() {
            let inputs = self.inputs().map(|(i, ..)| format!("q_{i}.{member}"));
            let inputs = inputs.collect::<Vec<_>>().join(", ");
            line!(self, "{indent}    let lane_{k} = {function}({inputs});");
        }
    }

    /// Four of each input from linear index `first` on, a multiple of four.
    fn vec4_inputs(&mut self, first: &str, indent: &str) {
        let Names { load, address, .. } = self.names;
        let mut inputs = self.inputs();
        let addresses = match self.form.rank {
            0 => 0,
            _ if inputs.any(|(_, _, access)| access == Access::Strided) => 4,
            _ => 1,
        };
        for k in 0..addresses {
            let at = match self.role {
                // The last vector may reach past the end.
                Role::Whole => format!("min({first} + {k}u, params.len - 1u)"),
                _ => format!("{first} + {k}u"),
            };
            line!(self, "{indent}    let at_{k} = {address}({at});");
        }
        for (i, dtype, access) in self.inputs() {
            let four =
                |values: [String; 4]| format!("vec4<{}>({})", compute(dtype), values.join(", "));
            let value = match access {
                Access::Vec4 | Access::InPlace(_) => format!("{load}_{i}({first} / 4u)"),
                Access::Scalar => format!("{load}_{i}()"),
                Access::Row | Access::Splat => format!("{load}_{i}(at_0.in_{i})"),
                Access::Given => four(MEMBERS.map(|member| given(dtype, &format!("v.{member}")))),
                Access::Strided => four([0, 1, 2, 3].map(|k| format!("{load}_{i}(at_{k}.in_{i})"))),
            };
            line!(self, "{indent}    let q_{i} = {value};");
        }
    }

    /// `store1` or `store4` for a kernel that writes its results in any order.
    fn result(&mut self, host: Host, vec4: bool) {
        line!(
            self,
            "// Result part: what is written for a result at an index, by a fused expression. Generated."
        );
        let mut declared = self.read();
        for (i, _) in self.outputs().skip(1) {
            declared.push(Declared {
                name: format!("out_{i}"),
                access: "read_write",
                element: format!("cell_{i}"),
            });
        }
        let bindings = (host.bindings + 1..).zip(declared).collect::<Vec<_>>();
        self.list(&bindings);
        self.params(host.fields);
        self.declare(&bindings);
        self.address();
        let made = self
            .inputs()
            .find(|(_, _, access)| *access == Access::Given)
            .map_or(DType::F32, |(_, dtype, _)| dtype);
        line!(self, "\nalias out_elem = {};", compute(made));
        if vec4 {
            self.loads();
            self.lane("finished");
            line!(self, "\nfn store4(i: u32, v: vec4<out_elem>) {{");
            line!(self, "    let at = i - params.out_offset;");
            self.vec4_inputs("at", "");
            self.vec4_lanes("finished", "");
        } else {
            self.single_loads();
            self.lane_struct();
            line!(self, "fn finished(v: out_elem, i: u32) -> Lane {{");
            self.single_inputs();
            self.steps();
            self.lane_result();
            line!(self, "\nfn store1(i: u32, v: out_elem) {{");
            line!(self, "    let at = i - params.out_offset;");
            line!(self, "    let lane = finished(v, at);");
        }
        for (i, dtype) in self.outputs() {
            // The first output's offset is in the kernel's own parameters.
            let (number, place) = match i {
                0 => (String::new(), "i".to_owned()),
                _ => (format!("_{i}"), format!("{} + at", self.slot(i))),
            };
            if vec4 {
                let four = self.four(i, dtype);
                line!(self, "    write4{number}({place}, {four});");
            } else {
                line!(self, "    write1{number}({place}, lane.y_{i});");
            }
        }
        line!(self, "}}");
    }

    fn first_output(&self) -> DType {
        let first = self.graph.outputs.first();
        first.map_or(DType::F32, |source| self.graph.dtype(*source))
    }

    /// Four lanes of an output.
    fn four(&self, output: usize, dtype: DType) -> String {
        let lanes: Vec<_> = (0..4).map(|k| format!("lane_{k}.y_{output}")).collect();
        format!("vec4<{}>({})", compute(dtype), lanes.join(", "))
    }

    /// Inputs in the order of their index: (index, dtype, access).
    fn inputs(&self) -> impl Iterator<Item = (usize, DType, Access)> + use<'a> {
        let accesses = self.form.inputs.iter();
        let inputs = self.graph.inputs.iter().zip(accesses).enumerate();
        inputs.map(|(i, (input, access))| (i, input.dtype, *access))
    }

    fn outputs(&self) -> impl Iterator<Item = (usize, DType)> + use<'a> {
        let graph = self.graph;
        graph
            .outputs
            .iter()
            .enumerate()
            .map(|(i, source)| (i, graph.dtype(*source)))
    }

    fn name(source: Source) -> String {
        match source {
            Source::Input(i) => format!("x_{i}"),
            Source::Scalar(i) => format!("s_{i}"),
            Source::Step(i) => format!("v_{i}"),
        }
    }

    /// Scalars, and the ops in order.
    fn steps(&mut self) {
        let graph = self.graph;
        for (i, scalar) in graph.scalars.iter().enumerate() {
            let bits = self.slot(self.slots.scalars + i);
            let value = match scalar.dtype.compute() {
                DType::Bool => format!("{bits} != 0u"),
                DType::U32 => bits,
                other => format!("bitcast<{other}>({bits})"),
            };
            line!(self, "    let s_{i} = {value};");
        }
        for (i, step) in graph.steps.iter().enumerate() {
            let operands: Vec<_> = step.operands().map(Self::name).collect();
            let call = format!("{}({})", function(graph, step), operands.join(", "));
            let value = match result_rounding(step) {
                ResultRounding::None => call,
                ResultRounding::Keep => format!("keep({call})"),
                ResultRounding::Round => format!("rounded_{}({call})", step.dtype),
            };
            line!(self, "    let v_{i} = {value};");
        }
    }

    /// The values of one element that are stored.
    fn lane_struct(&mut self) {
        line!(self, "\nstruct Lane {{");
        for (i, dtype) in self.outputs() {
            line!(self, "    y_{i}: {},", compute(dtype));
        }
        line!(self, "}}\n");
    }

    fn lane_result(&mut self) {
        let outputs = self.graph.outputs.iter();
        let results: Vec<_> = outputs.copied().map(Self::name).collect();
        line!(self, "    return Lane({});\n}}", results.join(", "));
    }

    /// The expression for one element, as a function.
    fn lane(&mut self, name: &str) {
        self.lane_struct();
        line!(self, "fn {name}({}) -> Lane {{", self.lane_inputs());
        self.steps();
        self.lane_result();
    }

    fn main(&mut self) {
        line!(self, "\n@compute @workgroup_size(WG)");
        line!(
            self,
            "fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {{"
        );
        line!(self, "    let vectors = (params.len + 3u) / 4u;");
        line!(
            self,
            "    for (var vector = id.x; vector < vectors; vector += groups.x * WG) {{"
        );
        line!(self, "        let i = vector * 4u;");
        self.vec4_inputs("i", "    ");
        self.vec4_lanes("lane", "    ");
        for (i, dtype) in self.outputs() {
            let four = self.four(i, dtype);
            line!(self, "        store_{i}(vector, {four});");
        }
        line!(self, "    }}\n}}");
    }
}
