//! The WGSL around the body of an [`ElementKernel`].

use std::fmt::{self, Write as _};

use ziggurat_core::DType;
use ziggurat_core::wgsl::words;
use ziggurat_pipeline::ShaderSource;

use super::{Class, ElementKernel, ParamType};
use crate::run::error::KernelError;
use crate::source::choice::renamed_for;
use crate::source::prelude;
use crate::source::shaders;

/// Words (of four) that an operand takes among the parameters.
pub(super) const OPERAND_WORDS: usize = 5;

/// The entry point.
pub(super) const ENTRY: &str = "kit_main";
/// The override constant of the workgroup's size.
pub(super) const WORKGROUP: &str = "KIT_WORKGROUP";

/// Operands up to which a kernel has a buffer to spare on every device.
const MOST_CHECKED: usize = 8;

/// Names of what is injected whatever the operands are called. Names that begin with `kit_` are taken too.
pub const SHADER_NAMES: [&str; 4] = ["kernel", "element", "elements", "params"];

/// What stands before the body: how elements are packed, and a set of functions for each operand.
pub(super) fn before(
    source: ShaderSource,
    kernel: &ElementKernel,
    class: &Class,
) -> Result<ShaderSource, KernelError> {
    let mut source = source.part(prelude::FLOAT, shaders::text(prelude::FLOAT)?);
    let (mut loaded, mut stored) = (Vec::new(), Vec::new());
    let read = class.inputs.iter().map(|(dtype, _)| dtype);
    for &dtype in read.chain(&class.updates) {
        if !loaded.contains(&dtype) {
            loaded.push(dtype);
            let file = prelude::load(dtype);
            source = source.part(file, renamed_for(dtype.name(), shaders::text(file)?));
        }
    }
    for &dtype in class.outputs.iter().chain(&class.updates) {
        if !stored.contains(&dtype) {
            stored.push(dtype);
            let file = prelude::store(dtype);
            source = source.part(file, renamed_for(dtype.name(), shaders::text(file)?));
        }
    }
    Ok(source.part("operands of a custom kernel", operands(kernel, class)))
}

/// What stands behind the body: the entry point, which calls it.
pub(super) fn behind(kernel: &ElementKernel, class: &Class) -> String {
    let first = 1 + OPERAND_WORDS * class.operands();
    let mut read = String::new();
    for (index, (name, ty)) in kernel.params.iter().enumerate() {
        let word = format!("kit.words[{}]", first + index);
        let _ = writeln!(read, "    {name} = {};", ty.read(&word));
    }
    let mut flush = String::new();
    for (name, dtype, _) in written(kernel, class) {
        if dtype.lanes() > 1 {
            let _ = writeln!(flush, "    kit_flush_{name}();");
        }
    }
    format!(
        "override {WORKGROUP}: u32 = 64u;

@compute @workgroup_size({WORKGROUP})
fn {ENTRY}(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {{
{read}    let row = group.z * groups.y + group.y;
    let first = ((row * groups.x + group.x) * {WORKGROUP} + local) * {per}u;
    for (var k = 0u; k < {per}u; k++) {{
        if first + k < kit.words[0].x {{
            kit_element = first + k;
            kernel(first + k);
        }}
    }}
{flush}}}
",
        per = class.per_invocation()
    )
}

/// Names and dtypes of what is written, and whether it is read too.
fn written<'a>(
    kernel: &'a ElementKernel,
    class: &'a Class,
) -> impl Iterator<Item = (&'a str, DType, bool)> {
    let outputs = kernel.outputs.iter().zip(&class.outputs);
    let updates = kernel.updates.iter().zip(&class.updates);
    let outputs = outputs.map(|(name, dtype)| (name.as_str(), *dtype, false));
    outputs.chain(updates.map(|(name, dtype)| (name.as_str(), *dtype, true)))
}

