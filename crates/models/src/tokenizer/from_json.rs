//! A tokenizer from a `tokenizer.json`.

use std::collections::HashMap;

use serde_json::Value;

use super::normalise::{Bert, Normaliser, Prefix, SPACE};
use super::pieces::{Pieces, byte_of};
use super::special::Special;
use super::split::{Pattern, Splitter};
use super::{Bpe, Kind, Recipe, Tokenizer, WordPiece, bytes, wrong};
use crate::Error;

impl Tokenizer {
    /// The tokenizer that a `tokenizer.json` describes.
    ///
    /// # Errors
    /// If the text is no JSON, lacks something, or asks for a step that is not known.
    pub fn from_json(text: &[u8]) -> Result<Self, Error> {
        let json: Value = serde_json::from_slice(text)
            .map_err(|error| wrong(format!("`tokenizer.json` is not valid: {error}")))?;
        let model = json
            .get("model")
            .ok_or_else(|| wrong("`tokenizer.json` has no `model`"))?;
        let mut recipe = Recipe {
            vocabulary: vocabulary(model)?,
            normaliser: normaliser(json.get("normalizer"))?,
            splitters: splitters(json.get("pre_tokenizer"))?,
            ..Recipe::default()
        };
        for added in list(&json, "added_tokens") {
            let (Some(text), Some(token)) = (text_of(added, "content"), number_of(added, "id"))
            else {
                return Err(wrong("an added token must have `content` and `id`"));
            };
            for option in ["single_word", "lstrip", "rstrip"] {
                if flag(added, option, false) {
                    return Err(wrong(format!(
                        "the added token `{text}` has `{option}`, which is not supported"
                    )));
                }
            }
            recipe.specials.push(Special {
                text: text.to_owned(),
                token,
                hidden: flag(added, "special", false),
            });
        }
        recipe.around = around(json.get("post_processor"))?;
        match text_of(model, "type").unwrap_or("BPE") {
            "BPE" if flag(model, "byte_fallback", false) => {
                if !recipe.splitters.is_empty() {
                    return Err(unknown("pre-tokenizer", "a pattern with byte_fallback"));
                }
                recipe
                    .normaliser
                    .extend(meta_space(json.get("pre_tokenizer"))?);
                let prefix = |step: &Normaliser| matches!(step, Normaliser::Prefix(_));
                let prefix = recipe.normaliser.iter().any(prefix);
                let merges = merges(model)?.into_iter();
                let pieces = Pieces::from_merges(&recipe.vocabulary, merges, prefix)?;
                recipe.build(Kind::Pieces(pieces), |name| match byte_of(name) {
                    Some(byte) => vec![byte],
                    None => name.replace(SPACE, " ").into_bytes(),
                })
            }
            "BPE" => {
                if flag(model, "fuse_unk", false) {
                    return Err(unknown("BPE with", "fuse_unk"));
                }
                if !recipe
                    .splitters
                    .iter()
                    .any(|splitter| matches!(splitter, Splitter::Pattern(_)))
                {
                    return Err(wrong(
                        "a BPE without a ByteLevel pre-tokenizer is not supported",
                    ));
                }
                let none = text_of(model, "unk_token");
                let none = none.and_then(|name| recipe.vocabulary.get(name).copied());
                let whole = flag(model, "ignore_merges", false);
                let bpe = Bpe::new(&recipe.vocabulary, merges(model)?.into_iter(), none, whole)?;
                let characters = bytes::characters();
                recipe.build(Kind::Bpe(bpe), |name| bytes::of_name(name, &characters))
            }
            "WordPiece" => {
                let prefix = text_of(model, "continuing_subword_prefix").unwrap_or("##");
                let none = text_of(model, "unk_token").unwrap_or("[UNK]");
                let most = number_of(model, "max_input_chars_per_word").unwrap_or(100);
                let words = WordPiece::new(&recipe.vocabulary, prefix, none, most as usize)?;
                recipe.build(Kind::WordPiece(words), |name| name.as_bytes().to_vec())
            }
            other => Err(unknown("model", other)),
        }
    }
}

