//! What blocks does not exist on the web.
//!
//! A function named `*_blocking`, or `wait`, must carry `#[cfg(not(target_arch = "wasm32"))]`, itself or
//! on the block or module around it, so that blocking in a browser is a compile error and not a hang.

use std::collections::BTreeSet;

use crate::problem::Problem;
use crate::rust_text;
use xtask::workspace::TextFile;

/// Refuses blocking functions without the attribute.
pub(super) fn check(sources: &[TextFile]) -> Vec<Problem> {
    let native = native_modules(sources);
    let in_src =
        |file: &&TextFile| file.path.contains("/src/") && !rust_text::is_test_file(&file.path);
    sources
        .iter()
        .filter(in_src)
        .filter(|file| {
            !native.iter().any(|stem| {
                file.path == format!("{stem}.rs") || file.path.starts_with(&format!("{stem}/"))
            })
        })
        .flat_map(check_file)
        .collect()
}

fn check_file(file: &TextFile) -> Vec<Problem> {
    let code = rust_text::code_only(&file.text);
    let native = rust_text::native_lines(&file.text);
    let tests = rust_text::test_lines(&code);
    let mut problems = Vec::new();
    for (number, line) in (1_u32..).zip(code.lines()) {
        let marked = |marks: &[bool]| marks.get(number as usize - 1).copied().unwrap_or(false);
        if let Some(name) = declared(line)
            && (name.ends_with("_blocking") || name == "wait")
            && !marked(&native)
            && !marked(&tests)
        {
            problems.push(Problem::new(
                &file.path,
                number,
                "blocking-cfg",
                format!("`{name}` blocks and needs #[cfg(not(target_arch = \"wasm32\"))]"),
            ));
        }
    }
    problems
}

/// The name of the public function declared on this line.
fn declared(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let (_, rest) = rest.split_once("fn ")?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
}

/// Paths without ending of the modules that their parents leave out on the web.
fn native_modules(sources: &[TextFile]) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for file in sources {
        let native = rust_text::native_lines(&file.text);
        for (line, is_native) in file.text.lines().zip(native) {
            let declaration = line
                .trim()
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("pub ");
            if is_native
                && let Some(name) = declaration
                    .strip_prefix("mod ")
                    .and_then(|rest| rest.strip_suffix(';'))
            {
                modules.insert(format!("{}{name}", module_folder(&file.path)));
            }
        }
    }
    modules
}

/// The folder of a module's children, with its closing slash.
fn module_folder(path: &str) -> String {
    let stem = path.trim_end_matches(".rs");
    match stem.rsplit_once('/') {
        Some((folder, "lib" | "main" | "mod")) => format!("{folder}/"),
        _ => format!("{stem}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CFG: &str = "#[cfg(not(target_arch = \"wasm32\"))]";

    #[test]
    fn a_blocking_function_without_the_attribute_is_refused() {
        let problems = check(&[TextFile::new(
            "crates/device/src/a.rs",
            "/// Opens.\npub fn open_blocking() {}",
        )]);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].line, 2);
        assert_eq!(
            check(&[TextFile::new(
                "crates/device/src/a.rs",
                "    pub fn wait(self) {}"
            )])
            .len(),
            1
        );
    }

    #[test]
    fn the_attribute_may_stand_on_the_function_or_around_it() {
        let own = format!("{CFG}\npub fn open_blocking() {{}}");
        let around = format!("{CFG}\nimpl A {{\n    /// Waits.\n    pub fn wait(self) {{}}\n}}");
        assert_eq!(check(&[TextFile::new("crates/a/src/a.rs", &own)]), []);
        assert_eq!(check(&[TextFile::new("crates/a/src/a.rs", &around)]), []);
    }

    #[test]
    fn the_attribute_may_stand_on_the_module() {
        let parent = TextFile::new("crates/a/src/lib.rs", &format!("{CFG}\nmod native;"));
        let child = TextFile::new("crates/a/src/native.rs", "pub fn open_blocking() {}");
        assert_eq!(check(&[parent, child.clone()]), []);
        assert_eq!(check(&[child]).len(), 1);
    }

    #[test]
    fn asynchronous_and_other_names_pass() {
        assert_eq!(
            check(&[TextFile::new(
                "crates/a/src/a.rs",
                "pub async fn open() {}\npub fn await_all() {}"
            )]),
            []
        );
    }
}
