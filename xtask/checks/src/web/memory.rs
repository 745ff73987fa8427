//! How much memory a program and all that it started have, where the system is Linux.

use std::collections::BTreeMap;
use std::{fs, io};

/// Bytes of memory that belong to the process and its descendants alone, or to shared memory that they made.
pub(super) fn of_all(root: u32) -> io::Result<u64> {
    let mut parents = BTreeMap::new();
    let mut bytes = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process may have ended since.
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else {
            continue;
        };
        parents.insert(id, number(&status, "PPid:") as u32);
        let kib = number(&status, "RssAnon:") + number(&status, "RssShmem:");
        bytes.insert(id, kib << 10);
    }
    let is_below = |mut id: u32| {
        while id != root {
            match parents.get(&id) {
                Some(parent) if *parent != 0 => id = *parent,
                _ => return false,
            }
        }
        true
    };
    Ok(bytes
        .iter()
        .filter(|(id, _)| is_below(**id))
        .map(|(_, bytes)| bytes)
        .sum())
}

/// The number behind a name; 0 without.
fn number(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_found_where_it_is() {
        let own = of_all(std::process::id()).unwrap_or(0);
        assert!(own > 100 << 10, "{own}");
        let held = vec![1_u8; 64 << 20];
        let more = of_all(std::process::id()).unwrap_or(0);
        assert!(more > own + (60 << 20), "{own} {more} {}", held.len());
        assert!(of_all(1).unwrap_or(0) >= more / 2);
        assert_eq!(of_all(u32::MAX).unwrap_or(1), 0);
    }
}