fn operands(kernel: &ElementKernel, class: &Class) -> String {
    let count = 1 + OPERAND_WORDS * class.operands() + kernel.params.len();
    let mut text = format!(
        "struct KitWords {{ words: array<vec4<u32>, {count}> }}
@group(0) @binding(0) var<uniform> kit: KitWords;
var<private> kit_element: u32;

// The element that this call of the kernel is for.
fn element() -> u32 {{ return kit_element; }}

// How many there are.
fn elements() -> u32 {{ return kit.words[0].x; }}

// Extent and stride of an axis.
fn kit_axis(base: u32, axis: u32) -> vec2<u32> {{
    let two = kit.words[base + 1u + axis / 2u];
    return select(two.xy, two.zw, (axis & 1u) == 1u);
}}

// Where the element of an index lies, and 1 if there is one. An operand of fewer axes has the last of them.
fn kit_find(base: u32, index: vec4<u32>) -> vec2<u32> {{
    var at = kit.words[base].y;
    var found = 1u;
    for (var back = 0u; back < min(kit.words[base].z, 4u); back++) {{
        let axis = kit_axis(base, kit.words[base].z - 1u - back);
        let i = index[3u - back];
        found = select(0u, found, i < axis.x);
        at += i * axis.y;
    }}
    return vec2<u32>(at, found);
}}
"
    );
    for (name, ty) in &kernel.params {
        let _ = writeln!(text, "var<private> {name}: {ty};");
    }
    let inputs = kernel.inputs.iter().zip(&class.inputs);
    for (index, (name, (dtype, dense))) in inputs.enumerate() {
        text.push_str(&described(name, *dtype, index));
        text.push_str(&input(name, *dtype, *dense, index));
    }
    let checked = is_checked(kernel, class);
    for (index, (name, dtype, is_read)) in written(kernel, class).enumerate() {
        let index = class.inputs.len() + index;
        text.push_str(&described(name, dtype, index));
        let promise = if kernel.writes_all && !is_read {
            " // sanitizer: writes-all"
        } else {
            ""
        };
        let past = if checked {
            past_the_end(name)
        } else {
            String::new()
        };
        text.push_str(&output(name, dtype, index, promise, &past));
        if is_read {
            text.push_str(&value_in_place(name, dtype));
            text.push_str(&reads(name, index));
        }
    }
    text
}

/// The first word of an operand.
fn base(index: usize) -> usize {
    1 + OPERAND_WORDS * index
}

/// What is known of every operand.
fn described(name: &str, dtype: DType, index: usize) -> String {
    let base = base(index);
    format!(
        "
alias {name}_t = {ty};
fn {name}_len() -> u32 {{ return kit.words[{base}].x; }}
fn {name}_rank() -> u32 {{ return kit.words[{base}].z; }}
fn {name}_shape(axis: u32) -> u32 {{
    if axis >= {name}_rank() {{ return 1u; }}
    return kit_axis({base}u, axis).x;
}}
",
        ty = dtype.compute().name()
    )
}

fn input(name: &str, dtype: DType, dense: bool, index: usize) -> String {
    let (base, binding) = (base(index), index + 1);
    let place = if dense {
        format!("    return kit.words[{base}].y + i;")
    } else {
        format!(
            "    var rest = i;
    var at = kit.words[{base}].y;
    for (var axis = {name}_rank(); axis > 1u; axis--) {{
        let one = kit_axis({base}u, axis - 1u);
        let outer = rest / one.x;
        at += (rest - outer * one.x) * one.y;
        rest = outer;
    }}
    return at + rest * kit_axis({base}u, 0u).y;"
        )
    };
    format!(
        "@group(0) @binding({binding}) var<storage, read> kit_{name}: array<word_{dtype}>;
fn kit_place_{name}(i: u32) -> u32 {{
{place}
}}
fn kit_value_{name}(at: u32) -> {name}_t {{
    return from_word_{dtype}(kit_{name}[word_index_{dtype}(at)], at);
}}
{reads}",
        reads = reads(name, index)
    )
}

/// Reading what is changed in place: what this invocation wrote and did not store yet counts.
fn value_in_place(name: &str, dtype: DType) -> String {
    let lanes = dtype.lanes();
    let value = if lanes == 1 {
        format!("    return kit_{name}[at];")
    } else {
        format!(
            "    var word = atomicLoad(&kit_{name}[at / {lanes}u]);
    let kept = kit_kept_{name};
    if kept.x == at / {lanes}u + 1u {{ word = (word & ~kept.z) | kept.y; }}
    return from_word_{dtype}(word, at);"
        )
    };
    format!(
        "fn kit_place_{name}(i: u32) -> u32 {{ return i; }}
fn kit_value_{name}(at: u32) -> {name}_t {{
{value}
}}
"
    )
}

