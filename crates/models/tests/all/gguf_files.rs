//! Files that another program wrote: metadata, and the numbers of every format's blocks.

use ziggurat_models::Error;
use ziggurat_models::gguf::{Array, BlockType, GgufFile, Value};
use ziggurat_tensor::{BlockFormat, DType, Device, DeviceOptions};

use crate::data;

/// Bits of numbers, where every NaN is one.
fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

#[test]
fn values_of_every_type_are_read() {
    let file = GgufFile::open(data("blocks.gguf")).unwrap();
    let head = file.head();
    assert_eq!((head.version(), head.alignment()), (3, 32));
    for (key, value) in [
        ("u8", Value::U8(200)),
        ("i8", Value::I8(-3)),
        ("u16", Value::U16(60_000)),
        ("i16", Value::I16(-30_000)),
        ("u32", Value::U32(4_000_000_000)),
        ("i32", Value::I32(-2_000_000_000)),
        ("f32", Value::F32(0.1)),
        ("bool", Value::Bool(true)),
        ("string", Value::String("zig\u{e9} \u{6f22}".into())),
        ("u64", Value::U64(1 << 63)),
        ("i64", Value::I64(-(1 << 62))),
        ("f64", Value::F64(0.1)),
        ("ints", Value::Array(Array::I32(vec![1, -2, 3]))),
        ("floats", Value::Array(Array::F32(vec![0.5, -1.5]))),
        ("bools", Value::Array(Array::Bool(vec![true, false]))),
    ] {
        assert_eq!(head.get(&format!("v.{key}")), Some(&value), "{key}");
    }
    let texts = head.get("v.texts").and_then(Value::as_strings).unwrap();
    assert_eq!(texts, ["a", "", "\u{e4}"]);
    let nested = Array::Array(vec![Array::I32(vec![1, 2]), Array::I32(vec![3])]);
    assert_eq!(head.get("v.nested"), Some(&Value::Array(nested)));
    assert_eq!(head.get("v.u8").and_then(Value::as_u64), Some(200));
    assert_eq!(head.get("v.i8").and_then(Value::as_u64), None);
}

#[test]
fn blocks_have_the_numbers_of_the_reference() {
    let file = GgufFile::open(data("blocks.gguf")).unwrap();
    for block in BlockType::all() {
        let info = file.head().tensor(block.name()).unwrap();
        let columns = if block.elements() < 64 { 64 } else { 512 };
        assert_eq!(info.block(), block);
        assert_eq!(info.dims(), [info.elements() / columns, columns], "{block}");
        let expected = file.dequantise(&format!("{block}.numbers")).unwrap();
        let got = file.dequantise(block.name()).unwrap();
        assert!(expected.iter().any(|&number| number != 0.0));
        assert_eq!(bits(&got), bits(&expected), "{block}");
        // The comparison sees one number that is wrong.
        let mut data = file.data(block.name()).unwrap();
        *data.last_mut().unwrap() ^= 0x55;
        let changed = block.dequantise(&data).unwrap();
        assert_ne!(bits(&changed), bits(&expected), "{block}");
    }
}

#[test]
fn numbers_become_the_blocks_of_the_reference() {
    let file = GgufFile::open(data("blocks.gguf")).unwrap();
    let mut written = 0;
    for &format in BlockFormat::ALL.iter().filter(|format| format.is_written()) {
        let numbers = file.dequantise(&format!("{format}.source")).unwrap();
        let expected = file.data(&format!("{format}.quantized")).unwrap();
        assert_eq!(format.quantize(&numbers).unwrap(), expected, "{format}");
        written += 1;
    }
    assert_eq!(written, 5);
}

#[test]
fn all_ways_to_open_a_file_give_the_same() {
    let path = data("blocks.gguf");
    let read = GgufFile::open(&path).unwrap();
    #[allow(unsafe_code, reason = "a memory map")]
    // SAFETY: nobody writes to the data of tests.
    let mapped = unsafe { GgufFile::open_mapped(&path) }.unwrap();
    let in_memory = GgufFile::from_bytes(std::fs::read(&path).unwrap()).unwrap();
    for info in read.head().tensors() {
        let expected = read.data(info.name()).unwrap();
        assert_eq!(expected.len() as u64, info.bytes());
        for other in [&mapped, &in_memory] {
            assert_eq!(other.head().tensor(info.name()), Some(info));
            assert_eq!(other.data(info.name()).unwrap(), expected);
        }
    }
}

#[test]
fn tensors_come_onto_a_device_in_rows() {
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let file = GgufFile::open(data("blocks.gguf")).unwrap();
    let tensor = file.load(&device, "Q4_K").unwrap();
    assert_eq!(tensor.dims(), [2, 512]);
    let expected = file.dequantise("Q4_K.numbers").unwrap();
    assert_eq!(tensor.to_vec_blocking::<f32>().unwrap(), expected);
    let blocks = file.load_blocks(&device, "Q4_K").unwrap();
    // Four blocks, whose groups' scales take four bytes more on a device.
    assert_eq!((blocks.format(), blocks.bytes()), (BlockFormat::Q4_K, 592));
    let numbers = blocks.dequantize(DType::F32).unwrap();
    assert_eq!(numbers.to_vec_blocking::<f32>().unwrap(), expected);
    let stored = blocks.to_blocks_blocking().unwrap();
    assert_eq!(stored, file.data("Q4_K").unwrap());
    let plain = file.load_blocks(&device, "F16").unwrap_err();
    assert!(matches!(plain, Error::Unsupported(_)), "{plain}");
    let error = file.load(&device, "nothing").unwrap_err();
    assert!(matches!(error, Error::MissingTensor { ref name } if name == "nothing"));
}

#[test]
fn a_head_that_is_longer_than_the_first_read_is_read_whole() {
    let mut file = crate::writer::Writer::new(1, 1);
    file.key("texts", 9).u32(8).u64(100_000);
    for at in 0..100_000 {
        file.text(&format!("token number {at}"));
    }
    file.tensor("t", &[4], 0, 0).data(32, 16);
    let path = std::env::temp_dir().join(format!("ziggurat-head-{}.gguf", std::process::id()));
    std::fs::write(&path, &file.bytes).unwrap();
    let opened = GgufFile::open(&path);
    let missing = GgufFile::open(path.with_extension("nothing"));
    std::fs::remove_file(&path).unwrap();
    let opened = opened.unwrap();
    let texts = opened.head().get("texts").and_then(Value::as_strings);
    assert_eq!(texts.unwrap()[99_999], "token number 99999");
    assert!(matches!(missing, Err(Error::Io { .. })));
}
