//! Every file of a test program is a module of it: a file that no `mod` names is not compiled, and its tests never run.

use crate::problem::Problem;
use crate::rust_text;
use xtask::workspace::TextFile;

/// Where the program of all tests of a crate has its modules.
const FOLDER: &str = "/tests/all/";

pub(super) fn check(files: &[TextFile]) -> Vec<Problem> {
    let lost = files.iter().filter(|file| {
        parent(&file.path).is_some_and(|parent| {
            let declares = |text: &str| declares(text, file.stem());
            // Another program of the same crate may include it by its path.
            let within = file.path.split_once("/tests/").unwrap_or_default();
            let attribute = format!("#[path = \"{}\"]", within.1);
            let includes = |f: &TextFile| {
                f.path.starts_with(within.0)
                    && !f.path.contains(FOLDER)
                    && f.text.contains(&attribute)
            };
            !files
                .iter()
                .any(|f| f.path == parent && declares(&f.text) || includes(f))
        })
    });
    let message = "no `mod` names this file: its tests are not compiled";
    lost.map(|file| Problem::new(&file.path, 0, "lost-tests", message))
        .collect()
}

/// The file that has to name this one, if it is a module of a test program.
fn parent(path: &str) -> Option<String> {
    let module = path.strip_suffix(".rs")?;
    let (before, within) = module.split_once(FOLDER)?;
    match within.rsplit_once('/') {
        Some((folder, _)) => Some(format!("{before}{FOLDER}{folder}.rs")),
        None if within == "main" => None,
        None => Some(format!("{before}{FOLDER}main.rs")),
    }
}

fn declares(text: &str, name: &str) -> bool {
    let code = rust_text::code_only(text);
    let declaration = format!("mod {name};");
    code.lines().any(|line| line.ends_with(&declaration))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_mod_is_found_and_one_with_it_is_not() {
        let main = TextFile::new("crates/a/tests/all/main.rs", "mod b;\n// mod lost;\n");
        let files = [
            main,
            TextFile::new("crates/a/tests/all/b.rs", "pub(crate) mod c;"),
            TextFile::new("crates/a/tests/all/b/c.rs", ""),
            TextFile::new("crates/a/tests/all/b/d.rs", ""),
            TextFile::new("crates/a/tests/all/lost.rs", ""),
            TextFile::new("crates/a/tests/all/b/e.rs", ""),
            TextFile::new("crates/a/tests/own.rs", "#[path = \"all/b/e.rs\"]\nmod e;"),
        ];
        let lost: Vec<_> = check(&files).into_iter().map(|p| p.file).collect();
        assert_eq!(
            lost,
            ["crates/a/tests/all/b/d.rs", "crates/a/tests/all/lost.rs"]
        );
    }
}
