//! The header of an npy file: a magic string, a version, and a Python dictionary of three entries.
//!
//! Source: NumPy's `numpy.lib.format`, versions 1.0 to 3.0. Only the literals that NumPy writes there are read: strings
//! without escapes, `True`, `False`, and a tuple of integers.

/// What every npy file begins with.
const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The data begins at a multiple of this many bytes.
const ALIGNMENT: usize = 64;

/// The dictionary of an npy file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Byte order, kind and bytes per element: `<f4`. A structured dtype stands here as it is spelled in the file.
    pub(crate) descr: String,
    /// True for Fortran order: the first axis is contiguous.
    pub(crate) fortran: bool,
    /// The extents.
    pub(crate) shape: Vec<usize>,
}

impl Header {
    /// The header of a file, and the data behind it.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, &[u8]), &'static str> {
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or("it does not begin as one")?;
        let short = "it ends within the header";
        let (len, rest) = match rest {
            [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
            [2 | 3, _, a, b, c, d, rest @ ..] => {
                let len = u32::from_le_bytes([*a, *b, *c, *d]);
                (usize::try_from(len).map_err(|_| short)?, rest)
            }
            [1..=3, ..] | [] => return Err(short),
            _ => return Err("its version is not 1, 2 or 3"),
        };
        let (text, data) = rest.split_at_checked(len).ok_or(short)?;
        let text = std::str::from_utf8(text).map_err(|_| "its header is no text")?;
        let mut parser = Parser { rest: text };
        let header = parser.dictionary()?;
        if !parser.rest.trim_start().is_empty() {
            return Err("its header goes on after the dictionary");
        }
        Ok((header, data))
    }

    /// The bytes before the data; `None` if they are longer than the format can say.
    pub(crate) fn write(&self) -> Option<Vec<u8>> {
        let order = if self.fortran { "True" } else { "False" };
        let mut shape: String = self
            .shape
            .iter()
            .map(|extent| format!("{extent}, "))
            .collect();
        // A tuple of one element needs its comma, others are written without the last.
        if self.shape.len() == 1 {
            shape.truncate(shape.len() - 1);
        } else {
            shape.truncate(shape.len().saturating_sub(2));
        }
        let mut text = format!(
            "{{'descr': '{}', 'fortran_order': {order}, 'shape': ({shape}), }}",
            self.descr
        );
        let version_1 = text.len() + ALIGNMENT < usize::from(u16::MAX);
        let before = MAGIC.len() + if version_1 { 4 } else { 6 };
        while !(before + text.len() + 1).is_multiple_of(ALIGNMENT) {
            text.push(' ');
        }
        text.push('\n');
        let mut bytes = MAGIC.to_vec();
        if version_1 {
            bytes.extend([1, 0]);
            bytes.extend(u16::try_from(text.len()).ok()?.to_le_bytes());
        } else {
            bytes.extend([2, 0]);
            bytes.extend(u32::try_from(text.len()).ok()?.to_le_bytes());
        }
        bytes.extend(text.as_bytes());
        Some(bytes)
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn dictionary(&mut self) -> Result<Header, &'static str> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect("{")?;
        while !self.accept("}") {
            let key = self.string()?;
            self.expect(":")?;
            match key {
                "descr" => descr = Some(self.descr()?.to_owned()),
                "fortran_order" => fortran = Some(self.truth()?),
                "shape" => shape = Some(self.tuple()?),
                _ => return Err("its header has an entry of another name"),
            }
            if !self.accept(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Header {
            descr: descr.ok_or("the header has no descr")?,
            fortran: fortran.ok_or("the header has no fortran_order")?,
            shape: shape.ok_or("the header has no shape")?,
        })
    }

    /// A string, or the text of a list, which describes a structured dtype.
    fn descr(&mut self) -> Result<&'a str, &'static str> {
        self.rest = self.rest.trim_start();
        if !self.rest.starts_with('[') {
            return self.string();
        }
        let mut depth = 0_usize;
        for (at, c) in self.rest.char_indices() {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let (list, rest) = self.rest.split_at(at + 1);
                self.rest = rest;
                return Ok(list);
            }
        }
        Err("its header has a list without an end")
    }

