//! What was found, for programs and for people.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;

use super::kind::Kind;
use crate::engine::{Party, Raw};

/// An invocation of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// `workgroup_id`.
    pub workgroup: [u32; 3],
    /// `local_invocation_id`.
    pub local: [u32; 3],
}

/// One of the two sides of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Side {
    /// The WGSL file.
    pub file: String,
    /// The line in it, from 1.
    pub line: u32,
    /// The text of that line.
    pub code: String,
    /// Who.
    pub invocation: Invocation,
    /// What it does there, with the values.
    pub does: String,
}

/// Something wrong at one line of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What kind of wrong.
    pub kind: Kind,
    /// The pipeline's label.
    pub kernel: String,
    /// The WGSL file: a part of the source as the pipeline layer joined it, or the label of the
    /// shader module.
    pub file: String,
    /// The line in it, from 1.
    pub line: u32,
    /// The text of that line.
    pub code: String,
    /// What exactly, with values.
    pub message: String,
    /// Who did it, the first time.
    pub by: Option<Side>,
    /// The other side: of a race, or who does not reach a barrier.
    pub other: Option<Side>,
    /// How often it was seen.
    pub count: u64,
    /// Whether the kernel is Ziggurat's own.
    pub own: bool,
}

/// A shader's text and the files that it is made of.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    pub(crate) source: &'a str,
    /// Names and counts of lines, in order.
    pub(crate) parts: &'a [(String, u32)],
    /// What the text is called where no part is.
    pub(crate) label: &'a str,
    /// Whether it is the library's own.
    pub(crate) own: bool,
}

impl Text<'_> {
    /// The file of a line, the line in it, and its text.
    fn locate(&self, line: u32) -> (String, u32, String) {
        let index = (line as usize).checked_sub(1);
        let code = index.and_then(|index| self.source.lines().nth(index));
        let code = code.unwrap_or_default().trim().to_owned();
        let (file, line) = self.place(line);
        (file.to_owned(), line, code)
    }

    /// Whether a declaration on this line says that the kernel writes all that is bound.
    pub(crate) fn promises(&self, line: u32) -> bool {
        let index = (line as usize).checked_sub(1);
        let code = index.and_then(|index| self.source.lines().nth(index));
        code.is_some_and(super::allow::writes_all)
    }

    /// File and line of a line, and its text, for an error.
    pub(crate) fn described(&self, line: u32) -> String {
        let (file, number, code) = self.locate(line);
        if code.is_empty() {
            return format!("{file}:{number}");
        }
        format!("{file}:{number} (`{code}`)")
    }

    /// The file of a line, and the line in it.
    pub(crate) fn place(&self, line: u32) -> (&str, u32) {
        let mut rest = line;
        for (file, lines) in self.parts {
            if rest <= *lines {
                return (file, rest);
            }
            rest -= lines;
        }
        (self.label, line)
    }

    fn side(&self, party: Party) -> Side {
        let (file, line, code) = self.locate(party.line);
        Side {
            file,
            line,
            code,
            invocation: Invocation {
                workgroup: party.workgroup,
                local: party.invocation,
            },
            does: party.does,
        }
    }
}

impl Finding {
    pub(crate) fn new(kernel: &str, text: &Text<'_>, raw: Raw) -> Self {
        let (file, line, code) = text.locate(raw.line);
        let mut message = raw.message;
        if let Some((name, line)) = raw.with {
            let (file, line, _) = text.locate(line);
            message.push_str(&format!("; {name} is declared at {file}:{line}"));
        }
        Self {
            kind: raw.kind,
            kernel: kernel.to_owned(),
            file,
            line,
            code,
            message,
            by: raw.party.map(|party| text.side(party)),
            other: raw.other.map(|party| text.side(party)),
            count: raw.count,
            own: text.own,
        }
    }

    /// Whether it is a mistake of Ziggurat's, and not of the program. What a kernel of ours meets that depends on the
    /// program's memory and numbers is the program's all the same: memory that it has not written, an infinity of its own.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.own && !matches!(self.kind, Kind::Uninitialized | Kind::NonFinite)
    }

    /// The reason that a comment on the line gives why this is right:
    /// `// sanitizer: allow(shift): the reason`.
    #[must_use]
    pub fn allowed(&self) -> Option<&str> {
        super::allow::reason(&self.code, self.kind)
    }

    fn key(&self) -> (&str, &str, u32, Kind) {
        (&self.kernel, &self.file, self.line, self.kind)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            kernel,
            file,
            line,
            code,
            message,
            ..
        } = self;
        writeln!(f, "{kind}: kernel {kernel}, {file}:{line}: {message}")?;
        writeln!(f, "    {code}")?;
        for side in self.by.iter().chain(&self.other) {
            let Invocation { workgroup, local } = side.invocation;
            write!(
                f,
                "    workgroup {workgroup:?} invocation {local:?} {}",
                side.does
            )?;
            if (&side.file, side.line) != (file, *line) {
                write!(f, " at {}:{}: {}", side.file, side.line, side.code)?;
            }
            writeln!(f)?;
        }
        let times = if self.count == 1 { "once" } else { "times" };
        match self.count {
            1 => writeln!(f, "    seen {times}"),
            count => writeln!(f, "    seen {count} {times}"),
        }
    }
}

