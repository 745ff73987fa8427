//! Attributes of a case, with errors that name what is missing.

use serde_json::Value;
use ziggurat_tensor::DType;

use super::Trouble;
use super::case::Case;

impl Case {
    fn attr(&self, name: &str) -> Result<&Value, Trouble> {
        self.attrs
            .get(name)
            .ok_or_else(|| Trouble::Vectors(format!("attribute {name} is missing")))
    }

    fn wrong(name: &str, value: &Value) -> Trouble {
        Trouble::Vectors(format!("attribute {name} has the value {value}"))
    }

    /// A number; infinities and NaN are strings.
    pub(crate) fn number(&self, name: &str) -> Result<f64, Trouble> {
        let value = self.attr(name)?;
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| Self::wrong(name, value))
    }

    /// A number that may be null.
    pub(crate) fn number_or_none(&self, name: &str) -> Result<Option<f64>, Trouble> {
        if self.attr(name)?.is_null() {
            Ok(None)
        } else {
            self.number(name).map(Some)
        }
    }

    /// A list of numbers.
    pub(crate) fn numbers(&self, name: &str) -> Result<Vec<f64>, Trouble> {
        let value = self.attr(name)?;
        let list = value.as_array().ok_or_else(|| Self::wrong(name, value))?;
        list.iter()
            .map(|entry| entry.as_f64().ok_or_else(|| Self::wrong(name, value)))
            .collect()
    }

    pub(crate) fn integer(&self, name: &str) -> Result<i64, Trouble> {
        let value = self.attr(name)?;
        value.as_i64().ok_or_else(|| Self::wrong(name, value))
    }

    pub(crate) fn axis(&self, name: &str) -> Result<isize, Trouble> {
        isize::try_from(self.integer(name)?)
            .map_err(|_| Trouble::Vectors(format!("attribute {name} is too large")))
    }

    pub(crate) fn extent(&self, name: &str) -> Result<usize, Trouble> {
        usize::try_from(self.integer(name)?)
            .map_err(|_| Trouble::Vectors(format!("attribute {name} is negative")))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, Trouble> {
        let value = self.attr(name)?;
        value.as_bool().ok_or_else(|| Self::wrong(name, value))
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str, Trouble> {
        let value = self.attr(name)?;
        value.as_str().ok_or_else(|| Self::wrong(name, value))
    }

    pub(crate) fn dtype(&self, name: &str) -> Result<DType, Trouble> {
        let text = self.text(name)?;
        text.parse()
            .map_err(|_| Trouble::Vectors(format!("attribute {name} names no dtype: {text}")))
    }

    pub(crate) fn axes(&self, name: &str) -> Result<Vec<isize>, Trouble> {
        let value = self.attr(name)?;
        let list = value.as_array().ok_or_else(|| Self::wrong(name, value))?;
        list.iter()
            .map(|entry| {
                entry
                    .as_i64()
                    .and_then(|entry| isize::try_from(entry).ok())
                    .ok_or_else(|| Self::wrong(name, value))
            })
            .collect()
    }

    pub(crate) fn extents(&self, name: &str) -> Result<Vec<usize>, Trouble> {
        let negative = |_| Trouble::Vectors(format!("attribute {name} has a negative entry"));
        self.axes(name)?
            .into_iter()
            .map(|entry| usize::try_from(entry).map_err(negative))
            .collect()
    }

    /// A list with one entry per spatial axis.
    pub(crate) fn spatial<const N: usize>(&self, name: &str) -> Result<[usize; N], Trouble> {
        let list = self.extents(name)?;
        <[usize; N]>::try_from(list)
            .map_err(|list| Trouble::Vectors(format!("{name} has {} entries, not {N}", list.len())))
    }
}
