//! The layout before PyTorch 1.6: PyTorch's number, a version, facts about the machine and the dictionary, a pickle each; a list
//! of keys; then the memory of each key, a count of elements and the elements.

use std::collections::HashMap;

use super::value::{Dicts, Memory, Places, Value};
use super::{Stop, TorchProblem, pickle, wrong};
use crate::content::Content;
use crate::cursor::Cursor;

/// The pickle of 0x1950a86a20f9469cfc6c.
pub(super) const MAGIC: [u8; 15] = [
    0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, b'.',
];

/// The dictionary, and the memory of each key.
pub(super) fn read(content: &Content, total: u64) -> Result<(Dicts, Places), Stop> {
    let cursor = &mut Cursor::new(content, 0, total);
    for _ in 0..3 {
        pickle::skip(cursor)?;
    }
    let dicts = pickle::dictionary(cursor)?;
    let keys = pickle::texts(cursor)?;
    let mut kinds: HashMap<&str, &Memory> = HashMap::new();
    for (_, value) in dicts.all.iter().flatten() {
        if let Value::Tensor(tensor) = value {
            kinds.insert(&tensor.memory.key, &tensor.memory);
        }
    }
    let mut places = Places::new();
    for key in keys {
        let at = cursor.at();
        let Some(memory) = kinds.get(&*key) else {
            let (what, expected) = ("a key of memory", "that of a tensor");
            return Err(wrong(at, TorchProblem::Field { what, expected }));
        };
        if cursor.u64("the count of elements in memory")? != memory.elements {
            let what = "the count of elements in memory";
            let expected = "what the tensor says";
            return Err(wrong(at, TorchProblem::Field { what, expected }));
        }
        let bytes = memory.elements.saturating_mul(memory.kind.bytes());
        places.insert(key, [cursor.at(), bytes]);
        cursor.skip("the memory of a tensor", bytes)?;
    }
    Ok((dicts, places))
}
