//! One kernel of the catalogue as the checks see it, and its parsed form.

use std::collections::BTreeMap;

use naga::back::PipelineConstants;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Module, Span};

use crate::problem::Problem;

/// One whole `.wgsl` file of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) file: String,
    pub(crate) text: String,
}

/// A member of the parameter struct as the host declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// WGSL type: `u32`, `i32`, `f32`, `vec4<u32>` or an array of the last.
    pub(crate) ty: String,
    pub(crate) offset: u32,
}

/// What a kernel may use of an adapter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tier {
    pub(crate) workgroup_bytes: u32,
    pub(crate) invocations: u32,
    /// Storage buffers a kernel may bind; one fewer than the limit, for the hidden one.
    pub(crate) storage_buffers: u32,
    /// What WGSL needs beyond the base language.
    pub(crate) capabilities: Capabilities,
    /// Whether naga can write it in the languages of Metal and DirectX 12. It stops at cooperative matrices that those do
    /// not have, so such kernels are for Vulkan alone.
    pub(crate) portable: bool,
}

/// The parts that say what a kernel needs beyond plain WGSL, and what their tier adds to that below.
const ENABLES: [(&str, Capabilities); 6] = [
    (
        "shaders/enable/float_atomics.wgsl",
        Capabilities::SHADER_FLOAT32_ATOMIC,
    ),
    ("shaders/enable/int64.wgsl", Capabilities::SHADER_INT64),
    ("shaders/enable/f16.wgsl", Capabilities::SHADER_FLOAT16),
    ("shaders/enable/subgroups.wgsl", Capabilities::SUBGROUP),
    (
        "shaders/enable/subgroup_barriers.wgsl",
        Capabilities::SUBGROUP_BARRIER,
    ),
    (
        "shaders/enable/cooperative_matrix.wgsl",
        Capabilities::COOPERATIVE_MATRIX,
    ),
];

impl Tier {
    /// WebGPU's default limits, met by every adapter; `pack2x16float` and its kin are plain WGSL.
    pub(crate) const BASE: Self = Self {
        workgroup_bytes: 16 * 1024,
        invocations: 256,
        storage_buffers: 7,
        capabilities: Capabilities::SHADER_FLOAT16_IN_FLOAT32,
        portable: true,
    };

    /// The tier of a kernel of these parts.
    pub(crate) fn of(parts: &[Part]) -> Self {
        let enabled = |(file, _): &&(&str, Capabilities)| parts.iter().any(|p| p.file == *file);
        let capabilities = ENABLES.iter().filter(enabled).map(|row| row.1);
        let capabilities = capabilities.fold(Self::BASE.capabilities, |all, one| all | one);
        // Adapters with subgroups of 32 have twice the least that WebGPU promises, and those with matrix units three times as
        // much workgroup memory; what a kernel needs, its choice asks for.
        let matrix_units = capabilities.contains(Capabilities::COOPERATIVE_MATRIX);
        let subgroups = matrix_units || capabilities.contains(Capabilities::SUBGROUP);
        let least = u32::from(subgroups) + 1;
        Self {
            workgroup_bytes: (least + u32::from(matrix_units)) * Self::BASE.workgroup_bytes,
            invocations: least * Self::BASE.invocations,
            capabilities,
            portable: !capabilities.contains(Capabilities::COOPERATIVE_MATRIX),
            ..Self::BASE
        }
    }
}

/// A kernel: whole files in order, constants, parameters and tier.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) parts: Vec<Part>,
    pub(crate) entry: Option<String>,
    pub(crate) constants: BTreeMap<String, f64>,
    /// `None`: the kernel takes no parameters.
    pub(crate) params: Option<Vec<Field>>,
    pub(crate) tier: Tier,
}

impl Variant {
    /// The assembled text, exactly as the pipeline crate joins it.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            text.push_str(&part.text);
            if !part.text.ends_with('\n') {
                text.push('\n');
            }
        }
        text
    }

    /// The file and line that a 1-based line of the assembled text comes from.
    pub(crate) fn locate(&self, line: u32) -> (&str, u32) {
        let mut rest = line;
        for part in &self.parts {
            let lines = u32::try_from(part.text.lines().count()).unwrap_or(u32::MAX);
            if rest <= lines {
                return (&part.file, rest);
            }
            rest -= lines;
        }
        (
            self.parts
                .last()
                .map_or(self.name.as_str(), |part| part.file.as_str()),
            0,
        )
    }

    /// A problem at a place in the assembled text.
    pub(crate) fn problem(
        &self,
        text: &str,
        span: Span,
        rule: &'static str,
        message: String,
    ) -> Problem {
        if !span.is_defined() {
            return self.problem_somewhere(rule, message);
        }
        let (file, line) = self.locate(span.location(text).line_number);
        Problem::new(file, line, rule, message)
    }

    /// A problem of the kernel as a whole, reported at its last part, the body.
    pub(crate) fn problem_somewhere(&self, rule: &'static str, message: String) -> Problem {
        let file = self
            .parts
            .last()
            .map_or(self.name.as_str(), |part| part.file.as_str());
        Problem::new(file, 0, rule, format!("{message} (kernel {})", self.name))
    }
}

/// A kernel that was parsed and validated.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) text: String,
    pub(crate) module: Module,
    pub(crate) info: ModuleInfo,
    /// The entry point's index and name.
    pub(crate) entry: usize,
    pub(crate) entry_name: String,
}

impl Parsed {
    /// The entry point's function.
    pub(crate) fn main(&self) -> Option<&naga::Function> {
        self.module
            .entry_points
            .get(self.entry)
            .map(|entry| &entry.function)
    }
}

