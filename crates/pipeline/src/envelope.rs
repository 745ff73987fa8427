//! Bytes with a header that says whose they are: what the files of this layer are made of.
//!
//! Magic, format version, the identity of whom the data is for, lengths and a checksum over everything. Invariant: whatever
//! does not match in full is rejected with its reason, and nothing of it is used.

/// Why bytes were not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// The file cannot be read, or is absurdly large.
    #[cfg(not(target_arch = "wasm32"))]
    Unreadable,
    /// They are something else, or of another format.
    Format,
    /// They belong to another adapter, driver or version.
    Foreign,
    /// They are cut off, too long, or changed.
    Corrupt,
}

/// A kind of such bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) magic: [u8; 8],
    pub(crate) format: u32,
}

/// FNV-1a over some byte strings: guards against damage, not against forgers.
pub(crate) fn checksum(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.iter());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Kind {
    pub(crate) fn encode(&self, identity: &str, data: &[u8]) -> Vec<u8> {
        let mut file = Vec::with_capacity(data.len() + identity.len() + 64);
        file.extend_from_slice(&self.magic);
        file.extend_from_slice(&self.format.to_le_bytes());
        file.extend_from_slice(&(identity.len() as u64).to_le_bytes());
        file.extend_from_slice(&(data.len() as u64).to_le_bytes());
        file.extend_from_slice(&checksum(&[identity.as_bytes(), data]).to_le_bytes());
        file.extend_from_slice(identity.as_bytes());
        file.extend_from_slice(data);
        file
    }

    pub(crate) fn decode<'a>(&self, identity: &str, file: &'a [u8]) -> Result<&'a [u8], Rejected> {
        let mut rest = file;
        let mut take = |bytes: usize| {
            let (head, tail) = rest.split_at_checked(bytes)?;
            rest = tail;
            Some(head)
        };
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
        let format = self.format.to_le_bytes();
        if take(self.magic.len()) != Some(&self.magic) || take(4) != Some(&format) {
            return Err(Rejected::Format);
        }
        let mut field = || take(8).and_then(number).ok_or(Rejected::Corrupt);
        let (identity_bytes, data_bytes, sum) = (field()?, field()?, field()?);
        let identity_bytes = usize::try_from(identity_bytes).map_err(|_| Rejected::Corrupt)?;
        let (found, data) = rest
            .split_at_checked(identity_bytes)
            .ok_or(Rejected::Corrupt)?;
        if data.len() as u64 != data_bytes || checksum(&[found, data]) != sum {
            return Err(Rejected::Corrupt);
        }
        if found != identity.as_bytes() {
            return Err(Rejected::Foreign);
        }
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const IDENTITY: &str = "adapter\ndriver\nversion";
    const KIND: Kind = Kind {
        magic: *b"ZIGTESTS",
        format: 7,
    };

    #[test]
    fn empty_data_survives() {
        assert_eq!(
            KIND.decode(IDENTITY, &KIND.encode(IDENTITY, b"")),
            Ok(&b""[..])
        );
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let whole = KIND.encode(IDENTITY, b"some pipeline data");
        assert!(KIND.decode(IDENTITY, &whole).is_ok());
        for index in 0..whole.len() {
            let mut broken = whole.clone();
            broken[index] ^= 0x10;
            assert!(KIND.decode(IDENTITY, &broken).is_err(), "byte {index}");
        }
    }

    #[test]
    fn any_other_length_is_noticed() {
        let whole = KIND.encode(IDENTITY, b"some pipeline data");
        for length in 0..whole.len() {
            assert!(
                KIND.decode(IDENTITY, &whole[..length]).is_err(),
                "{length} bytes"
            );
        }
        let mut longer = whole;
        longer.push(0);
        assert_eq!(KIND.decode(IDENTITY, &longer), Err(Rejected::Corrupt));
    }

    #[test]
    fn what_is_of_another_kind_or_for_somebody_else_is_rejected() {
        let whole = KIND.encode(IDENTITY, b"data");
        assert_eq!(
            KIND.decode("another driver", &whole),
            Err(Rejected::Foreign)
        );
        assert_eq!(KIND.decode(IDENTITY, b"#!/bin/sh\n"), Err(Rejected::Format));
        let later = Kind { format: 8, ..KIND };
        assert_eq!(later.decode(IDENTITY, &whole), Err(Rejected::Format));
    }
}
