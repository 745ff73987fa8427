//! Files under stress: written by several at once, read while they are written, large, hostile, or only in part.

use crate::common;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ziggurat_tensor::{DType, Tensor, io};

/// A folder that disappears with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ziggurat-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<String> = (fs::read_dir(&self.0).unwrap())
            .map(|entry| name(entry.unwrap()))
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ignored = fs::remove_dir_all(&self.0);
    }
}

fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    let length = (header.len() as u64).to_le_bytes();
    [&length[..], header.as_bytes(), data].concat()
}

#[test]
fn readers_see_whole_files_while_several_threads_write_one() {
    let device = common::device();
    let folder = Folder::new("torn");
    for name in ["a.safetensors", "a.npy"] {
        let path = folder.file(name);
        // Files of different lengths, each of one value.
        let tensors: Vec<Tensor> = (1..4_usize)
            .map(|i| Tensor::full(&device, [i * 10_000], i as f64, DType::U8).unwrap())
            .collect();
        let save = |tensor: &Tensor| match name.ends_with(".npy") {
            true => io::save_npy_blocking(&path, tensor),
            false => io::save_safetensors_blocking(&path, &[("a", tensor)]),
        };
        save(&tensors[0]).unwrap();
        let (stop, loads) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            let writers: Vec<_> = (tensors.iter())
                .map(|tensor| scope.spawn(|| (0..40).try_for_each(|_| save(tensor))))
                .collect();
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let loaded = match name.ends_with(".npy") {
                            true => io::load_npy(&device, &path).unwrap(),
                            false => io::load_safetensors(&device, &path)
                                .unwrap()
                                .remove("a")
                                .unwrap(),
                        };
                        let values = loaded.to_vec_blocking::<u8>().unwrap();
                        let i = usize::from(values[0]);
                        assert!(
                            values.len() == i * 10_000
                                && values.iter().all(|&v| usize::from(v) == i)
                        );
                        loads.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let results: Vec<_> = writers
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .collect();
            stop.store(true, Ordering::Relaxed);
            results.into_iter().for_each(|result| result.unwrap());
        });
        assert!(loads.into_inner() > 0);
    }
    assert_eq!(
        folder.names(),
        ["a.npy", "a.safetensors"],
        "nothing else is left"
    );
}

#[cfg(unix)]
#[test]
fn no_link_is_followed_and_permissions_are_those_of_any_new_file() {
    use std::os::unix::fs::{MetadataExt, symlink};

    let device = common::device();
    let folder = Folder::new("links");
    let tensor = Tensor::ones(&device, [3], DType::F32).unwrap();
    let (path, other) = (folder.file("a.npy"), folder.file("other"));
    fs::write(&other, "precious").unwrap();
    // The temporary name of before, which anybody could foresee.
    symlink(
        &other,
        folder.file(&format!("a.npy.{}.part", std::process::id())),
    )
    .unwrap();
    io::save_npy_blocking(&path, &tensor).unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "precious");
    let ordinary = folder.file("ordinary");
    fs::write(&ordinary, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode();
    assert_eq!(mode(&path), mode(&ordinary));
    // A link at the path itself is replaced, what it leads to stays.
    let link = folder.file("link.npy");
    symlink(&other, &link).unwrap();
    io::save_npy_blocking(&link, &tensor).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_file());
    assert_eq!(fs::read_to_string(&other).unwrap(), "precious");
    // What cannot be put in place leaves nothing behind.
    let before = folder.names();
    fs::create_dir(folder.file("full")).unwrap();
    fs::write(folder.file("full/file"), "").unwrap();
    assert!(
        io::save_npy_blocking(folder.file("full"), &tensor)
            .unwrap_err()
            .is_io()
    );
    assert!(
        io::save_npy_blocking(folder.file(".."), &tensor)
            .unwrap_err()
            .is_io()
    );
    fs::remove_dir_all(folder.file("full")).unwrap();
    assert_eq!(folder.names(), before);
}

#[test]
fn a_tensor_cannot_have_the_name_of_the_metadata() {
    let device = common::device();
    let tensor = Tensor::ones(&device, [3], DType::F32).unwrap();
    let named = io::safetensors_to_bytes(&[("__metadata__", &tensor)]);
    let error = futures::executor::block_on(named).unwrap_err();
    assert!(error.is_argument(), "{error}");
    assert!(error.to_string().contains("`__metadata__`"), "{error}");
}

