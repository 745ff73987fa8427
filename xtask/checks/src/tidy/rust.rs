//! Rules for Rust files: names of modules, module docs, and what does not belong in finished code.

use crate::problem::Problem;
use crate::rust_text;
use xtask::workspace::TextFile;

const VAGUE: [&str; 6] = ["utils", "util", "helpers", "common", "base", "misc"];

pub(super) fn check(file: &TextFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut problem = |line: u32, rule: &'static str, message: &str| {
        problems.push(Problem::new(&file.path, line, rule, message));
    };
    let shared_test_code = file.path.ends_with("tests/common/mod.rs");
    if file.path.ends_with("/mod.rs") && !shared_test_code {
        problem(0, "mod-rs", "a family is foo.rs + foo/, not foo/mod.rs");
    }
    let folders = file
        .path
        .rsplit_once('/')
        .map_or("", |(folders, _)| folders);
    let parts = folders.split('/').chain([file.stem()]);
    if !file.path.contains("tests/common/") && parts.into_iter().any(|part| VAGUE.contains(&part)) {
        problem(
            0,
            "module-name",
            "modules are named after what they hold, not utils, helpers, common, base or misc",
        );
    }
    if !opens_with_docs(&file.text) {
        problem(
            1,
            "module-docs",
            "the module does not open with `//!`: what, why, invariants",
        );
    }
    let code = rust_text::code_only(&file.text);
    let tests = rust_text::test_lines(&code);
    let in_test = |line: u32| {
        rust_text::is_test_file(&file.path)
            || !file.path.contains("/src/")
            || tests.get(line as usize - 1).copied().unwrap_or(false)
    };
    for word in ["todo!", "unimplemented!", "dbg!"] {
        let name = word.trim_end_matches('!');
        let hits: Vec<u32> = rust_text::lines_with_word(&code, name).collect();
        for line in hits.into_iter().filter(|line| line_has(&code, *line, word)) {
            problem(line, "unfinished", &format!("`{word}` in committed code"));
        }
    }
    let excepted = file.text.contains("clippy::unwrap_used");
    let unwraps: Vec<u32> = rust_text::lines_with_word(&code, "unwrap").collect();
    for line in unwraps
        .into_iter()
        .filter(|line| line_has(&code, *line, ".unwrap()"))
    {
        if !in_test(line) && !excepted {
            problem(line, "unwrap", "`.unwrap()` outside tests");
        }
    }
    let unsafes: Vec<u32> = rust_text::lines_with_word(&code, "unsafe").collect();
    for line in unsafes
        .into_iter()
        .filter(|line| is_unsafe_code(&code, *line))
    {
        if !explained(&file.text, line) {
            problem(
                line,
                "safety",
                "`unsafe` without a `SAFETY:` comment above it",
            );
        }
    }
    for (line, text) in (1..).zip(file.text.lines()) {
        if is_skipped_example(text) {
            let message =
                "an example that returns where there is no device proves nothing: use `?`";
            problem(line, "example", message);
        }
        // What JavaScript awaits is a promise, which keeps its result.
        let in_page = file.path.starts_with("xtask/web/");
        if is_fallible_async(&file.text, line) && !in_test(line) && !in_page {
            let message = "polled again after its result, this panics: give the future to `once`";
            problem(line, "async-fn", message);
        }
    }
    problems
}

/// A line of documentation that ends the example without having run it.
fn is_skipped_example(line: &str) -> bool {
    let line = line.trim_start();
    (line.starts_with("///") || line.starts_with("//!"))
        && line.contains("else { return")
        && line.contains("device")
}

/// Whether a public `async fn` begins here whose result could be an error.
fn is_fallible_async(text: &str, line: u32) -> bool {
    let mut lines = text.lines().skip(line as usize - 1);
    lines.next().is_some_and(|first| {
        let signature = std::iter::once(first).chain(lines.take(6));
        let signature: Vec<&str> = signature
            .take_while(|line| !line.trim().is_empty())
            .collect();
        let signature = signature.join(" ");
        let head = signature.split(" {").next().unwrap_or_default();
        first.trim_start().starts_with("pub async fn") && head.contains("-> Result<")
    })
}

fn opens_with_docs(text: &str) -> bool {
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
    first.is_none_or(|line| line.starts_with("//!"))
}

