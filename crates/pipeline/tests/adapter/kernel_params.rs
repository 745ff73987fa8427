//! Typed parameters: offsets and bytes of structs, and kernels of WGSL files checked by the compiler.

use super::*;
use ziggurat_pipeline::{KernelParams, Reflection, ShaderFeatures, reflect};

#[derive(KernelParams)]
struct Mixed {
    a: f32,
    b: [f32; 3],
    c: u32,
    d: [i32; 2],
    e: [[f32; 3]; 2],
    f: [[f32; 4]; 4],
    g: f32,
}

fn reflection(text: String) -> Reflection {
    let source = ShaderSource::wgsl("params", text);
    reflect(&KernelDescriptor::new(source), ShaderFeatures::NONE).unwrap()
}

const MAIN: &str = "@group(0) @binding(0) var<uniform> p: Mixed;
    @compute @workgroup_size(1) fn main() { _ = p; }";

#[test]
fn the_generated_text_has_the_offsets_of_the_bytes() {
    let found = reflection(Mixed::wgsl("Mixed") + MAIN);
    found.check_params::<Mixed>("p").unwrap();
    let value = Mixed {
        a: 1.0,
        b: [2.0, 3.0, 4.0],
        c: 5,
        d: [-6, 7],
        e: [[8.0, 9.0, 10.0], [11.0, 12.0, 13.0]],
        f: [[14.0; 4]; 4],
        g: 15.0,
    };
    let bytes = value.to_bytes();
    assert_eq!(bytes.len(), found.uniforms[0].bytes as usize);
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let at = |name: &str| {
        let members = &found.uniforms[0].members;
        members.iter().find(|m| m.name == name).unwrap().offset as usize
    };
    assert_eq!(word(at("a")), 1f32.to_bits());
    assert_eq!(word(at("b") + 8), 4f32.to_bits());
    assert_eq!(word(at("c")), 5);
    assert_eq!(word(at("d")), (-6i32) as u32);
    assert_eq!(word(at("e") + 16 + 4), 12f32.to_bits());
    assert_eq!(word(at("e") + 12), 0);
    assert_eq!(word(at("g")), 15f32.to_bits());
}

#[test]
fn swapped_renamed_and_padded_fields_are_told_by_name_and_line() {
    let text = Mixed::wgsl("Mixed");
    for (from, to, words) in [
        ("a: f32", "a: u32", "`a` of u32"),
        ("a: f32", "x: f32", "`x` of f32"),
        ("    c: u32,\n", "", "field 2 is `d`"),
        ("c: u32", "@align(16) c: u32", "`c` of u32 (4 bytes at 32)"),
        ("g: f32", "@size(32) g: f32", "176 bytes"),
        ("g: f32,\n", "g: f32, h: f32,\n", "8 fields"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        let error = reflection(changed + MAIN)
            .check_params::<Mixed>("p")
            .unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(words) && error.contains("params:"),
            "{words}: {error}"
        );
    }
    let found = reflection(text + MAIN);
    let error = found.check_params::<Mixed>("q").unwrap_err().to_string();
    assert!(error.contains("no such uniform"), "{error}");
}

ziggurat_pipeline::kernel!("scale.wgsl", entry = "main");
ziggurat_pipeline::kernel!(pub(crate) Add = "scale.wgsl", entry = "add");

#[test]
fn a_file_is_a_typed_kernel() {
    let pipelines = &open(DeviceOptions::default());
    let values: Vec<f32> = (0..12).map(|i| i as f32).collect();
    let image = pipelines
        .memory()
        .upload(bytemuck::cast_slice(&values))
        .unwrap();
    let grid = Grid::elements(12, 1);
    let scale = Scale {
        factor: 0.5,
        size: [4, 3],
        offset: 100.0,
    };
    scale.dispatch(pipelines, &image, grid).unwrap();
    let add = Add { offset: 7.0 };
    add.dispatch(pipelines, &image, grid).unwrap();
    let found: Vec<f32> = words(pipelines, &image)
        .into_iter()
        .map(f32::from_bits)
        .collect();
    let expected: Vec<f32> = values.iter().map(|v| v * 0.5 + 100.0 + 7.0).collect();
    assert_eq!(found, expected);
    let reflection = pipelines.kernel(&Scale::descriptor()).unwrap();
    assert_eq!(reflection.reflection().place.file, "scale.wgsl");
}
