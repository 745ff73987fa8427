//! One shader: a file with what it imports.

use std::fs;
use std::path::Path;

use naga::back::pipeline_constants::process_overrides;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, ShaderStage, Span};
use ziggurat_core::debug_print;
use ziggurat_core::wgsl::errors::said as said_by;
use ziggurat_core::wgsl::imports::{Found, paths, resolve};
use ziggurat_core::wgsl::words;
use ziggurat_pipeline::{
    KernelDescriptor, KernelWarning, LimitError, PipelineError, Pipelines, Place, Reflection,
    ShaderFeatures, ShaderSource, check_limits, reflect,
};
use ziggurat_shaders::IMPORTABLE;

use crate::checker::{Checker, problem};
use crate::class::Class;
use crate::lints;
use crate::report::{Level, Problem, Report};
use crate::translate::Language;

pub(crate) struct Shader {
    pub(crate) name: String,
    pub(crate) source: ShaderSource,
    /// All files together, as compilers can read them.
    text: String,
    places: debug_print::Places,
}

/// A kernel with what is known of it.
pub(crate) struct Entry<'a> {
    pub(crate) shader: &'a Shader,
    pub(crate) name: &'a str,
    pub(crate) reflection: &'a Reflection,
}

impl Shader {
    pub(crate) fn new(name: &str, text: &str) -> Result<Self, Problem> {
        let find = |name: &str, from: &str| {
            if let Some(own) = IMPORTABLE.iter().find(|piece| piece.name == name) {
                return Ok(Found {
                    needs: own.needs,
                    ..Found::new(name, own.text)
                });
            }
            let beside = paths(name, from);
            let found = beside.into_iter().find_map(|path| {
                let text = fs::read_to_string(&path).ok()?;
                Some(Found::new(path, text))
            });
            found.ok_or_else(|| {
                format!("there is no file `{name}` in the folder of this one, and the library has no piece of that name")
            })
        };
        // Files that import this one give it such a name, too.
        let [_, name] = paths(name, name);
        let files = resolve(&name, text, &find).map_err(|error| Problem {
            line: error.line,
            column: error.column,
            snippet: error.snippet,
            ..problem(Path::new(&error.file), &error.detail)
        })?;
        let source = files
            .into_iter()
            .fold(ShaderSource::new(name.clone()), |source, (file, text)| {
                source.part(file, text)
            });
        let written = source.text();
        let expanded = debug_print::expanded(&written);
        let (text, places) = (expanded.text.into_owned(), expanded.places);
        Ok(Self {
            name,
            source,
            text,
            places,
        })
    }

    /// All files together, as compilers read them.
    pub(crate) fn compiled(&self) -> &str {
        &self.text
    }

    /// What it imports.
    pub(crate) fn imported(&self) -> Vec<String> {
        let parts = self.source.parts();
        let others = parts.iter().take(parts.len().saturating_sub(1));
        others.map(|part| part.file.to_string()).collect()
    }

    /// Whether it has no entry point.
    pub(crate) fn is_piece(&self) -> bool {
        let own = self.source.parts().last();
        own.is_none_or(|own| {
            !words(&own.text).any(|word| ["compute", "vertex", "fragment"].contains(&word))
        })
    }

    /// A problem at a place of the text as compilers read it.
    pub(crate) fn problem(&self, span: Span, level: Level, message: String) -> Problem {
        let range = span.to_range().unwrap_or(0..0);
        let range = self.places.original(range.start)..self.places.original(range.end);
        let error = PipelineError::refused(&self.source, range, message);
        let mut problem = self.of(&error);
        problem.level = level;
        problem
    }

    /// What is warned of when a kernel is created.
    pub(crate) fn warned(&self, warning: &KernelWarning) -> Problem {
        let place = warning.place.as_ref().clone();
        Problem {
            file: place.file,
            line: place.line,
            column: place.column,
            level: Level::Warning,
            message: warning.message.to_owned(),
            snippet: place.snippet,
        }
    }

    fn of(&self, error: &PipelineError) -> Problem {
        let whole = error.to_string();
        let place = error.place().cloned().unwrap_or_else(|| Place {
            file: self.name.clone(),
            ..Place::default()
        });
        let mut message = whole.as_str();
        for prefix in [format!("{}: ", self.name), format!("{place}: ")] {
            message = message.strip_prefix(&prefix).unwrap_or(message);
        }
        let message = message.strip_suffix(&place.snippet).unwrap_or(message);
        Problem {
            message: message.trim_end().to_owned(),
            file: place.file,
            line: place.line,
            column: place.column,
            level: Level::Error,
            snippet: place.snippet,
        }
    }

