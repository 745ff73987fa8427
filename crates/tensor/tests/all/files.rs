//! Files: what is written is read back, and what is broken is refused with the path in the text.

use crate::common;
use std::path::PathBuf;

use ziggurat_tensor::{DType, Tensor, io};

/// A folder that disappears with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ziggurat-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ignored = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn safetensors_and_npy_round_trip_every_dtype() {
    let device = common::device();
    let folder = Folder::new("round-trip");
    for dtype in DType::ALL {
        for dims in [vec![], vec![3], vec![2, 0], vec![3, 2]] {
            let len = dims.iter().product::<usize>();
            let a = Tensor::arange(&device, 0, len as i32, 1, DType::I32).unwrap();
            let a = a
                .to_dtype(dtype)
                .unwrap()
                .reshape_to(&dims)
                .unwrap()
                .t()
                .unwrap();
            let path = folder.file("a.safetensors");
            io::save_safetensors_blocking(&path, &[("first", &a), ("second", &a)]).unwrap();
            let loaded = io::load_safetensors(&device, &path).unwrap();
            assert_eq!(loaded.keys().collect::<Vec<_>>(), ["first", "second"]);
            assert_eq!(
                (loaded["second"].dims(), loaded["second"].dtype()),
                (a.dims(), dtype)
            );
            assert_eq!(
                loaded["second"].to_f64_vec_blocking().unwrap(),
                a.to_f64_vec_blocking().unwrap()
            );
            let path = folder.file("a.npy");
            if dtype == DType::BF16 {
                assert!(io::save_npy_blocking(&path, &a).unwrap_err().is_dtype());
                continue;
            }
            io::save_npy_blocking(&path, &a).unwrap();
            let loaded = io::load_npy(&device, &path).unwrap();
            assert_eq!((loaded.dims(), loaded.dtype()), (a.dims(), dtype));
            assert_eq!(
                loaded.to_f64_vec_blocking().unwrap(),
                a.to_f64_vec_blocking().unwrap()
            );
        }
    }
    assert_eq!(
        std::fs::read_dir(&folder.0).unwrap().count(),
        2,
        "partial files were left"
    );
}

#[test]
fn missing_truncated_and_foreign_files_are_named() {
    let device = common::device();
    let folder = Folder::new("broken");
    let missing = folder.file("missing.npy");
    let error = io::load_npy(&device, &missing).unwrap_err();
    assert!(
        error.is_io() && error.to_string().contains("missing.npy"),
        "{error}"
    );
    assert!(io::load_safetensors(&device, &missing).unwrap_err().is_io());

    let a = Tensor::ones(&device, [100], DType::F32).unwrap();
    let good = folder.file("good.safetensors");
    io::save_safetensors_blocking(&good, &[("a", &a)]).unwrap();
    let bytes = std::fs::read(&good).unwrap();
    let cut = folder.file("cut.safetensors");
    for len in [0, 4, 12, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&cut, &bytes[..len]).unwrap();
        let error = io::load_safetensors(&device, &cut).unwrap_err();
        assert!(
            error.is_format() && error.to_string().contains("cut.safetensors"),
            "{len}: {error}"
        );
    }
    let error = io::load_npy(&device, &good).unwrap_err();
    assert!(
        error.is_format()
            && error
                .to_string()
                .contains("good.safetensors: not a valid npy file"),
        "{error}"
    );
    let nowhere = folder.file("no/such/folder/a.npy");
    assert!(io::save_npy_blocking(nowhere, &a).unwrap_err().is_io());
    assert!(
        io::save_safetensors_blocking(&good, &[("a", &a), ("a", &a)])
            .unwrap_err()
            .is_argument()
    );
}
