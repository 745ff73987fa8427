//! Writes the table of WGSL files: every one in this folder, by its path.
//!
//! The folder is the list, so a new snippet needs no second entry. For the web, where a program is downloaded, the table has the
//! texts without comments, and all but those for matrix units, which WebGPU does not have, are written once more, packed. Elsewhere
//! people read them, and the sanitizer too.

mod coded;
mod native;
mod pack;
mod shorter;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use native::is_for_native_programs;

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or(io::ErrorKind::NotFound)?);
    let mut found = Vec::new();
    collect(&root, &mut found)?;
    let mut files: Vec<(String, PathBuf)> = found
        .into_iter()
        .map(|file| (relative(&root, &file), file))
        .collect();
    files.sort();
    let is_web = env::var_os("CARGO_CFG_TARGET_ARCH").is_some_and(|name| name == "wasm32");
    let mut table = String::from("&[\n");
    let mut all = Vec::new();
    for (path, file) in &files {
        if is_web {
            println!("cargo::rerun-if-changed={}", file.display());
            let text = shorter::shorter(&fs::read_to_string(file)?);
            writeln!(table, "    ({path:?}, {text:?}),").map_err(io::Error::other)?;
            if !is_for_native_programs(path) {
                for part in [path, &text] {
                    all.extend_from_slice(part.as_bytes());
                    all.push(0);
                }
            }
        } else {
            writeln!(table, "    ({path:?}, include_str!({file:?})),").map_err(io::Error::other)?;
        }
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    if is_web {
        fs::write(out.join("files.packed"), pack::pack(&all))?;
    }
    fs::write(out.join("files.rs"), table)
}

/// Every WGSL file below `folder`; cargo runs this again when a folder changes.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "wgsl")
        {
            files.push(path);
        }
    }
    Ok(())
}

/// The path below `root`, with `/` on every platform.
fn relative(root: &Path, file: &Path) -> String {
    let below = file.strip_prefix(root).unwrap_or(file);
    let names: Vec<_> = below
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    names.join("/")
}
