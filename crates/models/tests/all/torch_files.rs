//! Files of PyTorch in both layouts: tensors are read, nothing is called, and what is wrong is named with its offset.

use ziggurat_models::Error;
use ziggurat_models::torch::{TorchError, TorchFile, TorchProblem as Problem};
use ziggurat_tensor::io::SafetensorsFile;

use crate::data;
use crate::decoders::{device, values};

#[test]
fn both_layouts_have_the_tensors_that_were_written() {
    let device = device();
    let reference = SafetensorsFile::open(data("efficientnet/reference.safetensors")).unwrap();
    // In the archive they are within another dictionary.
    for (file, prefix) in [("legacy.pth", ""), ("zip.pth", "state_dict.")] {
        let file = TorchFile::open(data(&format!("efficientnet/{file}"))).unwrap();
        assert_eq!(file.names().count(), 170);
        for name in ["_fc.weight", "_fc.bias"] {
            let inner = format!("{prefix}{name}");
            let expected = reference.load(&device, name).unwrap();
            assert_eq!(file.dims(&inner), Some(expected.dims()));
            let found = file.load(&device, &inner).unwrap();
            assert_eq!(values(&found), values(&expected), "{name}");
        }
        let counts = format!("{prefix}_bn0.num_batches_tracked");
        assert_eq!(file.dims(&counts), Some(&[][..]));
        let error = file.load(&device, &counts).unwrap_err();
        assert!(error.to_string().contains("integers"), "{error}");
        let error = file.load(&device, "_fc").unwrap_err();
        assert!(matches!(error, Error::MissingTensor { .. }), "{error}");
    }
}

/// What a legacy file is put together from.
struct Legacy {
    dictionary: Vec<u8>,
    keys: &'static [u8],
    memory: Vec<u8>,
}

const START: &[u8] =
    b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.";

/// Memory of four elements, key `k`.
const MEMORY: &[u8] = b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0kX\x03\0\0\0cpuK\x04tQ";

/// A tensor in it: offset, extents and strides.
fn tensor(layout: &[u8]) -> Vec<u8> {
    let call = b"ctorch._utils\n_rebuild_tensor_v2\n(";
    [call, MEMORY, layout, b"\x89)tR"].concat()
}

fn dictionary(value: &[u8]) -> Vec<u8> {
    [b"\x80\x02}(X\x01\0\0\0a", value, b"u."].concat()
}

impl Legacy {
    /// `a`, which is `[2, 2]`.
    fn new() -> Self {
        Self::of(dictionary(&tensor(b"K\0K\x02K\x02\x86K\x02K\x01\x86")))
    }

