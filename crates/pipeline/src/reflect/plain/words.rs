//! A text as words and signs, and what it declares at module scope.

use std::collections::HashMap;
use std::ops::Range;

use crate::reflect::GridInputs;

/// A refusal: where, and what it is that only naga reads.
pub(super) type Refused = (usize, &'static str);

/// A text as words and signs, by the places of which everything is known.
pub(super) struct Words<'a>(pub(super) Vec<(usize, &'a str)>);

/// `@name(inside)`
type Attribute<'a> = (&'a str, Range<usize>);

/// A variable with an address space.
pub(super) struct Variable<'a> {
    pub(super) name: &'a str,
    /// `storage, read_write` in words.
    pub(super) space: [&'a str; 2],
    pub(super) index: [u64; 2],
    pub(super) ty: usize,
    pub(super) all: Range<usize>,
}

/// An entry point, from its name on.
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) size: Range<usize>,
    pub(super) at: usize,
}

/// What a text declares at module scope, by the places of its words.
#[derive(Default)]
pub(super) struct Declared<'a> {
    pub(super) aliases: HashMap<&'a str, usize>,
    pub(super) structs: HashMap<&'a str, usize>,
    /// Values of constants, and of overrides unless they have none.
    pub(super) numbers: HashMap<&'a str, usize>,
    pub(super) overrides: Vec<(&'a str, String, Range<usize>)>,
    pub(super) variables: Vec<Variable<'a>>,
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) enabled: Vec<usize>,
}

