//! What the store of tuning keeps, drops and refuses.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn store(driver: &str) -> TuningStore {
    let mut info = wgpu::AdapterInfo::new(wgpu::DeviceType::Cpu, wgpu::Backend::Vulkan);
    info.driver_info = driver.to_owned();
    TuningStore::new(&info)
}

fn tuned(way: u64) -> Tuned {
    Tuned {
        way,
        family: "matmul".to_owned(),
        problem: "64 × 64".to_owned(),
        name: "tile\t64\n".to_owned(),
    }
}

fn filled() -> TuningStore {
    let filled = store("1");
    filled.insert(TuningKey::new("a", [1]), tuned(7));
    filled.insert(TuningKey::new("a", [2]), tuned(u64::MAX));
    filled
}

#[test]
fn exported_choices_are_imported_where_they_were_measured() {
    let other = store("1");
    assert_eq!(other.way(TuningKey::new("a", [1])), None);
    assert_eq!(other.import(&filled().export()), Ok(2));
    assert_eq!(other.way(TuningKey::new("a", [1])), Some(7));
    assert_eq!(other.way(TuningKey::new("a", [2])), Some(u64::MAX));
    assert_eq!(other.way(TuningKey::new("a", [3])), None);
    assert_eq!(other.export(), filled().export());
    // Texts are for people: what would end a field is a space.
    assert_eq!(other.entries()[0].1.name, "tile 64 ");
}

#[test]
fn another_driver_and_damage_are_refused_with_a_reason_that_stays() {
    let (bytes, other) = (filled().export(), store("2"));
    let before = other.generation();
    assert_eq!(other.import(&bytes), Err(TuningRejected::Foreign));
    assert_eq!(other.rejected(), Some(TuningRejected::Foreign));
    let same = store("1");
    for at in 0..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 1;
        assert!(same.import(&broken).is_err(), "byte {at}");
        assert!(same.import(&bytes[..at]).is_err(), "{at} bytes");
    }
    assert_eq!(same.rejected(), Some(TuningRejected::Corrupt));
    // A later format, and text that this one does not write, with a checksum that fits.
    let later = Kind { format: 2, ..KIND }.encode(same.identity(), b"");
    assert_eq!(same.import(&later), Err(TuningRejected::Format));
    for text in [
        "x",
        "0\t0\ta\tb",
        "0\t0\ta\tb\tc\td",
        "0\tfg\ta\tb\tc",
        "\n",
        "\u{0}",
    ] {
        let odd = KIND.encode(same.identity(), text.as_bytes());
        assert_eq!(same.import(&odd), Err(TuningRejected::Corrupt), "{text:?}");
    }
    let no_text = KIND.encode(same.identity(), &[0xff, 0xfe]);
    assert_eq!(same.import(&no_text), Err(TuningRejected::Corrupt));
    assert!(other.is_empty() && same.is_empty());
    assert_eq!(other.generation(), before);
    assert_eq!(same.import(&bytes), Ok(2));
    assert_eq!(same.rejected(), None);
}

#[test]
fn every_change_makes_plans_out_of_date() {
    let store = store("1");
    let mut seen = vec![store.generation()];
    store.insert(TuningKey::new("a", []), tuned(1));
    seen.push(store.generation());
    store.import(&filled().export()).unwrap();
    seen.push(store.generation());
    assert_eq!(store.len(), 3);
    store.clear();
    seen.push(store.generation());
    assert!(
        store.is_empty() && seen.is_sorted_by(|a, b| a < b),
        "{seen:?}"
    );
}

#[test]
fn keys_tell_family_and_numbers_from_each_other() {
    let keys = [
        TuningKey::new("a", [1, 2]),
        TuningKey::new("a", [2, 1]),
        TuningKey::new("a", [1]),
        TuningKey::new("a", []),
        TuningKey::new("b", [1, 2]),
        TuningKey::new("", [1, 2]),
    ];
    let different: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(different.len(), keys.len());
    // Files hold keys, so they stay what they are.
    assert_eq!(TuningKey::new("a", [1, 2]).bits(), 0x34bb_6b89_69d6_7767);
}
