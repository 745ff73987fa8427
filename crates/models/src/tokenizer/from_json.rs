//! A tokenizer from a `tokenizer.json`.

use std::collections::HashMap;

use serde_json::Value;

use super::json_steps::{
    around, decoder, flag, list, normaliser, number_of, spaces, splitters, text_of, unknown,
};
use super::normalise::{Normaliser, SPACE};
use super::pieces::{Pieces, byte_of};
use super::special::Special;
use super::split::Splitter;
use super::unigram::{Scored, Unigram};
use super::{Bpe, Kind, Lead, Recipe, Tokenizer, WordPiece, bytes, of_bytes, wrong};
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
            normaliser: normaliser(json.get("normalizer"))?,
            ..Recipe::default()
        };
        let before = json.get("pre_tokenizer");
        for added in list(&json, "added_tokens") {
            let (Some(text), Some(token)) = (text_of(added, "content"), number_of(added, "id"))
            else {
                return Err(wrong("an added token must have `content` and `id`"));
            };
            if flag(added, "single_word", false) {
                return Err(wrong(format!(
                    "the added token `{text}` has `single_word`, which is not supported"
                )));
            }
            recipe.specials.push(Special {
                text: text.to_owned(),
                token,
                hidden: flag(added, "special", false),
                strip: ["lstrip", "rstrip"].map(|option| flag(added, option, false)),
            });
        }
        recipe.around = around(json.get("post_processor"))?;
        match text_of(model, "type").unwrap_or("BPE") {
            "Unigram" => {
                let (steps, splitters) = spaces(before)?;
                recipe.normaliser.extend(steps);
                recipe.splitters = splitters;
                let (lead, bytes) = decoder(json.get("decoder"))?;
                recipe.lead = lead;
                let unigram = unigram(model, &mut recipe.vocabulary)?;
                let bytes = move |name: &str| byte_of(name).filter(|_| bytes);
                recipe.build(Kind::Unigram(unigram), move |name| match bytes(name) {
                    Some(byte) => vec![byte],
                    None => name.replace(SPACE, " ").into_bytes(),
                })
            }
            "BPE" if flag(model, "byte_fallback", false) => {
                recipe.vocabulary = vocabulary(model)?;
                let (steps, splitters) = spaces(before)?;
                if !splitters.is_empty() {
                    let which = before.map(Value::to_string).unwrap_or_default();
                    return Err(unknown("pre-tokenizer", &which));
                }
                recipe.normaliser.extend(steps);
                let prefix = |step: &Normaliser| matches!(step, Normaliser::Prefix(_));
                if recipe.normaliser.iter().any(prefix) {
                    recipe.lead = Lead::Space;
                }
                let merges = merges(model)?.into_iter();
                let pieces = Pieces::from_merges(&recipe.vocabulary, merges)?;
                recipe.build(Kind::Pieces(pieces), |name| match byte_of(name) {
                    Some(byte) => vec![byte],
                    None => name.replace(SPACE, " ").into_bytes(),
                })
            }
            "BPE" => {
                recipe.vocabulary = vocabulary(model)?;
                recipe.splitters = splitters(before)?;
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
                recipe.vocabulary = vocabulary(model)?;
                recipe.splitters = splitters(before)?;
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

/// A unigram model, and the numbers of its tokens.
fn unigram(model: &Value, vocabulary: &mut HashMap<String, u32>) -> Result<Unigram, Error> {
    let rule = "the model of `tokenizer.json` must have `vocab`, tokens with their scores";
    let pieces = model.get("vocab").and_then(Value::as_array);
    let pieces = pieces.ok_or_else(|| wrong(rule))?;
    let piece = |(token, piece): (u32, &'_ Value)| match piece.as_array().map(Vec::as_slice) {
        Some([text, score]) => Some((token, text.as_str()?.to_owned(), score.as_f64()?)),
        _ => None,
    };
    let numbered = (0..).zip(pieces);
    let all: Vec<_> = numbered
        .map(|(token, json)| {
            piece((token, json)).ok_or_else(|| wrong(format!("{rule}: that of {token} is {json}")))
        })
        .collect::<Result<_, _>>()?;
    let unknown = number_of(model, "unk_id");
    if let Some(unknown) = unknown
        && unknown as usize >= all.len()
    {
        let tokens = all.len();
        return Err(wrong(format!(
            "`unk_id` must be a token: it is {unknown}, and there are {tokens}"
        )));
    }
    vocabulary.extend(all.iter().map(|(token, text, _)| (text.clone(), *token)));
    let fallback = flag(model, "byte_fallback", false);
    let of_byte = fallback.then(|| of_bytes(vocabulary)).transpose()?;
    let pieces: Vec<Scored<'_>> = all
        .iter()
        .map(|(token, text, score)| (*token, text.as_str(), *score))
        .collect();
    Unigram::new(&pieces, unknown, of_byte, false)
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
