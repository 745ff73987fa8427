//! The WGSL of Ziggurat's kernels, as text.
//!
//! Files are addressed by their path in this folder, which is also what error messages name. `build.rs` lists the folder,
//! so a new file needs no entry. A package of its own because two layers use the files: kernels its ops, pipeline the
//! declarations of parameters and the copy kernel; and because users' shaders import some of them, also within a macro.

mod importable;

pub use importable::{IMPORTABLE, Importable};

/// Path and text of every file, sorted by path.
pub const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The text of the file at this path. In a constant it is looked up when that is compiled.
///
/// ```
/// const IMMEDIATE: Option<&str> = ziggurat_shaders::find("params/immediate.wgsl");
/// assert!(IMMEDIATE.is_some_and(|text| text.contains("var<immediate>")));
/// assert!(ziggurat_shaders::find("no/such.wgsl").is_none());
/// ```
#[must_use]
pub const fn find(path: &str) -> Option<&'static str> {
    let (mut low, mut high) = (0, FILES.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match order(FILES[middle].0.as_bytes(), path.as_bytes()) {
            0 => return Some(FILES[middle].1),
            1.. => high = middle,
            _ => low = middle + 1,
        }
    }
    None
}

/// Below, equal to or above 0 as `a` is before, equal to or behind `b`.
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
            } else if path.extension().is_some_and(|ending| ending == "wgsl") {
                let relative = path.strip_prefix(root).unwrap().to_str().unwrap();
                found.insert(relative.replace('\\', "/"));
            }
        }
    }

    #[test]
    fn the_table_is_the_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut found = BTreeSet::new();
        collect(root, root, &mut found);
        let listed: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(listed, found);
    }

    #[test]
    fn the_table_is_sorted_and_finds_what_it_holds() {
        assert!(FILES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(FILES.iter().all(|(path, text)| find(path) == Some(*text)));
        for wrong in [
            "",
            "no/such.wgsl",
            "elementwise",
            "zzz",
            "copy/params.wgslx",
        ] {
            assert!(find(wrong).is_none(), "{wrong}");
        }
    }
}
