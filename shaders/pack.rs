//! Texts that repeat each other, in a quarter of their bytes: what stood there before is named by its distance and length, much as
//! in the block format of LZ4, but over any distance. `build.rs` packs; a program for the web unpacks (`unpack.rs`), once.

use std::collections::HashMap;

/// Fewer known bytes are written again.
const LEAST: usize = 4;
/// Of the places with the same four bytes the last so many are tried.
const TRIED: usize = 64;

/// Bytes that `unpack` makes these of.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    let (mut begin, mut at) = (0, 0);
    while let Some(four) = bytes.get(at..at + LEAST) {
        let known = places.get(four).into_iter().flatten().rev().take(TRIED);
        let found = known.map(|from| (same(bytes, *from, at), at - from));
        // A distance has a byte for each seven bits.
        let best = found.max_by_key(|(length, distance)| length * 7 - distance.ilog2() as usize);
        let end = at + best.map_or(1, |(length, _)| length);
        if let Some(known) = best {
            sequence(&mut packed, &bytes[begin..at], Some(known));
            begin = end;
        }
        for place in at..end {
            if let Some(four) = bytes.get(place..place + LEAST) {
                places.entry(four).or_default().push(place);
            }
        }
        at = end;
    }
    sequence(&mut packed, &bytes[begin..], None);
    packed
}

/// How many bytes from two places on are the same.
fn same(bytes: &[u8], from: usize, at: usize) -> usize {
    let pairs = bytes[from..].iter().zip(&bytes[at..]);
    pairs.take_while(|(a, b)| a == b).count()
}

/// Both lengths in one byte, new bytes, and then the distance of known ones.
fn sequence(packed: &mut Vec<u8>, new: &[u8], known: Option<(usize, usize)>) {
    let length = known.map_or(0, |(length, _)| length - LEAST);
    packed.push((new.len().min(15) << 4 | length.min(15)) as u8);
    more(packed, new.len());
    packed.extend_from_slice(new);
    if let Some((_, mut distance)) = known {
        while distance >= 0x80 {
            packed.push(0x80 | (distance & 0x7f) as u8);
            distance >>= 7;
        }
        packed.push(distance as u8);
        more(packed, length);
    }
}

/// What of a length is beyond the 15 of its half byte.
fn more(packed: &mut Vec<u8>, length: usize) {
    if let Some(mut rest) = length.checked_sub(15) {
        while rest >= 0xff {
            packed.push(0xff);
            rest -= 0xff;
        }
        packed.push(rest as u8);
    }
}
