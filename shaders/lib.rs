//! The WGSL of Ziggurat's kernels, as text.
//!
//! Files are addressed by their path in this folder, which is also what error messages name. `build.rs` lists the folder,
//! so a new file needs no entry. A package of its own because two layers use the files: kernels its ops, pipeline the
//! declarations of parameters and the copy kernel; and because users' shaders import some of them, also within a macro.

#[cfg(any(test, target_arch = "wasm32"))]
mod coded;
mod importable;
#[cfg(test)]
mod native;
#[cfg(test)]
mod pack;
#[cfg(test)]
mod shorter;
#[cfg(any(test, target_arch = "wasm32"))]
mod unpack;

pub use importable::{IMPORTABLE, Importable};

/// Path and text of every file, sorted by path, for constants: a program takes [`files`]. On `wasm32` without comments, line by line the same otherwise.
pub const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Path and text of every file, sorted by path: [`FILES`], of which a program for the web has only a packed copy, which the first
/// call unpacks.
///
/// ```
/// let files = ziggurat_shaders::files();
/// assert!(files.iter().any(|(path, text)| *path == "copy/aligned.wgsl" && text.contains("@compute")));
/// ```
#[must_use]
pub fn files() -> &'static [(&'static str, &'static str)] {
    #[cfg(not(target_arch = "wasm32"))]
    return FILES;
    #[cfg(target_arch = "wasm32")]
    {
        static UNPACKED: std::sync::LazyLock<Vec<(&str, &str)>> = std::sync::LazyLock::new(|| {
            let packed = include_bytes!(concat!(env!("OUT_DIR"), "/files.packed"));
            let all = String::from_utf8_lossy(&unpack::unpack(packed)).into_owned();
            // For as long as the program runs, as constants are.
            let mut parts = String::leak(all).split('\0');
            std::iter::from_fn(|| Some((parts.next()?, parts.next()?))).collect()
        });
        &UNPACKED
    }
}

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
    fn short_texts_have_the_same_code_on_the_same_lines() {
        use crate::shorter::shorter;
        assert_eq!(shorter("  a; // b\n\n\t// c\nd / e;\n"), "a;\n\n\nd / e;\n");
        for (path, text) in FILES {
            assert!(
                !text.contains("/*"),
                "{path}: a comment that `shorter` does not know"
            );
            let short = shorter(text);
            assert_eq!(
                short.split('\n').count(),
                text.split('\n').count(),
                "{path}"
            );
            for (short, long) in short.split('\n').zip(text.split('\n')) {
                assert!(!short.contains("//"), "{path}: {short}");
                let comment = long.find("//").unwrap_or(long.len());
                assert_eq!(short, long[..comment].trim(), "{path}");
            }
        }
        let bytes =
            |text: &dyn Fn(&str) -> usize| -> usize { FILES.iter().map(|(_, t)| text(t)).sum() };
        assert!(bytes(&|text| shorter(text).len()) * 3 < bytes(&str::len) * 2);
    }

    #[test]
    fn what_is_packed_comes_out_again() {
        use crate::{pack::pack, unpack::unpack};
        let again = |bytes: &[u8]| assert_eq!(unpack(&pack(bytes)), bytes);
        again(b"");
        again(b"abc");
        again(b"abcdabcdabcdabcdabcdabcdabcdx");
        again(&[7; 1000]);
        // No four bytes twice, and then all of them at once from far away.
        let new: Vec<u8> = (0..40_000_u32)
            .flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        again(&[new.as_slice(), &new, &[1, 2, 3]].concat());
        for length in (0..700).step_by(9) {
            again(&[&new[..length], &new[..length]].concat());
        }
        let all: String = FILES
            .iter()
            .map(|(path, text)| format!("{path}\0{text}\0"))
            .collect();
        let packed = pack(all.as_bytes());
        assert_eq!(unpack(&packed), all.as_bytes());
        assert!(
            packed.len() * 5 < all.len(),
            "{} of {}",
            packed.len(),
            all.len()
        );
        // What is cut off or mistaken panics nowhere.
        for end in (0..packed.len()).step_by(9973) {
            assert!(unpack(&packed[..end]).len() <= all.len());
            let mut mistaken = packed.clone();
            mistaken[end] ^= 0x55;
            let found = unpack(&mistaken);
            assert!(end < 4 || found.len() <= all.len() && found != all.as_bytes());
        }
    }

    #[test]
    fn what_uses_matrix_units_is_known_by_its_file() {
        use crate::native::{self, is_for_native_programs};
        for (path, text) in FILES {
            let uses = ["coop_mat", "coopLoad", "cooperative_matrix"];
            let uses = uses.iter().any(|word| text.contains(word));
            assert!(!uses || is_for_native_programs(path), "{path}");
        }
        assert!(native::FILES.iter().all(|path| find(path).is_some()));
        let in_folder = |folder: &&str| FILES.iter().any(|(path, _)| path.starts_with(*folder));
        assert!(native::FOLDERS.iter().all(in_folder));
        assert!(!is_for_native_programs("matmul/tile.wgsl"));
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
