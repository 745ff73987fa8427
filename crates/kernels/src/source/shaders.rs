//! The text of every WGSL part: the only file that embeds shaders.
//!
//! Parts are addressed by their path below `shaders/`, which is also what error messages name. `build.rs` lists the
//! folder, so a new file needs no entry; a test refuses files that no variant uses. (`params/` and `copy/` belong to
//! the pipeline layer.)

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::run::error::KernelError;

/// Path and text of every part, sorted by path; written by `build.rs` from the folder.
const PARTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/parts.rs"));

static TABLE: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| PARTS.iter().copied().collect());

/// The text of a part.
pub(crate) fn text(path: &'static str) -> Result<&'static str, KernelError> {
    TABLE
        .get(path)
        .copied()
        .ok_or(KernelError::MissingPart { path })
}

/// Whether there is a part of that path. For constants: a table row looks for its snippets when it is compiled.
const fn exists(path: &str) -> bool {
    let (mut low, mut high) = (0, PARTS.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match order(PARTS[middle].0.as_bytes(), path.as_bytes()) {
            0 => return true,
            1.. => high = middle,
            _ => low = middle + 1,
        }
    }
    false
}

/// Below, equal or above 0 as `a` is before, equal to or behind `b`.
const fn order(a: &[u8], b: &[u8]) -> i32 {
    let mut at = 0;
    while at < a.len() && at < b.len() {
        if a[at] != b[at] {
            return a[at] as i32 - b[at] as i32;
        }
        at += 1;
    }
    (at < a.len()) as i32 - (at < b.len()) as i32
}

/// The first path if there is such a part, else the other.
pub(crate) const fn first_of(path: &'static str, other: &'static str) -> &'static str {
    if exists(path) { path } else { other }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn collect(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, root, found);
            } else {
                let relative = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .replace('\\', "/");
                found.insert(relative);
            }
        }
    }

    #[test]
    fn the_table_is_the_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
        let mut found = BTreeSet::new();
        collect(&root, &root, &mut found);
        // These two folders are the pipeline layer's.
        found.retain(|path| !path.starts_with("params/") && !path.starts_with("copy/"));
        let listed: BTreeSet<String> = PARTS.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(listed, found);
    }

    #[test]
    fn the_table_is_sorted_and_finds_what_it_holds() {
        assert!(PARTS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(
            PARTS
                .iter()
                .all(|(path, held)| exists(path) && text(path).unwrap() == *held)
        );
        assert!(text("no/such.wgsl").is_err());
        for wrong in [
            "",
            "no/such.wgsl",
            "elementwise",
            "zzz",
            "elementwise/emit.wgslx",
        ] {
            assert!(!exists(wrong) && first_of(wrong, "other") == "other");
        }
    }

    #[test]
    fn every_part_is_in_some_variant() {
        let catalogue = crate::catalogue().unwrap();
        let used: BTreeSet<&str> = catalogue
            .iter()
            .flat_map(|variant| variant.descriptor.source.parts())
            .map(|part| part.file.as_ref())
            .collect();
        let unused: Vec<_> = PARTS
            .iter()
            .map(|(path, _)| *path)
            .filter(|path| !used.contains(path))
            .collect();
        assert!(unused.is_empty(), "no variant uses {unused:?}");
    }
}
