//! Nothing is declared for nothing.
//!
//! A binding that a kernel does not use is dropped from its layout and shifts what the host binds, so
//! that is refused per kernel. A function, constant or override may serve only some of the kernels that
//! include its file; one that serves none of them is dead.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::path::Path;

use naga::valid::GlobalUse;
use naga::{Block, Function, Handle, Module, Span, Statement};
use ziggurat_pipeline::{IMMEDIATE_PART, UNIFORM_PART};

use crate::problem::Problem;
use crate::wgsl::variant::{Parsed, Variant};

const RULE: &str = "unused";

/// Bindings and workgroup memory that this kernel declares and its entry point never touches.
pub(crate) fn globals(variant: &Variant, parsed: &Parsed) -> Vec<Problem> {
    let module = &parsed.module;
    let entry = parsed.info.get_entry_point(parsed.entry);
    let mut problems = Vec::new();
    for (handle, global) in module.global_variables.iter() {
        if entry[handle] == GlobalUse::empty()
            && (global.binding.is_some() || global.space == naga::AddressSpace::WorkGroup)
        {
            let name = global.name.as_deref().unwrap_or("?");
            let span = module.global_variables.get_span(handle);
            let message = format!("`{name}` is not used (kernel {})", variant.name);
            problems.push(variant.problem(&parsed.text, span, RULE, message));
        }
    }
    problems
}

/// A declared item: file, line, what it is.
type Item = (String, u32, String);

/// Which items of which files any kernel uses.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    declared: BTreeSet<Item>,
    used: BTreeSet<Item>,
    /// What was added, by its text.
    seen: HashSet<u64>,
}

impl Usage {
    /// Adds what one kernel declares and reaches. Those that differ in values of overrides, or in where parameters are, have the
    /// same items.
    pub(crate) fn add(&mut self, variant: &Variant, parsed: &Parsed) {
        let files = [UNIFORM_PART.0, IMMEDIATE_PART.0];
        let parts = variant.parts.iter();
        let text: Vec<_> = parts
            .filter(|part| !files.iter().any(|file| part.file.ends_with(file)))
            .map(|part| (&part.file, &part.text))
            .collect();
        let text = BuildHasherDefault::<DefaultHasher>::default().hash_one(text);
        if !self.seen.insert(text) {
            return;
        }
        let module = &parsed.module;
        let reached = reached_functions(parsed);
        for (handle, function) in module.functions.iter() {
            let item = item(
                variant,
                parsed,
                module.functions.get_span(handle),
                "function",
                function.name.as_deref(),
            );
            if reached.contains(&handle) {
                self.used.insert(item.clone());
            }
            self.declared.insert(item);
        }
        let words: BTreeMap<&str, usize> = word_counts(&parsed.text);
        let named = module
            .overrides
            .iter()
            .map(|(handle, value)| {
                (
                    module.overrides.get_span(handle),
                    "override",
                    value.name.as_deref(),
                )
            })
            .chain(module.constants.iter().map(|(handle, value)| {
                (
                    module.constants.get_span(handle),
                    "constant",
                    value.name.as_deref(),
                )
            }));
        for (span, kind, name) in named {
            let Some(name) = name else { continue };
            let item = item(variant, parsed, span, kind, Some(name));
            if words.get(name).copied().unwrap_or(0) > 1 {
                self.used.insert(item.clone());
            }
            self.declared.insert(item);
        }
    }

    /// Merges what another thread saw.
    pub(crate) fn merge(&mut self, other: Self) {
        self.declared.extend(other.declared);
        self.used.extend(other.used);
    }

    /// Items that no kernel uses.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        // Kernels have copies of a file under several names: what any copy is used for, the file declares for something.
        let copies: BTreeSet<_> = self
            .used
            .iter()
            .map(|(file, line, _)| (file, line))
            .collect();
        let is_copy = |(file, line, _): &&Item| {
            Path::new(file)
                .extension()
                .is_some_and(|kind| kind == "wgsl")
                && copies.contains(&(file, line))
        };
        self.declared
            .difference(&self.used)
            .filter(|item| !is_copy(item))
            .map(|(file, line, what)| {
                Problem::new(file, *line, RULE, format!("{what} is used by no kernel"))
            })
            .collect()
    }
}

