//! The characters that stand for bytes in byte-level vocabularies: a byte that prints is itself, the others are the
//! characters from U+0100 on, in order.

/// Whether a byte is its own character.
const fn prints(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff)
}

/// The character of each byte.
pub(super) fn characters() -> [char; 256] {
    let mut out = ['\0'; 256];
    let mut next = 256;
    for (byte, character) in (0..=u8::MAX).zip(&mut out) {
        *character = if prints(byte) {
            char::from(byte)
        } else {
            next += 1;
            char::from_u32(next - 1).unwrap_or('\0')
        };
    }
    out
}

/// The bytes of a token's name; a character that stands for no byte is itself, in UTF-8.
pub(super) fn of_name(name: &str, characters: &[char; 256]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    for character in name.chars() {
        let byte = match u8::try_from(character) {
            Ok(byte) if prints(byte) => Some(byte),
            Ok(_) => None,
            Err(_) => (0..=u8::MAX)
                .zip(characters)
                .find_map(|(byte, &other)| (other == character).then_some(byte)),
        };
        match byte {
            Some(byte) => out.push(byte),
            None => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_character_of_its_own() {
        let all = characters();
        assert_eq!(
            (all[b' ' as usize], all[b'\n' as usize]),
            ('\u{120}', '\u{10a}')
        );
        let text: String = all.iter().collect();
        assert_eq!(of_name(&text, &all), (0..=255).collect::<Vec<u8>>());
        assert_eq!(of_name("\u{6f22}", &all), "\u{6f22}".as_bytes());
    }
}
