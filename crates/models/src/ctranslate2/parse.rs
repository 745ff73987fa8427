//! Reads the table of a file, field by field.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

use super::{Ctranslate2Error, Ctranslate2Problem, Stored, StoredType, Table};
use crate::content::Content;
use crate::cursor::{Cursor, Truncated, Unreadable};

/// Why reading stops.
#[derive(Debug)]
pub(super) enum Stop {
    Wrong(Ctranslate2Error),
    Io(io::Error),
}

const VERSION: u32 = 6;

/// The table of a file of so many bytes.
pub(super) fn table(content: &Content, total: u64) -> Result<Table, Stop> {
    let cursor = &mut Cursor::new(content, 0, total);
    let version = cursor.u32("the version")?;
    if version != VERSION {
        return Err(wrong(0, Ctranslate2Problem::Version(version)));
    }
    let layout = text(cursor, "the name of the layout")?;
    let revision = cursor.u32("the revision")?;
    let mut table = Table {
        layout,
        revision,
        tensors: BTreeMap::new(),
        aliases: BTreeMap::new(),
    };
    for _ in 0..cursor.u32("the count of tensors")? {
        let start = cursor.at();
        let name = text(cursor, "the name of a tensor")?;
        let stored = stored(cursor, &name)?;
        match table.tensors.entry(name) {
            Entry::Vacant(place) => place.insert(stored),
            Entry::Occupied(place) => {
                let name = place.key().clone();
                return Err(wrong(start, Ctranslate2Problem::Duplicate(name)));
            }
        };
    }
    for _ in 0..cursor.u32("the count of aliases")? {
        let start = cursor.at();
        let alias = text(cursor, "an alias")?;
        let name = text(cursor, "what an alias stands for")?;
        if !table.tensors.contains_key(&name) {
            return Err(wrong(start, Ctranslate2Problem::Alias { alias, name }));
        }
        if table.tensors.contains_key(&alias) || table.aliases.contains_key(&alias) {
            return Err(wrong(start, Ctranslate2Problem::Duplicate(alias)));
        }
        table.aliases.insert(alias, name);
    }
    match cursor.left() {
        0 => Ok(table),
        rest => Err(wrong(cursor.at(), Ctranslate2Problem::Rest(rest))),
    }
}

fn wrong(offset: u64, problem: Ctranslate2Problem) -> Stop {
    Stop::Wrong(Ctranslate2Error { offset, problem })
}

impl From<Unreadable> for Stop {
    fn from(error: Unreadable) -> Self {
        match error {
            Unreadable::Truncated(Truncated {
                offset,
                what,
                needed,
                left,
            }) => wrong(offset, Ctranslate2Problem::Truncated { what, needed, left }),
            Unreadable::Io(error) => Self::Io(error),
        }
    }
}

fn text(cursor: &mut Cursor<'_>, what: &'static str) -> Result<String, Stop> {
    let start = cursor.at();
    let length = cursor.u16(what)?;
    let mut bytes = cursor.take(what, length.into())?.to_vec();
    let end = bytes.pop();
    match String::from_utf8(bytes) {
        Ok(text) if end == Some(0) => Ok(text),
        _ => Err(wrong(start, Ctranslate2Problem::Text(what))),
    }
}

/// What is known of a tensor, whose data is passed over.
fn stored(cursor: &mut Cursor<'_>, name: &str) -> Result<Stored, Stop> {
    let rank = cursor.u8("the rank of a tensor")?;
    let extent = |_| Ok(cursor.u32("an extent of a tensor")? as usize);
    let dims = (0..rank).map(extent).collect::<Result<Vec<_>, Stop>>()?;
    let at = cursor.at();
    let id = cursor.u8("the type of a tensor's elements")?;
    let name = || name.to_owned();
    let dtype = StoredType::ALL.get(usize::from(id)).copied();
    let dtype = dtype.ok_or_else(|| {
        let name = name();
        wrong(at, Ctranslate2Problem::ElementType { name, id })
    })?;
    let at = cursor.at();
    let bytes = u64::from(cursor.u32("the size of a tensor")?);
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
    let start = cursor.at();
    cursor.skip("the data of a tensor", bytes)?;
    Ok(Stored {
        dims,
        dtype,
        start,
        bytes,
    })
}
