//! `cargo xtask docs`: the documents that are written from the sources.
//!
//! Locally the files are written, in checks they are compared, so that they cannot fall behind.

mod families;
mod pytorch;
mod reference;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use xtask::failure::{Failure, Outcome};
use xtask::workspace::{self, TextFile};

use crate::wgsl::{Header, OpRow, op_rows, other_ops};

/// The documents, which the check of text files exempts from its rules for files that people write.
pub(crate) const GENERATED: [&str; 3] = ["docs/ops.md", "docs/kernels.md", "docs/pytorch.md"];

/// Writes the files, or says that one differs.
pub(crate) fn run(check: bool) -> Outcome<String> {
    let root = workspace::root();
    let sources = workspace::text_files(&root, "crates/tensor/src", &[".rs"])?;
    let shaders = workspace::text_files(&root, "shaders", &[".wgsl"])?;
    let rows = op_rows()?;
    let methods: Vec<String> = sources
        .iter()
        .flat_map(|file| reference::methods(&file.text))
        .map(|method| method.name)
        .collect();
    let mut missing = reference::missing(&sources);
    missing.extend(pytorch::problems(&methods, &sources));
    if !missing.is_empty() {
        return Err(Failure::new(missing.join("\n")));
    }
    let kernels = kernels(&rows, &other_ops()?, &shaders);
    let pages = [reference::page(&sources, &rows)?, kernels, pytorch::page()];
    for (file, page) in GENERATED.iter().zip(&pages) {
        ensure(&root, file, page, check)?;
    }
    Ok(format!(
        "{} methods in {}",
        methods.len(),
        GENERATED.join(", ")
    ))
}

/// Makes the file hold `wanted`; with `check` it must hold it already.
fn ensure(root: &Path, name: &str, wanted: &str, check: bool) -> Outcome {
    let file = root.join(name);
    let found = fs::read_to_string(&file).unwrap_or_default();
    if found == wanted {
        return Ok(());
    }
    if check {
        let line = (1..).zip(
            wanted
                .lines()
                .zip(found.lines().chain(std::iter::repeat(""))),
        );
        let line = line
            .into_iter()
            .find(|(_, (wanted, found))| wanted != found)
            .map_or(1, |(line, _)| line);
        return Err(Failure::new(format!(
            "{name}:{line}: is not what the sources say: run `cargo xtask docs`"
        )));
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&file, wanted)?;
    println!("wrote {name}");
    Ok(())
}

/// The kernels: the tables of elementwise ops, the other kernels with their files, and what each file says it computes.
fn kernels(rows: &[OpRow], others: &[OpRow], shaders: &[TextFile]) -> String {
    let mut text = String::from(
        "# Kernels\n\n\
         For those who change kernels; [ops.md](ops.md) is the reference of operations. Written by `cargo xtask docs` from the tables of\n\
         the kernels crate and the headers of its shaders: edit those, not this.\n\
         The tests hold every op to its tolerance. A ulp is a unit in the last place of the result's dtype, ε the distance from 1 to\n\
         the next f32 (2^-23); what is exact up to the dtype's rounding is called exact.\n",
    );
    // Writing to a string cannot fail.
    for (family, rows) in families(rows) {
        let _ = write!(
            text,
            "\n## {family}\n\n| op | dtypes | tolerance | rule | shaders |\n| --- | --- | --- | --- | --- |\n"
        );
        for row in rows {
            let (tolerance, rule) = (cell(&row.tolerance), cell(&row.rule));
            let _ = writeln!(
                text,
                "| `{}` | {} | {tolerance} | {rule} | {} |",
                row.name,
                dtypes(row),
                files(row)
            );
        }
    }
    let _ = write!(
        text,
        "\n## Other kernels\n\nKernels by the name in their labels; one op may have several, and some are steps of an op.\n\n| kernel | dtypes | shaders |\n| --- | --- | --- |\n"
    );
    for row in others {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            row.name,
            dtypes(row),
            files(row)
        );
    }
    let _ = write!(
        text,
        "\n## Shader bodies\n\nWhat each file with an entry point computes, and how accurately, by its header.\n\n| file | computes | accuracy |\n| --- | --- | --- |\n"
    );
    for file in shaders {
        let header = Header::of(&file.text);
        if let Some(computes) = header.field("Computes:") {
            let accuracy = header.field("Accuracy:").unwrap_or_default();
            let _ = writeln!(
                text,
                "| `{}` | {} | {} |",
                file.path,
                cell(computes),
                cell(accuracy)
            );
        }
    }
    text
}

/// The rows by family, in the order of the crate's tables.
fn families(rows: &[OpRow]) -> Vec<(&str, Vec<&OpRow>)> {
    let mut families: Vec<(&str, Vec<&OpRow>)> = Vec::new();
    for row in rows {
        match families
            .iter_mut()
            .find(|(family, _)| *family == row.family)
        {
            Some((_, known)) => known.push(row),
            None => families.push((&row.family, vec![row])),
        }
    }
    families
}

fn dtypes(row: &OpRow) -> String {
    if row.dtypes.is_empty() {
        return "any".into();
    }
    row.dtypes.join(", ")
}

fn files(row: &OpRow) -> String {
    let files: Vec<String> = row.files.iter().map(|file| format!("`{file}`")).collect();
    files.join(", ")
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(family: &str, name: &str) -> OpRow {
        OpRow {
            family: family.into(),
            name: name.into(),
            dtypes: vec!["f32".into(), "i32".into()],
            tolerance: "exact".into(),
            rule: "a | b < c".into(),
            files: vec![format!("shaders/{name}.wgsl")],
        }
    }

    #[test]
    fn every_row_stands_in_its_family_and_every_body_with_its_header() {
        let body = TextFile::new(
            "shaders/sum.wgsl",
            "// Computes: sums.\n// Accuracy: 1 ulp.\nfn f() {}\n",
        );
        let rows = [
            row("Unary", "relu"),
            row("Binary", "add"),
            row("Unary", "abs"),
        ];
        let page = kernels(
            &rows,
            &[row("Others", "sum")],
            &[body, TextFile::new("shaders/b.wgsl", "")],
        );
        let at = |text: &str| page.find(text);
        assert!(at("## Unary") < at("`relu`") && at("`relu`") < at("`abs`"));
        assert!(at("`abs`") < at("## Binary") && at("## Binary") < at("`add`"));
        assert!(
            page.contains("| `add` | f32, i32 | exact | a \\| b &lt; c | `shaders/add.wgsl` |")
        );
        assert!(page.contains("| `sum` | f32, i32 | `shaders/sum.wgsl` |"));
        assert!(
            page.contains("| `shaders/sum.wgsl` | sums. | 1 ulp. |") && !page.contains("b.wgsl")
        );
    }

    #[test]
    fn a_file_that_differs_is_refused_with_its_line_and_then_written() {
        let root = std::env::temp_dir();
        let name = format!("ziggurat-docs-{}.md", std::process::id());
        let file = root.join(&name);
        fs::write(&file, "a\nb\n").unwrap();
        let refused = ensure(&root, &name, "a\nc\n", true)
            .unwrap_err()
            .to_string();
        assert!(refused.contains(":2:"), "{refused}");
        assert!(ensure(&root, &name, "a\nc\n", false).is_ok());
        assert!(ensure(&root, &name, "a\nc\n", true).is_ok());
        fs::remove_file(&file).unwrap();
    }
}