/// Parses and validates with only the capabilities that the kernel's tier declares.
pub(crate) fn parse(variant: &Variant) -> Result<Parsed, Problem> {
    let text = variant.text();
    let module = naga::front::wgsl::parse_str(&text).map_err(|error| {
        let (file, line) =
            variant.locate(error.location(&text).map_or(0, |place| place.line_number));
        Problem::new(file, line, "parse", error.message())
    })?;
    let immediates = module
        .global_variables
        .iter()
        .any(|(_, global)| global.space == AddressSpace::Immediate);
    let mut capabilities = variant.tier.capabilities;
    capabilities.set(Capabilities::IMMEDIATES, immediates);
    let info = Validator::new(ValidationFlags::all(), capabilities)
        .validate(&module)
        .map_err(|error| {
            let (file, line) =
                variant.locate(error.location(&text).map_or(0, |place| place.line_number));
            let detail = error.emit_to_string_with_path(&text, &variant.name);
            let detail = detail
                .lines()
                .filter(|line| line.starts_with("error") || line.contains("= "))
                .collect::<Vec<_>>();
            Problem::new(file, line, "validate", detail.join(" ").replace("  ", " "))
        })?;
    let entry = pick_entry(variant, &module)?;
    let entry_name = module
        .entry_points
        .get(entry)
        .map(|entry| entry.name.clone())
        .unwrap_or_default();
    Ok(Parsed {
        text,
        module,
        info,
        entry,
        entry_name,
    })
}

fn pick_entry(variant: &Variant, module: &Module) -> Result<usize, Problem> {
    let names: Vec<&str> = module
        .entry_points
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    let found = match &variant.entry {
        Some(wanted) => names.iter().position(|name| name == wanted),
        None => (names.len() == 1).then_some(0),
    };
    found.ok_or_else(|| {
        let wanted = variant.entry.as_deref().unwrap_or("the only one");
        variant.problem_somewhere(
            "entry",
            format!("entry point {wanted} wanted, the module has {names:?}"),
        )
    })
}

/// The module with every override replaced by its value, unused items dropped, and validated again.
pub(crate) fn resolve(variant: &Variant, parsed: &Parsed) -> Result<(Module, ModuleInfo), Problem> {
    let mut constants = PipelineConstants::default();
    for (name, value) in &variant.constants {
        constants.insert(name.clone(), *value);
    }
    let entry = (naga::ShaderStage::Compute, parsed.entry_name.as_str());
    naga::back::pipeline_constants::process_overrides(
        &parsed.module,
        &parsed.info,
        Some(entry),
        &constants,
    )
    .map(|(module, info)| (module.into_owned(), info.into_owned()))
    .map_err(|error| {
        variant.problem_somewhere(
            "overrides",
            xtask::failure::Failure::from(error).to_string(),
        )
    })
}

/// Kernels made of one piece of text, for the tests of the rules.
#[cfg(test)]
pub(crate) fn planted(text: &str) -> Variant {
    Variant {
        name: "planted".into(),
        parts: vec![Part {
            file: "shaders/planted.wgsl".into(),
            text: text.into(),
        }],
        entry: None,
        constants: BTreeMap::new(),
        params: None,
        tier: Tier::BASE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parse_error_names_the_file_and_line_of_its_part() {
        let mut variant = planted("fn f() -> u32 { return 1; }");
        variant.parts.push(Part {
            file: "shaders/body.wgsl".into(),
            text: "\nfn g( {}\n".into(),
        });
        let problem = parse(&variant).unwrap_err();
        assert_eq!(
            (problem.file.as_str(), problem.line, problem.rule),
            ("shaders/body.wgsl", 2, "parse")
        );
    }

    #[test]
    fn a_capability_that_the_tier_lacks_is_refused() {
        let text = "enable f16;\n@group(0) @binding(1) var<storage, read_write> out: array<f16>;\n\
                    @compute @workgroup_size(1) fn main() { out[0] = 1h; }";
        let variant = planted(text);
        assert!(parse(&variant).is_err_and(|problem| problem.rule == "validate"));
        let mut allowed = variant;
        allowed.tier.capabilities = Capabilities::SHADER_FLOAT16;
        assert!(parse(&allowed).is_ok());
    }

    #[test]
    fn the_tier_follows_from_the_directives() {
        let part = |file: &str| Part {
            file: file.into(),
            text: String::new(),
        };
        let plain = Tier::of(&[part("shaders/matmul/tile.wgsl")]);
        assert!(plain.portable && plain.capabilities == Tier::BASE.capabilities);
        let f16 = Tier::of(&[part("shaders/enable/f16.wgsl")]);
        assert!(f16.portable && f16.capabilities.contains(Capabilities::SHADER_FLOAT16));
        let all = ENABLES.map(|(file, _)| part(file));
        let all = Tier::of(&all);
        assert!(!all.portable && all.workgroup_bytes > plain.workgroup_bytes);
        assert!(ENABLES.iter().all(|row| all.capabilities.contains(row.1)));
    }

    #[test]
    fn a_constant_that_the_shader_does_not_declare_is_refused() {
        let text = "override WG: u32 = 64u;\n@compute @workgroup_size(WG) fn main() {}";
        let mut variant = planted(text);
        let parsed = parse(&variant).unwrap();
        assert!(resolve(&variant, &parsed).is_ok());
        variant.constants.insert("NO_SUCH".into(), 1.0);
        assert!(resolve(&variant, &parsed).is_err_and(|problem| problem.rule == "overrides"));
    }
}
