//! Which variants of the catalogue ran.
//!
//! A variant is its text and its constants, with two exceptions: the text's part that says where parameters come from
//! (immediates and uniforms differ in one keyword), and constants that follow the device's limits or a call's sizes.
//! Of fused kernels the form is compared.
//!
//! Bodies that read rows, columns or blocks in several ways are in the catalogue with every op and dtype. Such a variant
//! counts if its body ran with these constants, and each of its other parts ran, be it in kernels that differ: how many
//! ran as they are is printed.

use std::collections::{BTreeMap, BTreeSet};

use ziggurat_device::ziggurat_software::{Program, Report};
use ziggurat_kernels::{DType, Variant, catalogue};
use ziggurat_pipeline::{IMMEDIATE_PART, KernelDescriptor, ShaderSource, UNIFORM_PART};

use xtask::failure::{Failure, Outcome};

/// Variants that no run reaches, by a part of their name, with the reason.
const NOT_RUN: [(&str, &str); 1] = [(
    "vec4/fused/",
    "no test of expressions has rows of every op in whole vec4s; without expressions the bodies run",
)];

/// Constants that are not compared, with the reason.
const SIZES: [(&str, &str); 37] = [
    ("TAPS_HEIGHT", "a window, by a call"),
    ("TAPS_WIDTH", "likewise"),
    ("STEP_HEIGHT", "steps between windows, by a call"),
    ("STEP_WIDTH", "likewise"),
    (
        "NATIVE_HALVES",
        "whether the adapter converts f16 as our code does, which is found out while tests run",
    ),
    ("COLS", "a tile of products, by the device: `tile`"),
    ("DEPTH", "likewise"),
    ("VEC4", "how products of few rows lie over columns and k"),
    ("SLICES", "likewise"),
    (
        "WG",
        "invocations of a workgroup, by the device and the row",
    ),
    ("LOG_WG", "the logarithm of those"),
    (
        "BLOCK",
        "elements that one workgroup sorts, by the device and the row",
    ),
    ("SEGMENT", "likewise"),
    ("GROUPS", "likewise"),
    ("SLOTS", "likewise"),
    ("BINS_EACH", "likewise"),
    (
        "LANES",
        "how a workgroup is laid over rows, by their number and length",
    ),
    ("LINES", "likewise"),
    ("BAND", "likewise"),
    ("SHARES", "likewise"),
    ("LANE_STEP", "likewise"),
    ("ROWS", "likewise"),
    ("ROW_STEP", "likewise"),
    ("MEMORY", "workgroup memory, by the tile"),
    ("STEPS", "turns of a loop, by the row's length"),
    ("KEYS", "a tile of attention, by the sizes of a call"),
    ("VALUES", "likewise"),
    ("LEN", "likewise"),
    ("KEY_LANES", "likewise"),
    ("KEY_OCTS", "likewise"),
    ("VALUE_LANES", "likewise"),
    ("RANK", "axes of a call"),
    ("BATCH_AXES", "likewise"),
    ("KEPT", "likewise"),
    ("REDUCED", "likewise"),
    (
        "DENSE_ROWS",
        "whether filters lie as rows, by a call's strides",
    ),
    (
        "COMPONENTS",
        "indices that name an element, by the shape of the call",
    ),
];

/// A variant as far as it is compared: text and constants.
type Key = (u64, String);

/// Gives a line for each comment in a kernel that allows findings where there are none.
pub(super) fn needless(report: &Report) -> Outcome<Vec<String>> {
    let variants = catalogue().map_err(|error| Failure::new(error.to_string()))?;
    let mut comments = BTreeSet::new();
    for variant in &variants {
        for part in variant.descriptor.source.parts() {
            let lines = part.text.lines().map(str::trim);
            let allowing = lines.filter(|line| line.contains("// sanitizer: allow("));
            // Of generated text no two are alike: one needed line stands for all.
            let generated = part.file.contains("generated");
            comments.extend(
                allowing.map(|line| (part.file.to_string(), (!generated).then(|| line.to_owned()))),
            );
        }
    }
    let needed = |(file, code): &(String, Option<String>)| {
        report.allowed().iter().any(|finding| {
            finding.file == *file && code.as_ref().is_none_or(|code| finding.code == *code)
        })
    };
    Ok(comments
        .iter()
        .filter(|comment| !needed(comment))
        .map(|(file, code)| {
            let code = code.as_deref().unwrap_or("its lines");
            format!("{file}: nothing is found any more that this allows: {code}")
        })
        .collect())
}

/// Says which variants have run; gives a line for each that has not, and for each excuse that is none.
pub(super) fn missing(report: &Report) -> Outcome<Vec<String>> {
    let variants = catalogue().map_err(|error| Failure::new(error.to_string()))?;
    let (line, problems) = compare(&variants, report, &NOT_RUN);
    println!("{line}");
    Ok(problems)
}

