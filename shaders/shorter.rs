//! Text without what is for people only. `build.rs` uses this file too: a page that loads a program gets the short texts.

/// The text without comments and without blanks at either end of a line. Lines stay lines, so that a compiler's line is the
/// file's. (`//` always begins a comment: WGSL has no texts in quotes; the files have no `/*`, which a test sees to.)
pub(crate) fn shorter(text: &str) -> String {
    let code = |line: &str| match line.split_once("//") {
        Some((code, _)) => code.trim().to_owned(),
        None => line.trim().to_owned(),
    };
    let lines: Vec<String> = text.split('\n').map(code).collect();
    lines.join("\n")
}