impl<'a> Words<'a> {
    pub(super) fn word(&self, at: usize) -> &'a str {
        self.0.get(at).map_or("", |(_, word)| word)
    }

    /// The bracket that closes the one at a place.
    fn close(&self, at: usize) -> Result<usize, Refused> {
        let mut depth = 0_usize;
        for (index, (_, word)) in self.0.iter().enumerate().skip(at) {
            match *word {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return Ok(index);
            }
        }
        Err((at, "a bracket that is not closed"))
    }

    /// The first of a word at or behind a place.
    fn find(&self, at: usize, wanted: &str) -> Result<usize, Refused> {
        let mut rest = self.0.iter().skip(at);
        let found = rest.position(|(_, word)| *word == wanted);
        found.map_or(Err((at, "a declaration that does not end")), |by| {
            Ok(at + by)
        })
    }

    fn attributes(&self, at: &mut usize) -> Result<Vec<Attribute<'a>>, Refused> {
        let mut all = Vec::new();
        while self.word(*at) == "@" {
            let name = self.word(*at + 1);
            *at += 2;
            let mut inside = *at..*at;
            if self.word(*at) == "(" {
                inside = *at + 1..self.close(*at)?;
                *at = inside.end + 1;
            }
            all.push((name, inside));
        }
        Ok(all)
    }

    /// The bytes of some words.
    pub(super) fn bytes(&self, of: Range<usize>) -> Range<usize> {
        let end = of.end.checked_sub(1).and_then(|last| self.0.get(last));
        let begin = self.0.get(of.start).map_or(usize::MAX, |(begin, _)| *begin);
        begin..end.map_or(begin, |(begin, word)| begin + word.len())
    }

    pub(super) fn declarations(&self) -> Result<Declared<'a>, Refused> {
        let mut found = Declared::default();
        let mut at = 0;
        while at < self.0.len() {
            let attributes = self.attributes(&mut at)?;
            let name = self.word(at + 1);
            let kind = self.word(at);
            let end = match kind {
                ";" => at,
                "struct" => self.close(at + 2)?,
                "fn" => self.close(self.find(self.close(at + 2)?, "{")?)?,
                _ => self.find(at, ";")?,
            };
            match kind {
                "alias" => _ = found.aliases.insert(name, at + 3),
                "struct" => _ = found.structs.insert(name, at + 3),
                "const" | "override" => {
                    let value = self.find(at, "=").ok().filter(|value| *value < end);
                    if let Some(value) = value {
                        found.numbers.insert(name, value + 1);
                    }
                    if kind == "override" {
                        let id = attributes.iter().find(|(name, _)| *name == "id");
                        let id = id.map_or(name, |(_, inside)| self.word(inside.start));
                        found.overrides.push((name, id.to_owned(), at..end + 1));
                    }
                }
                "var" => found
                    .variables
                    .extend(self.variable(&attributes, at, at..end + 1)?),
                "fn" => found.entries.extend(self.entry(attributes, at)?),
                "enable" => found.enabled.push(at + 1),
                ";" | "requires" | "diagnostic" | "const_assert" => {}
                _ => return Err((at, "an unknown declaration")),
            }
            at = end + 1;
        }
        Ok(found)
    }

    /// A variable that is bound; `at` is its `var`.
    fn variable(
        &self,
        attributes: &[Attribute<'a>],
        at: usize,
        all: Range<usize>,
    ) -> Result<Option<Variable<'a>>, Refused> {
        if self.word(at + 1) != "<" {
            return Err((at, "a texture or a sampler"));
        }
        let close = self.find(at, ">")?;
        let space = [2, 4].map(|by| {
            if at + by < close {
                self.word(at + by)
            } else {
                ""
            }
        });
        if ["workgroup", "private"].contains(&space[0]) {
            return Ok(None);
        }
        if self.word(close + 2) != ":" {
            return Err((at, "a variable without a type"));
        }
        let index = |wanted: &str| {
            let mut all = attributes.iter();
            let place = all.find_map(|(name, inside)| (*name == wanted).then_some(inside));
            let number = place.filter(|inside| inside.len() == 1);
            number.and_then(|inside| literal(self.word(inside.start)))
        };
        let index = match (space[0], index("group"), index("binding")) {
            ("immediate", None, None) => [0; 2],
            (_, Some(group), Some(binding)) => [group, binding],
            _ => return Err((at, "a variable without the numbers of group and binding")),
        };
        Ok(Some(Variable {
            name: self.word(close + 1),
            space,
            index,
            ty: close + 3,
            all,
        }))
    }

    /// An entry point, if it is one; `at` is its `fn`.
    fn entry(
        &self,
        attributes: Vec<Attribute<'a>>,
        at: usize,
    ) -> Result<Option<Entry<'a>>, Refused> {
        let mut size = None;
        let mut is_entry = false;
        for (name, inside) in attributes {
            match name {
                "compute" => is_entry = true,
                "workgroup_size" => size = Some(inside),
                "vertex" | "fragment" => return Err((at, "an entry point for a renderer")),
                _ => {}
            }
        }
        if !is_entry {
            return Ok(None);
        }
        let size = size.ok_or((at, "an entry point without a workgroup size"))?;
        let name = self.word(at + 1);
        Ok(Some(Entry { name, size, at }))
    }

    /// What an entry point looks at of its place in the grid.
    pub(super) fn grid_inputs(&self, entry: &Entry<'a>) -> Result<GridInputs, Refused> {
        let mut found = GridInputs::default();
        let end = self.close(entry.at + 2)?;
        let body = self.find(end, "{")?;
        let mut at = entry.at + 3;
        while at < end {
            let attributes = self.attributes(&mut at)?;
            let [("builtin", inside)] = attributes.as_slice() else {
                return Err((at, "an entry point that takes a struct"));
            };
            let used = match self.word(inside.start) {
                "workgroup_id" | "global_invocation_id" => Some(&mut found.id),
                "num_workgroups" => Some(&mut found.num_workgroups),
                _ => None,
            };
            if let Some(used) = used {
                let name = self.word(at);
                self.components(name, body..self.close(body)?, used);
            }
            at = self.find(at, ",").map_or(end, |comma| comma.min(end)) + 1;
        }
        Ok(found)
    }

    /// Notes the components of a vector that are used: all, if anything but a selection of components uses it.
    fn components(&self, name: &str, within: Range<usize>, used: &mut [bool; 3]) {
        for at in within {
            if self.word(at) != name || self.word(at - 1) == "." {
                continue;
            }
            let chosen = match self.word(at + 1) {
                "." => self.word(at + 2),
                _ => "xyz",
            };
            for (component, names) in used.iter_mut().zip(["xr", "yg", "zb"]) {
                *component |= chosen.contains(|c| names.contains(c));
            }
        }
    }
}

/// A whole number as WGSL writes it.
pub(super) fn literal(word: &str) -> Option<u64> {
    let digits = word.strip_suffix(['u', 'i']).unwrap_or(word);
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}
