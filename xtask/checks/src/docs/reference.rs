//! `docs/ops.md`: the methods of `Tensor` by family, from their documentation in the sources.
//!
//! A method's row is the first sentence of its documentation, the names of its arguments, the dtypes and tolerance of the
//! kernel row of the same name where there is one, and its name in PyTorch.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use xtask::failure::{Failure, Outcome};
use xtask::workspace::TextFile;

use super::cell;
use super::families::{FAMILIES, PER_DIMENSION};
use super::pytorch;
use crate::rust_text;
use crate::wgsl::OpRow;

/// A public method as the sources declare it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Method {
    pub(super) name: String,
    /// `None` for `self`'s methods, else the type it is called on.
    associated: bool,
    arguments: Vec<String>,
    says: String,
}

/// The page.
pub(super) fn page(files: &[TextFile], rows: &[OpRow]) -> Outcome<String> {
    let rows: BTreeMap<&str, &OpRow> = rows.iter().map(|row| (row.name.as_str(), row)).collect();
    let mut text = String::from(
        "# Operations\n\n\
         The methods of `ziggurat_tensor::Tensor` by family. Written by `cargo xtask docs` from their documentation and from the tables of\n\
         the kernels crate: edit those, not this. Arguments, errors and examples are in the API documentation (`cargo doc --open`);\n\
         rules on edges are in [semantics.md](semantics.md); [kernels.md](kernels.md) lists the kernels behind them.\n\n\
         PyTorch: \"same\" where the function or method has the same name there (in `torch`, `torch.nn.functional` or on tensors).\n\
         Dtypes and tolerances stand where one kernel row has them; a ulp is a unit in the last place of the result's dtype.\n",
    );
    for (path, title) in FAMILIES {
        let path = format!("crates/tensor/src/{path}");
        let file = files.iter().find(|file| file.path == path);
        let file = file.ok_or_else(|| {
            Failure::new(format!(
                "{path} is a family of docs/ops.md and does not exist"
            ))
        })?;
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {title}\n\n");
        if path.ends_with("in_place.rs") {
            let names: Vec<String> = in_place(&file.text)
                .iter()
                .map(|name| format!("`{name}`"))
                .collect();
            let _ = writeln!(
                text,
                "A trailing underscore: the variable gets the result. Clones and views made before keep what they had.\n\n{}",
                names.join(", ")
            );
            continue;
        }
        text.push_str("| method | PyTorch | computes | dtypes | tolerance |\n| --- | --- | --- | --- | --- |\n");
        for method in methods(&file.text)
            .iter()
            .filter(|method| !method.name.ends_with("_blocking"))
        {
            let row = rows.get(kernel_name(&method.name));
            let dtypes = row.map(|row| row.dtypes.join(", ")).unwrap_or_default();
            let tolerance = row.map(|row| cell(&row.tolerance)).unwrap_or_default();
            let _ = writeln!(
                text,
                "| {} | {} | {} | {dtypes} | {tolerance} |",
                method.call(),
                pytorch::column(&method.name),
                method.says
            );
        }
        if path.ends_with("pool.rs") {
            for (name, arguments, says) in PER_DIMENSION {
                let torch = pytorch::column(&name.replace('#', "2"));
                let _ = writeln!(
                    text,
                    "| `{}({arguments})` | {torch} | {} | | |",
                    name.replace('#', "{1,2,3}"),
                    says.replace('#', "{1,2,3}")
                );
            }
        }
    }
    Ok(text)
}

