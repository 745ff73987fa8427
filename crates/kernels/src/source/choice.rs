//! [`KernelChoice`]: which variant of a kernel an op call needs, before any text is assembled.
//!
//! A `choose` function looks at shapes, dtypes and capabilities and returns one of these: names for people
//! (labels, profiles, the catalogue), shader parts by path, and override constants. It is structural: two equal
//! choices are the same pipeline, so the pipeline layer finds it again without assembling or hashing text.

use std::borrow::Cow;

use ziggurat_core::DType;
use ziggurat_pipeline::{Checks, KernelDescriptor, KernelKey, ShaderSource, SourcePart};

use crate::run::error::KernelError;
use crate::source::list::List;
use crate::source::prelude;
use crate::source::rename::rename;
use crate::source::shaders;
use crate::source::trusted::trusted;

/// The workgroup size that catalogue entries are validated with: the largest every WebGPU device has.
pub(crate) const CATALOGUE_WG: u32 = 256;

/// Where the elements come from that a walking kernel reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// The view at binding 1.
    Memory,
    /// A generated part, which also declares the parameters.
    Fused,
}

/// What writes a kernel's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WritesBy {
    /// The store and cell preludes of the choice.
    Itself,
    /// A generated part with `store1` or `store4`, which also declares the parameters.
    Result,
}

/// What a shader part is for, where somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Anything else.
    Text,
    /// Directives, which stand ahead of all other parts.
    Enable,
    /// `struct Params`.
    Params,
    /// Reading elements of a dtype.
    Load,
    /// Reading elements of a dtype by functions that end in an operand's name.
    LoadOf(&'static str),
    /// Packing elements of a dtype.
    Store,
    /// Writing results one by one.
    Cell,
    /// Writing results four at a time.
    Vec4,
    /// Reading elements four at a time.
    Access,
}

/// A shader part: its path below `shaders/`, and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    path: &'static str,
    role: Role,
}

/// A kernel variant: names, shader parts in order (without the params part), override constants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KernelChoice {
    names: List<&'static str, 8>,
    parts: List<Part, 16>,
    constants: List<(&'static str, f64), 10>,
    zero_workgroup_memory: bool,
    ordered_loads: bool,
    checks: Checks,
}

impl KernelChoice {
    /// A variant whose first name is `family`, usually the op.
    pub(crate) fn new(family: &'static str) -> Self {
        Self {
            names: List::of(&[family]),
            parts: List::new(),
            constants: List::new(),
            zero_workgroup_memory: true,
            ordered_loads: false,
            checks: Checks::Divisions,
        }
    }

    /// Appends a name; the label is all names joined by `/`: `add/f32/flat`.
    #[inline(always)]
    #[must_use]
    pub(crate) fn name(mut self, name: &'static str) -> Self {
        self.names.push(name);
        self
    }

    /// Appends the shader part at this path below `shaders/`.
    #[inline(always)]
    #[must_use]
    pub(crate) fn part(self, path: &'static str) -> Self {
        self.with(path, Role::Text)
    }

    #[inline(always)]
    fn with(mut self, path: &'static str, role: Role) -> Self {
        self.parts.push(Part { path, role });
        self
    }

    /// Appends the part with `struct Params`, which a generated part declares in its place.
    #[inline(always)]
    #[must_use]
    pub(crate) fn params(self, path: &'static str) -> Self {
        self.with(path, Role::Params)
    }

    /// Appends what reads elements of a dtype.
    #[inline(always)]
    #[must_use]
    pub(crate) fn load(self, dtype: DType) -> Self {
        self.with(prelude::load(dtype), Role::Load)
    }

    /// Appends what reads elements of one operand alone, by functions that end in its name: `unpack_b`.
    #[must_use]
    pub(crate) fn load_of(self, operand: &'static str, dtype: DType) -> Self {
        self.with(prelude::load(dtype), Role::LoadOf(operand))
    }

    /// Appends what reads elements of f16 as the device's own type.
    #[must_use]
    pub(crate) fn load_native_f16(self) -> Self {
        self.enable("enable/f16.wgsl")
            .with(prelude::LOAD_F16_NATIVE, Role::Load)
    }

