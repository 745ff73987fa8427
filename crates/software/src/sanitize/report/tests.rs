//! Places of findings, which of them count, and how often one was seen.

#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;

fn raw(line: u32) -> Raw {
    Raw {
        kind: Kind::Shift,
        line,
        party: None,
        other: None,
        message: "a number of 32 bits by 33".to_owned(),
        with: None,
        count: 2,
    }
}

fn text(parts: &[(String, u32)]) -> Text<'_> {
    Text {
        source: "one\n  two\nthree\nfour\n",
        parts,
        label: "module",
        own: false,
    }
}

#[test]
fn lines_map_to_the_parts_that_they_come_from() {
    let parts = [("a.wgsl".to_owned(), 1), ("b.wgsl".to_owned(), 2)];
    let at = |line| {
        let finding = Finding::new("k", &text(&parts), raw(line));
        (finding.file, finding.line, finding.code)
    };
    assert_eq!(at(1), ("a.wgsl".to_owned(), 1, "one".to_owned()));
    assert_eq!(at(2), ("b.wgsl".to_owned(), 1, "two".to_owned()));
    assert_eq!(at(3), ("b.wgsl".to_owned(), 2, "three".to_owned()));
    assert_eq!(
        at(4),
        ("module".to_owned(), 4, "four".to_owned()),
        "no part"
    );
    let (file, line, code) = at(0);
    assert_eq!((file.as_str(), line, code.as_str()), ("a.wgsl", 0, ""));
}

#[test]
fn what_a_line_allows_is_kept_apart() {
    let text = Text {
        source: "a << b; // sanitizer: allow(shift): meant\na << b;\n",
        parts: &[],
        label: "module",
        own: false,
    };
    let mut report = Report::default();
    for line in [1, 2, 1] {
        let _ = report.add(Finding::new("k", &text, raw(line)));
    }
    let lines = |findings: &[Finding]| findings.iter().map(|f| f.line).collect::<Vec<_>>();
    assert_eq!(
        (lines(report.findings()), lines(report.allowed())),
        (vec![2], vec![1])
    );
    assert_eq!(report.allowed()[0].allowed(), Some("meant"));
    report.retain(|finding| finding.line != 2);
    assert!(report.is_clean());
    let mut all = Report::default();
    all.merge(report);
    assert_eq!((all.findings().len(), all.allowed().len()), (0, 1));
}

#[test]
fn what_is_found_in_own_kernels_is_no_finding_of_the_program() {
    let own = Text {
        own: true,
        ..text(&[])
    };
    let mut report = Report::default();
    let _ = report.add(Finding::new("sum/f32", &own, raw(1)));
    assert!(report.is_clean() && report.internal().len() == 1);
    let told = report.to_string();
    assert!(
        told.contains("internal error") && told.contains("sum/f32"),
        "{told}"
    );
    // Memory that the program has not written is the program's, whoever reads it.
    let unwritten = Raw {
        kind: Kind::Uninitialized,
        ..raw(2)
    };
    let _ = report.add(Finding::new("sum/f32", &own, unwritten));
    assert_eq!((report.findings().len(), report.internal().len()), (1, 1));
    let mut all = Report::default();
    all.merge(report);
    assert_eq!((all.findings().len(), all.internal().len()), (1, 1));
}

#[test]
fn findings_of_a_kind_at_a_line_are_one_with_a_count() {
    let mut report = Report::default();
    for line in [3, 1, 3] {
        let _ = report.add(Finding::new("k", &text(&[]), raw(line)));
    }
    let mut again = Report::default();
    let _ = again.add(Finding::new("k", &text(&[]), raw(1)));
    let program = Program {
        kernel: "k".to_owned(),
        text: Program::hash(""),
        constants: String::new(),
    };
    assert!(again.ran(program.clone()) && !again.ran(program));
    report.merge(again);
    let counts: Vec<_> = report
        .findings()
        .iter()
        .map(|f| (f.line, f.count))
        .collect();
    assert_eq!(counts, [(1, 4), (3, 4)]);
    assert_eq!(report.kernels(), ["k"]);
    assert!(report.to_string().contains("shift: kernel k, module:3"));
}