    pub(crate) fn check(&self, checker: &Checker, pipelines: Option<&Pipelines>) -> Report {
        let mut report = Report::default();
        // Size and depth first: nothing else reads a text that is over the limits.
        let plain = KernelDescriptor::new(self.source.clone());
        let first = match reflect(&plain, ShaderFeatures::all()) {
            Err(
                PipelineError::AmbiguousEntryPoint { .. }
                | PipelineError::NoEntryPoint { .. }
                | PipelineError::MissingConstant { .. },
            )
            | Ok(_) => None,
            Err(error) => Some(error),
        };
        let module = naga::front::wgsl::parse_str(&self.text).ok();
        let module =
            module.filter(|_| !matches!(first, Some(PipelineError::ShaderTooLarge { .. })));
        let Some(module) = module else {
            report.refused += self.entry_points();
            let mistakes = first.iter().flat_map(PipelineError::mistakes);
            report.problems.extend(mistakes.map(|error| self.of(error)));
            return report;
        };
        let points = module.entry_points.iter();
        let compute = points.filter(|point| point.stage == ShaderStage::Compute);
        let kernels = compute.count();
        if kernels == 0 && !module.entry_points.is_empty() {
            // Shaders for drawing are somebody else's.
            return report;
        }
        if let Some(
            error @ (PipelineError::Limit(LimitError::UnsupportedBinding { .. })
            | PipelineError::Compile { .. }),
        ) = &first
        {
            // naga's validator panics on some of these.
            report.refused += kernels.max(1);
            report.problems.push(self.of(error));
            return report;
        }
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
        let info = match validator.validate(&module) {
            Ok(info) => info,
            Err(error) => {
                report.refused += kernels.max(1);
                let entry = module.entry_points.first().map(|point| point.name.clone());
                let named = entry.map(|entry| plain.entry(entry));
                let said = named.and_then(|named| reflect(&named, ShaderFeatures::all()).err());
                let mistakes = said.iter().flat_map(PipelineError::mistakes);
                report.problems.extend(mistakes.map(|error| self.of(error)));
                if said.is_none() {
                    let mut spans = error.spans();
                    let span = spans.next().map_or(Span::UNDEFINED, |(span, _)| *span);
                    let words = said_by(error.as_inner());
                    let problem = self.problem(span, Level::Error, words);
                    report.problems.push(problem);
                }
                return report;
            }
        };
        report.problems.extend(lints::file(self, &module, &info));
        let points = module.entry_points.iter();
        for point in points.filter(|point| point.stage == ShaderStage::Compute) {
            self.entry(
                checker,
                pipelines,
                (&module, &info),
                &point.name,
                &mut report,
            );
        }
        report
    }

    fn entry(
        &self,
        checker: &Checker,
        pipelines: Option<&Pipelines>,
        (module, info): (&Module, &ModuleInfo),
        entry: &str,
        report: &mut Report,
    ) {
        let mut descriptor = KernelDescriptor::new(self.source.clone()).entry(entry.to_owned());
        let mut constants = naga::back::PipelineConstants::default();
        for (_, declared) in module.overrides.iter() {
            let id = declared.id.map(|id| id.to_string());
            let Some(name) = id.or_else(|| declared.name.clone()) else {
                continue;
            };
            let given = checker.constants.iter().find(|(given, _)| *given == name);
            if let Some((_, value)) = given {
                constants.insert(name.clone(), *value);
                descriptor = descriptor.constant(name, *value);
            }
        }
        let reflection = match reflect(&descriptor, ShaderFeatures::all()) {
            Ok(reflection) => reflection,
            Err(error) => {
                report.refused += 1;
                report.problems.push(self.of(&error));
                return;
            }
        };
        let before = report.problems.len();
        for class in Class::ALL {
            match check_limits(&reflection, &class.limits()) {
                Ok(()) => *report.within.entry(class).or_default() += 1,
                Err(error) if checker.classes.contains(&class) => {
                    let mut problem = self.of(&error);
                    problem.message = format!("{} (limits of class {class})", problem.message);
                    report.problems.push(problem);
                }
                Err(_) => {
                    report.within.entry(class).or_default();
                }
            }
        }
        if let Some(Err(error)) = pipelines.map(|pipelines| pipelines.kernel(&descriptor)) {
            report.problems.push(self.of(&error));
        }
        let stage = (ShaderStage::Compute, entry);
        let resolved = process_overrides(module, info, Some(stage), &constants);
        if let Ok((resolved, resolved_info)) = resolved {
            for language in Language::ALL {
                if let Err(message) = language.translate(&resolved, &resolved_info, entry) {
                    let level = match checker.languages.contains(&language) {
                        true => Level::Error,
                        false => Level::Warning,
                    };
                    let at = self.function(entry);
                    let message = format!("`{entry}` cannot be written in {language}: {message}");
                    report.problems.push(self.problem(at, level, message));
                }
            }
        }
        let is_good = |problem: &Problem| problem.level != Level::Error;
        match report.problems.iter().skip(before).all(is_good) {
            true => report.accepted += 1,
            false => report.refused += 1,
        }
        report.problems.extend(lints::entry(&Entry {
            shader: self,
            name: entry,
            reflection: &reflection,
        }));
    }

    /// Compute entry points of a text that is no WGSL; at least one.
    fn entry_points(&self) -> usize {
        let tokens = ziggurat_core::wgsl::tokens(&self.text);
        let after = ziggurat_core::wgsl::tokens(&self.text).skip(1);
        let pairs = tokens.zip(after);
        let compute = pairs.filter(|((_, sign), (_, word))| (*sign, *word) == ("@", "compute"));
        compute.count().max(1)
    }

    /// The place of a function's name.
    pub(crate) fn function(&self, name: &str) -> Span {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let found = ziggurat_core::wgsl::function(&self.text, name);
        found.map_or(Span::UNDEFINED, |found| {
            Span::new(number(found.start), number(found.end))
        })
    }
}
