//! The glue of a fused kernel: bindings, loads, calls of the ops in order, stores. The only generator of WGSL.
//!
//! No arithmetic is written here except addresses: what an op computes is in its snippet, how elements are unpacked,
//! packed and rounded is in the preludes.

use std::fmt::Write;

use ziggurat_core::DType;
use ziggurat_pipeline::{KernelDescriptor, ShaderSource};

use crate::error::KernelError;
use crate::fused::graph::{Access, Form, Graph, Slots, Source};
use crate::fused::parts::{self, Settle, compute, function, settle};

/// The name that errors give for the generated part.
const FILE: &str = "fused/generated.wgsl";

const MEMBERS: [&str; 4] = ["x", "y", "z", "w"];

/// The kernel of a graph in a form.
pub(crate) fn descriptor(
    graph: &Graph,
    form: &Form,
    params_part: (&'static str, &'static str),
    wg: u32,
) -> Result<KernelDescriptor, KernelError> {
    let source = ShaderSource::new(graph.label()).part(params_part.0, params_part.1);
    let source = parts::append(source, graph)?.part(FILE, Glue::new(graph, form).text());
    Ok(KernelDescriptor::new(source)
        .entry("main")
        .constant("WG", f64::from(wg)))
}

struct Glue<'a> {
    graph: &'a Graph,
    form: &'a Form,
    slots: Slots,
    out: String,
}

/// Appends a line; writing to a string does not fail.
macro_rules! line {
    ($glue:expr, $($format:tt)*) => {{
        let _ = writeln!($glue.out, $($format)*);
    }};
}

fn slot(index: usize) -> String {
    let member = MEMBERS.get(index % 4).copied().unwrap_or_default();
    format!("params.slots[{}].{member}", index / 4)
}

impl<'a> Glue<'a> {
    fn new(graph: &'a Graph, form: &'a Form) -> Self {
        Self {
            graph,
            form,
            slots: Slots::of(graph, form),
            out: String::with_capacity(4096),
        }
    }

