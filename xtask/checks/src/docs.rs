//! `cargo xtask docs`: `docs/ops.md`, written from the tables of ops.
//!
//! Locally the file is written, in checks it is compared, so that it cannot fall behind the tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::wgsl::{OpRow, op_rows, other_ops};
use xtask::failure::{Failure, Outcome};
use xtask::workspace;

const FILE: &str = "docs/ops.md";

/// Writes the file, or says that it differs.
pub(crate) fn run(check: bool) -> Outcome<String> {
    let mut rows = op_rows()?;
    rows.extend(other_ops()?);
    ensure(&workspace::root().join(FILE), &page(&rows), check)?;
    Ok(format!("{FILE} has {} ops", rows.len()))
}

/// Makes the file hold `wanted`; with `check` it must hold it already.
fn ensure(file: &Path, wanted: &str, check: bool) -> Outcome {
    let found = fs::read_to_string(file).unwrap_or_default();
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
            "{FILE}:{line}: is not what the tables say: run `cargo xtask docs`"
        )));
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, wanted)?;
    println!("wrote {FILE}");
    Ok(())
}

/// The page: one table per family, rows in the order of the crate's tables.
fn page(rows: &[OpRow]) -> String {
    let mut text = String::from(
        "# Ops\n\n\
         Written by `cargo xtask docs` from the tables of the kernels crate and the headers of its shaders: edit those, not this.\n\
         Rules that go beyond one shader (empty input, promotion, shapes, views) are in the contract, `docs/semantics.md`.\n\
         The tests hold every op to its tolerance. A ulp is a unit in the last place of the result's dtype, ε the distance from 1 to\n\
         the next f32 (2^-23); what is exact up to the dtype's rounding is called exact.\n",
    );
    let mut families: BTreeMap<usize, (&str, Vec<&OpRow>)> = BTreeMap::new();
    for row in rows {
        let known = families
            .values()
            .position(|(family, _)| *family == row.family);
        let index = known.unwrap_or(families.len());
        families
            .entry(index)
            .or_insert((&row.family, Vec::new()))
            .1
            .push(row);
    }
    for (family, rows) in families.values() {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n## {family}\n\n| op | dtypes | tolerance | rule | shaders |\n| --- | --- | --- | --- | --- |\n"
        );
        for row in rows {
            let dtypes = match row.dtypes.as_slice() {
                [] => "any".into(),
                some => some.join(", "),
            };
            let files: Vec<String> = row.files.iter().map(|file| format!("`{file}`")).collect();
            let _ = writeln!(
                text,
                "| `{}` | {dtypes} | {} | {} | {} |",
                row.name,
                cell(&row.tolerance),
                cell(&row.rule),
                files.join(", ")
            );
        }
    }
    text
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
    fn every_row_stands_in_its_family_in_order() {
        let page = page(&[
            row("Unary", "relu"),
            row("Binary", "add"),
            row("Unary", "abs"),
        ]);
        let at = |text: &str| page.find(text);
        assert!(at("## Unary") < at("`relu`") && at("`relu`") < at("`abs`"));
        assert!(at("`abs`") < at("## Binary") && at("## Binary") < at("`add`"));
        assert!(
            page.contains("| `add` | f32, i32 | exact | a \\| b &lt; c | `shaders/add.wgsl` |")
        );
    }

    #[test]
    fn a_file_that_differs_is_refused_with_its_line_and_then_written() {
        let file = std::env::temp_dir().join(format!("ziggurat-docs-{}.md", std::process::id()));
        fs::write(&file, "a\nb\n").unwrap();
        let refused = ensure(&file, "a\nc\n", true).unwrap_err().to_string();
        assert!(refused.contains(":2:"), "{refused}");
        assert!(ensure(&file, "a\nc\n", false).is_ok());
        assert!(ensure(&file, "a\nc\n", true).is_ok());
        fs::remove_file(&file).unwrap();
    }
}