fn line_has(code: &str, line: u32, what: &str) -> bool {
    code.lines()
        .nth(line as usize - 1)
        .is_some_and(|text| text.contains(what))
}

/// False for `unsafe_code` in attributes and the like, which `lines_with_word` already leaves out, and
/// for `unsafe` in a type such as `unsafe fn()`.
fn is_unsafe_code(code: &str, line: u32) -> bool {
    line_has(code, line, "unsafe {")
        || line_has(code, line, "unsafe impl")
        || line_has(code, line, "unsafe fn ")
}

/// True if the lines above, or the line itself, hold a `SAFETY:` comment or a `# Safety` section.
fn explained(text: &str, line: u32) -> bool {
    let end = line as usize;
    // A section of a function's documentation may take a paragraph.
    let start = end.saturating_sub(16);
    let mut above = text.lines().skip(start).take(end - start);
    above.any(|line| line.contains("SAFETY:") || line.contains("# Safety"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        check(&TextFile::new(path, text))
            .into_iter()
            .map(|problem| problem.rule)
            .collect()
    }

    #[test]
    fn examples_run_and_futures_may_be_polled_again() {
        let path = "crates/a/src/pool.rs";
        let skipped =
            "//! Pool.\n/// # let Some(device) = device() else { return Ok(()) };\nfn f() {}\n";
        assert_eq!(rules(path, skipped), ["example"]);
        let opened = "//! Pool.\n/// let device = Device::open()?;\nfn f() {}\n";
        assert!(rules(path, opened).is_empty());
        let open = "//! Pool.\npub async fn open(\n    at: u32,\n) -> Result<(), Error> {\n}\n";
        assert_eq!(rules(path, open), ["async-fn"]);
        assert!(rules("xtask/web/src/cases.rs", open).is_empty());
        let sure =
            "//! Pool.\npub async fn all() -> Vec<u32> {\n    Result::<u32, ()>::Ok(1);\n}\n";
        assert!(rules(path, sure).is_empty());
    }

    #[test]
    fn an_ordinary_module_is_accepted() {
        assert_eq!(
            rules("crates/a/src/pool.rs", "//! Pool.\nfn f() {}\n"),
            Vec::<&str>::new()
        );
        assert_eq!(
            rules("crates/a/tests/common/mod.rs", "//! Shared by tests.\n"),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn names_and_missing_docs_are_rejected() {
        assert_eq!(rules("crates/a/src/pool/mod.rs", "//! Pool.\n"), ["mod-rs"]);
        assert_eq!(
            rules("crates/a/src/utils.rs", "//! Things.\n"),
            ["module-name"]
        );
        assert_eq!(
            rules("crates/a/src/pool.rs", "fn f() {}\n"),
            ["module-docs"]
        );
    }

    #[test]
    fn unfinished_code_is_rejected_and_text_about_it_is_not() {
        let text = concat!("//! A.\nfn f() { todo", "!() }\n");
        assert_eq!(rules("crates/a/src/a.rs", text), ["unfinished"]);
        assert_eq!(
            rules(
                "crates/a/src/a.rs",
                "//! A.\n// no todo!() here\nfn f() {}\n"
            ),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn unwrap_is_rejected_outside_tests_only() {
        assert_eq!(
            rules("crates/a/src/a.rs", "//! A.\nfn f() { g().unwrap(); }\n"),
            ["unwrap"]
        );
        let test = "//! A.\n#[cfg(test)]\nmod tests {\n    fn f() { g().unwrap(); }\n}\n";
        assert_eq!(rules("crates/a/src/a.rs", test), Vec::<&str>::new());
        assert_eq!(
            rules("crates/a/tests/a.rs", "//! A.\nfn f() { g().unwrap(); }\n"),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn unsafe_needs_its_reason_beside_it() {
        assert_eq!(
            rules("crates/a/src/a.rs", "//! A.\nfn f() { unsafe { g() } }\n"),
            ["safety"]
        );
        let reasoned = "//! A.\nfn f() {\n    // SAFETY: g has no rules.\n    unsafe { g() }\n}\n";
        assert_eq!(rules("crates/a/src/a.rs", reasoned), Vec::<&str>::new());
    }
}