    fn string(&mut self) -> Result<&'a str, &'static str> {
        let quote = if self.accept("'") {
            '\''
        } else {
            self.expect("\"")?;
            '"'
        };
        let (text, rest) = self
            .rest
            .split_once(quote)
            .ok_or("its header has a string without an end")?;
        self.rest = rest;
        Ok(text)
    }

    fn truth(&mut self) -> Result<bool, &'static str> {
        if self.accept("True") {
            return Ok(true);
        }
        self.expect("False").map(|()| false)
    }

    /// A tuple of extents. Python 2 wrote an `L` behind long ones.
    fn tuple(&mut self) -> Result<Vec<usize>, &'static str> {
        let mut extents = Vec::new();
        self.expect("(")?;
        while !self.accept(")") {
            self.rest = self.rest.trim_start();
            let digits = self
                .rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(self.rest.len());
            let (number, rest) = self.rest.split_at(digits);
            if number.is_empty() {
                return Err("the shape has an extent that is no number");
            }
            extents.push(
                number
                    .parse()
                    .map_err(|_| "the shape has too many elements")?,
            );
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.accept(",") {
                self.expect(")")?;
                // Without its comma, `(7)` is a number in Python and no tuple.
                if extents.len() == 1 {
                    return Err("the shape is no tuple");
                }
                break;
            }
        }
        Ok(extents)
    }

    fn accept(&mut self, word: &str) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, word: &str) -> Result<(), &'static str> {
        if self.accept(word) {
            Ok(())
        } else {
            Err("its header is not a dictionary of descr, fortran_order and shape")
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn read(version: u8, text: &str) -> Result<Header, &'static str> {
        let mut bytes = [MAGIC.as_slice(), &[version, 0]].concat();
        if version == 1 {
            bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        } else {
            bytes.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
        }
        bytes.extend(text.as_bytes());
        bytes.extend([7; 3]);
        let (header, data) = Header::read(&bytes)?;
        assert_eq!(data, [7; 3]);
        Ok(header)
    }

    #[test]
    fn bytes_are_those_that_numpy_writes() {
        // numpy.save of arange(6, dtype='<f4').reshape(2, 3), NumPy 1.26.
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
        let mut wanted = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        wanted.extend(text.as_bytes());
        wanted.resize(127, b' ');
        wanted.push(b'\n');
        let header = |shape: &[usize]| Header {
            descr: "<f4".into(),
            fortran: false,
            shape: shape.to_vec(),
        };
        assert_eq!(header(&[2, 3]).write().unwrap(), wanted);
        for (shape, tuple) in [
            (&[] as &[usize], "()"),
            (&[5], "(5,)"),
            (&[1, 0, 2], "(1, 0, 2)"),
        ] {
            let bytes = header(shape).write().unwrap();
            assert!(bytes.len() % 64 == 0 && bytes.ends_with(b"\n"));
            assert!(String::from_utf8_lossy(&bytes).contains(tuple), "{tuple}");
            assert_eq!(Header::read(&bytes).unwrap().0, header(shape));
        }
        let long = header(&vec![1; 30_000]);
        let bytes = long.write().unwrap();
        assert_eq!(bytes[6], 2);
        assert_eq!(Header::read(&bytes).unwrap().0, long);
    }

    #[test]
    fn every_spelling_of_the_dictionary_is_read() {
        let header = read(
            2,
            "{\"shape\":(3L,4L), 'fortran_order' : True,'descr':\"|u1\"}\n",
        )
        .unwrap();
        assert_eq!((header.descr.as_str(), header.fortran), ("|u1", true));
        assert_eq!(header.shape, [3, 4]);
        let structured = "{'descr': [('x', '<f4'), ('y', [('z', '<i4')])], 'fortran_order': False, 'shape': (1,)}";
        let descr = read(3, structured).unwrap().descr;
        assert!(
            descr.starts_with("[('x'") && descr.ends_with(")]"),
            "{descr}"
        );
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}",
            "{'descr': [('x', '<f4', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} and more",
        ] {
            assert!(read(1, text).is_err(), "{text}");
        }
        assert!(read(4, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}").is_err());
    }
}
