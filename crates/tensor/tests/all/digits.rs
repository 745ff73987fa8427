//! The digits demo on right and on damaged files.

#[path = "../../examples/digits/src/held_out.rs"]
mod held_out;
#[path = "../../examples/digits/src/model.rs"]
mod model;

use crate::common;
use std::fs;
use std::path::{Path, PathBuf};

use futures::executor::block_on;
use held_out::HeldOut;
use model::Digits;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/digits/data")
}

/// A copy of the data that a test may damage.
fn copy(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir(data()).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    folder
}

fn network(device: &ziggurat_tensor::Device, file: &Path) -> Result<Digits, String> {
    let tensors = ziggurat_tensor::io::load_safetensors(device, file).map_err(|e| e.to_string())?;
    Digits::new(&tensors)
}

fn weights_error(device: &ziggurat_tensor::Device, file: &Path) -> String {
    network(device, file).err().unwrap()
}

fn images_error(device: &ziggurat_tensor::Device, folder: &Path) -> String {
    block_on(HeldOut::load(device, folder))
        .err()
        .map(|e| e.to_string())
        .unwrap()
}

#[test]
fn classifies_the_held_out_images_like_the_reference() {
    let device = common::device();
    let held_out = block_on(HeldOut::load(&device, &data())).unwrap();
    let network = network(&device, &data().join("weights.safetensors")).unwrap();
    let logits = network.logits(&held_out.inputs).unwrap();
    let got = logits.to_vec_blocking::<f32>().unwrap();
    let expected = held_out.reference.to_vec_blocking::<f32>().unwrap();
    assert_eq!(got.len(), 3600);
    for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
        assert!(
            (got - expected).abs() <= 1e-4,
            "logit {i}: {got} is not {expected}"
        );
    }
    let predicted = logits
        .argmax(-1, false)
        .unwrap()
        .to_vec_blocking::<i32>()
        .unwrap();
    let right = predicted
        .iter()
        .zip(&held_out.labels)
        .filter(|(p, l)| **p == i32::from(**l))
        .count();
    assert_eq!(right, 356, "the count that the training script reported");
    assert_eq!(held_out.pixels.len(), 360 * 64);
}

#[test]
fn a_missing_file_is_named() {
    let device = common::device();
    let nowhere = Path::new("no/such/folder");
    let message = images_error(&device, nowhere);
    assert!(message.contains("no/such/folder"), "{message}");
    let message = weights_error(&device, &nowhere.join("weights.safetensors"));
    assert!(message.contains("weights.safetensors"), "{message}");
}

#[test]
fn a_truncated_file_is_refused_and_named() {
    let device = common::device();
    let folder = copy("digits-truncated");
    for name in ["weights.safetensors", "images.npy"] {
        let bytes = fs::read(folder.join(name)).unwrap();
        fs::write(folder.join(name), &bytes[..bytes.len() - 100]).unwrap();
    }
    let message = weights_error(&device, &folder.join("weights.safetensors"));
    assert!(message.contains("weights.safetensors"), "{message}");
    let message = images_error(&device, &folder);
    assert!(message.contains("images.npy"), "{message}");
}

#[test]
fn a_wrong_file_is_refused_and_named() {
    let device = common::device();
    let folder = copy("digits-wrong");
    fs::copy(folder.join("labels.npy"), folder.join("images.npy")).unwrap();
    let message = images_error(&device, &folder);
    assert!(
        message.contains("images.npy") && message.contains("[360]"),
        "{message}"
    );
    // An npy file is no safetensors file.
    let message = weights_error(&device, &folder.join("labels.npy"));
    assert!(message.contains("labels.npy"), "{message}");
}