fn compare(
    variants: &[Variant],
    report: &Report,
    excused: &[(&str, &str)],
) -> (String, Vec<String>) {
    let programs = report.programs();
    let ran: BTreeSet<Key> = programs
        .map(|program| {
            let constants = program.constants.split(' ').map(str::to_owned);
            (program.text, compared(constants))
        })
        .collect();
    let tiles: BTreeSet<String> = report
        .programs()
        .filter_map(|program| tile(program.constants.split(' ').map(str::to_owned)))
        .collect();
    let fused: BTreeSet<String> = report.kernels().into_iter().filter_map(form).collect();
    let mut all: BTreeMap<String, bool> = BTreeMap::new();
    let (mut bodies, mut parts) = (BTreeSet::new(), BTreeSet::new());
    let mut others = Vec::new();
    for variant in variants {
        let source = &variant.descriptor.source;
        let constants = variant.descriptor.constants.iter();
        let constants = compared(constants.map(|(name, value)| format!("{name}={value}")));
        let here = match form(source.name()) {
            Some(form) => fused.contains(&form),
            None => [IMMEDIATE_PART, UNIFORM_PART]
                .iter()
                .any(|part| ran.contains(&(hash(&variant.descriptor, *part), constants.clone()))),
        };
        let name = format!("{} {constants}", source.name());
        let name = name.trim_end().to_owned();
        let texts = source.parts().iter().map(|part| &*part.text);
        let body = texts.clone().next_back().map(|body| (body, constants));
        if here {
            bodies.extend(body);
            parts.extend(texts);
        } else {
            others.push((name.clone(), body, texts));
        }
        // One of those that differ in sizes is enough.
        *all.entry(name).or_default() |= here;
    }
    let exact = all.values().filter(|ran| **ran).count();
    for (name, body, mut texts) in others {
        let ran = body.is_some_and(|body| bodies.contains(&body))
            && texts.all(|text| parts.contains(text));
        *all.entry(name).or_default() |= ran;
    }
    let missed: Vec<&String> = all
        .iter()
        .filter(|(_, ran)| !**ran)
        .map(|(name, _)| name)
        .collect();
    let excuse = |name: &str| excused.iter().any(|(part, _)| name.contains(part));
    let unexcused = missed.iter().filter(|name| !excuse(name));
    let mut problems: Vec<String> = unexcused
        .map(|name| format!("{name} did not run"))
        .collect();
    let wanted: BTreeSet<String> = variants
        .iter()
        .filter_map(|variant| {
            let constants = variant.descriptor.constants.iter();
            tile(constants.map(|(name, value)| format!("{name}={value}")))
        })
        .collect();
    let untried = wanted.difference(&tiles);
    problems.extend(untried.map(|tile| format!("no product ran in the tile {tile}")));
    for (part, _) in excused {
        if !missed.iter().any(|name| name.contains(part)) {
            problems.push(format!("all of {part} ran, but it is excused"));
        }
    }
    let line = format!(
        "{exact} of {} variants of the catalogue ran, and the parts of {} more",
        all.len(),
        all.len() - missed.len() - exact
    );
    (line, problems)
}

/// The form of a fused kernel: its name without expression and dtypes. Fused kernels are generated, so there is no end of
/// them: those in the catalogue stand for the ones that tests make of other expressions by the same generator.
fn form(name: &str) -> Option<String> {
    let (form, _) = match name.split_once("/fused/") {
        Some(parts) => parts,
        None => ("fused", name.strip_prefix("fused/")?),
    };
    let parts = form
        .split('/')
        .filter(|part| part.parse::<DType>().is_err());
    Some(parts.collect::<Vec<_>>().join("/"))
}

/// Rows, columns and depth of a kernel that computes in tiles. They are not compared with the rest, since a kernel of each
/// dtype need not run in each tile; but some kernel must.
fn tile(constants: impl Iterator<Item = String>) -> Option<String> {
    let extents = ["COLS=", "DEPTH=", "ROWS="];
    let mut all: Vec<String> = constants
        .filter(|constant| extents.iter().any(|name| constant.starts_with(name)))
        .collect();
    all.sort();
    (all.len() == extents.len()).then(|| all.join(" "))
}

/// `name=value` of the constants that are compared, by name.
fn compared(constants: impl Iterator<Item = String>) -> String {
    let sizes = |constant: &String| {
        let name = constant.split('=').next().unwrap_or_default();
        SIZES.iter().any(|(size, _)| *size == name)
    };
    let mut all: Vec<String> = constants
        .filter(|constant| !constant.is_empty() && !sizes(constant))
        .collect();
    all.sort();
    all.join(" ")
}

