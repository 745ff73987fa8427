//! What a program promises of a kernel, written where the sanitizer of the software device looks for it: in the kernel's text.

use ziggurat_pipeline::{KernelDescriptor, Reflection, ShaderSource};

/// The comment by which a declaration says that the kernel writes all that is bound there.
const WRITES_ALL: &str = " // sanitizer: writes-all";

/// The kernel with the promise at its last binding, which is its output. A comment at the end of the line leaves all lines and
/// columns as they are. `None` if the output is declared in an imported text, or in one of several parts with the same file
/// name.
pub(super) fn promising(
    descriptor: &KernelDescriptor,
    reflection: &Reflection,
) -> Option<KernelDescriptor> {
    let place = &reflection.bindings.last()?.place;
    let parts = descriptor.source.parts();
    let mut named = (0..).zip(parts).filter(|(_, part)| part.file == place.file);
    let (index, part) = named.next()?;
    if named.next().is_some() {
        return None;
    }
    let text = with_comment(&part.text, place.line)?;
    let mut source = ShaderSource::new(descriptor.source.name().to_owned());
    for (number, part) in (0..).zip(parts) {
        let text = if number == index {
            text.clone().into()
        } else {
            part.text.clone()
        };
        source = source.part(part.file.clone(), text);
    }
    let mut promising = descriptor.clone();
    promising.source = source;
    Some(promising)
}

/// The text with the comment at the end of a line, counted from 1.
fn with_comment(text: &str, line: u32) -> Option<String> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let mut marked = String::with_capacity(text.len() + WRITES_ALL.len());
    let mut found = false;
    for (number, code) in text.split_inclusive('\n').enumerate() {
        let bare = code.trim_end_matches(['\n', '\r']);
        marked.push_str(bare);
        if number == index {
            marked.push_str(WRITES_ALL);
            found = true;
        }
        marked.push_str(code.get(bare.len()..)?);
    }
    found.then_some(marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comment_is_behind_its_line_only() {
        assert_eq!(
            with_comment("a\r\nb\n\nc", 2).as_deref(),
            Some("a\r\nb // sanitizer: writes-all\n\nc")
        );
        assert_eq!(
            with_comment("a", 1).as_deref(),
            Some("a // sanitizer: writes-all")
        );
        assert_eq!(with_comment("a\n", 2), None);
        assert_eq!(with_comment("a", 0), None);
    }
}