#[test]
fn bytes_of_a_bool_are_0_or_1() {
    let device = common::device();
    let bytes = [0, 1, 2, 1];
    let error = Tensor::from_bytes(&device, &bytes, [4], DType::Bool).unwrap_err();
    assert!(error.is_argument(), "{error}");
    let text = "a bool must be 0 or 1, but the byte at position 2 is 2";
    assert_eq!(error.to_string(), format!("from_bytes: {text}"));
    let header = r#"{"flags":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}}"#;
    let file = safetensors(header, &bytes);
    let error = io::safetensors_from_bytes(&device, &file).unwrap_err();
    assert!(
        error.is_format() && error.to_string().contains(text),
        "{error}"
    );
    assert!(error.to_string().contains("`flags`"), "{error}");
    let fine = Tensor::from_bytes(&device, &[0, 1, 1, 0], [4], DType::Bool).unwrap();
    let mut npy = futures::executor::block_on(io::npy_to_bytes(&fine)).unwrap();
    *npy.last_mut().unwrap() = 255;
    let error = io::npy_from_bytes(&device, &npy).unwrap_err();
    assert!(
        error.is_format() && error.to_string().contains("is 255"),
        "{error}"
    );
    let exec = device.executor();
    let shape = ziggurat_tensor::Shape::new([4]).unwrap();
    let error = exec.upload_bytes(DType::Bool, &bytes, &shape).unwrap_err();
    assert!(matches!(
        error,
        ziggurat_kernels::KernelError::BoolByte {
            position: 2,
            byte: 2
        }
    ));
}

#[test]
fn tensors_are_loaded_one_by_one() {
    let device = common::device();
    let folder = Folder::new("parts");
    let path = folder.file("a.safetensors");
    // A terabyte that is not there: only what is asked for is read.
    let big = 1_u64 << 40;
    let header = format!(
        r#"{{"__metadata__":{{"k":"v"}},"small":{{"dtype":"I64","shape":[2],"data_offsets":[0,16]}},
        "odd":{{"dtype":"F8_E4M3","shape":[2],"data_offsets":[16,18]}},
        "big":{{"dtype":"U8","shape":[{big}],"data_offsets":[18,{}]}}}}"#,
        18 + big
    );
    let small = [7_i64.to_le_bytes(), (-1_i64).to_le_bytes()].concat();
    fs::write(&path, safetensors(&header, &small)).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let sparse = file.set_len(8 + header.len() as u64 + 18 + big);
    let start = Instant::now();
    if sparse.is_ok() {
        let mut files = vec![io::SafetensorsFile::open(&path).unwrap()];
        #[allow(unsafe_code, reason = "the test of a memory map")]
        // SAFETY: nobody else knows the file, and nothing writes to it while the map lives.
        files.push(unsafe { io::SafetensorsFile::open_mapped(&path) }.unwrap());
        for file in files {
            assert_eq!(file.names().collect::<Vec<_>>(), ["big", "odd", "small"]);
            assert_eq!(file.dims("small"), Some(&[2][..]));
            assert_eq!(file.dtype("small"), Some(DType::I32));
            assert_eq!((file.dtype("odd"), file.dtype("none")), (None, None));
            let small = file.load(&device, "small").unwrap();
            assert_eq!(small.to_vec_blocking::<i32>().unwrap(), [7, -1]);
            let some = file
                .load_where(&device, |name| name.starts_with('s'))
                .unwrap();
            assert_eq!(some.keys().collect::<Vec<_>>(), ["small"]);
            let error = file.load(&device, "big").unwrap_err();
            assert!(error.is_too_large(), "{error}");
            assert_eq!(error.requested_bytes(), Some(big));
            let error = file.load(&device, "odd").unwrap_err();
            assert!(error.is_format() && error.to_string().contains("a.safetensors: tensor `odd`"));
            assert!(file.load(&device, "none").unwrap_err().is_argument());
        }
        assert!(start.elapsed() < Duration::from_secs(30));
    } else {
        eprintln!("this file system has no sparse files of a terabyte");
    }
    drop(file);
    // What is opened stays as it was when another file takes its name.
    let path = folder.file("b.safetensors");
    let tensors = [2.0, 3.0].map(|value| Tensor::full(&device, [5], value, DType::F32).unwrap());
    io::save_safetensors_blocking(&path, &[("x", &tensors[0])]).unwrap();
    let before = io::SafetensorsFile::open(&path).unwrap();
    io::save_safetensors_blocking(&path, &[("y", &tensors[1])]).unwrap();
    assert_eq!(
        before
            .load(&device, "x")
            .unwrap()
            .to_vec_blocking::<f32>()
            .unwrap(),
        [2.0; 5]
    );
    let after = io::load_safetensors(&device, &path).unwrap();
    assert_eq!(after["y"].to_vec_blocking::<f32>().unwrap(), [3.0; 5]);
}

