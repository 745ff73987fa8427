//! The text of every WGSL part, from the package `ziggurat-shaders`, which embeds the files.
//!
//! Parts are addressed by their path below `shaders/`, which is also what error messages name. A new file needs no
//! entry; a test refuses files that no variant uses. (`params/` and `copy/` belong to the pipeline layer.)

use std::collections::HashMap;
use std::sync::LazyLock;

use ziggurat_shaders::{files, find};

use crate::ops::reduce::user;
use crate::run::error::KernelError;

static TABLE: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| files().iter().copied().collect());

/// The text of a part.
pub(crate) fn text(path: &'static str) -> Result<&'static str, KernelError> {
    let known = TABLE.get(path).copied();
    known
        .or_else(|| user::part(path))
        .ok_or(KernelError::MissingPart { path })
}

/// The first path if there is such a part, else the other.
pub(crate) const fn first_of(path: &'static str, other: &'static str) -> &'static str {
    if find(path).is_some() { path } else { other }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_part_is_in_some_variant() {
        let catalogue = crate::catalogue().unwrap();
        let used: BTreeSet<&str> = catalogue
            .iter()
            .flat_map(|variant| variant.descriptor.source.parts())
            .map(|part| part.file.as_ref())
            .collect();
        // The pipeline layer's, and what users import.
        let of_others = ["params/", "copy/", "library/"];
        let unused: Vec<_> = files()
            .iter()
            .map(|(path, _)| *path)
            .filter(|path| !of_others.iter().any(|folder| path.starts_with(folder)))
            .filter(|path| !used.contains(path))
            .collect();
        assert!(unused.is_empty(), "no variant uses {unused:?}");
    }
}
