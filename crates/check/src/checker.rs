//! All shaders of a folder.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ziggurat_core::large_stack;

use crate::class::Class;
use crate::file::Shader;
use crate::report::{Level, Problem, Report};
use crate::software;
use crate::translate::Language;

/// How long one file may take if nobody says so.
const TIME: Duration = Duration::from_secs(120);

/// Larger files are not read.
const MAX_BYTES: u64 = 16 << 20;

/// What shaders are checked against.
#[derive(Clone, Debug, PartialEq)]
pub struct Checker {
    pub(crate) classes: Vec<Class>,
    pub(crate) languages: Vec<Language>,
    pub(crate) constants: Vec<(String, f64)>,
    time: Duration,
    on_software: bool,
}

impl Default for Checker {
    fn default() -> Self {
        Self {
            classes: vec![Class::WebGpu],
            languages: vec![Language::SpirV, Language::Msl, Language::Hlsl],
            constants: Vec::new(),
            time: TIME,
            on_software: false,
        }
    }
}

impl Checker {
    /// WebGPU's limits, and the languages of Vulkan, Metal and DirectX 12. GLSL has fewer features: what it lacks is a
    /// warning.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Refuses what is over the limits of any of these classes, instead of WebGPU's.
    #[must_use]
    pub fn classes(mut self, classes: impl IntoIterator<Item = Class>) -> Self {
        self.classes = classes.into_iter().collect();
        self
    }

    /// Refuses what cannot be written in any of these languages; what the others cannot is a warning.
    #[must_use]
    pub fn languages(mut self, languages: impl IntoIterator<Item = Language>) -> Self {
        self.languages = languages.into_iter().collect();
        self
    }

    /// The value of an `override`, in shaders that have it: one without a default needs one.
    #[must_use]
    pub fn constant(mut self, name: impl Into<String>, value: f64) -> Self {
        self.constants.push((name.into(), value));
        self
    }

    /// How long one file may take, instead of two minutes: it is refused when that is over.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time = limit;
        self
    }

    /// Creates the pipeline of every entry point on the software device, too, which has a desktop GPU's limits and every
    /// [`ShaderFeature`](ziggurat_pipeline::ShaderFeature): what it cannot run is refused. Nothing is dispatched.
    #[must_use]
    pub fn on_software_device(mut self) -> Self {
        self.on_software = true;
        self
    }

    /// Checks a `.wgsl` file, or all below a folder. Imports are the library's pieces and files in the folder of the one that imports
    /// them; a file without entry points that others import is checked with them.
    #[must_use]
    pub fn check(&self, path: impl AsRef<Path>) -> Report {
        let path = path.as_ref();
        let mut report = Report::default();
        let pipelines = match self.on_software.then(software::pipelines).transpose() {
            Ok(pipelines) => pipelines,
            Err(error) => {
                report.add(refused(
                    path,
                    &format!("there is no software device: {error}"),
                ));
                return report;
            }
        };
        let mut files = Vec::new();
        if let Err(error) = collect(path, true, &mut files) {
            report.add(refused(path, &error.to_string()));
        } else if files.is_empty() {
            report.add(refused(path, "there is no `.wgsl` file"));
        }
        files.sort();
        let shaders: Vec<_> = files.iter().map(|file| read(file)).collect();
        let imported: Vec<String> = shaders
            .iter()
            .flatten()
            .flat_map(Shader::imported)
            .collect();
        for (file, shader) in files.iter().zip(shaders) {
            report.files.push(file.display().to_string());
            let found = match shader {
                Err(problem) => failed(problem),
                Ok(shader) if shader.is_piece() && imported.contains(&shader.name) => continue,
                Ok(shader) => {
                    let (this, name) = (self.clone(), shader.name.clone());
                    let pipelines = pipelines.clone();
                    let work = move || shader.check(&this, pipelines.as_ref());
                    let done = large_stack::run(self.time, || catch_unwind(AssertUnwindSafe(work)));
                    let refused = |why: String| refused(Path::new(&name), &why);
                    match done {
                        Ok(Ok(report)) => report,
                        Ok(Err(panic)) => {
                            let words = large_stack::panic_words(&*panic);
                            refused(format!("the WGSL compiler (naga) panicked on it: {words}"))
                        }
                        Err(error) => refused(format!("checking it was given up: {error}")),
                    }
                }
            };
            report.add(found);
        }
        report
    }
}

/// The `.wgsl` files below a folder, or the file itself. Hidden folders and `target` are not looked into.
fn collect(path: &Path, is_top: bool, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_dir() {
        if !is_top && (name.starts_with('.') || name == "target") {
            return Ok(());
        }
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), false, found)?;
        }
    } else if is_top || name.ends_with(".wgsl") {
        // A path that is not there is an error here.
        fs::metadata(path)?;
        found.push(path.to_owned());
    }
    Ok(())
}

/// A file with all that it imports.
fn read(file: &Path) -> Result<Shader, Problem> {
    let fail = |error: io::Error| problem(file, &error.to_string());
    if fs::metadata(file).map_err(fail)?.len() > MAX_BYTES {
        return Err(problem(file, "it has more than 16 MiB"));
    }
    let text = fs::read_to_string(file).map_err(fail)?;
    Shader::new(&file.display().to_string(), &text)
}

pub(crate) fn problem(file: &Path, message: &str) -> Problem {
    Problem {
        file: file.display().to_string(),
        line: 0,
        column: 0,
        level: Level::Error,
        message: message.to_owned(),
        snippet: String::new(),
    }
}

fn failed(problem: Problem) -> Report {
    Report {
        refused: 1,
        problems: vec![problem],
        ..Report::default()
    }
}

fn refused(file: &Path, message: &str) -> Report {
    failed(problem(file, message))
}