#[test]
fn an_index_of_files_is_one_model() {
    let device = common::device();
    let folder = Folder::new("shards");
    let tensor = |value: i32| Tensor::full(&device, [2], value, DType::I32).unwrap();
    let save = |name: &str, tensors: &[(&str, &Tensor)]| {
        io::save_safetensors_blocking(folder.file(name), tensors).unwrap();
    };
    save(
        "model-1.safetensors",
        &[("a", &tensor(1)), ("b", &tensor(2))],
    );
    save("model-2.safetensors", &[("c", &tensor(3))]);
    let index = folder.file("model.safetensors.index.json");
    let write = |map: &str| fs::write(&index, format!(r#"{{"weight_map":{map}}}"#)).unwrap();
    write(r#"{"a":"model-1.safetensors","b":"model-1.safetensors","c":"model-2.safetensors"}"#);
    let all: BTreeMap<String, Tensor> = io::load_safetensors(&device, &index).unwrap();
    let values: Vec<i32> = (all.values())
        .map(|tensor| tensor.to_vec_blocking::<i32>().unwrap()[0])
        .collect();
    assert_eq!(values, [1, 2, 3]);
    for (map, part) in [
        (r#"{"a":"../model-1.safetensors"}"#, "same folder"),
        (r#"{"a":"/etc/passwd"}"#, "same folder"),
        (r#"{"a":""}"#, "same folder"),
        (r#"{"a":7}"#, "same folder"),
        (r#"{"c":"model-1.safetensors"}"#, "`c` is not in"),
        ("7", "weight_map"),
    ] {
        write(map);
        let error = io::SafetensorsFile::open(&index).unwrap_err();
        assert!(
            error.is_format() && error.to_string().contains(part),
            "{map}: {error}"
        );
    }
    write(r#"{"a":"missing.safetensors"}"#);
    assert!(io::SafetensorsFile::open(&index).unwrap_err().is_io());
}

#[test]
fn hostile_files_are_refused_in_short_time_and_few_words() {
    let device = common::device();
    let folder = Folder::new("hostile");
    let npy = |header: &str| {
        let length = u32::try_from(header.len()).unwrap().to_le_bytes();
        [&b"\x93NUMPY\x02\x00"[..], &length, header.as_bytes()].concat()
    };
    let deep = |open: &str, len: usize| open.repeat(len);
    let start = Instant::now();
    let mut files = Vec::new();
    for open in [
        "[", "(", "{", "'", "[(", "{'a':", "((,", "L", "1,", "\u{0}", "-",
    ] {
        for len in [1, 20, 30, 100_000, 1 << 20] {
            let nested = deep(open, len);
            files.push(npy(&nested));
            files.push(npy(&format!("{{'descr': {nested}")));
            files.push(npy(&format!(
                "{{'descr': '<f4', 'fortran_order': False, 'shape': {nested}}}"
            )));
            files.push(npy(&format!(
                "{{'descr': '<f4', 'fortran_order': False, 'shape': ({nested})}}"
            )));
        }
    }
    for file in &files {
        let error = io::npy_from_bytes(&device, file).unwrap_err();
        assert!(error.is_format(), "{error}");
        assert!(error.to_string().len() <= 1024);
    }
    for json in [
        deep("[", 1 << 20),
        deep("{\"a\":", 1 << 20),
        format!("{{\"{}\":1}}", deep("a", 1 << 20)),
        format!(
            "{{\"{}\":{{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}}}",
            deep("a", 1 << 20)
        ),
        r#"{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}"#.to_owned(),
        r#"{"a":{"dtype":"F32","shape":[0,4611686018427387904,4],"data_offsets":[0,0]}}"#
            .to_owned(),
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551615,3]}}"#.to_owned(),
    ] {
        let path = folder.file("a.safetensors");
        let bytes = safetensors(&json, &[]);
        fs::write(&path, &bytes).unwrap();
        for error in [
            io::safetensors_from_bytes(&device, &bytes).unwrap_err(),
            io::load_safetensors(&device, &path).unwrap_err(),
        ] {
            assert!(error.is_format(), "{error}");
            assert!(error.to_string().len() <= 1024);
        }
    }
    // A length that is not there.
    let path = folder.file("b.safetensors");
    fs::write(&path, [u64::MAX.to_le_bytes(), [b'{'; 8]].concat()).unwrap();
    assert!(
        io::load_safetensors(&device, &path)
            .unwrap_err()
            .is_format()
    );
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
}