fn vocabulary(model: &Value) -> Result<HashMap<String, u32>, Error> {
    let rule = "the model of `tokenizer.json` must have `vocab`, tokens with their numbers";
    let tokens = model
        .get("vocab")
        .and_then(Value::as_object)
        .ok_or_else(|| wrong(rule))?;
    let token = |(name, number): (&String, &Value)| {
        let number = number
            .as_u64()
            .and_then(|number| u32::try_from(number).ok());
        Some((name.clone(), number?))
    };
    let tokens: Option<_> = tokens.iter().map(token).collect();
    tokens.ok_or_else(|| wrong(rule))
}

/// All merges of a model, in order of rank.
fn merges(model: &Value) -> Result<Vec<(&str, &str)>, Error> {
    let merges: Option<_> = list(model, "merges").iter().map(merge).collect();
    merges.ok_or_else(|| wrong("a merge must be two tokens"))
}

/// Two tokens, as a list or with a space between.
fn merge(merge: &Value) -> Option<(&str, &str)> {
    match merge {
        Value::String(text) => text.split_once(' '),
        Value::Array(pair) => match pair.as_slice() {
            [a, b] => Some((a.as_str()?, b.as_str()?)),
            _ => None,
        },
        _ => None,
    }
}

fn normaliser(json: Option<&Value>) -> Result<Vec<Normaliser>, Error> {
    let Some(json) = json.filter(|json| !json.is_null()) else {
        return Ok(Vec::new());
    };
    match text_of(json, "type").unwrap_or_default() {
        "Sequence" => {
            let steps = list(json, "normalizers")
                .iter()
                .map(|step| normaliser(Some(step)));
            Ok(steps.collect::<Result<Vec<_>, _>>()?.concat())
        }
        "NFC" => Ok(vec![Normaliser::Nfc]),
        "Prepend" if text_of(json, "prepend").is_some_and(is_space) => {
            Ok(vec![Normaliser::Prefix(Prefix::ALWAYS)])
        }
        "Replace"
            if json.pointer("/pattern/String").and_then(Value::as_str) == Some(" ")
                && text_of(json, "content").is_some_and(is_space) =>
        {
            Ok(vec![Normaliser::Spaces])
        }
        "BertNormalizer" => {
            let lowercase = flag(json, "lowercase", true);
            Ok(vec![Normaliser::Bert(Bert {
                clean: flag(json, "clean_text", true),
                chinese: flag(json, "handle_chinese_chars", true),
                strip_accents: flag(json, "strip_accents", lowercase),
                lowercase,
            })])
        }
        other => Err(unknown("normalizer", other)),
    }
}

/// Whether a text is the character that stands for a space.
fn is_space(text: &str) -> bool {
    text.chars().eq([SPACE])
}

/// What a pre-tokenizer for spaces does before the pieces of SentencePiece are looked for.
fn meta_space(json: Option<&Value>) -> Result<Vec<Normaliser>, Error> {
    let Some(json) = json.filter(|json| !json.is_null()) else {
        return Ok(Vec::new());
    };
    let known = text_of(json, "replacement").is_some_and(is_space) && !flag(json, "split", true);
    let prefix = |first| Normaliser::Prefix(Prefix { first, once: true });
    match text_of(json, "prepend_scheme").unwrap_or("always") {
        "always" if known => Ok(vec![prefix(false), Normaliser::Spaces]),
        "first" if known => Ok(vec![prefix(true), Normaliser::Spaces]),
        "never" if known => Ok(vec![Normaliser::Spaces]),
        _ => Err(unknown("pre-tokenizer", &json.to_string())),
    }
}