/// A kernel that ran: a text with its constants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Program {
    /// The pipeline's label.
    pub kernel: String,
    /// [`hash`](Self::hash) of the WGSL text.
    pub text: u64,
    /// Its pipeline constants, as `name=value` with spaces between, by name.
    pub constants: String,
}

impl Program {
    /// Tells texts apart: FNV-1a of their bytes.
    #[must_use]
    pub fn hash(text: &str) -> u64 {
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

/// All findings: one per kind, kernel and line, in that order of kernel, file and line.
#[derive(Clone, Debug, Default)]
pub struct Report {
    findings: Vec<Finding>,
    /// Those in kernels of the library.
    internal: Vec<Finding>,
    /// Those that their lines allow.
    allowed: Vec<Finding>,
    programs: BTreeSet<Program>,
}

impl Report {
    /// Everything that processes have written into a folder; see
    /// [`Sanitizer::into_folder`](super::Sanitizer::into_folder).
    ///
    /// # Errors
    ///
    /// If a file of it cannot be read, or is none of theirs.
    pub fn read(folder: &Path) -> io::Result<Self> {
        super::log::read(folder)
    }

    /// Whether nothing was found in the program's kernels.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// The findings.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What was found in kernels of Ziggurat's own, which the program cannot mend: an internal error, please report it.
    /// It does not count as a finding.
    #[must_use]
    pub fn internal(&self) -> &[Finding] {
        &self.internal
    }

    /// What was found and is right, as comments on the lines say: see [`Finding::allowed`].
    #[must_use]
    pub fn allowed(&self) -> &[Finding] {
        &self.allowed
    }

    /// The kernels that ran.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        self.programs.iter()
    }

    /// The labels of the kernels that ran, each once.
    #[must_use]
    pub fn kernels(&self) -> Vec<&str> {
        let labels: BTreeSet<&str> = self.programs().map(|one| one.kernel.as_str()).collect();
        labels.into_iter().collect()
    }

    /// The kinds that were found, each once.
    #[must_use]
    pub fn kinds(&self) -> Vec<Kind> {
        let kinds: BTreeSet<Kind> = self.findings.iter().map(|finding| finding.kind).collect();
        kinds.into_iter().collect()
    }

    /// Adds what another run found.
    pub fn merge(&mut self, other: Self) {
        let found = other.findings.into_iter().chain(other.internal);
        for finding in found.chain(other.allowed) {
            let _ = self.add(finding);
        }
        self.programs.extend(other.programs);
    }

    /// Removes the findings for which `f` is false.
    pub fn retain(&mut self, f: impl FnMut(&Finding) -> bool) {
        self.findings.retain(f);
    }

    /// Adds a finding, or its count; whether it is new.
    pub(crate) fn add(&mut self, finding: Finding) -> bool {
        let list = match finding.allowed() {
            Some(_) => &mut self.allowed,
            None if finding.is_internal() => &mut self.internal,
            None => &mut self.findings,
        };
        match list.binary_search_by(|known| known.key().cmp(&finding.key())) {
            Ok(at) => {
                if let Some(known) = list.get_mut(at) {
                    known.count += finding.count;
                }
                false
            }
            Err(at) => {
                list.insert(at, finding);
                true
            }
        }
    }

    /// A kernel has run; whether it is new.
    pub(crate) fn ran(&mut self, program: Program) -> bool {
        self.programs.insert(program)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            write!(f, "{finding}")?;
        }
        writeln!(
            f,
            "{} findings in {} kernels",
            self.findings.len(),
            self.kernels().len()
        )?;
        if self.internal.is_empty() {
            return Ok(());
        }
        let (count, kernels) = (self.internal.len(), self.internal.iter());
        let kernels: BTreeSet<&str> = kernels.map(|finding| finding.kernel.as_str()).collect();
        let kernels: Vec<&str> = kernels.into_iter().collect();
        writeln!(
            f,
            "internal error, please report it: {count} findings in kernels of Ziggurat's own ({})",
            kernels.join(", ")
        )
    }
}

#[cfg(test)]
mod tests;
