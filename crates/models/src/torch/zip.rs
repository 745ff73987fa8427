//! The ZIP archive of PyTorch since 1.6: a folder with `data.pkl`, and the memory of each key in `data/KEY`, all of them stored as
//! they are.

use super::value::{Dicts, Places};
use super::{Stop, TorchProblem, pickle, wrong};
use crate::content::Content;
use crate::cursor::Cursor;

/// The record behind the list of entries, without its comment.
const END: u64 = 22;
/// The longest comment.
const COMMENT: u64 = 0xffff;

fn field(offset: u64, what: &'static str, expected: &'static str) -> Stop {
    wrong(offset, TorchProblem::Field { what, expected })
}

/// The dictionary, and the memory of each key.
pub(super) fn read(content: &Content, total: u64) -> Result<(Dicts, Places), Stop> {
    let mut places = Places::new();
    let mut dictionary = None;
    for entry in entries(content, total)? {
        // All are in one folder, whatever its name is.
        let (_, name) = entry.name.split_once('/').unwrap_or(("", &entry.name));
        let place = entry.place(content, total)?;
        if name == "data.pkl" {
            dictionary = Some(place);
        } else if name == "byteorder" {
            let mut cursor = Cursor::new(content, place[0], place[0] + place[1]);
            if cursor.take("the order of bytes", place[1].min(64))? != b"little" {
                return Err(field(place[0], "the order of bytes", "`little`"));
            }
        } else if let Some(key) = name.strip_prefix("data/") {
            places.insert(key.into(), place);
        }
    }
    let [start, bytes] = dictionary.ok_or_else(|| field(0, "the archive", "with a `data.pkl`"))?;
    let mut cursor = Cursor::new(content, start, start + bytes);
    Ok((pickle::dictionary(&mut cursor)?, places))
}

/// An entry of the archive's list.
struct Entry {
    name: String,
    bytes: u64,
    /// Where its own header is.
    header: u64,
}

impl Entry {
    /// Where its data is, and how many bytes it has.
    fn place(&self, content: &Content, total: u64) -> Result<[u64; 2], Stop> {
        if self.header > total {
            return Err(field(
                self.header,
                "the place of an entry",
                "within the file",
            ));
        }
        let mut cursor = Cursor::new(content, self.header, total);
        if cursor.array(HEADER)? != *b"PK\x03\x04" {
            return Err(field(self.header, HEADER, "`PK\\x03\\x04`"));
        }
        cursor.skip(HEADER, 22)?;
        let (name, extra) = (cursor.u16(HEADER)?, cursor.u16(HEADER)?);
        cursor.skip(HEADER, u64::from(name) + u64::from(extra))?;
        let start = cursor.at();
        cursor.skip("the data of an entry", self.bytes)?;
        Ok([start, self.bytes])
    }
}

const HEADER: &str = "the header of an entry";
const LIST: &str = "the list of entries";

/// The entries of an archive, from the list at its end.
fn entries(content: &Content, total: u64) -> Result<Vec<Entry>, Stop> {
    // Behind the list is a record, and behind that a comment.
    let from = total.saturating_sub(END + COMMENT);
    let mut cursor = Cursor::new(content, from, total);
    let tail = cursor.take("the end of the archive", total - from)?;
    let found = tail.windows(4).rposition(|bytes| bytes == b"PK\x05\x06");
    let end = found.ok_or_else(|| field(from, "the end of the archive", "there"))?;
    let end = from + end as u64;
    let mut cursor = Cursor::new(content, end, total);
    cursor.skip("the end of the archive", 8)?;
    let _here = cursor.u16("the count of entries")?;
    let count = cursor.u16("the count of entries")?;
    let _bytes = cursor.u32(LIST)?;
    let at = u64::from(cursor.u32(LIST)?);
    if at == u64::from(u32::MAX) || count == u16::MAX {
        return Err(field(
            end,
            "the archive",
            "smaller than 4 GiB, without ZIP64",
        ));
    }
    if at > end {
        return Err(field(
            end,
            "the place of the list of entries",
            "in front of this",
        ));
    }
    let mut cursor = Cursor::new(content, at, end);
    let mut out = Vec::new();
    for _ in 0..count {
        let offset = cursor.at();
        if cursor.array(LIST)? != *b"PK\x01\x02" {
            return Err(field(
                offset,
                LIST,
                "entries that begin with `PK\\x01\\x02`",
            ));
        }
        cursor.skip(LIST, 4)?;
        let flags = cursor.u16(LIST)?;
        let method = cursor.u16(LIST)?;
        if method != 0 || flags & 1 != 0 {
            return Err(field(
                offset,
                "an entry",
                "neither compressed nor encrypted",
            ));
        }
        cursor.skip(LIST, 8)?;
        let (packed, bytes) = (cursor.u32(LIST)?, cursor.u32(LIST)?);
        if packed != bytes {
            return Err(field(offset, "the two sizes of an entry", "the same"));
        }
        let (name, extra, comment) = (cursor.u16(LIST)?, cursor.u16(LIST)?, cursor.u16(LIST)?);
        cursor.skip(LIST, 8)?;
        let header = u64::from(cursor.u32(LIST)?);
        let name = String::from_utf8(cursor.take(LIST, name.into())?.to_vec());
        let name = name.map_err(|_| field(offset, "the name of an entry", "UTF-8"))?;
        cursor.skip(LIST, u64::from(extra) + u64::from(comment))?;
        out.push(Entry {
            name,
            bytes: bytes.into(),
            header,
        });
    }
    Ok(out)
}