/// The hash of a kernel's text as it is compiled, with its parameters declared as in `part`.
fn hash(kernel: &KernelDescriptor, part: (&'static str, &'static str)) -> u64 {
    let source = &kernel.source;
    let mut other = ShaderSource::new(source.name().to_owned());
    for old in source.parts() {
        let is_params = [IMMEDIATE_PART.0, UNIFORM_PART.0].contains(&&*old.file);
        other = if is_params {
            other.part(part.0, part.1)
        } else {
            other.part(old.file.clone(), old.text.clone())
        };
    }
    Program::hash(&kernel.as_compiled(other.text()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::borrow::Cow;

    use super::*;

    fn variant(
        name: &'static str,
        text: &'static str,
        constants: &[(&'static str, f64)],
    ) -> Variant {
        let source = ShaderSource::new(name)
            .part(UNIFORM_PART.0, UNIFORM_PART.1)
            .part("body.wgsl", text);
        let descriptor = constants.iter().fold(
            KernelDescriptor::new(source),
            |descriptor, (name, value)| descriptor.constant(*name, *value),
        );
        Variant {
            name: name.to_owned(),
            descriptor,
            params: Cow::Borrowed(&[]),
        }
    }

    /// The report of a run of these: name, text, constants.
    fn report(ran: &[(&str, &str, &str)]) -> Report {
        let lines = ran.iter().map(|(name, text, constants)| {
            let text = ShaderSource::new((*name).to_owned())
                .part(IMMEDIATE_PART.0, IMMEDIATE_PART.1)
                .part("body.wgsl", (*text).to_owned())
                .text();
            format!("ran\t{name}\t{:016x}\t{constants}\n", Program::hash(&text))
        });
        let folder = super::super::scratch();
        std::fs::write(folder.join("1.report"), lines.collect::<String>()).unwrap();
        let report = Report::read(&folder).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        report
    }

    fn problems(ran: &[(&str, &str, &str)]) -> Vec<String> {
        let variants = [
            variant("sum/f32", "one", &[("LEAST", 0.0), ("WG", 256.0)]),
            variant("sum/f32", "one", &[("LEAST", 1.0), ("WG", 256.0)]),
            variant("sum/f16", "two", &[]),
            variant("sum/f16/fused/add", "three", &[]),
        ];
        compare(&variants, &report(ran), &[]).1
    }

    const ALL: [(&str, &str, &str); 4] = [
        ("sum/f32", "one", "LEAST=0 WG=64"),
        ("sum/f32", "one", "LEAST=1 WG=8"),
        ("sum/f16", "two", ""),
        ("sum/bf16/fused/mul+neg", "four", ""),
    ];

    #[test]
    fn all_have_run_wherever_parameters_come_from_and_whatever_the_sizes() {
        assert_eq!(problems(&ALL), Vec::<String>::new());
    }

    #[test]
    fn parts_that_ran_with_others_count_and_parts_that_did_not_run_are_seen() {
        let joined = |op: &'static str, body: &'static str| {
            let mut variant = variant("", body, &[]);
            let source = ShaderSource::new(format!("{op}/{body}"))
                .part(UNIFORM_PART.0, UNIFORM_PART.1)
                .part("op.wgsl", op)
                .part("body.wgsl", body);
            variant.descriptor.source = source;
            variant
        };
        let variants = [
            ("abs", "flat"),
            ("neg", "flat"),
            ("neg", "rows"),
            ("abs", "rows"),
            ("exp", "rows"),
        ];
        let variants = variants.map(|(op, body)| joined(op, body));
        let lines: String = variants[..3]
            .iter()
            .map(|variant| {
                let source = &variant.descriptor.source;
                format!(
                    "ran\t{}\t{:016x}\t\n",
                    source.name(),
                    hash(&variant.descriptor, IMMEDIATE_PART)
                )
            })
            .collect();
        let folder = super::super::scratch();
        std::fs::write(folder.join("1.report"), lines).unwrap();
        let report = Report::read(&folder).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        let (line, problems) = compare(&variants, &report, &[]);
        assert_eq!(
            line,
            "3 of 5 variants of the catalogue ran, and the parts of 1 more"
        );
        assert_eq!(problems, ["exp/rows did not run"]);
    }

    #[test]
    fn a_variant_that_has_not_run_is_named() {
        for (left_out, named) in [
            (0, "sum/f32 LEAST=0 did not run"),
            (1, "sum/f32 LEAST=1 did not run"),
            (2, "sum/f16 did not run"),
            (3, "sum/f16/fused/add did not run"),
        ] {
            let mut ran = ALL.to_vec();
            ran.remove(left_out);
            assert_eq!(problems(&ran), [named]);
        }
        let mut other = ALL;
        other[2].1 = "another text";
        assert_eq!(problems(&other), ["sum/f16 did not run"]);
    }

    #[test]
    fn a_tile_that_has_not_run_is_named() {
        let tiled = |cols: f64| {
            let extents = [("COLS", cols), ("DEPTH", 8.0), ("ROWS", 32.0)];
            variant("matmul/f32", "one", &extents)
        };
        let variants = [tiled(32.0), tiled(64.0)];
        let ran = report(&[("matmul/f32", "one", "COLS=32 DEPTH=8 ROWS=32")]);
        let problems = compare(&variants, &ran, &[]).1;
        assert_eq!(
            problems,
            ["no product ran in the tile COLS=64 DEPTH=8 ROWS=32"]
        );
    }

    #[test]
    fn an_excuse_is_taken_and_an_idle_one_refused() {
        let variants = [variant("lu/f32", "one", &[])];
        let excused = [("lu/", "a reason")];
        assert!(compare(&variants, &report(&[]), &excused).1.is_empty());
        let idle = compare(&variants, &report(&[("lu/f32", "one", "")]), &excused).1;
        assert_eq!(idle, ["all of lu/ ran, but it is excused"]);
    }
}
