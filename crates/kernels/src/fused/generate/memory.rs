//! What a fused kernel has of memory: bindings, parameters, loads, addresses, stores.

use std::fmt::Write;

use ziggurat_core::DType;

use super::{Glue, MEMBERS, Names, Role};
use crate::fused::form::Access;
use crate::fused::graph::Slots;
use crate::fused::params;
use crate::fused::parts::compute;
use crate::source::params::ParamField;
use crate::source::prelude;

/// A binding.
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) access: &'static str,
    pub(super) element: String,
}

/// What memory would hold of a value that a kernel computed.
pub(super) fn given(dtype: DType, value: &str) -> String {
    if prelude::is_packed(dtype) {
        format!("rounded_{dtype}({value})")
    } else if dtype == DType::F32 {
        format!("keep({value})")
    } else {
        value.to_owned()
    }
}

impl Glue<'_> {
    /// Whether inputs are read four at a time.
    fn loads_vec4(&self) -> bool {
        match self.role {
            Role::Whole => true,
            Role::Value(_, reading) => reading.vec4,
            Role::Result(_, vec4) => vec4,
        }
    }

    /// What is read from bindings.
    pub(super) fn read(&self) -> Vec<Declared> {
        let mut declared = Vec::new();
        for (i, dtype, access) in self.inputs() {
            let element = match access {
                Access::InPlace(_) | Access::Given => continue,
                Access::Strided => "word",
                _ if self.loads_vec4() => "words",
                _ => "word",
            };
            declared.push(Declared {
                name: format!("in_{}", self.names.first + i),
                access: "read",
                element: format!("{element}_{dtype}"),
            });
        }
        declared
    }

    pub(super) fn list(&mut self, bindings: &[(usize, Declared)]) {
        let names: String = bindings
            .iter()
            .map(|(binding, declared)| format!(", {binding} {}", declared.name))
            .collect();
        line!(self, "// Bindings: params{names}.");
    }

    pub(super) fn declare(&mut self, bindings: &[(usize, Declared)]) {
        for (binding, declared) in bindings {
            let Declared {
                name,
                access,
                element,
            } = declared;
            line!(
                self,
                "@group(0) @binding({binding}) var<storage, {access}> {name}: array<{element}>;"
            );
        }
    }

    /// The kernel's parameters, then a zero and the slots.
    pub(super) fn params(&mut self, head: &[ParamField]) {
        if self.rows == 0 {
            return;
        }
        line!(
            self,
            "// slots: offsets of outputs and inputs, bits of scalars, extents and strides of each axis."
        );
        line!(self, "struct Params {{");
        for field in params::fields(head, self.rows) {
            let ty = field.ty.name();
            match field.count {
                None => line!(self, "    {}: {ty},", field.name),
                Some(count) => line!(self, "    {}: array<{ty}, {count}>,", field.name),
            }
        }
        line!(self, "}}\n");
    }

    /// One function per input: four of its elements.
    pub(super) fn loads(&mut self) {
        let Names { first, load, .. } = self.names;
        for (i, dtype, access) in self.inputs() {
            let (elem, offset) = (compute(dtype), self.slot(self.slots.inputs + i));
            match access {
                Access::Vec4 | Access::InPlace(_) => {
                    let name = match access {
                        Access::InPlace(output) => format!("out_{output}"),
                        _ => format!("in_{}", first + i),
                    };
                    // A kernel of its own is given offsets in vec4s.
                    let offset = match self.role {
                        Role::Whole => offset,
                        _ => format!("{offset} / 4u"),
                    };
                    line!(self, "\nfn {load}_{i}(vector: u32) -> vec4<{elem}> {{");
                    line!(
                        self,
                        "    return unpack_{dtype}({name}[{offset} + vector]);\n}}"
                    );
                }
                Access::Scalar => {
                    line!(self, "\nfn {load}_{i}() -> vec4<{elem}> {{");
                    line!(self, "    let at = {offset};");
                    line!(
                        self,
                        "    return vec4<{elem}>(unpack_{dtype}(in_{}[at / 4u])[at % 4u]);\n}}",
                        first + i
                    );
                }
                Access::Row => {
                    line!(self, "\nfn {load}_{i}(at: u32) -> vec4<{elem}> {{");
                    line!(
                        self,
                        "    return unpack_{dtype}(in_{}[at / 4u]);\n}}",
                        first + i
                    );
                }
                Access::Splat => {
                    line!(self, "\nfn {load}_{i}(at: u32) -> vec4<{elem}> {{");
                    line!(
                        self,
                        "    return vec4<{elem}>(unpack_{dtype}(in_{}[at / 4u])[at % 4u]);\n}}",
                        first + i
                    );
                }
                Access::Strided => self.single_load(i, dtype),
                Access::Given => {}
            }
        }
    }

    /// One function per input: the element at an index into its memory.
    pub(super) fn single_loads(&mut self) {
        for (i, dtype, access) in self.inputs() {
            if access != Access::Given {
                self.single_load(i, dtype);
            }
        }
    }

    fn single_load(&mut self, i: usize, dtype: DType) {
        let Names { first, load, .. } = self.names;
        line!(self, "\nfn {load}_{i}(at: u32) -> {} {{", compute(dtype));
        line!(
            self,
            "    return from_word_{dtype}(in_{}[word_index_{dtype}(at)], at);\n}}",
            first + i
        );
    }

    /// The inputs at linear index `i`.
    pub(super) fn single_inputs(&mut self) {
        let Names { load, address, .. } = self.names;
        if self.form.rank > 0 {
            line!(self, "    let at = {address}(i);");
        }
        for (k, dtype, access) in self.inputs() {
            let offset = self.slot(self.slots.inputs + k);
            match access {
                Access::Strided | Access::Row | Access::Splat => {
                    line!(self, "    let x_{k} = {load}_{k}(at.in_{k});");
                }
                Access::Scalar => line!(self, "    let x_{k} = {load}_{k}({offset});"),
                Access::Vec4 | Access::InPlace(_) => {
                    line!(self, "    let x_{k} = {load}_{k}({offset} + i);");
                }
                Access::Given => line!(self, "    let x_{k} = {};", given(dtype, "v")),
            }
        }
    }

    /// From a linear index to the element index of each strided input.
    pub(super) fn address(&mut self) {
        let strided: Vec<usize> = self
            .inputs()
            .filter(|(_, _, access)| access.is_strided())
            .map(|(i, ..)| i)
            .collect();
        if strided.is_empty() {
            return;
        }
        let Slots {
            axes,
            rows_per_axis,
            ..
        } = self.slots;
        let axes = self.base + axes;
        let Names {
            address,
            address_type,
            rank,
            ..
        } = self.names;
        line!(self, "\nconst {rank}: u32 = {}u;", self.form.rank);
        line!(self, "\nstruct {address_type} {{");
        strided.iter().for_each(|i| line!(self, "    in_{i}: u32,"));
        line!(
            self,
            "}}\n\n// Element indices at linear index `i`, which must be less than the number of elements."
        );
        line!(self, "fn {address}(i: u32) -> {address_type} {{");
        line!(self, "    var rest = i;");
        let offsets: Vec<_> = strided
            .iter()
            .map(|i| self.slot(self.slots.inputs + i))
            .collect();
        line!(self, "    var at = {address_type}({});", offsets.join(", "));
        // The stride of the k-th strided input, in the rows that start at `row`.
        let stride = |row: &str, k: usize| {
            let member = MEMBERS.get((k + 1) % 4).copied().unwrap_or_default();
            match (k + 1) / 4 {
                0 => format!("params.slots[{row}].{member}"),
                further => format!("params.slots[{row} + {further}u].{member}"),
            }
        };
        line!(self, "    for (var d = {rank} - 1u; d > 0u; d--) {{");
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

    /// One function per output; a partial last vec4 keeps what lies behind it.
    pub(super) fn stores(&mut self) {
        for (i, dtype) in self.outputs() {
            line!(
                self,
                "\nfn store_{i}(vector: u32, v: vec4<{}>) {{",
                compute(dtype)
            );
            line!(self, "    let at = {} + vector;", self.slot(i));
            line!(self, "    let left = params.len - vector * 4u;");
            line!(self, "    if left >= 4u {{");
            line!(self, "        out_{i}[at] = pack_{dtype}(v);");
            line!(self, "    }} else {{");
            line!(
                self,
                "        out_{i}[at] = merge_{dtype}(out_{i}[at], pack_{dtype}(v), left); // sanitizer: allow(uninitialized): as in elementwise/emit.wgsl"
            );
            line!(self, "    }}\n}}");
        }
    }
}
