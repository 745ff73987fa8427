//! Recordings: every family runs again with the same bits, on other devices within its bounds; planted differences, missing
//! files and texts that are none are found.

use std::path::{Path, PathBuf};

use crate::nan_trace::{FAMILIES, FINITE, fresh};
use crate::tensor_kernel::devices;
use ziggurat_tensor::{
    CustomKernel, DType, Device, RecordedCalls, ReplayOptions, Sequence, Tensor,
};

/// A folder of one test's own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ziggurat-{name}-{}", std::process::id()));
        let _none = std::fs::remove_dir_all(&path);
        Self(path)
    }

    fn calls(&self) -> PathBuf {
        self.0.join("calls.jsonl")
    }

    fn edit(&self, change: impl FnOnce(String) -> String) {
        let text = std::fs::read_to_string(self.calls()).unwrap();
        std::fs::write(self.calls(), change(text)).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

fn exact() -> ReplayOptions {
    ReplayOptions::default().exact()
}

/// A network with products, a convolution, norms, attention in parts, gathers and user's numbers.
fn network(device: &Device) -> Tensor {
    let values = |dims: &[usize], scale: f32| {
        let len: usize = dims.iter().product();
        let values: Vec<f32> = (0..len)
            .map(|i| ((i * 37 + 11) % 101) as f32 * 0.02 * scale - scale)
            .collect();
        Tensor::from_slice(device, &values, dims).unwrap()
    };
    let (x, weight) = (values(&[6, 24], 1.0), values(&[24, 24], 0.2));
    let hidden = x.matmul(&weight).unwrap().gelu().unwrap();
    let normed = hidden.layer_norm([24], None, None, 1e-5).unwrap();
    let scores = normed.matmul(&normed.t().unwrap()).unwrap();
    let mixed = scores.softmax(-1).unwrap().matmul(&normed).unwrap();
    let picked = mixed
        .index_select(0, &Tensor::from_slice(device, &[3i32, 0, 3], [3]).unwrap())
        .unwrap();
    picked.cumsum(1).unwrap().to_dtype(DType::F16).unwrap()
}

fn recorded(device: &Device, folder: &Folder, fused: bool) -> Tensor {
    let recording = if fused {
        device.record_kernels(&folder.0)
    } else {
        device.record_calls(&folder.0)
    };
    let recording = recording.unwrap();
    let result = network(device);
    result.eval_blocking().unwrap();
    recording.finish().unwrap();
    result
}

#[test]
fn each_family_runs_again_with_the_same_bits() {
    let device = fresh();
    let models = FAMILIES.iter().map(|(name, model)| (*name, model));
    let finite = FINITE.iter().map(|model| ("finite", model));
    for (at, (name, model)) in models.chain(finite).enumerate() {
        let folder = Folder::new(&format!("family-{at}"));
        let recording = device.record_calls(&folder.0).unwrap();
        model(&device).unwrap().eval_blocking().unwrap();
        let calls = recording.finish().unwrap();
        let recorded = RecordedCalls::open(&folder.0).unwrap();
        let report = recorded.replay(&device, &exact()).unwrap();
        assert!(
            calls > 0 && report.compared == calls,
            "{at} {name}: {report}"
        );
        assert_eq!(report.first(), None, "{at} {name}");
        if name != "finite" {
            assert!(recorded.operations().any(|op| op == name), "{at} {name}");
        }
    }
}

#[test]
fn a_network_runs_again_on_every_kind_of_device_within_its_bounds() {
    for fused in [false, true] {
        let folder = Folder::new(if fused { "fused" } else { "network" });
        let _result = recorded(&fresh(), &folder, fused);
        let recorded = RecordedCalls::open(&folder.0).unwrap();
        assert!(!recorded.adapter().is_empty());
        for device in devices() {
            let report = recorded.replay(&device, &ReplayOptions::default()).unwrap();
            assert_eq!(report.first(), None, "{fused} {}: {report}", device.name());
            if !fused {
                assert_eq!(report.not_run, [], "{}", device.name());
                assert_eq!(report.compared, recorded.operations().count());
            }
            assert!(report.compared > 0);
        }
    }
}

/// Workgroups that a buffer counts are counted by it again, not by what it held when the calls were recorded.
#[test]
fn dispatches_with_counts_in_memory_run_again() {
    let fill = CustomKernel::wgsl(
        "fill",
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn main(@builtin(workgroup_id) id: vec3<u32>) { out[id.x] = id.x + 1u; }",
    );
    let (device, folder) = (fresh(), Folder::new("indirect"));
    let recording = device.record_calls(&folder.0).unwrap();
    let counts = Tensor::from_slice(&device, &[4u32, 1, 1], [3]).unwrap();
    let mut steps = Sequence::new(&device, "filled");
    let (counts, out) = (
        steps.read(&counts).unwrap(),
        steps.zeros([6], DType::U32).unwrap(),
    );
    steps.step(&fill, [out]).indirect(counts, 0).run().unwrap();
    let filled = steps.finish(out).unwrap();
    assert_eq!(filled.to_vec_blocking::<u32>().unwrap(), [1, 2, 3, 4, 0, 0]);
    assert_eq!(recording.finish().unwrap(), 1);
    for device in devices() {
        let report = RecordedCalls::open(&folder.0)
            .unwrap()
            .replay(&device, &exact())
            .unwrap();
        assert!(report.compared > 0 && report.first().is_none(), "{report}");
    }
    let lines = std::fs::read_to_string(folder.calls()).unwrap();
    assert!(lines.contains("\"workgroups\":{"), "{lines}");
    let call = lines.lines().nth(1).unwrap();
    let call: serde_json::Value = serde_json::from_str(call).unwrap();
    let mut dispatches = call["dispatches"].as_array().unwrap().iter();
    let number = dispatches.find_map(|dispatch| dispatch["workgroups"]["buffer"].as_u64());
    let buffer = &call["buffers"][usize::try_from(number.unwrap()).unwrap()];
    let path = folder.0.join(buffer["file"].as_str().unwrap());
    let whole = usize::try_from(buffer["bytes"].as_u64().unwrap()).unwrap();
    plant(&path, whole, &5u32.to_le_bytes());
    let planted = RecordedCalls::open(&folder.0).unwrap();
    let report = planted.replay(&device, &exact()).unwrap();
    assert_eq!(report.first().unwrap().worst, [4], "{report}");
}

#[test]
fn recording_changes_no_bits_and_ends_with_its_guard() {
    let device = fresh();
    let bits = |tensor: &Tensor| tensor.to_bytes_blocking().unwrap();
    let wanted = bits(&network(&device));
    for fused in [false, true] {
        let folder = Folder::new(&format!("bits-{fused}"));
        assert_eq!(bits(&recorded(&device, &folder, fused)), wanted);
        assert!(
            device.record_calls(&folder.0).is_err(),
            "one recording, one folder"
        );
    }
    let [folder, other] = ["one", "two"].map(Folder::new);
    let recording = device.record_calls(&folder.0).unwrap();
    assert!(device.record_calls(&other.0).unwrap_err().is_argument());
    assert!(!other.calls().exists());
    assert!(device.trace_nan().unwrap_err().is_argument());
    let like = Tensor::ones(&device, [2], DType::F32).unwrap();
    assert!(
        device
            .capture(&[&like], |x| Ok(x.to_vec()))
            .unwrap_err()
            .is_argument()
    );
    drop(recording);
    let open = RecordedCalls::open(&folder.0).unwrap_err();
    assert!(
        open.is_format() && open.to_string().contains("not complete"),
        "{open}"
    );
}

/// Writes over one number of a recorded value.
fn plant(path: &Path, from_end: usize, bytes: &[u8]) {
    let mut file = std::fs::read(path).unwrap();
    let at = file.len() - from_end;
    file[at..at + bytes.len()].copy_from_slice(bytes);
    std::fs::write(path, file).unwrap();
}

#[test]
fn a_planted_difference_is_named_with_its_element() {
    let (device, folder) = (fresh(), Folder::new("planted"));
    let _result = recorded(&device, &folder, false);
    let lines = std::fs::read_to_string(folder.calls()).unwrap();
    let lines: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (call, line) in lines[1..lines.len() - 1].iter().enumerate() {
        let output = &line["outputs"][0];
        let path = folder.0.join(output["file"].as_str().unwrap());
        let before = std::fs::read(&path).unwrap();
        // The last element but one.
        let wide = output["dtype"] == "f32";
        let (at, number): (_, &[u8]) = if wide {
            (8, &1e4_f32.to_le_bytes())
        } else {
            (4, &[0, 0x70])
        };
        plant(&path, at, number);
        let planted = RecordedCalls::open(&folder.0).unwrap();
        let report = planted.replay(&device, &ReplayOptions::default()).unwrap();
        let first = report.first().unwrap();
        assert_eq!(
            (first.call, first.op.as_str()),
            (call, line["op"].as_str().unwrap())
        );
        assert_eq!((first.beyond, first.output), (1, 0), "{report}");
        assert_eq!(first.recorded, if wide { 1e4 } else { 8192.0 });
        let shape = first.form.0;
        let last = shape.dims().last().unwrap();
        assert_eq!(first.worst.last(), Some(&(last - 2)), "{first}");
        std::fs::write(&path, before).unwrap();
    }
    // One unit in the last place is nothing but to those who want the same bits.
    let output = &lines[1]["outputs"][0];
    let path = folder.0.join(output["file"].as_str().unwrap());
    let byte = std::fs::read(&path).unwrap();
    plant(&path, 4, &[byte[byte.len() - 4] ^ 1]);
    let planted = RecordedCalls::open(&folder.0).unwrap();
    let near = planted.replay(&device, &ReplayOptions::default()).unwrap();
    assert!(near.first().is_none_or(|first| first.call > 0), "{near}");
    let report = planted.replay(&device, &exact()).unwrap();
    assert_eq!(report.first().unwrap().call, 0);
}

#[test]
fn what_is_wrong_with_a_recording_is_said() {
    let device = fresh();
    let broken = |name: &str, change: fn(&Folder)| {
        let folder = Folder::new(name);
        let _result = recorded(&device, &folder, false);
        change(&folder);
        RecordedCalls::open(&folder.0)
            .and_then(|recorded| recorded.replay(&device, &exact()))
            .unwrap_err()
    };
    let absent = RecordedCalls::open("/nowhere/at/all").unwrap_err();
    assert!(absent.is_io(), "{absent}");
    let none = broken("none", |folder| {
        std::fs::remove_dir_all(folder.0.join("values")).unwrap();
    });
    assert!(none.is_io(), "{none}");
    let text = |name, change| {
        let error: ziggurat_tensor::Error = broken(name, change);
        assert!(error.is_format(), "{error}");
        error.to_string()
    };
    let cut = text("cut", |folder| {
        folder.edit(|text| text[..text.trim_end().rfind('\n').unwrap()].to_owned());
    });
    assert!(cut.contains("not complete"), "{cut}");
    let half = text("half", |folder| {
        folder.edit(|text| text[..text.len() / 2].to_owned());
    });
    assert!(half.contains("line "), "{half}");
    let version = text("version", |folder| {
        folder
            .edit(|text| text.replacen("\"ziggurat_recording\":1", "\"ziggurat_recording\":9", 1));
    });
    assert!(version.contains("version 9"), "{version}");
    let unknown = text("unknown", |folder| {
        folder.edit(|text| text.replacen("softmax op=softmax", "softmix op=softmax", 1));
    });
    assert!(unknown.contains("softmix"), "{unknown}");
    let other = text("other", |folder| folder.edit(|_| "{}\n".to_owned()));
    assert!(other.contains("does not begin"), "{other}");
    let short = text("short", |folder| {
        for value in std::fs::read_dir(folder.0.join("values")).unwrap() {
            let path = value.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, &bytes[..bytes.len() - 2]).unwrap();
        }
    });
    assert!(short.contains("bytes"), "{short}");
    let outside = text("outside", |folder| {
        folder.edit(|text| text.replacen("\"file\":\"values/", "\"file\":\"../values/", 1));
    });
    assert!(outside.contains("no file of a recording"), "{outside}");
}
