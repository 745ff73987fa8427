//! The other side of `pack.rs`.

/// The bytes that were packed. What `pack` did not make gives some bytes, and never a panic.
pub(crate) fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut rest = packed.iter().copied();
    while let Some(lengths) = rest.next() {
        let new = length(lengths >> 4, &mut rest);
        bytes.extend(rest.by_ref().take(new));
        let (mut distance, mut shift) = (0_usize, 0);
        for byte in rest.by_ref() {
            distance |= usize::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        let Some(from) = bytes.len().checked_sub(distance).filter(|_| distance > 0) else {
            return bytes;
        };
        // What is known may reach into what is being written.
        for at in from..from + length(lengths & 15, &mut rest) + 4 {
            bytes.extend(bytes.get(at).copied());
        }
    }
    bytes
}

/// A length that begins with a half byte.
fn length(begin: u8, rest: &mut impl Iterator<Item = u8>) -> usize {
    let mut length = usize::from(begin);
    if begin == 15 {
        for byte in rest {
            length += usize::from(byte);
            if byte < 0xff {
                break;
            }
        }
    }
    length
}
