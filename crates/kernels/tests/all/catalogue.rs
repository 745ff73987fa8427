//! The catalogue without a device: every variant compiles, and its parameters are where the host puts them.

use std::collections::HashSet;

use ziggurat_kernels::pipeline::{Scalar, ShaderFeatures, reflect};
use ziggurat_kernels::{ParamField, ParamType, catalogue};

#[test]
fn every_variant_is_valid_and_agrees_with_the_host_about_its_parameters() {
    let all = catalogue().unwrap();
    assert!(all.len() > 500, "only {} variants", all.len());
    for variant in &all {
        let reflection = reflect(&variant.descriptor, ShaderFeatures::all())
            .unwrap_or_else(|error| panic!("{}: {error}", variant.name));
        let params = reflection
            .params
            .as_ref()
            .unwrap_or_else(|| panic!("{}: no parameters", variant.name));
        let shader: Vec<_> = params
            .members
            .iter()
            .map(|m| (m.name.as_str(), m.offset, m.bytes, m.scalar))
            .collect();
        assert_eq!(shader, host(&variant.params), "{}", variant.name);
    }
}

fn host(fields: &[ParamField]) -> Vec<(&'static str, u32, u32, Scalar)> {
    fields
        .iter()
        .map(|field| {
            let (bytes, scalar) = match field.ty {
                ParamType::U32 => (4, Scalar::U32),
                ParamType::I32 => (4, Scalar::I32),
                ParamType::F32 => (4, Scalar::F32),
                ParamType::Vec4U32 => (16, Scalar::U32),
            };
            (
                field.name,
                field.offset,
                bytes * field.count.unwrap_or(1),
                scalar,
            )
        })
        .collect()
}

#[test]
fn names_are_unique() {
    let all = catalogue().unwrap();
    let names: HashSet<&str> = all.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names.len(), all.len());
}

#[test]
fn descriptors_are_unique() {
    let all = catalogue().unwrap();
    let different: HashSet<_> = all.iter().map(|variant| &variant.descriptor).collect();
    assert_eq!(different.len(), all.len());
}
