//! Keys of descriptors: equal for equal contents, and for no others.

use super::*;
use std::collections::HashSet;

fn descriptor() -> KernelDescriptor {
    KernelDescriptor::new(ShaderSource::wgsl("k", "text")).constant("WG", 64.0)
}

fn checked(checks: Checks) -> KernelDescriptor {
    KernelDescriptor {
        checks,
        ..descriptor()
    }
}

#[test]
fn every_field_is_part_of_the_identity() {
    let variants = [
        descriptor(),
        descriptor().constant("WG", 64.0),
        descriptor().entry("main"),
        descriptor().zero_workgroup_memory(false),
        descriptor().ordered_loads(true),
        checked(Checks::Divisions),
        checked(Checks::None),
        KernelDescriptor::new(ShaderSource::wgsl("k", "text")).constant("WG", 65.0),
        KernelDescriptor::new(ShaderSource::wgsl("k", "text")).constant("X", 64.0),
        KernelDescriptor::new(ShaderSource::wgsl("k", "text2")).constant("WG", 64.0),
        KernelDescriptor::new(ShaderSource::wgsl("l", "text")).constant("WG", 64.0),
        KernelDescriptor::new(ShaderSource::new("k").part("k", "te").part("k", "xt"))
            .constant("WG", 64.0),
    ];
    let set: HashSet<_> = variants.iter().collect();
    assert_eq!(set.len(), variants.len());
    assert!(set.contains(&descriptor()));
}

#[test]
fn constants_compare_by_bits() {
    let with = |value| KernelDescriptor::new(ShaderSource::wgsl("k", "t")).constant("C", value);
    assert_ne!(with(0.0), with(-0.0));
    assert_eq!(with(f64::NAN), with(f64::NAN));
}

#[test]
fn keys_keep_word_boundaries_and_kinds() {
    let key = || KernelKey::new("f");
    assert_ne!(key().tag("ab").tag("c"), key().tag("a").tag("bc"));
    assert_ne!(key().number(0), key());
    assert_ne!(key().tag("1"), key().number(1));
    assert_ne!(KernelKey::new("f/a"), key().tag("a"));
}

#[test]
fn words_in_place_are_the_same_words() {
    let mut key = KernelKey::new("f");
    key.push_tag("prelude/load/f16.wgsl");
    key.push_number(3);
    let same = KernelKey::new("f").tag("prelude/load/f16.wgsl").number(3);
    assert_eq!(key, same);
    assert!(HashSet::from([key]).contains(&same));
}

#[test]
fn tags_with_equal_ends_are_told_apart() {
    let key = |tag: &'static str| KernelKey::new("f").tag(tag);
    let tags = ["unary/relu.wgsl", "unary/gelu.wgsl", "u", ""];
    let keys: HashSet<_> = tags.into_iter().map(key).collect();
    assert_eq!(keys.len(), tags.len());
    // The same text at another place.
    let copied: &'static str = String::from("unary/relu.wgsl").leak();
    assert!(keys.contains(&key(copied)));
}

#[test]
fn long_keys_keep_all_their_words() {
    let long = |last| {
        (0..2 * INLINE as u64)
            .fold(KernelKey::new("f"), KernelKey::number)
            .number(last)
    };
    assert_eq!(long(7), long(7));
    assert_ne!(long(7), long(8));
    assert_eq!(HashSet::from([long(7), long(8), long(7)]).len(), 2);
}