fn item(variant: &Variant, parsed: &Parsed, span: Span, kind: &str, name: Option<&str>) -> Item {
    let (file, line) = variant.locate(span.location(&parsed.text).line_number);
    (
        file.to_owned(),
        line,
        format!("{kind} `{}`", name.unwrap_or("?")),
    )
}

/// Occurrences of each word outside comments.
fn word_counts(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for token in crate::wgsl::scan::tokens(text) {
        *counts.entry(token.text).or_insert(0) += 1;
    }
    counts
}

/// Functions that the entry point calls, directly or through others.
pub(crate) fn reached_functions(parsed: &Parsed) -> BTreeSet<Handle<Function>> {
    let mut reached = BTreeSet::new();
    if let Some(main) = parsed.main() {
        follow(&parsed.module, &main.body, &mut reached);
    }
    reached
}

fn follow(module: &Module, block: &Block, reached: &mut BTreeSet<Handle<Function>>) {
    for statement in block.iter() {
        match statement {
            Statement::Call { function, .. } if reached.insert(*function) => {
                follow(module, &module.functions[*function].body, reached);
            }
            Statement::Block(inner) => follow(module, inner, reached),
            Statement::If { accept, reject, .. } => {
                follow(module, accept, reached);
                follow(module, reject, reached);
            }
            Statement::Switch { cases, .. } => {
                cases
                    .iter()
                    .for_each(|case| follow(module, &case.body, reached));
            }
            Statement::Loop {
                body, continuing, ..
            } => {
                follow(module, body, reached);
                follow(module, continuing, reached);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wgsl::variant::{parse, planted};

    const TEXT: &str = "@group(0) @binding(1) var<storage, read> a: array<f32>;\n\
        @group(0) @binding(2) var<storage, read_write> out: array<f32>;\n\
        fn twice(x: f32) -> f32 { return x + x; }\n\
        fn four(x: f32) -> f32 { return twice(twice(x)); }\n\
        @compute @workgroup_size(1) fn main() { out[0] = four(a[0]); }";

    fn lines(text: &str) -> (Vec<u32>, Vec<u32>) {
        let variant = planted(text);
        let parsed = parse(&variant).unwrap();
        let mut usage = Usage::default();
        usage.add(&variant, &parsed);
        let lines =
            |problems: Vec<Problem>| problems.into_iter().map(|problem| problem.line).collect();
        (lines(globals(&variant, &parsed)), lines(usage.problems()))
    }

    #[test]
    fn what_is_reached_is_accepted() {
        assert_eq!(lines(TEXT), (vec![], vec![]));
    }

    #[test]
    fn an_unused_binding_is_rejected() {
        assert_eq!(lines(&TEXT.replace("four(a[0])", "four(1.0)")).0, [1]);
    }

    #[test]
    fn what_a_copy_under_another_name_is_used_for_counts() {
        let mut usage = Usage::default();
        let mut left = |text: &str| {
            let variant = planted(text);
            usage.add(&variant, &parse(&variant).unwrap());
            usage.problems().len()
        };
        let copy = TEXT.replace("twice", "twice_b");
        assert_eq!(left(&copy.replace("four(a[0])", "a[0]")), 2);
        assert_eq!(left(TEXT), 0);
    }

    #[test]
    fn a_function_or_constant_that_no_kernel_reaches_is_rejected() {
        assert_eq!(lines(&TEXT.replace("four(a[0])", "twice(a[0])")).1, [4]);
        assert_eq!(
            lines(&format!(
                "{TEXT}\nconst SPARE = 1u;\noverride LOOSE: u32 = 2u;"
            ))
            .1,
            [6, 7]
        );
    }

    #[test]
    fn a_function_that_another_kernel_reaches_is_accepted() {
        let mut usage = Usage::default();
        for text in [TEXT.to_owned(), TEXT.replace("four(a[0])", "twice(a[0])")] {
            let variant = planted(&text);
            usage.add(&variant, &parse(&variant).unwrap());
        }
        assert_eq!(usage.problems(), []);
    }
}