/// Families whose file the page does not know, and pooling methods that the sources do not have.
pub(super) fn missing(files: &[TextFile]) -> Vec<String> {
    let mut missing = Vec::new();
    for file in files {
        let short = file.path.trim_start_matches("crates/tensor/src/");
        let of_tensors = short.starts_with("ops/") || short.starts_with("tensor/");
        let listed = !of_tensors || FAMILIES.iter().any(|(path, _)| *path == short);
        if !listed && !methods(&file.text).is_empty() && file.text.contains("impl Tensor {") {
            missing.push(format!(
                "{}: has methods of Tensor and is no family of docs/ops.md",
                file.path
            ));
        }
        if short == "ops/pool.rs" {
            let code = rust_text::code_only(&file.text);
            for name in PER_DIMENSION
                .iter()
                .flat_map(|(name, ..)| ["1", "2", "3"].map(|n| name.replace('#', n)))
            {
                if rust_text::lines_with_word(&code, &name).next().is_none() {
                    missing.push(format!(
                        "{}: docs/ops.md lists `{name}`, which does not exist",
                        file.path
                    ));
                }
            }
        }
    }
    missing
}

/// The name of a method's row in the tables of kernels.
fn kernel_name(method: &str) -> &str {
    match method {
        "where_" => "where",
        "softplus" => "softplus_with",
        name => name,
    }
}

impl Method {
    fn call(&self) -> String {
        let on = if self.associated { "Tensor::" } else { "" };
        format!("`{on}{}({})`", self.name, self.arguments.join(", "))
    }
}

/// All public methods that a file declares, itself or by rows of a macro.
pub(super) fn methods(text: &str) -> Vec<Method> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut docs: Vec<&str> = Vec::new();
    let mut within = Within::Code;
    let (mut on_tensor, mut in_attribute) = (false, false);
    let mut signatures: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let short = line.trim();
        if let Some(doc) = short.strip_prefix("///") {
            docs.push(doc.trim());
            continue;
        }
        if in_attribute || short.starts_with("#[") {
            in_attribute = !short.ends_with(']');
            continue;
        }
        if short.starts_with("impl ") {
            on_tensor = short == "impl Tensor {";
        }
        if *line == "}" {
            (within, on_tensor) = (Within::Code, false);
        } else if let Some(name) = line
            .strip_prefix("macro_rules! ")
            .and_then(|rest| rest.strip_suffix(" {"))
        {
            within = Within::Definition(name);
        } else if let Some(name) = line
            .strip_suffix("! {")
            .filter(|name| !name.starts_with(' '))
        {
            within = Within::Rows(name);
        } else if let Some(rest) = declared(short) {
            let rest = std::iter::once(rest)
                .chain(lines.iter().skip(at + 1).copied())
                .collect::<Vec<_>>()
                .join(" ");
            let (name, list) = rest.split_once('(').unwrap_or_default();
            let (arguments, associated) = arguments(list);
            match within {
                Within::Definition(name) => {
                    signatures.insert(name, arguments);
                }
                _ if !on_tensor || name.starts_with('$') => {}
                _ => found.push(Method {
                    name: name.split('<').next().unwrap_or_default().to_owned(),
                    associated,
                    arguments,
                    says: first_sentence(&docs),
                }),
            }
        } else if let Within::Rows(name) = within
            && let Some(method) = short
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .find(|word| word.starts_with(char::is_lowercase))
            && !docs.is_empty()
        {
            found.push(Method {
                name: method.to_owned(),
                associated: false,
                arguments: signatures.get(name).cloned().unwrap_or_default(),
                says: first_sentence(&docs),
            });
        }
        docs.clear();
    }
    found
}

#[derive(Clone, Copy)]
enum Within<'a> {
    Code,
    Definition(&'a str),
    Rows(&'a str),
}

/// What stands behind `pub fn`.
fn declared(line: &str) -> Option<&str> {
    line.strip_prefix("pub fn ")
        .or_else(|| line.strip_prefix("pub async fn "))
}

/// The names of arguments up to the closing bracket, without `self`; and whether there was no `self`.
fn arguments(list: &str) -> (Vec<String>, bool) {
    let (mut depth, mut end) = (1_i32, list.len());
    let mut starts = vec![0];
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' => depth -= 1,
            '>' if !list.get(..at).unwrap_or_default().ends_with('-') => depth -= 1,
            ',' if depth == 1 => starts.push(at + 1),
            _ => {}
        }
        if depth == 0 {
            end = at;
            break;
        }
    }
    let ends = starts.iter().skip(1).map(|start| start - 1).chain([end]);
    let all: Vec<&str> = starts
        .iter()
        .zip(ends)
        .filter_map(|(&start, end)| list.get(start..end))
        .map(|argument| argument.split(": ").next().unwrap_or_default().trim())
        .filter(|name| !name.is_empty())
        .collect();
    let receives = all.first().is_some_and(|first| first.ends_with("self"));
    let names = all
        .iter()
        .skip(usize::from(receives))
        .map(|name| name.trim_start_matches("mut ").to_owned());
    (names.collect(), !receives)
}