/// The functions that read an operand, over those that know where and how it lies.
fn reads(name: &str, index: usize) -> String {
    let base = base(index);
    format!(
        "
// The element of that number in row-major order; 0 beyond the last.
fn {name}_at(i: u32) -> {name}_t {{
    if i >= {name}_len() {{ return {name}_t(); }}
    return kit_value_{name}(kit_place_{name}(i));
}}

// The element at that index into the last four axes; 0 outside.
fn {name}_load(index: vec4<u32>) -> {name}_t {{
    let found = kit_find({base}u, index);
    if found.y == 0u || {name}_len() == 0u {{ return {name}_t(); }}
    return kit_value_{name}(found.x);
}}
"
    )
}

/// Whether elements past the end are told where kernels are debugged: that takes one more buffer, and `assert` for itself.
fn is_checked(kernel: &ElementKernel, class: &Class) -> bool {
    let after = words(&kernel.text).skip(1);
    let mut pairs = words(&kernel.text).zip(after);
    let own = kernel.text.contains("assert") && pairs.any(|pair| pair == ("fn", "assert"));
    class.operands() < MOST_CHECKED && !own
}

/// What is said of a store past the end.
fn past_the_end(name: &str) -> String {
    let text = format!("`{name}_store` past the last element: it is given, of, in the call for");
    format!("    assert(i < {name}_len(), \"{text}\", i, {name}_len(), kit_element);\n")
}

fn output(name: &str, dtype: DType, index: usize, promise: &str, past: &str) -> String {
    let (base, binding) = (base(index), index + 1);
    let lanes = dtype.lanes();
    let store = if lanes == 1 {
        format!(
            "@group(0) @binding({binding}) var<storage, read_write> kit_{name}: array<{name}_t>;{promise}
fn {name}_store(i: u32, value: {name}_t) {{
{past}    if i < {name}_len() {{ kit_{name}[kit.words[{base}].y + i] = value; }}
}}
"
        )
    } else {
        let width = 32 / lanes;
        let mask = (1_u64 << width) - 1;
        format!(
            "@group(0) @binding({binding}) var<storage, read_write> kit_{name}: array<atomic<u32>>;{promise}
// Elements of one word that are not written yet: the word's number and 1, their bits, and which they are.
var<private> kit_kept_{name}: vec3<u32>;

fn kit_flush_{name}() {{
    let kept = kit_kept_{name};
    if kept.x == 0u {{ return; }}
    let word = kept.x - 1u;
    // What lies behind the last element is nobody's.
    let left = {name}_len() - word * {lanes}u;
    let behind = select(0u, 0xffffffffu << ((left & {last}u) * {width}u), left < {lanes}u);
    if (kept.z | behind) == 0xffffffffu {{
        atomicStore(&kit_{name}[word], kept.y);
    }} else {{
        atomicAnd(&kit_{name}[word], ~kept.z);
        atomicOr(&kit_{name}[word], kept.y);
    }}
    kit_kept_{name} = vec3<u32>();
}}

fn {name}_store(i: u32, value: {name}_t) {{
{past}    if i >= {name}_len() {{ return; }}
    let word = i / {lanes}u + 1u;
    if kit_kept_{name}.x != word {{
        kit_flush_{name}();
        kit_kept_{name}.x = word;
    }}
    let shift = (i & {last}u) * {width}u;
    let lane = {mask}u << shift;
    kit_kept_{name}.y = (kit_kept_{name}.y & ~lane) | (out_bits_{dtype}(value) << shift);
    kit_kept_{name}.z |= lane;
}}
",
            last = lanes - 1
        )
    };
    format!(
        "{store}
// Writes the element at that index into the last four axes; nothing outside.
fn {name}_store_at(index: vec4<u32>, value: {name}_t) {{
    let found = kit_find({base}u, index);
    if found.y != 0u {{ {name}_store(found.x - kit.words[{base}].y, value); }}
}}
"
    )
}

/// The type in WGSL.
impl fmt::Display for ParamType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.split() {
            (name, 1) => f.write_str(name),
            (name, lanes) => write!(f, "vec{lanes}<{name}>"),
        }
    }
}

impl ParamType {
    /// The expression that reads it from four words.
    fn read(self, words: &str) -> String {
        let lanes = self.split().1.clamp(1, 4) as usize;
        let chosen = "xyzw".get(..lanes).unwrap_or("xyzw");
        format!("bitcast<{}>({words}.{chosen})", self)
    }

    fn split(self) -> (&'static str, u32) {
        match self {
            Self::F32(lanes) => ("f32", lanes),
            Self::I32(lanes) => ("i32", lanes),
            Self::U32(lanes) => ("u32", lanes),
        }
    }
}