    fn text(mut self) -> String {
        line!(
            self,
            "// Computes: a fused expression: loads, its ops in order, stores. Generated."
        );
        self.bindings();
        self.loads();
        self.stores();
        self.lane();
        self.main();
        self.out
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

    fn bindings(&mut self) {
        let mut declared = Vec::new();
        for (i, dtype, access) in self.inputs() {
            let element = match access {
                Access::InPlace(_) => continue,
                Access::Strided => "word",
                Access::Quad | Access::Scalar => "words",
            };
            declared.push((format!("in_{i}"), "read", format!("{element}_{dtype}")));
        }
        for (i, dtype) in self.outputs() {
            declared.push((
                format!("out_{i}"),
                "read_write",
                format!("out_words_{dtype}"),
            ));
        }
        let names: String = (1..)
            .zip(&declared)
            .map(|(binding, (name, ..))| format!(", {binding} {name}"))
            .collect();
        line!(self, "// Bindings: params{names}.");
        line!(
            self,
            "// Grid: one row of workgroups, looping; four elements per invocation and step.\n"
        );
        line!(
            self,
            "// slots: offsets of outputs and inputs, bits of scalars, extents and strides of each axis."
        );
        line!(self, "struct Params {{");
        for field in ["len", "zero", "unused_0", "unused_1"] {
            line!(self, "    {field}: u32,");
        }
        line!(
            self,
            "    slots: array<vec4<u32>, {}>,\n}}\n",
            self.slots.rows
        );
        line!(self, "override WG: u32 = 256u;\n");
        for (binding, (name, access, element)) in (1..).zip(&declared) {
            line!(
                self,
                "@group(0) @binding({binding}) var<storage, {access}> {name}: array<{element}>;"
            );
        }
    }

    /// One function per input: four of its elements.
    fn loads(&mut self) {
        let strided: Vec<usize> = self
            .inputs()
            .filter(|(_, _, access)| *access == Access::Strided)
            .map(|(i, ..)| i)
            .collect();
        if !strided.is_empty() {
            self.address(&strided);
        }
        for (i, dtype, access) in self.inputs() {
            let (elem, offset) = (compute(dtype), slot(self.slots.inputs + i));
            match access {
                Access::Quad | Access::InPlace(_) => {
                    let name = match access {
                        Access::InPlace(output) => format!("out_{output}"),
                        _ => format!("in_{i}"),
                    };
                    line!(self, "\nfn load_{i}(quad: u32) -> vec4<{elem}> {{");
                    line!(
                        self,
                        "    return unpack_{dtype}({name}[{offset} + quad]);\n}}"
                    );
                }
                Access::Scalar => {
                    line!(self, "\nfn load_{i}() -> vec4<{elem}> {{");
                    line!(self, "    let at = {offset};");
                    line!(
                        self,
                        "    return vec4<{elem}>(unpack_{dtype}(in_{i}[at / 4u])[at % 4u]);\n}}"
                    );
                }
                Access::Strided => {
                    line!(self, "\nfn load_{i}(at: u32) -> {elem} {{");
                    line!(
                        self,
                        "    return from_word_{dtype}(in_{i}[word_index_{dtype}(at)], at);\n}}"
                    );
                }
            }
        }
    }

    /// From a linear index to the element index of each strided input.
    fn address(&mut self, strided: &[usize]) {
        let Slots {
            axes,
            rows_per_axis,
            ..
        } = self.slots;
        line!(self, "\nconst RANK: u32 = {}u;", self.form.rank);
        line!(self, "\nstruct Address {{");
        strided.iter().for_each(|i| line!(self, "    in_{i}: u32,"));
        line!(
            self,
            "}}\n\n// Element indices at linear index `i`, which must be less than `params.len`."
        );
        line!(self, "fn address(i: u32) -> Address {{");
        line!(self, "    var rest = i;");
        let offsets: Vec<_> = strided
            .iter()
            .map(|i| slot(self.slots.inputs + i))
            .collect();
        line!(self, "    var at = Address({});", offsets.join(", "));
        // The stride of the k-th strided input, in the rows that start at `row`.
        let stride = |row: &str, k: usize| {
            let member = MEMBERS.get((k + 1) % 4).copied().unwrap_or_default();
            match (k + 1) / 4 {
                0 => format!("params.slots[{row}].{member}"),
                further => format!("params.slots[{row} + {further}u].{member}"),
            }
        };
        line!(self, "    for (var d = RANK - 1u; d > 0u; d--) {{");
        line!(self, "        let row = {axes}u + d * {rows_per_axis}u;");
        line!(self, "        let outer = rest / params.slots[row].x;");
        line!(
            self,
            "        let index = rest - outer * params.slots[row].x;"
        );
        for (k, i) in strided.iter().enumerate() {
            line!(self, "        at.in_{i} += index * {};", stride("row", k));
        }
        line!(self, "        rest = outer;\n    }}");
        for (k, i) in strided.iter().enumerate() {
            line!(
                self,
                "    at.in_{i} += rest * {};",
                stride(&format!("{axes}u"), k)
            );
        }
        line!(self, "    return at;\n}}");
    }

    /// One function per output; a partial last quad keeps what lies behind it.
    fn stores(&mut self) {
        for (i, dtype) in self.outputs() {
            line!(
                self,
                "\nfn store_{i}(quad: u32, v: vec4<{}>) {{",
                compute(dtype)
            );
            line!(self, "    let at = {} + quad;", slot(i));
            line!(self, "    let left = params.len - quad * 4u;");
            line!(self, "    if left >= 4u {{");
            line!(self, "        out_{i}[at] = pack_{dtype}(v);");
            line!(self, "    }} else {{");
            line!(
                self,
                "        out_{i}[at] = merge_{dtype}(out_{i}[at], pack_{dtype}(v), left);"
            );
            line!(self, "    }}\n}}");
        }
    }

    fn name(source: Source) -> String {
        match source {
            Source::Input(i) => format!("x_{i}"),
            Source::Scalar(i) => format!("s_{i}"),
            Source::Step(i) => format!("v_{i}"),
        }
    }

    /// The expression for one element.
    fn lane(&mut self) {
        let graph = self.graph;
        line!(self, "\nstruct Lane {{");
        for (i, dtype) in self.outputs() {
            line!(self, "    y_{i}: {},", compute(dtype));
        }
        let inputs: Vec<_> = self
            .inputs()
            .map(|(i, dtype, _)| format!("x_{i}: {}", compute(dtype)))
            .collect();
        line!(self, "}}\n\nfn lane({}) -> Lane {{", inputs.join(", "));
        for (i, scalar) in graph.scalars.iter().enumerate() {
            let bits = slot(self.slots.scalars + i);
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
            let value = match settle(step) {
                Settle::Nothing => call,
                Settle::Keep => format!("keep({call})"),
                Settle::Round => format!("rounded_{}({call})", step.dtype),
            };
            line!(self, "    let v_{i} = {value};");
        }
        let results: Vec<_> = graph.outputs.iter().copied().map(Self::name).collect();
        line!(self, "    return Lane({});\n}}", results.join(", "));
    }

    fn main(&mut self) {
        line!(self, "\n@compute @workgroup_size(WG)");
        line!(
            self,
            "fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {{"
        );
        line!(self, "    let quads = (params.len + 3u) / 4u;");
        line!(
            self,
            "    for (var quad = id.x; quad < quads; quad += groups.x * WG) {{"
        );
        if self.form.rank > 0 {
            for k in 0..4 {
                line!(
                    self,
                    "        let at_{k} = address(min(quad * 4u + {k}u, params.len - 1u));"
                );
            }
        }
        for (i, dtype, access) in self.inputs() {
            let value = match access {
                Access::Quad | Access::InPlace(_) => format!("load_{i}(quad)"),
                Access::Scalar => format!("load_{i}()"),
                Access::Strided => {
                    let lanes: Vec<_> =
                        (0..4).map(|k| format!("load_{i}(at_{k}.in_{i})")).collect();
                    format!("vec4<{}>({})", compute(dtype), lanes.join(", "))
                }
            };
            line!(self, "        let q_{i} = {value};");
        }
        for (k, member) in MEMBERS.iter().enumerate() {
            let inputs: Vec<_> = self
                .inputs()
                .map(|(i, ..)| format!("q_{i}.{member}"))
                .collect();
            line!(self, "        let lane_{k} = lane({});", inputs.join(", "));
        }
        for (i, dtype) in self.outputs() {
            let lanes: Vec<_> = (0..4).map(|k| format!("lane_{k}.y_{i}")).collect();
            line!(
                self,
                "        store_{i}(quad, vec4<{}>({}));",
                compute(dtype),
                lanes.join(", ")
            );
        }
        line!(self, "    }}\n}}");
    }
}
