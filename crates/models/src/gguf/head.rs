//! The head of a file: metadata, and where which tensor is.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::block::BlockType;
use super::cursor::{Cursor, Stop};
use super::error::{GgufError, GgufProblem};
use super::value::Value;

const ALIGNMENT: &str = "general.alignment";
/// The alignment of a file that says none.
const USUAL_ALIGNMENT: u64 = 32;
/// Extents that a tensor may have.
const MOST_DIMS: u32 = 4;
/// Length, type and value of the smallest entry of metadata.
const LEAST_ENTRY: u64 = 8 + 4 + 1;
/// Length of the name, number of extents, format and offset of the smallest tensor.
const LEAST_TENSOR: u64 = 8 + 4 + 4 + 8;

/// The head of a GGUF file.
///
/// ```
/// use ziggurat_models::gguf::{Gguf, GgufProblem};
///
/// // A file without metadata and tensors, and the same cut short.
/// let file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// assert_eq!(Gguf::parse(file)?.tensors().len(), 0);
/// let error = Gguf::parse(&file[..20]).unwrap_err();
/// assert_eq!(error.offset, 16);
/// assert!(matches!(error.problem, GgufProblem::Truncated { needed: 8, left: 4, .. }));
/// # Ok::<(), ziggurat_models::gguf::GgufError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gguf {
    version: u32,
    metadata: BTreeMap<String, Value>,
    tensors: Vec<TensorInfo>,
    names: BTreeMap<String, usize>,
    alignment: u64,
}

/// What a file says about a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    name: String,
    dims: Vec<usize>,
    block: BlockType,
    start: u64,
    bytes: u64,
}

impl TensorInfo {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its extents, the slowest first as everywhere in this library: files have them the other way round.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.dims.iter().product()
    }

    /// How its elements are stored.
    pub const fn block(&self) -> BlockType {
        self.block
    }

    /// Where its data begins in the file.
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// The bytes of its data.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A tensor of the table, whose data is at an offset from a place that is known behind the table.
struct Listed {
    info: TensorInfo,
    /// Where the field with the offset is.
    field: u64,
}

impl Gguf {
    /// The head of a whole file.
    ///
    /// # Errors
    /// If a field is malformed, or a tensor's data is not aligned, beyond the file or shared with another tensor.
    pub fn parse(file: &[u8]) -> Result<Self, GgufError> {
        let total = file.len() as u64;
        Self::parse_start(file, total).map_err(|stop| match stop {
            Stop::Wrong(error) => error,
            // All bytes are there: nothing asks for more than the file has.
            Stop::More => GgufError {
                offset: total,
                problem: GgufProblem::HeadTooLarge(total),
            },
        })
    }

    /// The head of a file of `total` bytes that begins with `bytes`.
    pub(super) fn parse_start(bytes: &[u8], total: u64) -> Result<Self, Stop> {
        let mut from = Cursor::new(bytes, total);
        let version = read_version(&mut from)?;
        let tensors_at = from.offset();
        let tensors = from.count("tensors", LEAST_TENSOR)?;
        let entries = from.count("entries of metadata", LEAST_ENTRY)?;
        let mut metadata = BTreeMap::new();
        let mut alignment = USUAL_ALIGNMENT;
        for _ in 0..entries {
            let offset = from.offset();
            let key = from.string("a key")?;
            let value_at = from.offset();
            let value = Value::read(&mut from, &key)?;
            if key == ALIGNMENT {
                alignment = read_alignment(value_at, &value)?;
            }
            match metadata.entry(key) {
                Entry::Vacant(entry) => entry.insert(value),
                Entry::Occupied(entry) => {
                    let (what, name) = ("the key", entry.key().clone());
                    return Err(Cursor::wrong(offset, GgufProblem::Twice { what, name }));
                }
            };
        }
        let mut listed = Vec::new();
        let mut names = BTreeMap::new();
        for index in 0..tensors {
            let offset = from.offset();
            let tensor = read_tensor(&mut from, alignment)?;
            let name = tensor.info.name.clone();
            let position = usize::try_from(index).unwrap_or(usize::MAX);
            if names.insert(name.clone(), position).is_some() {
                let what = "the tensor";
                return Err(Cursor::wrong(offset, GgufProblem::Twice { what, name }));
            }
            listed.push(tensor);
        }
        let data = from.offset().checked_next_multiple_of(alignment);
        let data = data.ok_or_else(|| {
            let problem = GgufProblem::Alignment(alignment.to_string());
            Cursor::wrong(tensors_at, problem)
        })?;
        let tensors = place(listed, data, total)?;
        Ok(Self {
            version,
            metadata,
            tensors,
            names,
            alignment,
        })
    }

    /// The version of the format.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// What every tensor's data is aligned to.
    pub const fn alignment(&self) -> u64 {
        self.alignment
    }

