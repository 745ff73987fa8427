//! GGUF files, tokenizers, files of CTranslate2 and of PyTorch, WAV and JPEG files with damage of every kind: they give a value or a typed error, never a panic,
//! and take no more memory than a small multiple of their length. A program of its own, because its allocator counts.

#![allow(
    clippy::unwrap_used,
    unsafe_code,
    reason = "tests; an allocator is unsafe by its trait"
)]

#[path = "../../kernels/tests/common/campaign.rs"]
mod campaign;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use campaign::Campaign;
use ziggurat_models::audio::Waveform;
use ziggurat_models::ctranslate2::Ctranslate2File;
use ziggurat_models::gguf::{Gguf, GgufFile};
use ziggurat_models::torch::TorchFile;
use ziggurat_models::{Error, Picture, Tokenizer};

struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn add(bytes: isize) {
    LIVE.set(LIVE.get() + bytes);
    PEAK.set(PEAK.get().max(LIVE.get()));
}

// SAFETY: every call goes to the system's allocator as it is; the counters do not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        add(block.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, at: *mut u8, block: Layout) {
        add(-(block.size() as isize));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, block) }
    }

    unsafe fn realloc(&self, at: *mut u8, block: Layout, bytes: usize) -> *mut u8 {
        add(bytes as isize - block.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(at, block, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes of memory per byte of a file: the smallest string takes 8 bytes in a file and 24 here, in a list that doubles.
const MOST: isize = 12;
/// Whatever the file: errors, tables.
const ALWAYS: isize = 64 << 10;

/// The most bytes that were allocated at once meanwhile.
fn peak<R>(f: impl FnOnce() -> R) -> (R, isize) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = f();
    (result, PEAK.get() - before)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Numbers that counts, offsets and types are replaced by.
const NUMBERS: [u64; 12] = [
    0,
    1,
    7,
    9,
    13,
    32,
    255,
    1 << 31,
    1 << 32,
    1 << 62,
    u64::MAX / 8,
    u64::MAX,
];

/// One to four kinds of damage, most of it in the head.
fn damage(whole: &[u8], head: usize, random: &mut Random) -> Vec<u8> {
    let mut file = whole.to_vec();
    for _ in 0..=random.below(4) {
        let len = file.len();
        let range = if random.below(8) == 0 {
            len
        } else {
            head.min(len)
        };
        let at = random.below(range);
        match random.below(7) {
            0 => file.truncate(at),
            1 | 2 => {
                let number = NUMBERS[random.below(NUMBERS.len())];
                let width = if random.below(2) == 0 { 8 } else { 4 };
                let end = (at + width).min(len);
                file[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
            }
            3 => file
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|byte| *byte ^= 1 << random.below(8)),
            4 => {
                // A field is there twice, or a part of the table.
                let end = (at + random.below(64)).min(len);
                let again = file[at..end].to_vec();
                file.splice(at..at, again);
            }
            5 => {
                let end = (at + random.below(32)).min(len);
                file.drain(at..end);
            }
            _ => file
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|byte| *byte = random.next() as u8),
        }
    }
    file
}

fn data(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::fs::read(folder.join(name)).unwrap()
}

fn whole() -> (Vec<u8>, usize) {
    let bytes = data("blocks.gguf");
    let head = Gguf::parse(&bytes).unwrap();
    let data = head.tensors().iter().map(|tensor| tensor.start()).min();
    (bytes, data.unwrap() as usize)
}

/// Parses a damaged file, and reads what it says that it has.
fn look(bytes: &[u8], what: &str) -> bool {
    let len = bytes.len() as isize;
    let (head, memory) = peak(|| Gguf::parse(bytes));
    assert!(
        memory <= MOST * len + ALWAYS,
        "{what}: {memory} bytes for a file of {len}"
    );
    match head {
        Err(error) => {
            assert!(error.offset <= len as u64, "{what}: {error}");
            assert!(!error.to_string().is_empty());
            false
        }
        Ok(head) => {
            let file = GgufFile::from_bytes(bytes.to_vec()).unwrap();
            for tensor in head.tensors() {
                let numbers = file.dequantise(tensor.name()).unwrap();
                assert_eq!(numbers.len(), tensor.elements(), "{what}");
            }
            true
        }
    }
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    let (bytes, _) = whole();
    assert!(look(&bytes, "the whole file"));
    let last = Gguf::parse(&bytes).unwrap();
    let ends = last
        .tensors()
        .iter()
        .map(|tensor| tensor.start() + tensor.bytes());
    let end = ends.max().unwrap() as usize;
    for len in 0..end {
        assert!(
            !look(&bytes[..len], "cut short"),
            "{len} bytes are accepted"
        );
    }
}

#[test]
fn damaged_files_give_a_head_or_a_typed_error() {
    let (bytes, head) = whole();
    let mut campaign = Campaign::new(3_000);
    let mut accepted = 0;
    while let Some(seed) = campaign.next() {
        let mut random = Random(seed);
        let file = damage(&bytes, head, &mut random);
        accepted += u64::from(look(&file, &format!("seed {seed}")));
    }
    if campaign.is_usual() {
        let refused = campaign.done() - accepted;
        assert!(
            accepted > 100 && refused > 1_000,
            "{accepted} of {}",
            campaign.done()
        );
    }
}

/// Damages a file again and again; how many are accepted, and how many refused. What is accepted takes memory in proportion, too.
fn damaged<T>(bytes: &[u8], most: isize, read: impl Fn(Vec<u8>) -> Result<T, Error>) -> [u64; 2] {
    let mut campaign = Campaign::new(3_000);
    let mut counts = [0; 2];
    while let Some(seed) = campaign.next() {
        // What follows from the middle of a file of tensors is like what is in front of it.
        let file = damage(bytes, bytes.len() / 2, &mut Random(seed));
        let len = file.len() as isize;
        let (found, memory) = peak(|| read(file));
        assert!(
            memory <= most * len + ALWAYS,
            "seed {seed}: {memory} bytes for a file of {len}"
        );
        counts[usize::from(found.is_err())] += 1;
    }
    if !campaign.is_usual() {
        return [u64::MAX; 2];
    }
    counts
}

#[test]
fn damaged_files_of_ctranslate2_give_tensors_or_a_typed_error() {
    // A table of many small tensors, most of which are heads.
    let bytes = data("whisper-ctranslate2/model.bin");
    let [accepted, refused] = damaged(&bytes, MOST, |file| {
        let found = Ctranslate2File::from_bytes(file);
        if let Err(error) = &found {
            assert!(matches!(error, Error::Ctranslate2 { .. }), "{error}");
        }
        found
    });
    assert!(accepted > 100 && refused > 1_000, "{accepted}, {refused}");
}

#[test]
fn damaged_tokenizers_give_tokens_or_a_typed_error() {
    // A damaged byte of JSON is mostly no JSON; names, scores and tables are damaged by their own kind of characters, too.
    for (name, most, at_least) in [
        ("unigram.json", 128, 50),
        ("unigram_bytes.json", 128, 50),
        ("unigram.gguf", 32, 50),
        ("unigram_bytes.gguf", 32, 50),
    ] {
        let bytes = data(&format!("tokenizers/{name}"));
        let [accepted, refused] = damaged(&bytes, most, |file| {
            let found = if name.ends_with("json") {
                Tokenizer::from_json(&file)
            } else {
                let head = Gguf::parse(&file).map_err(|source| Error::Gguf {
                    path: name.into(),
                    source,
                })?;
                Tokenizer::from_gguf(&head)
            };
            let encoded = found.and_then(|tokenizer| {
                let tokens =
                    tokenizer.encode("The \u{fb01}sh, \u{6f22}\u{5b57} e\u{301} 12\u{ff13}");
                tokens.map(|tokens| tokenizer.decode(&tokens))
            });
            if let Err(error) = &encoded {
                let typed = matches!(error, Error::Tokenizer(_) | Error::Gguf { .. });
                assert!(typed, "{name}: {error}");
            }
            encoded
        });
        assert!(
            accepted > at_least && refused > 1_000,
            "{name}: {accepted}, {refused}"
        );
    }
}

#[test]
fn damaged_wav_files_give_samples_or_a_typed_error() {
    let mut bytes = b"RIFF\x64\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0".to_vec();
    bytes.extend(b"\x80\xbb\0\0\0\xee\x02\0\x04\0\x10\0data\x40\0\0\0");
    bytes.extend(0..64);
    let [accepted, refused] = damaged(&bytes, MOST, |file| {
        let found = Waveform::from_wav(file.as_slice());
        if let Err(error) = &found {
            assert!(matches!(error, Error::Audio(_)), "{error}");
        }
        found
    });
    assert!(accepted > 100 && refused > 1_000, "{accepted}, {refused}");
}

#[test]
fn damaged_files_of_pytorch_give_tensors_or_a_typed_error() {
    // An instruction of one byte makes a value of 24, on a stack that doubles.
    for name in ["legacy", "zip"] {
        let bytes = data(&format!("efficientnet/{name}.pth"));
        let [accepted, refused] = damaged(&bytes, 32, |file| {
            let found = TorchFile::from_bytes(file);
            if let Err(error) = &found {
                assert!(matches!(error, Error::Torch { .. }), "{error}");
            }
            found
        });
        assert!(
            accepted > 100 && refused > 1_000,
            "{name}: {accepted}, {refused}"
        );
    }
}

#[test]
fn damaged_jpeg_files_give_a_picture_or_a_typed_error() {
    // A byte may be 512 pixels of three bytes, and the decoder has planes besides.
    let [accepted, refused] = damaged(&data("picture.jpg"), 10_000, |file| {
        let found = Picture::from_jpeg(&file);
        if let Err(error) = &found {
            assert!(matches!(error, Error::Picture(_)), "{error}");
        }
        found
    });
    assert!(accepted > 100 && refused > 1_000, "{accepted}, {refused}");
}