/// The first sentence of a documentation, as a cell of a table.
fn first_sentence(docs: &[&str]) -> String {
    let paragraph: Vec<&str> = docs
        .iter()
        .copied()
        .take_while(|line| !line.is_empty())
        .collect();
    let text = paragraph.join(" ");
    // "self[0] + .. + self[i]" goes on.
    let full_stop = text
        .match_indices(". ")
        .find(|(at, _)| !text.get(..*at).unwrap_or_default().ends_with('.'));
    let end = full_stop.map_or(text.len(), |(at, _)| at + 1);
    let sentence = text.get(..end).unwrap_or_default();
    // [`Tensor::sum`] names a method of this page.
    let plain = sentence
        .replace("[`Tensor::", "`")
        .replace("[`", "`")
        .replace("`]", "`");
    cell(&plain)
}

/// Names that end in an underscore, in the order of the file.
fn in_place(text: &str) -> Vec<String> {
    let code = rust_text::code_only(text.split("#[cfg(test)]").next().unwrap_or_default());
    let mut names: Vec<String> = Vec::new();
    for word in code.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let plain = word.trim_end_matches('_');
        let is_method = word.len() == plain.len() + 1 && plain.starts_with(char::is_lowercase);
        if is_method && plain != "become" && !names.iter().any(|name| name == word) {
            names.push(word.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
/// Not a method.
macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident, $kernel:ident;)*) => {
        impl Tensor { $(pub fn $name(&self) -> R {})* }
            pub fn $name(&self, other: impl Operand) -> R {
    };
}

unary! {
    /// |x|. The rest.
    abs, Abs;
}

impl Tensor {
    /// Sums over `axes`; see [`Tensor::mean`].
    ///
    /// # Errors
    /// Some.
    #[must_use]
    pub fn sum<T: Into<Vec<isize>>>(
        &self,
        axes: impl AsRef<[isize]>,
        keep: bool,
    ) -> Result<Self, Error> {
    }

    /// Zeros.
    pub async fn zeros(device: &Device, f: impl FnOnce(u8) -> u8) -> R {}

    fn hidden(&self) {}
}

impl Other {
    /// Not a method of Tensor.
    pub fn other(&self) {}
}
#[cfg(test)]
mod tests { pub fn none() {} }
";

    #[test]
    fn methods_of_macros_and_of_impls_are_found() {
        let found = methods(SOURCE);
        let calls: Vec<String> = found.iter().map(Method::call).collect();
        assert_eq!(
            calls,
            [
                "`abs(other)`",
                "`sum(axes, keep)`",
                "`Tensor::zeros(device, f)`"
            ]
        );
        assert_eq!(found[0].says, "\\|x\\|.");
        assert_eq!(found[1].says, "Sums over `axes`; see `mean`.");
    }

    #[test]
    fn a_file_that_no_family_has_is_named() {
        let file = TextFile::new(
            "crates/tensor/src/ops/new.rs",
            "impl Tensor {\n    /// A.\n    pub fn a(&self) {}\n}\n",
        );
        assert_eq!(missing(std::slice::from_ref(&file)).len(), 1);
        let known = TextFile::new("crates/tensor/src/ops/pool.rs", "");
        assert_eq!(missing(&[known]).len(), PER_DIMENSION.len() * 3);
    }

    #[test]
    fn names_with_one_underscore_at_the_end_are_in_place() {
        assert_eq!(
            in_place("fn become_() {} add_, add; x__ fn fill_()"),
            ["add_", "fill_"]
        );
    }
}
