//! The tables of ops against what users can call.
//!
//! A row of the tables without a public method on `Tensor` is an op that nobody can reach; a snippet
//! without a row is refused as an orphan by the shader check.

use crate::problem::Problem;
use crate::rust_text;
use crate::wgsl::OpRow;
use xtask::workspace::TextFile;

/// Rows whose op goes by another name on `Tensor`.
const RENAMED: [(&str, &str); 2] = [("where", "where_"), ("softplus_with", "softplus")];

/// Refuses rows without a public function of that name in the tensor crate.
pub(super) fn check(files: &[TextFile], rows: &[OpRow]) -> Vec<Problem> {
    let sources: Vec<String> = files
        .iter()
        .filter(|file| file.path.starts_with("crates/tensor/src/"))
        .map(|file| rust_text::code_only(&file.text))
        .collect();
    let missing = rows.iter().filter(|row| {
        let renamed = RENAMED.iter().find(|(name, _)| *name == row.name);
        let name = renamed.map_or(row.name.as_str(), |(_, method)| method);
        !sources.iter().any(|code| declares(code, name))
    });
    missing
        .map(|row| {
            let file = row.files.first().map_or("crates/kernels", String::as_str);
            Problem::new(
                file,
                0,
                "row-without-method",
                format!("`{}` has a row and no method on Tensor", row.name),
            )
        })
        .collect()
}

/// Refuses reductions that no method of the tensor crate computes: the name of each variant must occur there.
pub(super) fn reductions<'a>(
    files: &[TextFile],
    variants: impl Iterator<Item = &'a str>,
) -> Vec<Problem> {
    let sources: Vec<String> = files
        .iter()
        .filter(|file| file.path.starts_with("crates/tensor/src/"))
        .map(|file| rust_text::code_only(&file.text))
        .collect();
    let used = |word: &str| {
        sources.iter().any(|code| {
            code.match_indices(word)
                .any(|(at, _)| rust_text::is_word_at(code, at, word))
        })
    };
    variants
        .filter(|variant| !used(&format!("Reduce::{variant}")))
        .map(|variant| {
            Problem::new(
                "crates/kernels/src/ops/reduce/op.rs",
                0,
                "row-without-method",
                format!("`Reduce::{variant}` has a row and no method on Tensor"),
            )
        })
        .collect()
}

/// True for `pub fn name(` and for a row of a macro that has both `name` and its variant, as in
/// `relu => Relu;` or `Keep relu, Relu;`.
fn declares(code: &str, name: &str) -> bool {
    let variant = camel_case(name);
    code.lines().map(str::trim_start).any(|line| {
        let declared = line
            .strip_prefix("pub fn ")
            .or_else(|| line.strip_prefix("pub async fn "));
        if let Some(declared) = declared {
            return declared
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['(', '<']));
        }
        let has = |word: &str| {
            line.match_indices(word)
                .any(|(at, _)| rust_text::is_word_at(line, at, word))
        };
        line.ends_with(';')
            && !line.contains('(')
            && !line.starts_with("use ")
            && has(name)
            && has(&variant)
    })
}

/// `gelu_tanh` as `GeluTanh`.
fn camel_case(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase())
            .into_iter()
            .chain(letters)
            .collect::<String>()
    };
    name.split('_').map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str) -> OpRow {
        OpRow {
            family: "Unary".into(),
            name: name.into(),
            dtypes: vec![],
            tolerance: String::new(),
            rule: String::new(),
            files: vec![],
        }
    }

    #[test]
    fn a_reduction_that_no_method_names_is_refused() {
        let code =
            "fn sum() { reduce(Reduce::Sum) } // Reduce::Mean\nfn max() { Reduce::MaxAbs }\n";
        let files = [
            TextFile::new("crates/tensor/src/ops.rs", code),
            TextFile::new("crates/tensor/tests/a.rs", "Reduce::Mean"),
        ];
        assert_eq!(reductions(&files, ["Sum"].into_iter()), []);
        let problems = reductions(&files, ["Sum", "Mean", "Max"].into_iter());
        let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(texts[0].contains("Reduce::Mean") && texts[1].contains("Reduce::Max`"));
    }

    #[test]
    fn a_row_with_a_method_is_accepted_and_one_without_rejected() {
        let code = "impl Tensor {\n    pub fn relu(&self) -> R {}\n    fn gelu(&self) -> R {}\n}\nmethods! {\n    tanh => Tanh;\n    Keep gelu_tanh, GeluTanh;\n}\n";
        let files = [TextFile::new("crates/tensor/src/ops.rs", code)];
        let problems = check(
            &files,
            &[
                row("relu"),
                row("gelu"),
                row("tanh"),
                row("gelu_tanh"),
                row("where"),
            ],
        );
        let messages: Vec<&str> = problems
            .iter()
            .map(|problem| problem.message.as_str())
            .collect();
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(messages[0].contains("gelu") && messages[1].contains("where"));
    }

    #[test]
    fn methods_of_other_crates_do_not_count() {
        let files = [TextFile::new(
            "crates/kernels/src/ops.rs",
            "pub fn relu(&self) {}",
        )];
        assert_eq!(check(&files, &[row("relu")]).len(), 1);
    }
}
