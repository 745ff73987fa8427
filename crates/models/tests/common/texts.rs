//! The texts that tokenizers are compared on, as `data/tokenizers/texts.py` makes them, and the comparison.

use std::path::Path;

use serde_json::Value;

/// Texts by the rule, behind those of `texts.json`.
const DERIVED: u64 = 1_000;
const SEPARATORS: [&str; 8] = ["", " ", " ", "  ", "\n", "\t", "\r\n ", ", "];
/// First characters and how many there are: scripts, symbols, emoji, controls, wide forms. All are in old versions of Unicode: of a newer
/// one's characters, libraries of different age know different things.
const SCRIPTS: [(u32, u64); 21] = [
    (0x20, 0x230),
    (0x3a3, 0x5d),
    (0x400, 0x100),
    (0x559, 0x32),
    (0x591, 0x37),
    (0x5d0, 0x1b),
    (0x600, 0x100),
    (0x900, 0x80),
    (0xe01, 0x3a),
    (0xe3f, 0x1d),
    (0x10d0, 0x30),
    (0x1200, 0x49),
    (0x3041, 0x56),
    (0x3099, 0x67),
    (0x4e00, 0x51a6),
    (0xac00, 0x2ba4),
    (0x2010, 0x50),
    (0x2190, 0x170),
    (0x1_f300, 0x350),
    (0, 0xa0),
    (0xff01, 0xbe),
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % n) as usize
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64)]
    }
}

/// All texts: of many scripts, emoji, code, controls, and bytes that were no UTF-8.
pub(crate) fn texts(folder: &Path) -> Vec<String> {
    let mut texts: Vec<String> = serde_json::from_value(read(folder, "texts.json")).unwrap();
    let first: Vec<Vec<char>> = texts[..18].iter().map(|t| t.chars().collect()).collect();
    let words = texts[..18].iter().flat_map(|text| text.split(' '));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let derive = |number: u64| {
        let mut random = Random(number);
        let mut text = String::new();
        match number % 4 {
            0 => {
                for _ in 0..=random.below(7) {
                    text += *random.of(&words);
                    text += *random.of(&SEPARATORS);
                }
            }
            1 => {
                for _ in 0..2 + random.below(3) {
                    let source = random.of(&first);
                    let at = random.below(source.len() as u64);
                    text.extend(source[at..].iter().take(random.below(24)));
                }
            }
            2 => {
                let (start, count) = SCRIPTS[number as usize / 4 % SCRIPTS.len()];
                for _ in 0..=random.below(20) {
                    text.push(match random.below(6) {
                        0 => ' ',
                        _ => char::from_u32(start + random.below(count) as u32).unwrap(),
                    });
                }
            }
            _ => {
                let mut bytes = random.of(&texts).clone().into_bytes();
                for _ in 0..=random.below(5) {
                    let at = random.below(bytes.len() as u64 + 1);
                    let kind = random.below(3);
                    let new = (kind > 0).then(|| random.below(256) as u8);
                    let gone = if kind == 1 { 0 } else { 1 };
                    let end = (at + gone).min(bytes.len());
                    bytes.splice(at..end, new);
                }
                text = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
        text
    };
    let derived: Vec<String> = (0..DERIVED).map(derive).collect();
    texts.extend(derived);
    texts
}

/// A file of JSON.
pub(crate) fn read(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

/// FNV-1a of tokens as bytes.
fn hash(tokens: &[u32]) -> u32 {
    let bytes = tokens.iter().flat_map(|token| token.to_le_bytes());
    bytes.fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// How many texts have other tokens than the reference, and a report of the first: `vectors` has the tokens of the first texts, and
/// a hash of those of each.
pub(crate) fn differences(
    texts: &[String],
    vectors: &Value,
    encode: impl Fn(&str) -> Vec<u32>,
) -> (usize, String) {
    let hashes = vectors["hashes"].as_str().unwrap().as_bytes();
    assert_eq!(hashes.len(), 8 * texts.len(), "a hash for each text");
    let (mut wrong, mut first) = (0, String::new());
    for ((number, text), expected) in texts.iter().enumerate().zip(hashes.chunks(8)) {
        let got = encode(text);
        let ids = vectors["encoded"].get(number);
        let ids: Option<Vec<u32>> = ids.map(|ids| serde_json::from_value(ids.clone()).unwrap());
        let same = format!("{:08x}", hash(&got)).as_bytes() == expected;
        if same && ids.as_ref().is_none_or(|ids| *ids == got) {
            continue;
        }
        wrong += 1;
        if first.is_empty() {
            let instead = ids.map_or_else(
                || format!("others (`python texts.py FOLDER NAME {number}` prints them)"),
                |ids| format!("{ids:?}"),
            );
            first = format!("text {number}, {text:?}: {got:?} instead of {instead}");
        }
    }
    (wrong, first)
}
