//! Files with random damage: they give tensors that can be read, or a typed error of few words, and never a panic.

use futures::executor::block_on;
use ziggurat_tensor::{DType, Device, Error, Tensor, io};

use crate::campaign::Campaign;
use crate::common;
use crate::operands::Random;

/// Whole files to damage.
fn whole(device: &Device) -> [Vec<Vec<u8>>; 2] {
    let (mut npy, mut safetensors) = (Vec::new(), Vec::new());
    for dtype in [DType::F32, DType::F16, DType::I32, DType::U8, DType::Bool] {
        for dims in [vec![], vec![3], vec![2, 0], vec![3, 2]] {
            let len = dims.iter().product::<usize>() as i32;
            let a = Tensor::arange(device, 0, len, 1, DType::I32).unwrap();
            let a = a.ne(0).unwrap().to_dtype(dtype).unwrap();
            let a = a.reshape_to(&dims).unwrap();
            npy.push(block_on(io::npy_to_bytes(&a)).unwrap());
            let both = [("first", &a), ("second.weight", &a)];
            safetensors.push(block_on(io::safetensors_to_bytes(&both)).unwrap());
        }
    }
    [npy, safetensors]
}

/// What headers are made of.
const WORDS: &[&str] = &[
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "'",
    "\"",
    ",",
    ":",
    "descr",
    "fortran_order",
    "shape",
    "True",
    "<f4",
    ">f8",
    "|b1",
    "dtype",
    "data_offsets",
    "__metadata__",
    "F32",
    "BF16",
    "U64",
    "-1",
    "0",
    "18446744073709551615",
    "9223372036854775807",
    "4294967296",
    "1e9",
    "\\u0000",
    "null",
    "\u{e9}",
];

fn damage(bytes: &mut Vec<u8>, rng: &mut Random) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() + 1);
        // Headers are at the beginning.
        let at = if rng.below(2) == 0 {
            at.min(rng.below(128))
        } else {
            at
        };
        match rng.below(6) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] = rng.bits() as u8,
            2 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            3 => {
                let word = rng.pick(WORDS).as_bytes();
                bytes.splice(at..at, word.iter().copied());
            }
            4 => {
                let end = (at + rng.below(16)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                for _ in 0..rng.pick(&[1, 2, 100]) {
                    bytes.splice(at..at, piece.iter().copied());
                }
            }
            _ => {
                let end = (at + rng.below(9)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
}

/// A tensor of a file can be read; an error says what is wrong with the file, in few words.
fn settled(what: &str, tensors: Result<Vec<Tensor>, Error>) {
    match tensors {
        Ok(tensors) => {
            for tensor in tensors {
                let bytes = tensor.to_bytes_blocking().unwrap();
                assert_eq!(bytes.len(), tensor.len() * tensor.dtype().bytes(), "{what}");
            }
        }
        Err(error) => {
            let text = error.to_string();
            let typed = error.is_format()
                || error.is_shape()
                || error.is_dtype()
                || error.is_argument()
                || error.is_too_large()
                || error.is_out_of_memory();
            assert!(typed && text.len() <= 1024, "{what}: {text}");
        }
    }
}

#[test]
fn any_bytes_give_tensors_or_a_typed_error() {
    let device = common::device();
    let [npy, safetensors] = whole(&device);
    let mut campaign = Campaign::new(2000);
    while let Some(seed) = campaign.next() {
        let mut rng = Random(seed);
        let is_npy = rng.below(2) == 0;
        let files = if is_npy { &npy } else { &safetensors };
        let mut bytes = files[rng.below(files.len())].clone();
        damage(&mut bytes, &mut rng);
        if is_npy {
            campaign.note(seed, "npy");
            settled(
                "npy",
                io::npy_from_bytes(&device, &bytes).map(|tensor| vec![tensor]),
            );
        } else {
            campaign.note(seed, "safetensors");
            let tensors = io::safetensors_from_bytes(&device, &bytes);
            settled(
                "safetensors",
                tensors.map(|all| all.into_values().collect()),
            );
        }
    }
    println!("{} files", campaign.done());
}
