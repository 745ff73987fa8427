//! The words of a call's text.

use std::str::FromStr;

use ziggurat_core::BlockFormat;

use super::{CallTextError, wrong};
use crate::ops::quantised::BlockShape;
use crate::run::call::{Axes, F32Bits};

/// The words of a text.
pub(super) struct Words<'a> {
    pub(super) op: &'a str,
    options: Vec<(&'a str, &'a str)>,
}

impl<'a> Words<'a> {
    pub(super) fn of(text: &'a str) -> Result<Self, CallTextError> {
        let mut words = text.split_whitespace();
        let op = words.next().ok_or_else(|| wrong("the text is empty"))?;
        let pair = |word: &'a str| {
            let pair = word.split_once('=');
            pair.ok_or_else(|| wrong(format!("`{word}` is no `option=value`")))
        };
        Ok(Self {
            op,
            options: words.map(pair).collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn word(&self, name: &str) -> Result<&'a str, CallTextError> {
        let found = self.options.iter().find(|(known, _)| *known == name);
        let found = found.ok_or_else(|| wrong(format!("`{}` needs `{name}`", self.op)))?;
        Ok(found.1)
    }

    fn unknown(&self, name: &str, word: &str) -> CallTextError {
        wrong(format!("`{}` cannot have `{name}={word}`", self.op))
    }

    pub(super) fn get<T: FromStr>(&self, name: &str) -> Result<T, CallTextError> {
        let word = self.word(name)?;
        word.parse().map_err(|_| self.unknown(name, word))
    }

    /// An option that need not be there.
    pub(super) fn given<T: FromStr>(&self, name: &str) -> Result<Option<T>, CallTextError> {
        match self.word(name) {
            Ok(_) => self.get(name).map(Some),
            Err(_) => Ok(None),
        }
    }

    pub(super) fn float(&self, name: &str) -> Result<F32Bits, CallTextError> {
        let word = self.word(name)?;
        let bits = u32::from_str_radix(word, 16).map_err(|_| self.unknown(name, word))?;
        Ok(f32::from_bits(bits).into())
    }

    /// A float that need not be there.
    pub(super) fn given_float(&self, name: &str) -> Result<Option<F32Bits>, CallTextError> {
        match self.word(name) {
            Ok(_) => self.float(name).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn list(&self, name: &str) -> Result<Vec<usize>, CallTextError> {
        let word = self.word(name)?;
        let numbers = word.split(',').filter(|number| !number.is_empty());
        let numbers: Result<_, _> = numbers.map(str::parse).collect();
        numbers.map_err(|_| self.unknown(name, word))
    }

    pub(super) fn axes(&self) -> Result<Axes, CallTextError> {
        Ok(Axes::from(&self.list("axes")?[..]))
    }

    pub(super) fn three(&self, name: &str) -> Result<[usize; 3], CallTextError> {
        let numbers = self.list(name)?;
        <[usize; 3]>::try_from(numbers).map_err(|_| wrong(format!("`{name}` needs three numbers")))
    }

    pub(super) fn named<T: Copy>(
        &self,
        option: &str,
        all: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Result<T, CallTextError> {
        let word = self.word(option)?;
        let found = all.iter().copied().find(|one| name(*one) == word);
        found.ok_or_else(|| self.unknown(option, word))
    }

    pub(super) fn blocks(&self) -> Result<BlockShape, CallTextError> {
        let id = self.get("format")?;
        let format = BlockFormat::from_id(id);
        let format = format.ok_or_else(|| self.unknown("format", &id.to_string()))?;
        let dims = [self.get("rows")?, self.get("cols")?];
        let shape = BlockShape::new(format, dims).map_err(|error| wrong(error.to_string()))?;
        Ok(shape.with_f16(self.get("f16")?))
    }
}
