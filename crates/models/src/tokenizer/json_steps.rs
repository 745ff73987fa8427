//! The steps in front of and behind a model in a `tokenizer.json`; one that is not known is an error that names it.

use std::sync::Arc;

use serde_json::Value;

use super::charsmap::{Charsmap, base64};
use super::normalise::{Bert, Form, Normaliser, Prefix, SPACE};
use super::split::{Pattern, Splitter};
use super::{Lead, wrong};
use crate::Error;

pub(super) fn normaliser(json: Option<&Value>) -> Result<Vec<Normaliser>, Error> {
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
        "NFC" => Ok(vec![Normaliser::Form(Form::Nfc)]),
        "NFD" => Ok(vec![Normaliser::Form(Form::Nfd)]),
        "NFKC" => Ok(vec![Normaliser::Form(Form::Nfkc)]),
        "NFKD" => Ok(vec![Normaliser::Form(Form::Nfkd)]),
        "Lowercase" => Ok(vec![Normaliser::Lowercase]),
        "StripAccents" => Ok(vec![Normaliser::StripAccents]),
        "Strip" => Ok(vec![Normaliser::Strip {
            left: flag(json, "strip_left", true),
            right: flag(json, "strip_right", true),
        }]),
        "Prepend" if text_of(json, "prepend").is_some_and(is_space) => {
            Ok(vec![Normaliser::Prefix(Prefix::ALWAYS)])
        }
        "Replace" => {
            let pattern = |kind: &str| json.pointer(kind).and_then(Value::as_str);
            let content = text_of(json, "content").unwrap_or_default().to_owned();
            match (pattern("/pattern/String"), pattern("/pattern/Regex")) {
                (Some(from), _) if !from.is_empty() => {
                    Ok(vec![Normaliser::Replace(from.to_owned(), content)])
                }
                (_, Some(" {2,}")) => Ok(vec![Normaliser::Runs(content)]),
                _ => Err(unknown("normalizer", &json.to_string())),
            }
        }
        "Precompiled" => {
            let bytes = text_of(json, "precompiled_charsmap").and_then(base64);
            let bytes =
                bytes.ok_or_else(|| wrong("`precompiled_charsmap` must be a text in base64"))?;
            // Files that have none have an empty one.
            let map = (!bytes.is_empty())
                .then(|| Charsmap::new(&bytes))
                .transpose()?;
            let step = |map| Normaliser::Map(Arc::new(map), Charsmap::by_graphemes);
            Ok(map.map(step).into_iter().collect())
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
pub(super) fn spaces(json: Option<&Value>) -> Result<(Vec<Normaliser>, Vec<Splitter>), Error> {
    let Some(json) = json.filter(|json| !json.is_null()) else {
        return Ok((Vec::new(), Vec::new()));
    };
    let no = || unknown("pre-tokenizer", &json.to_string());
    if text_of(json, "type") == Some("Sequence") {
        // Of older files: words between white space, each with a space in front.
        return match list(json, "pretokenizers") {
            [only] => spaces(Some(only)),
            [words, second] if text_of(words, "type") == Some("WhitespaceSplit") => {
                let prefix = match text_of(second, "prepend_scheme").unwrap_or("always") {
                    "always" => true,
                    "never" => false,
                    _ => return Err(no()),
                };
                let (_, splitters) = spaces(Some(second))?;
                let words = Splitter::Words { prefix };
                Ok((Vec::new(), [vec![words], splitters].concat()))
            }
            _ => Err(no()),
        };
    }
    let known = text_of(json, "type") == Some("Metaspace")
        && text_of(json, "replacement").is_some_and(is_space);
    let prefix = |first| Normaliser::Prefix(Prefix { first, once: true });
    let spaces = Normaliser::spaces();
    let steps = match text_of(json, "prepend_scheme").unwrap_or("always") {
        "always" if known => vec![prefix(false), spaces],
        "first" if known => vec![prefix(true), spaces],
        "never" if known => vec![spaces],
        _ => return Err(no()),
    };
    let split = flag(json, "split", true).then_some(Splitter::Spaces);
    Ok((steps, split.into_iter().collect()))
}

/// What a decoder of SentencePiece's tokens does with the first space, and whether tokens such as `<0x0A>` are bytes.
pub(super) fn decoder(json: Option<&Value>) -> Result<(Lead, bool), Error> {
    let json = json.unwrap_or(&Value::Null);
    let no = || unknown("decoder", &json.to_string());
    Ok(match text_of(json, "type").unwrap_or_default() {
        "Sequence" => {
            let mut all = (Lead::Kept, false);
            for step in list(json, "decoders") {
                let (lead, bytes) = decoder(Some(step))?;
                all.1 |= bytes;
                if lead != Lead::Kept {
                    all.0 = lead;
                }
            }
            all
        }
        "Metaspace" if text_of(json, "replacement").is_some_and(is_space) => {
            match text_of(json, "prepend_scheme") {
                Some("never") => (Lead::Kept, false),
                _ => (Lead::FirstToken, false),
            }
        }
        "ByteFallback" => (Lead::Kept, true),
        "Fuse" => (Lead::Kept, false),
        "Replace"
            if json
                .pointer("/pattern/String")
                .and_then(Value::as_str)
                .is_some_and(is_space)
                && text_of(json, "content") == Some(" ") =>
        {
            (Lead::Kept, false)
        }
        "Strip"
            if text_of(json, "content") == Some(" ")
                && number_of(json, "start") == Some(1)
                && number_of(json, "stop") == Some(0) =>
        {
            (Lead::Space, false)
        }
        _ => return Err(no()),
    })
}

pub(super) fn splitters(json: Option<&Value>) -> Result<Vec<Splitter>, Error> {
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
pub(super) fn around(json: Option<&Value>) -> Result<[Vec<u32>; 2], Error> {
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

pub(super) fn unknown(what: &str, which: &str) -> Error {
    let which: String = which.chars().take(200).collect();
    wrong(format!(
        "`tokenizer.json` asks for the {what} `{which}`, which is not supported"
    ))
}

pub(super) fn list<'a>(json: &'a Value, key: &str) -> &'a [Value] {
    let list = json.get(key).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

pub(super) fn text_of<'a>(json: &'a Value, key: &str) -> Option<&'a str> {
    json.get(key).and_then(Value::as_str)
}

pub(super) fn number_of(json: &Value, key: &str) -> Option<u32> {
    json.get(key).and_then(Value::as_u64)?.try_into().ok()
}

pub(super) fn flag(json: &Value, key: &str, usual: bool) -> bool {
    json.get(key).and_then(Value::as_bool).unwrap_or(usual)
}