    /// All keys and values, by key.
    pub const fn metadata(&self) -> &BTreeMap<String, Value> {
        &self.metadata
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key)
    }

    /// The tensors in the order of the file's table.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(*self.names.get(name)?)
    }
}

fn read_version(from: &mut Cursor<'_>) -> Result<u32, Stop> {
    let magic = from.array("the magic number")?;
    if &magic != b"GGUF" {
        return Err(Cursor::wrong(0, GgufProblem::Magic(magic)));
    }
    let offset = from.offset();
    match from.u32("the version")? {
        version @ (2 | 3) => Ok(version),
        version if matches!(version.swap_bytes(), 1..=3) => {
            Err(Cursor::wrong(offset, GgufProblem::BigEndian))
        }
        version => Err(Cursor::wrong(offset, GgufProblem::Version(version))),
    }
}

fn read_alignment(offset: u64, value: &Value) -> Result<u64, Stop> {
    match *value {
        Value::U32(alignment) if alignment > 0 && alignment % 8 == 0 => Ok(alignment.into()),
        ref other => {
            let mut text = format!("{other:?}");
            text.truncate(64);
            Err(Cursor::wrong(offset, GgufProblem::Alignment(text)))
        }
    }
}

/// An entry of the table; its start is still relative to the data.
fn read_tensor(from: &mut Cursor<'_>, alignment: u64) -> Result<Listed, Stop> {
    let name = from.string("the name of a tensor")?;
    let offset = from.offset();
    let rank = from.u32("the number of dimensions")?;
    if rank > MOST_DIMS {
        return Err(Cursor::wrong(offset, GgufProblem::Rank { name, rank }));
    }
    let dims_at = from.offset();
    let dims = (0..rank).map(|_| from.u64("the extent of a dimension"));
    let dims = dims.collect::<Result<Vec<_>, _>>()?;
    let block_at = from.offset();
    let id = from.u32("the format of a tensor")?;
    let field = from.offset();
    let start = from.u64("the offset of a tensor")?;
    let block = BlockType::from_id(id).ok_or_else(|| {
        let name = name.clone();
        Cursor::wrong(block_at, GgufProblem::BlockType { name, id })
    })?;
    let row = dims.first().copied().unwrap_or(1);
    let (of_block, of_bytes) = (block.elements() as u64, block.bytes() as u64);
    if row % of_block != 0 {
        let (extent, block) = (row, of_block);
        let problem = GgufProblem::Row {
            name,
            extent,
            block,
        };
        return Err(Cursor::wrong(dims_at, problem));
    }
    if start % alignment != 0 {
        let problem = GgufProblem::Unaligned {
            name,
            at: start,
            alignment,
        };
        return Err(Cursor::wrong(field, problem));
    }
    let extents: Option<Vec<usize>> = dims.iter().rev().map(|&n| n.try_into().ok()).collect();
    // Extents of 1 more than there are count too: a product with a 0 in it could overflow on the way.
    let elements = dims
        .iter()
        .try_fold(1u64, |all, &n| all.checked_mul(n.max(1)));
    let fits = elements.is_some_and(|n| usize::try_from(n).is_ok());
    let bytes = elements.and_then(|n| (n / of_block).max(1).checked_mul(of_bytes));
    let (Some(extents), Some(bytes), true) = (extents, bytes, fits) else {
        return Err(Cursor::wrong(dims_at, GgufProblem::Elements { name, dims }));
    };
    let bytes = if dims.contains(&0) { 0 } else { bytes };
    Ok(Listed {
        info: TensorInfo {
            name,
            dims: extents,
            block,
            start,
            bytes,
        },
        field,
    })
}

/// The tensors with their places in the file, which do not overlap.
fn place(listed: Vec<Listed>, data: u64, total: u64) -> Result<Vec<TensorInfo>, Stop> {
    let mut tensors = Vec::new();
    let mut places = Vec::new();
    for Listed { mut info, field } in listed {
        let start = info.start.checked_add(data);
        let end = start.and_then(|start| start.checked_add(info.bytes));
        match start.zip(end) {
            Some((start, end)) if end <= total || info.bytes == 0 => {
                info.start = start;
                if info.bytes > 0 {
                    places.push((start, end, field, tensors.len()));
                }
                tensors.push(info);
            }
            _ => {
                let problem = GgufProblem::Beyond {
                    name: info.name,
                    end: end.unwrap_or(u64::MAX),
                    total,
                };
                return Err(Cursor::wrong(field, problem));
            }
        }
    }
    places.sort_unstable();
    for pair in places.windows(2) {
        if let [(_, end, _, first), (start, _, field, second)] = *pair
            && start < end
        {
            let name = |at: usize| tensors.get(at).map_or_else(String::new, |t| t.name.clone());
            let problem = GgufProblem::Overlap {
                first: name(first),
                second: name(second),
            };
            return Err(Cursor::wrong(field, problem));
        }
    }
    Ok(tensors)
}
