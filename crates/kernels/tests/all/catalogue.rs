//! The catalogue without a device. That every variant is valid, and has its parameters where the host puts them, is told by
//! `cargo xtask wgsl`; that the pipeline layer takes it, by the software device's tests, which make a pipeline of each.

use std::collections::HashSet;

use ziggurat_kernels::catalogue;

#[test]
fn names_are_unique() {
    let all = catalogue().unwrap();
    assert!(all.len() > 500, "only {} variants", all.len());
    let names: HashSet<&str> = all.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names.len(), all.len());
}

#[test]
fn descriptors_are_unique() {
    let all = catalogue().unwrap();
    let different: HashSet<_> = all.iter().map(|variant| &variant.descriptor).collect();
    assert_eq!(different.len(), all.len());
}
