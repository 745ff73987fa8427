//! Reports of whole processes, as files in a folder: for test suites that open their own devices.
//!
//! A process appends to a file of its own what it has not written before. A line is a finding or a
//! kernel that ran; its fields are between tabs, with tabs, line breaks and backslashes escaped.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use parking_lot::Mutex;

use super::Sanitizer;
use super::kind::Checks;
use super::report::{Finding, Invocation, Program, Report, Side};

/// The file of this process.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
}

impl Log {
    pub(super) fn finding(&mut self, finding: &Finding) {
        let mut fields = vec![
            if finding.own { "own" } else { "finding" }.to_owned(),
            finding.kind.name().to_owned(),
            finding.kernel.clone(),
            finding.file.clone(),
            finding.line.to_string(),
            finding.code.clone(),
            finding.message.clone(),
            finding.count.to_string(),
        ];
        for side in finding.by.iter().chain(&finding.other) {
            let Invocation { workgroup, local } = side.invocation;
            fields.extend([side.file.clone(), side.line.to_string(), side.code.clone()]);
            fields.extend(workgroup.iter().chain(&local).map(u32::to_string));
            fields.push(side.does.clone());
        }
        self.line(&fields);
    }

    pub(super) fn ran(&mut self, program: &Program) {
        let text = format!("{:016x}", program.text);
        self.line(&[
            "ran".to_owned(),
            program.kernel.clone(),
            text,
            program.constants.clone(),
        ]);
    }

    /// A report that cannot be written is missed by whoever reads it: nothing else to do here.
    fn line(&mut self, fields: &[String]) {
        let fields: Vec<String> = fields.iter().map(|field| escape(field)).collect();
        let _ = self.file.write_all((fields.join("\t") + "\n").as_bytes());
    }
}

/// The sanitizer of this process that writes into `folder`.
///
/// # Errors
///
/// If its file cannot be made.
pub(super) fn sanitizer(folder: &Path, checks: Checks) -> io::Result<Sanitizer> {
    static OPEN: OnceLock<Mutex<HashMap<PathBuf, Sanitizer>>> = OnceLock::new();
    let mut open = OPEN.get_or_init(Mutex::default).lock();
    if let Some(known) = open.get(folder) {
        return Ok(known.clone());
    }
    std::fs::create_dir_all(folder)?;
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    let id = std::process::id();
    let mut number = 0u32;
    // Process ids come again.
    let file = loop {
        match options.open(folder.join(format!("{id}-{number}.report"))) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            other => break other?,
        }
    };
    let sanitizer = Sanitizer::logging(checks, Log { file });
    open.insert(folder.to_owned(), sanitizer.clone());
    Ok(sanitizer)
}

/// Everything that processes have written into a folder.
pub(super) fn read(folder: &Path) -> io::Result<Report> {
    let mut report = Report::default();
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths
        .iter()
        .filter(|path| path.extension() == Some("report".as_ref()))
    {
        let text = std::fs::read_to_string(path)?;
        for line in text.lines() {
            let fields: Vec<String> = line.split('\t').map(unescape).collect();
            if add(&mut report, &fields).is_none() {
                let message = format!("{}: not a line of a report: {line}", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
    }
    Ok(report)
}

fn add(report: &mut Report, fields: &[String]) -> Option<()> {
    let (what, fields) = fields.split_first()?;
    match (what.as_str(), fields) {
        ("ran", [kernel, text, constants]) => report.ran(Program {
            kernel: kernel.clone(),
            text: u64::from_str_radix(text, 16).ok()?,
            constants: constants.clone(),
        }),
        ("finding" | "own", [kind, kernel, file, line, code, message, count, sides @ ..]) => {
            let mut sides = sides.chunks(SIDE).map(side);
            report.add(Finding {
                kind: kind.parse().ok()?,
                kernel: kernel.clone(),
                file: file.clone(),
                line: line.parse().ok()?,
                code: code.clone(),
                message: message.clone(),
                by: sides.next().map_or(Some(None), |side| side.map(Some))?,
                other: sides.next().map_or(Some(None), |side| side.map(Some))?,
                count: count.parse().ok()?,
                own: what == "own",
            });
            true
        }
        _ => return None,
    };
    Some(())
}

/// Fields of a side.
const SIDE: usize = 10;

fn side(fields: &[String]) -> Option<Side> {
    let [file, line, code, ids @ .., does] = fields else {
        return None;
    };
    let ids: Vec<u32> = ids
        .iter()
        .map(|id| id.parse())
        .collect::<Result<_, _>>()
        .ok()?;
    let (workgroup, local) = ids.split_at_checked(3)?;
    Some(Side {
        file: file.clone(),
        line: line.parse().ok()?,
        code: code.clone(),
        invocation: Invocation {
            workgroup: workgroup.try_into().ok()?,
            local: local.try_into().ok()?,
        },
        does: does.clone(),
    })
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\t', "\\t")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                other => other.unwrap_or('\\'),
            },
            c => c,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::sanitize::Kind;

    fn example() -> Finding {
        let side = Side {
            file: "a\tb.wgsl".to_owned(),
            line: 3,
            code: "x = \"\\n\";".to_owned(),
            invocation: Invocation {
                workgroup: [1, 2, 3],
                local: [4, 5, 6],
            },
            does: "writes\nit".to_owned(),
        };
        Finding {
            kind: Kind::Race,
            kernel: "k".to_owned(),
            file: "a".to_owned(),
            line: 3,
            code: String::new(),
            message: "m\\".to_owned(),
            by: Some(side.clone()),
            other: Some(side),
            count: 7,
            own: false,
        }
    }

    #[test]
    fn a_report_comes_back_as_it_was_written() {
        let folder = std::env::temp_dir().join(format!("ziggurat-log-{}", std::process::id()));
        let sanitizer = sanitizer(&folder, Checks::default()).unwrap();
        let alone = Finding {
            by: None,
            other: None,
            line: 9,
            ..example()
        };
        let program = Program {
            kernel: "k".to_owned(),
            text: 17,
            constants: "WG=64".to_owned(),
        };
        sanitizer.note(vec![example(), alone.clone()], program.clone());
        let own = Finding {
            own: true,
            ..example()
        };
        sanitizer.note(vec![example(), own.clone()], program.clone());
        let report = read(&folder).unwrap();
        assert_eq!(report.internal(), [own]);
        assert_eq!(report.findings(), [example(), alone]);
        assert_eq!(report.programs().collect::<Vec<_>>(), [&program]);
        std::fs::write(folder.join("1.report"), "finding\trace\n").unwrap();
        assert!(read(&folder).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
