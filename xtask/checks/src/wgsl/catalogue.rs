//! The kernels crate's own list of variants and rows, in the form that the checks read.
//!
//! Every variant is checked twice, with its parameters as a uniform and, where they fit, as immediates; the
//! catalogue has the second form for one kernel of each body only.

use std::collections::{BTreeMap, BTreeSet};

use ziggurat_kernels::{
    ASSEMBLED, Binary, Compare, Composite, DType, ParamField, Predicate, Tolerance, Unary,
};
use ziggurat_pipeline::{
    COPY_PARAMS, IMMEDIATE_PART, KernelDescriptor, UNIFORM_PART, copy_kernels,
};

use crate::wgsl::compositions;
use crate::wgsl::header::Header;
use crate::wgsl::limits;
use crate::wgsl::variant::{Field, Part, Tier, Variant};
use xtask::failure::{Failure, Outcome};
use xtask::workspace;

const FOLDER: &str = "shaders/";
const UNIFORM: &str = " uniform";
const IMMEDIATE: &str = " immediate";

/// Every kernel, with immediates on and off.
pub(crate) fn variants() -> Outcome<Vec<Variant>> {
    let mut all: Vec<Variant> = ziggurat_kernels::catalogue()?.iter().map(convert).collect();
    all.extend(copies());
    let names: BTreeSet<String> = all.iter().map(|variant| variant.name.clone()).collect();
    let twins: Vec<Variant> = all
        .iter()
        .filter_map(with_immediates)
        .filter(|twin| !names.contains(&twin.name))
        .collect();
    all.extend(twins);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

fn convert(variant: &ziggurat_kernels::Variant) -> Variant {
    let params = variant.params.iter().map(field).collect();
    of_descriptor(variant.name.clone(), &variant.descriptor, params)
}

/// The pipeline layer's own kernels.
fn copies() -> impl Iterator<Item = Variant> {
    let params = || {
        let fields = (0_u32..).zip(COPY_PARAMS);
        fields
            .map(|(index, name)| Field {
                name: name.to_owned(),
                ty: "u32".to_owned(),
                offset: 4 * index,
            })
            .collect()
    };
    copy_kernels(UNIFORM_PART, 256)
        .into_iter()
        .map(move |descriptor| {
            let name = format!("{}{UNIFORM}", descriptor.source.name());
            of_descriptor(name, &descriptor, params())
        })
}

fn of_descriptor(name: String, descriptor: &KernelDescriptor, params: Vec<Field>) -> Variant {
    let parts = descriptor.source.parts().iter();
    let parts: Vec<Part> = parts
        .map(|part| Part {
            file: format!("{FOLDER}{}", part.file),
            text: part.text.to_string(),
        })
        .collect();
    Variant {
        name,
        tier: Tier::of(&parts),
        parts,
        entry: descriptor.entry.as_ref().map(ToString::to_string),
        constants: descriptor
            .constants
            .iter()
            .map(|(name, value)| (name.to_string(), *value))
            .collect(),
        params: (!params.is_empty()).then_some(params),
    }
}

fn field(field: &ParamField) -> Field {
    let element = field.ty.name();
    let ty = field.count.map_or_else(
        || element.to_owned(),
        |count| format!("array<{element}, {count}>"),
    );
    Field {
        name: field.name.to_owned(),
        ty,
        offset: field.offset,
    }
}

/// The same kernel with its parameters as immediates, if they fit.
fn with_immediates(variant: &Variant) -> Option<Variant> {
    let place = variant
        .parts
        .iter()
        .position(|part| part.file == format!("{FOLDER}{}", UNIFORM_PART.0))?;
    if bytes(variant.params.as_ref()?.last()?) > limits::IMMEDIATE_BYTES {
        return None;
    }
    let mut twin = variant.clone();
    twin.name = format!("{}{IMMEDIATE}", variant.name.trim_end_matches(UNIFORM));
    let (file, text) = IMMEDIATE_PART;
    *twin.parts.get_mut(place)? = Part {
        file: format!("{FOLDER}{file}"),
        text: text.to_owned(),
    };
    Some(twin)
}

/// Where a block ends whose last member this is, at most.
fn bytes(last: &Field) -> u32 {
    let len = last
        .ty
        .trim_end_matches('>')
        .rsplit_once(", ")
        .and_then(|(_, len)| len.parse().ok());
    last.offset
        .saturating_add(16_u32.saturating_mul(len.unwrap_or(1)))
}

/// A row of the documentation of ops.
#[derive(Clone, Debug)]
pub(crate) struct OpRow {
    /// The heading it stands under.
    pub(crate) family: String,
    pub(crate) name: String,
    pub(crate) dtypes: Vec<String>,
    pub(crate) tolerance: String,
    /// What it computes and does on edges, as the shader says.
    pub(crate) rule: String,
    /// The op's own shader files.
    pub(crate) files: Vec<String>,
}

/// The rows of the op tables, in their order.
pub(crate) fn op_rows() -> Outcome<Vec<OpRow>> {
    let unary = Unary::ALL.iter().map(|op| op.spec());
    let binary = Binary::ALL.iter().map(|op| op.spec());
    let compare = Compare::ALL.iter().map(|op| op.spec());
    let predicate = Predicate::ALL.iter().map(|op| op.spec());
    let composed = Composite::ALL.iter().map(|op| op.spec());
    let exact = || "exact".to_owned();
    let mut rows = Vec::new();
    rows.extend(unary.map(|s| row("Unary", s.name, s.dtypes, tolerance(s.tolerance), "unary")));
    rows.extend(binary.map(|s| row("Binary", s.name, s.dtypes, tolerance(s.tolerance), "binary")));
    rows.extend(compare.map(|s| row("Comparison", s.name, s.dtypes, exact(), "compare")));
    rows.extend(predicate.map(|s| row("Predicate", s.name, s.dtypes, exact(), "predicate")));
    rows.extend(composed.map(|s| {
        Ok(OpRow {
            family: "Composed".into(),
            name: s.name.into(),
            dtypes: s
                .dtypes
                .iter()
                .map(|dtype| dtype.name().to_owned())
                .collect(),
            tolerance: tolerance(s.tolerance),
            rule: s.rule.trim().into(),
            files: vec!["crates/kernels/src/compose/composite/formula.rs".into()],
        })
    }));
    let assembled = (ASSEMBLED.iter())
        .map(|op| (*op, format!("crates/kernels/src/{}", op.file)))
        .chain(
            compositions::ALL
                .iter()
                .map(|op| (*op, format!("crates/tensor/src/{}", op.file))),
        );
    rows.extend(assembled.map(|(op, file)| {
        let text = std::fs::read_to_string(workspace::root().join(&file))?;
        if !text.contains(&format!("pub fn {}(", op.name)) {
            let name = op.name;
            return Err(Failure::new(format!(
                "{file} has no method {name}, which the table of assembled ops names"
            )));
        }
        Ok(OpRow {
            family: "Assembled".into(),
            name: op.name.into(),
            dtypes: op
                .dtypes
                .iter()
                .map(|dtype| dtype.name().to_owned())
                .collect(),
            tolerance: op.tolerance.into(),
            rule: op.rule.into(),
            files: vec![file],
        })
    }));
    rows.into_iter().collect()
}

/// Ops that are no rows of a table: what the names of their kernels and the headers of their shaders say.
pub(crate) fn other_ops() -> Outcome<Vec<OpRow>> {
    let rows: BTreeSet<String> = op_rows()?.into_iter().map(|row| row.name).collect();
    let mut ops: BTreeMap<String, (BTreeSet<DType>, Said)> = BTreeMap::new();
    for variant in ziggurat_kernels::catalogue()? {
        let label = variant.descriptor.source.name();
        let mut names = label.split('/');
        let op = names.next().unwrap_or_default();
        if !rows.contains(op) {
            let dtypes = names
                .flat_map(|name| name.split('_'))
                .filter_map(|name| name.parse::<DType>().ok());
            let (known, said) = ops.entry(op.to_owned()).or_default();
            known.extend(dtypes.take(1));
            said.hear(&of_descriptor(
                String::new(),
                &variant.descriptor,
                Vec::new(),
            ));
        }
    }
    let row = |(name, (dtypes, said)): (String, (BTreeSet<DType>, Said))| OpRow {
        family: "Others".into(),
        name,
        dtypes: dtypes.iter().map(|dtype| dtype.name().to_owned()).collect(),
        tolerance: said.accuracies.join("; "),
        rule: said.rules.join(" "),
        files: said.files,
    };
    Ok(ops.into_iter().map(row).collect())
}

/// What the shaders of an op say, each thing once.
#[derive(Debug, Default)]
struct Said {
    rules: Vec<String>,
    accuracies: Vec<String>,
    files: Vec<String>,
}

impl Said {
    /// Listens to a kernel: to the part that says how accurate it is, and to the body where no other part does.
    fn hear(&mut self, variant: &Variant) {
        let headers = variant
            .parts
            .iter()
            .map(|part| (part, Header::of(&part.text)));
        let told: Vec<(&Part, Header)> = headers
            .filter(|(_, header)| header.field("Accuracy:").is_some())
            .collect();
        let has_parts = told
            .iter()
            .any(|(_, header)| header.field("Computes:").is_none());
        for (part, header) in &told {
            push(&mut self.files, &part.file);
            let computes = header.field("Computes:");
            if computes.is_some() && has_parts {
                continue;
            }
            // "Operator part: …": which part says it does not matter here.
            let plain = header.text.split_once(" part: ");
            let plain = plain.map_or(header.text.as_str(), |(_, text)| text);
            push(&mut self.rules, computes.unwrap_or(plain));
            let accuracy = header.field("Accuracy:").unwrap_or_default();
            push(&mut self.accuracies, accuracy.trim_end_matches('.'));
        }
    }
}

fn push(list: &mut Vec<String>, text: &str) {
    if !list.iter().any(|known| known == text) {
        list.push(text.to_owned());
    }
}

fn row(
    family: &str,
    name: &str,
    dtypes: &[DType],
    tolerance: String,
    folder: &str,
) -> Outcome<OpRow> {
    let file = format!("{FOLDER}elementwise/{folder}/{name}.wgsl");
    let text = std::fs::read_to_string(workspace::root().join(&file))?;
    Ok(OpRow {
        family: family.into(),
        name: name.into(),
        dtypes: dtypes.iter().map(|dtype| dtype.name().to_owned()).collect(),
        tolerance,
        rule: Header::of(&text).text,
        files: vec![file],
    })
}

/// In words: `exact`, `3 ulp + 2 per unit of input`.
fn tolerance(tolerance: Tolerance) -> String {
    let mut parts = Vec::new();
    if tolerance.ulps > 0.0 {
        parts.push(format!("{} ulp", tolerance.ulps));
    }
    if tolerance.ulps_per_input > 0.0 {
        parts.push(format!(
            "{} ulp per unit of input",
            tolerance.ulps_per_input
        ));
    }
    if tolerance.absolute > 0.0 {
        parts.push(format!("{:e}", tolerance.absolute));
    }
    if parts.is_empty() {
        "exact".into()
    } else {
        parts.join(" + ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_with_a_small_block_is_there_with_immediates_and_without() {
        let variants = variants().unwrap();
        let names: BTreeSet<&str> = variants
            .iter()
            .map(|variant| variant.name.as_str())
            .collect();
        assert_eq!(names.len(), variants.len(), "two kernels share a name");
        let with = names
            .iter()
            .filter(|name| name.ends_with(IMMEDIATE))
            .count();
        let without = names.iter().filter(|name| name.ends_with(UNIFORM)).count();
        assert!(
            with > 100 && without > 100,
            "{with} with immediates, {without} without"
        );
    }

    #[test]
    fn every_row_has_dtypes_a_tolerance_and_a_rule_in_words() {
        let rows = op_rows().unwrap();
        assert!(
            rows.iter()
                .all(|row| !row.dtypes.is_empty() && !row.tolerance.is_empty())
        );
        for row in rows.iter().chain(&other_ops().unwrap()) {
            let said = !row.rule.is_empty() && !row.tolerance.is_empty();
            assert!(said || row.name == "fused", "{row:?}");
        }
        let named = |name: &str| {
            rows.iter()
                .find(|row| row.name == name)
                .map(|row| row.tolerance.clone())
        };
        assert_eq!(named("relu").as_deref(), Some("exact"));
        assert!(named("exp").is_some_and(|tolerance| tolerance.contains("ulp")));
    }
}
