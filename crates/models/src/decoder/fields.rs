//! What a file says about a model, whichever kind of file it is.

use serde_json::Value as Json;

use crate::Error;
use crate::gguf::{Gguf, Value};

/// The metadata of a GGUF file, whose keys begin with the architecture's name, or a `config.json`.
#[derive(Clone, Copy)]
pub(crate) enum Fields<'a> {
    Gguf(&'a Gguf, &'a str),
    Json(&'a Json),
}

/// The names of one field: in a GGUF file, and in a `config.json`, where `/` leads into objects.
pub(crate) type Key = [&'static str; 2];

#[derive(Clone, Copy)]
enum Found<'a> {
    Gguf(&'a Value),
    Json(&'a Json),
}

impl<'a> Fields<'a> {
    /// A field's name in full.
    pub(crate) fn name(self, [gguf, json]: Key) -> String {
        match self {
            Self::Gguf(_, prefix) => format!("{prefix}.{gguf}"),
            Self::Json(_) => json.replace('/', "."),
        }
    }

    fn find(self, key: Key) -> Option<Found<'a>> {
        match self {
            Self::Gguf(head, _) => head.get(&self.name(key)).map(Found::Gguf),
            // What is null is not said.
            Self::Json(json) => json
                .pointer(&format!("/{}", key[1]))
                .filter(|value| !value.is_null())
                .map(Found::Json),
        }
    }

    /// An extent, if it is said.
    pub(crate) fn count(self, key: Key) -> Result<Option<usize>, Error> {
        let value = match self.find(key) {
            None => return Ok(None),
            Some(Found::Gguf(value)) => value.as_u64(),
            Some(Found::Json(value)) => value.as_u64(),
        };
        // Beyond this no product of extents is a tensor.
        let count = value.filter(|count| (1..=1 << 24).contains(count));
        match count.and_then(|count| usize::try_from(count).ok()) {
            Some(count) => Ok(Some(count)),
            None => Err(self.wrong(key, "an integer from 1 to 2^24")),
        }
    }

    /// An extent that must be said.
    pub(crate) fn needed(self, key: Key) -> Result<usize, Error> {
        self.count(key)?
            .ok_or_else(|| Error::MissingMetadata(self.name(key)))
    }

    /// A positive number, if it is said.
    pub(crate) fn number(self, key: Key) -> Result<Option<f64>, Error> {
        let value = match self.find(key) {
            None => return Ok(None),
            Some(Found::Gguf(value)) => value.as_f64(),
            Some(Found::Json(value)) => value.as_f64(),
        };
        match value.filter(|number| number.is_finite() && *number > 0.0) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(key, "a positive number")),
        }
    }

    /// So many positive numbers, which must be said.
    pub(crate) fn numbers(self, key: Key, count: usize) -> Result<Vec<f64>, Error> {
        let Some(found) = self.find(key) else {
            return Err(Error::MissingMetadata(self.name(key)));
        };
        let Found::Json(Json::Array(all)) = found else {
            return Err(self.wrong(key, "a list of positive numbers"));
        };
        let numbers = all.iter().filter_map(Json::as_f64);
        let numbers: Vec<f64> = numbers
            .filter(|number| number.is_finite() && *number > 0.0)
            .collect();
        if numbers.len() == all.len() && numbers.len() == count {
            return Ok(numbers);
        }
        Err(self.wrong(key, "a positive number for each pair of rotated elements"))
    }

    /// A positive number that must be said.
    pub(crate) fn needed_number(self, key: Key) -> Result<f64, Error> {
        self.number(key)?
            .ok_or_else(|| Error::MissingMetadata(self.name(key)))
    }

    /// A text, if it is said.
    pub(crate) fn text(self, key: Key) -> Option<&'a str> {
        match self.find(key)? {
            Found::Gguf(value) => value.as_str(),
            Found::Json(value) => value.as_str(),
        }
    }

    /// Whether something is so; not, if nothing is said.
    pub(crate) fn flag(self, key: Key) -> bool {
        let value = match self.find(key) {
            None => None,
            Some(Found::Gguf(value)) => value.as_bool(),
            Some(Found::Json(value)) => value.as_bool(),
        };
        value.unwrap_or(false)
    }

    /// A key that has a value which no model has.
    pub(crate) fn wrong(self, key: Key, expected: &'static str) -> Error {
        let key = self.name(key);
        Error::WrongMetadata { key, expected }
    }
}