fn splitters(json: Option<&Value>) -> Result<Vec<Splitter>, Error> {
    let Some(json) = json.filter(|json| !json.is_null()) else {
        return Ok(Vec::new());
    };
    match text_of(json, "type").unwrap_or_default() {
        "Sequence" => {
            let steps = list(json, "pretokenizers")
                .iter()
                .map(|step| splitters(Some(step)));
            Ok(steps.collect::<Result<Vec<_>, _>>()?.concat())
        }
        "BertPreTokenizer" => Ok(vec![Splitter::Bert]),
        "Digits" if flag(json, "individual_digits", false) => Ok(vec![Splitter::Digits]),
        "ByteLevel" if flag(json, "add_prefix_space", true) => {
            Err(unknown("pre-tokenizer", "ByteLevel with add_prefix_space"))
        }
        "ByteLevel" if flag(json, "use_regex", true) => Ok(vec![Splitter::Pattern(Pattern::GPT2)]),
        "ByteLevel" => Ok(Vec::new()),
        // It cuts nothing: see `meta_space`.
        "Metaspace" if !flag(json, "split", true) => Ok(Vec::new()),
        "Split" => {
            let regex = json.pointer("/pattern/Regex").and_then(Value::as_str);
            let regex = regex.unwrap_or_default();
            let isolated =
                text_of(json, "behavior") == Some("Isolated") && !flag(json, "invert", false);
            match Pattern::of_regex(regex).filter(|_| isolated) {
                Some(pattern) => Ok(vec![Splitter::Pattern(pattern)]),
                None => Err(unknown("pattern", regex)),
            }
        }
        other => Err(unknown("pre-tokenizer", other)),
    }
}

/// The tokens in front of and behind a text.
fn around(json: Option<&Value>) -> Result<[Vec<u32>; 2], Error> {
    let mut out = [Vec::new(), Vec::new()];
    let Some(json) = json.filter(|json| !json.is_null()) else {
        return Ok(out);
    };
    match text_of(json, "type").unwrap_or_default() {
        "ByteLevel" => {}
        "Sequence" => {
            for step in list(json, "processors") {
                let [before, behind] = around(Some(step))?;
                out[0].extend(before);
                out[1].extend(behind);
            }
        }
        "TemplateProcessing" => {
            let mut side = 0;
            for step in list(json, "single") {
                if step.get("Sequence").is_some() {
                    side = 1;
                    continue;
                }
                let name = step
                    .pointer("/SpecialToken/id")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let ids = json
                    .get("special_tokens")
                    .and_then(|all| all.get(name)?.get("ids")?.as_array());
                let ids =
                    ids.ok_or_else(|| wrong(format!("the template has no token `{name}`")))?;
                let ids = ids
                    .iter()
                    .map(|id| id.as_u64().and_then(|id| u32::try_from(id).ok()));
                let ids: Option<Vec<u32>> = ids.collect();
                let ids = ids.ok_or_else(|| {
                    wrong(format!("the token `{name}` of the template has no number"))
                })?;
                if let Some(list) = out.get_mut(side) {
                    list.extend(ids);
                }
            }
        }
        other => return Err(unknown("post-processor", other)),
    }
    Ok(out)
}

fn unknown(what: &str, which: &str) -> Error {
    let which: String = which.chars().take(200).collect();
    wrong(format!(
        "`tokenizer.json` asks for the {what} `{which}`, which is not supported"
    ))
}

fn list<'a>(json: &'a Value, key: &str) -> &'a [Value] {
    let list = json.get(key).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn text_of<'a>(json: &'a Value, key: &str) -> Option<&'a str> {
    json.get(key).and_then(Value::as_str)
}

fn number_of(json: &Value, key: &str) -> Option<u32> {
    json.get(key).and_then(Value::as_u64)?.try_into().ok()
}

fn flag(json: &Value, key: &str, usual: bool) -> bool {
    json.get(key).and_then(Value::as_bool).unwrap_or(usual)
}
