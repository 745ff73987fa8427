//! What a program promises of a kernel, written where the sanitizer of the software device looks for it: in the kernel's text.

use ziggurat_core::wgsl::words;
use ziggurat_pipeline::{Binding, KernelDescriptor, Place, ShaderSource, SourcePart};

/// The comment by which a declaration says that the kernel writes all that is bound there.
const WRITES_ALL: &str = " // sanitizer: writes-all";

/// The kernel with the promise at its output. A comment at the end of the line leaves all lines and
/// columns as they are. `None` if the text has no such line.
pub(super) fn promising(
    descriptor: &KernelDescriptor,
    output: &Binding,
) -> Option<KernelDescriptor> {
    let place = &output.place;
    let parts = descriptor.source.parts();
    let mut named = parts.iter().filter(|part| part.file == place.file);
    let (first, others) = (named.next()?, named.next());
    // Of several parts with the same file name it is the one whose line has the name.
    let declaring = match others {
        None => first,
        Some(_) => parts
            .iter()
            .find(|part| declares(part, place, &output.name))?,
    };
    let text = with_comment(&declaring.text, place.line)?;
    let mut source = ShaderSource::new(descriptor.source.name().to_owned());
    for part in parts {
        let text = if std::ptr::eq(part, declaring) {
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

/// Whether a part of the place's file has the name at the place's line.
fn declares(part: &SourcePart, place: &Place, name: &str) -> bool {
    let index = (place.line as usize).checked_sub(1);
    let line = index.and_then(|index| part.text.lines().nth(index));
    part.file == place.file && line.is_some_and(|line| words(line).any(|word| word == name))
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
