//! Reads the table of a file, field by field.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

use super::{Ctranslate2Error, Ctranslate2Problem, Stored, StoredType, Table};
use crate::content::Content;

/// Why reading stops.
#[derive(Debug)]
pub(super) enum Stop {
    Wrong(Ctranslate2Error),
    Io(io::Error),
}

const VERSION: u32 = 6;

/// The table of a file of so many bytes.
pub(super) fn table(content: &Content, total: u64) -> Result<Table, Stop> {
    let mut cursor = Cursor {
        content,
        total,
        at: 0,
    };
    let version = cursor.u32("the version")?;
    if version != VERSION {
        return Err(wrong(0, Ctranslate2Problem::Version(version)));
    }
    let layout = cursor.text("the name of the layout")?;
    let revision = cursor.u32("the revision")?;
    let mut table = Table {
        layout,
        revision,
        tensors: BTreeMap::new(),
        aliases: BTreeMap::new(),
    };
    for _ in 0..cursor.u32("the count of tensors")? {
        let start = cursor.at;
        let name = cursor.text("the name of a tensor")?;
        let stored = cursor.stored(&name)?;
        match table.tensors.entry(name) {
            Entry::Vacant(place) => place.insert(stored),
            Entry::Occupied(place) => {
                let name = place.key().clone();
                return Err(wrong(start, Ctranslate2Problem::Duplicate(name)));
            }
        };
    }
    for _ in 0..cursor.u32("the count of aliases")? {
        let start = cursor.at;
        let alias = cursor.text("an alias")?;
        let name = cursor.text("what an alias stands for")?;
        if !table.tensors.contains_key(&name) {
            return Err(wrong(start, Ctranslate2Problem::Alias { alias, name }));
        }
        if table.tensors.contains_key(&alias) || table.aliases.contains_key(&alias) {
            return Err(wrong(start, Ctranslate2Problem::Duplicate(alias)));
        }
        table.aliases.insert(alias, name);
    }
    match total - cursor.at {
        0 => Ok(table),
        rest => Err(wrong(cursor.at, Ctranslate2Problem::Rest(rest))),
    }
}

fn wrong(offset: u64, problem: Ctranslate2Problem) -> Stop {
    Stop::Wrong(Ctranslate2Error { offset, problem })
}

/// A position in a file; never behind its end.
struct Cursor<'a> {
    content: &'a Content,
    total: u64,
    at: u64,
}

impl Cursor<'_> {
    /// An error unless so many bytes are left.
    fn check(&self, what: &'static str, needed: u64) -> Result<(), Stop> {
        let left = self.total - self.at;
        if needed <= left {
            return Ok(());
        }
        let problem = Ctranslate2Problem::Truncated { what, needed, left };
        Err(wrong(self.at, problem))
    }

    fn take(&mut self, what: &'static str, count: u16) -> Result<Vec<u8>, Stop> {
        self.check(what, count.into())?;
        let part = self.content.part(self.at, count.into());
        self.at += u64::from(count);
        Ok(part.map_err(Stop::Io)?.into_owned())
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Stop> {
        let mut out = [0; N];
        out.copy_from_slice(&self.take(what, N as u16)?);
        Ok(out)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, Stop> {
        self.array(what).map(u32::from_le_bytes)
    }

    fn u8(&mut self, what: &'static str) -> Result<u8, Stop> {
        self.array(what).map(|[byte]| byte)
    }

    fn text(&mut self, what: &'static str) -> Result<String, Stop> {
        let start = self.at;
        let length = u16::from_le_bytes(self.array(what)?);
        let mut bytes = self.take(what, length)?;
        let end = bytes.pop();
        match String::from_utf8(bytes) {
            Ok(text) if end == Some(0) => Ok(text),
            _ => Err(wrong(start, Ctranslate2Problem::Text(what))),
        }
    }

    /// What is known of a tensor, whose data is passed over.
    fn stored(&mut self, name: &str) -> Result<Stored, Stop> {
        let rank = self.u8("the rank of a tensor")?;
        let extent = |_| Ok(self.u32("an extent of a tensor")? as usize);
        let dims = (0..rank).map(extent).collect::<Result<Vec<_>, Stop>>()?;
        let at = self.at;
        let id = self.u8("the type of a tensor's elements")?;
        let name = || name.to_owned();
        let dtype = StoredType::ALL.get(usize::from(id)).copied();
        let dtype = dtype.ok_or_else(|| {
            let name = name();
            wrong(at, Ctranslate2Problem::ElementType { name, id })
        })?;
        let at = self.at;
        let bytes = u64::from(self.u32("the size of a tensor")?);
        let width = dtype.bytes();
        let needed = dims
            .iter()
            .try_fold(width, |product, &extent| product.checked_mul(extent as u64));
        if needed != Some(bytes) {
            let problem = Ctranslate2Problem::Size {
                name: name(),
                dims,
                width,
                bytes,
            };
            return Err(wrong(at, problem));
        }
        self.check("the data of a tensor", bytes)?;
        let start = self.at;
        self.at += bytes;
        Ok(Stored {
            dims,
            dtype,
            start,
            bytes,
        })
    }
}