    /// Appends what packs elements of a dtype.
    #[inline(always)]
    #[must_use]
    pub(crate) fn store(self, dtype: DType) -> Self {
        self.with(prelude::store(dtype), Role::Store)
    }

    /// Appends what writes results of a dtype one by one: `store1`.
    #[inline(always)]
    #[must_use]
    pub(crate) fn cell(self, dtype: DType) -> Self {
        self.with(prelude::cell(dtype), Role::Cell)
    }

    /// Appends what writes results four at a time: `store4`.
    #[inline(always)]
    #[must_use]
    pub(crate) fn vec4(self) -> Self {
        self.with(prelude::VEC4, Role::Vec4)
    }

    /// Puts a part of `enable/` ahead of all others: what the kernel needs of the device beyond plain WGSL, from which
    /// the checks of kernels also know it.
    #[must_use]
    pub(crate) fn enable(self, path: &'static str) -> Self {
        self.with(path, Role::Enable)
    }

    /// Says that no divisor of an integer division is ever 0, and no signed quotient overflows: neither parameters that are
    /// divided by nor elements.
    #[must_use]
    pub(crate) fn without_division_checks(mut self) -> Self {
        self.checks = Checks::None;
        self
    }

    /// Appends what writes results of a dtype: four at a time, or one by one.
    #[must_use]
    pub(crate) fn writes(self, dtype: DType, vec4: bool) -> Self {
        if vec4 { self.vec4() } else { self.cell(dtype) }
    }

    /// Appends what a kernel reads rows by, four elements at a time: `row4`, over `load_value4` or `load_value`.
    #[must_use]
    pub(crate) fn access(self, vec4: bool) -> Self {
        if vec4 {
            self.name("vec4").with("reduce/vec4.wgsl", Role::Access)
        } else {
            self.part("reduce/singles.wgsl")
        }
    }