    fn of(dictionary: Vec<u8>) -> Self {
        let numbers = [1.0f32, 2.0, 3.0, 4.0];
        let count = 4u64.to_le_bytes().into_iter();
        let memory = count.chain(numbers.iter().flat_map(|x| x.to_le_bytes()));
        Self {
            dictionary,
            keys: b"\x80\x02](X\x01\0\0\0ke.",
            memory: memory.collect(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        [START, &self.dictionary, self.keys, &self.memory].concat()
    }
}

fn problem(bytes: Vec<u8>) -> TorchError {
    match TorchFile::from_bytes(bytes) {
        Err(Error::Torch { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tensors_may_share_memory_but_not_leave_it() {
    let device = device();
    let with =
        |layout: &[u8]| TorchFile::from_bytes(Legacy::of(dictionary(&tensor(layout))).bytes());
    for (layout, dims, expected) in [
        (
            &b"K\0K\x02K\x02\x86K\x02K\x01\x86"[..],
            &[2, 2][..],
            &[1.0f32, 2.0, 3.0, 4.0][..],
        ),
        (b"K\x01K\x03\x85K\x01\x85", &[3], &[2.0, 3.0, 4.0]),
        (b"K\x03))", &[], &[4.0]),
        (b"K\x04K\0\x85K\x01\x85", &[0], &[]),
        // Transposed, also within three axes.
        (
            b"K\0K\x02K\x02\x86K\x01K\x02\x86",
            &[2, 2],
            &[1.0, 3.0, 2.0, 4.0],
        ),
        (
            b"K\0K\x02K\x01K\x02\x87K\x01K\x09K\x02\x87",
            &[2, 1, 2],
            &[1.0, 3.0, 2.0, 4.0],
        ),
        // Of one row the stride means nothing.
        (b"K\0K\x01K\x02\x86K\x63K\x01\x86", &[1, 2], &[1.0, 2.0]),
    ] {
        let file = with(layout).unwrap();
        let found = file.load(&device, "a").unwrap();
        assert_eq!((found.dims(), values(&found)), (dims, expected.to_vec()));
    }
    // Every other one.
    let error = with(b"K\0K\x02\x85K\x02\x85").unwrap();
    let error = error.load(&device, "a").unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    for layout in [
        &b"K\x01K\x02K\x02\x86K\x02K\x01\x86"[..],
        b"K\0K\x05\x85K\x01\x85",
        b"K\0K\x05\x85K\0\x85",
        b"K\x04))",
        b"K\0K\x02\x85K\x04\x85",
        b"K\0J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86",
    ] {
        let Err(Error::Torch { source, .. }) = with(layout) else {
            panic!("{layout:?}");
        };
        assert!(matches!(source.problem, Problem::Memory { .. }), "{source}");
    }
}

#[test]
fn what_is_wrong_in_a_legacy_file_is_named_with_its_offset() {
    assert!(TorchFile::from_bytes(Legacy::new().bytes()).is_ok());
    let start = START.len() as u64;
    let of = |dictionary: Vec<u8>| problem(Legacy::of(dictionary).bytes());
    let plain = |value: &[u8]| of(dictionary(value));
    // A name that would run a program, if anything were called.
    let error = plain(b"cposix\nsystem\n(X\x02\0\0\0lstR");
    assert_eq!(error.problem, Problem::Call("posix.system".into()));
    // Behind the protocol, the dictionary, a mark and its key, a name, a mark, a text and the tuple.
    assert_eq!(error.offset, start + 2 + 2 + 6 + 14 + 1 + 7 + 1);
    let error = plain(b"\x93");
    assert_eq!(
        (error.offset, error.problem),
        (start + 10, Problem::Instruction(0x93))
    );
    let error = of(b"\x80\x04}.".to_vec());
    assert_eq!(error.offset, start);
    let class = String::from_utf8_lossy(MEMORY).replace("Float", "Quint");
    let error = plain(class.as_bytes());
    assert_eq!(error.problem, Problem::Class("torch.QuintStorage".into()));
    let deep = [&b"N"[..], &[0x85; 100]].concat();
    for wrong in [
        &b"h\x05"[..],
        b"q",
        b"\x87",
        b"t",
        b"K\x01K\x02s",
        b"K\x01K\x02a",
        b"X\x01\0\0\0\xff",
        b"NR",
        b"Q",
        b"NQ",
        &deep,
        &[b"c", &[b'a'; 300][..], b"\n"].concat(),
        &tensor(b"K\0K\x02\x85)"),
        &tensor(b"J\xff\xff\xff\xffK\x01\x85K\x01\x85"),
    ] {
        let error = plain(wrong);
        assert!(
            matches!(error.problem, Problem::Field { .. }),
            "{wrong:?}: {error}"
        );
        assert!(error.offset >= start, "{wrong:?}: {error}");
    }
    for wrong in [&b"\x80\x02N."[..], b"\x80\x02]."] {
        assert!(matches!(of(wrong.to_vec()).problem, Problem::Field { .. }));
    }
    let mut keys = Legacy::new();
    keys.keys = b"\x80\x02](X\x01\0\0\0Ke.";
    assert!(matches!(
        problem(keys.bytes()).problem,
        Problem::Field { .. }
    ));
    keys.keys = b"\x80\x02].";
    assert!(matches!(
        problem(keys.bytes()).problem,
        Problem::Memory { .. }
    ));
    let mut count = Legacy::new();
    count.memory[0] = 3;
    assert!(matches!(
        problem(count.bytes()).problem,
        Problem::Field { .. }
    ));
    let twice = [
        tensor(b"K\0))"),
        b"X\x01\0\0\0a".to_vec(),
        tensor(b"K\x01))"),
    ]
    .concat();
    assert_eq!(plain(&twice).problem, Problem::Duplicate("a".into()));
    assert_eq!(problem(b"no tensors".to_vec()).problem, Problem::Magic);
    assert_eq!(problem(Vec::new()).problem, Problem::Magic);
    let whole = Legacy::new().bytes();
    for len in START.len()..whole.len() {
        let error = problem(whole[..len].to_vec());
        assert!(
            matches!(error.problem, Problem::Truncated { .. }),
            "{len}: {error}"
        );
    }
}

#[test]
fn dictionaries_within_themselves_are_read_once() {
    // `a` is the dictionary itself, and `b` a tensor.
    let value = [b"h\0X\x01\0\0\0b", &tensor(b"K\x02))")[..]].concat();
    let cyclic = [b"\x80\x02}q\0(X\x01\0\0\0a", &value[..], b"u."].concat();
    let file = TorchFile::from_bytes(Legacy::of(cyclic).bytes()).unwrap();
    assert_eq!(file.names().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn what_is_wrong_in_an_archive_is_named() {
    let whole = std::fs::read(data("efficientnet/zip.pth")).unwrap();
    assert!(TorchFile::from_bytes(whole.clone()).is_ok());
    let find = |part: &[u8]| whole.windows(part.len()).rposition(|bytes| bytes == part);
    let with = |at: usize, bytes: &[u8]| {
        let mut file = whole.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        problem(file)
    };
    let list = find(b"PK\x01\x02").unwrap();
    let end = find(b"PK\x05\x06").unwrap();
    for (at, bytes) in [
        (list, &b"QK"[..]),
        (list + 8, &[1]),
        (list + 10, &[8]),
        (list + 20, &[9]),
        (list + 42, &[255; 4]),
        (list + 46, &[255]),
        (end, b"QK"),
        (end + 10, &[255, 255]),
        (end + 16, &[255; 4]),
        (end + 19, &[127]),
        (
            whole
                .windows(6)
                .position(|bytes| bytes == b"little")
                .unwrap(),
            b"middle",
        ),
        (
            whole
                .windows(4)
                .position(|bytes| bytes == b"PK\x03\x04")
                .unwrap()
                + 2,
            &[9],
        ),
    ] {
        let error = with(at, bytes);
        println!("{at}: {error}");
        assert!(
            !matches!(error.problem, Problem::Truncated { .. }),
            "{at}: {error}"
        );
    }
    let name = find(b"archive/data.pkl").unwrap();
    let error = with(name, b"archive/data.pkx");
    assert!(error.to_string().contains("`data.pkl`"), "{error}");
    let name = find(b"archive/data/7").unwrap();
    let error = with(name, b"archive/dota/7");
    assert!(matches!(error.problem, Problem::Memory { .. }), "{error}");
    for len in (0..whole.len()).step_by(97) {
        assert!(
            TorchFile::from_bytes(whole[..len].to_vec()).is_err(),
            "{len} bytes"
        );
    }
}