    /// Appends several shader parts.
    #[inline(always)]
    #[must_use]
    pub(crate) fn parts(mut self, paths: &[&'static str]) -> Self {
        self.parts.extend(text(paths));
        self
    }

    /// Appends names, parts and overrides in place: a choice is large, and methods that return it may move it.
    pub(crate) fn append(
        &mut self,
        names: &[&'static str],
        parts: &[&'static str],
        constants: &[(&'static str, f64)],
    ) {
        self.names.extend(names.iter().copied());
        self.parts.extend(text(parts));
        self.constants.extend(constants.iter().copied());
    }

    /// Appends the parts of a list.
    #[inline(always)]
    #[must_use]
    pub(crate) fn more_parts<'a>(mut self, paths: impl Iterator<Item = &'a &'static str>) -> Self {
        self.parts.extend(paths.map(|path| Part {
            path,
            role: Role::Text,
        }));
        self
    }

    /// Appends what a walking kernel reads its elements of `dtype` by: `struct Params`, and `load_value4` or `load_value`.
    #[must_use]
    pub(crate) fn reads(
        self,
        reads: Reads,
        dtype: DType,
        params: &'static str,
        vec4: bool,
    ) -> Self {
        match reads {
            Reads::Memory => self
                .part(prelude::FLOAT)
                .load(dtype)
                .params(params)
                .part(prelude::value(vec4)),
            Reads::Fused => self.name("fused"),
        }
    }

    /// Sets an override. Without a constant `WG`, the device's preferred workgroup size is used.
    #[inline(always)]
    #[must_use]
    pub(crate) fn constant(mut self, name: &'static str, value: impl Into<f64>) -> Self {
        self.constants.push((name, value.into()));
        self
    }

    /// Says that the kernel writes workgroup memory before it reads it.
    #[inline(always)]
    #[must_use]
    pub(crate) fn without_zeroed_memory(mut self) -> Self {
        self.zero_workgroup_memory = false;
        self
    }

    /// Says that the kernel loads a tile from storage while it computes another one, and barriers between them must not
    /// let the driver load it later.
    #[inline(always)]
    #[must_use]
    pub(crate) fn ordered_loads(mut self) -> Self {
        self.ordered_loads = true;
        self
    }

    /// The label.
    pub(crate) fn label(&self) -> String {
        self.names.iter().copied().collect::<Vec<_>>().join("/")
    }

    /// The override constants.
    pub(crate) fn constants(&self) -> impl Iterator<Item = &(&'static str, f64)> {
        self.constants.iter()
    }

    /// Whether results are written four at a time.
    pub(crate) fn writes_vec4(&self) -> bool {
        self.parts.iter().any(|part| part.role == Role::Vec4)
    }

    /// Whether elements are read four at a time.
    pub(crate) fn reads_vec4(&self) -> bool {
        self.parts.iter().any(|part| part.role == Role::Access)
    }

    /// Whether it has the prelude that reads elements.
    pub(crate) fn loads(&self) -> bool {
        self.parts.iter().any(|part| part.role == Role::Load)
    }

    /// The last part: the body with the entry point.
    pub(crate) fn body(&self) -> &'static str {
        self.parts.last().map_or("", |part| part.path)
    }

    /// The structural key, for this params part and workgroup size.
    pub(crate) fn key(&self, params_part: &'static str, wg: u32) -> KernelKey {
        let mut names = self.names.iter();
        let mut key = KernelKey::new(names.next().copied().unwrap_or_default());
        names.for_each(|name| key.push_tag(name));
        key.push_tag(params_part);
        key.push_number(u64::from(wg));
        let flags = u64::from(self.ordered_loads) << 3 | u64::from(self.zero_workgroup_memory) << 2;
        key.push_number(flags | self.checks as u64);
        for part in self.parts.iter() {
            key.push_tag(part.path);
            if let Role::LoadOf(operand) = part.role {
                key.push_tag(operand);
            }
        }
        self.constants.iter().for_each(|(name, value)| {
            key.push_tag(name);
            key.push_number(value.to_bits());
        });
        key
    }

    /// The full descriptor.
    pub(crate) fn descriptor(
        &self,
        params_part: (&'static str, &'static str),
        wg: u32,
    ) -> Result<KernelDescriptor, KernelError> {
        let source = ShaderSource::new(self.label()).part(params_part.0, params_part.1);
        self.descriptor_from(source, WritesBy::Itself, wg)
    }

    /// The descriptor with the parts behind those of `source`; what is there already is not repeated.
    pub(crate) fn descriptor_from(
        &self,
        mut source: ShaderSource,
        writes: WritesBy,
        wg: u32,
    ) -> Result<KernelDescriptor, KernelError> {
        // A result part brings the stores and the parameters.
        let brought = |part: &&Part| {
            writes == WritesBy::Result
                && matches!(
                    part.role,
                    Role::Store | Role::Cell | Role::Vec4 | Role::Params
                )
        };
        for Part { path, role } in self.parts.iter().filter(|part| !brought(part)) {
            // Whole words pass a result part by, which has `store1` alone.
            let path = match (writes, *path) {
                (WritesBy::Result, prelude::OUT_HALVES) => prelude::OUT_ELEMENT,
                (_, path) => path,
            };
            let text = shaders::text(path)?;
            if *role == Role::Enable {
                source = source.directive(path, text);
                continue;
            }
            let text = match role {
                Role::LoadOf(operand) => Cow::Owned(renamed_for(operand, text)),
                _ => Cow::Borrowed(text),
            };
            let known = |part: &SourcePart| part.file == path && part.text == text;
            if !source.parts().iter().any(known) {
                source = source.part(path, text);
            }
        }
        let mut descriptor = KernelDescriptor::new(source)
            .entry("main")
            .zero_workgroup_memory(self.zero_workgroup_memory)
            .ordered_loads(self.ordered_loads);
        if !self.constants.iter().any(|(name, _)| *name == "WG") {
            descriptor = descriptor.constant("WG", f64::from(wg));
        }
        for (name, value) in self.constants.iter() {
            descriptor = descriptor.constant(*name, *value);
        }
        Ok(trusted(descriptor, self.checks))
    }
}

/// A prelude under names that end in an operand's.
pub(crate) fn renamed_for(operand: &str, text: &str) -> String {
    let names = prelude::NAMES.map(|name| (name, format!("{name}_{operand}")));
    rename(text, &names)
}

/// Parts that nobody asks for.
fn text<'a>(paths: &'a [&'static str]) -> impl Iterator<Item = Part> + 'a {
    paths.iter().map(|&path| Part {
        path,
        role: Role::Text,
    })
}
