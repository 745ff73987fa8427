//! A tokenizer from a GGUF file's metadata.

use std::collections::HashSet;
use std::sync::Arc;

use super::charsmap::Charsmap;
use super::normalise::{Bert, Form, Normaliser, Prefix, SPACE};
use super::pieces::{Piece, Pieces, byte_of};
use super::special::Special;
use super::split::{Pattern, Splitter};
use super::unigram::{Scored, Unigram};
use super::{Bpe, Kind, Lead, MOST_TOKENS, Recipe, Tokenizer, WordPiece, bytes, wrong};
use crate::Error;
use crate::gguf::{Array, Gguf, Value};

/// Types of tokens that are found by their names in a text.
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
/// Those that text is joined to, and those that are a byte each.
const NORMAL: i32 = 1;
const BYTE: i32 = 6;

impl Tokenizer {
    /// The tokenizer that a GGUF file describes (`tokenizer.ggml.*`).
    ///
    /// # Errors
    /// If the metadata is not there, contradicts itself, or asks for a kind of tokenizer that is not known.
    pub fn from_gguf(head: &Gguf) -> Result<Self, Error> {
        let get = |key: &str| head.get(&format!("tokenizer.ggml.{key}"));
        let text = |key: &str| get(key).and_then(Value::as_str);
        let names = get("tokens").and_then(Value::as_strings);
        let names = names.ok_or_else(|| wrong("the file has no `tokenizer.ggml.tokens`"))?;
        if names.len() > MOST_TOKENS {
            return Err(wrong(format!(
                "{} tokens are beyond any vocabulary",
                names.len()
            )));
        }
        let types = match get("token_type") {
            Some(Value::Array(Array::I32(types))) if types.len() == names.len() => types.clone(),
            None => vec![1; names.len()],
            Some(_) => {
                return Err(wrong(
                    "`tokenizer.ggml.token_type` must be one i32 per token",
                ));
            }
        };
        let number = |key: &str| {
            get(key)
                .and_then(Value::as_u64)
                .and_then(|n| u32::try_from(n).ok())
        };
        let all = || (0u32..).zip(names).zip(&types);
        let specials = all().filter(|(_, kind)| matches!(**kind, CONTROL | USER_DEFINED));
        let specials = specials.map(|((token, text), &kind)| Special {
            text: text.clone(),
            token,
            hidden: kind == CONTROL,
            strip: [false; 2],
        });
        let mut recipe = Recipe {
            specials: specials.collect(),
            ..Recipe::default()
        };
        match text("model") {
            Some("gpt2") => {
                // The first of two tokens with the same name is the one that text becomes.
                for ((token, name), _) in all() {
                    recipe.vocabulary.entry(name.clone()).or_insert(token);
                }
                let pre = text("pre").unwrap_or("default");
                recipe.splitters = splitters(pre).ok_or_else(|| {
                    wrong(format!(
                        "`tokenizer.ggml.pre` is `{pre}`, which is not known"
                    ))
                })?;
                if pre == "qwen2" {
                    recipe.normaliser = vec![Normaliser::Form(Form::Nfc)];
                }
                let merges = get("merges")
                    .and_then(Value::as_strings)
                    .unwrap_or_default();
                let merges: Option<Vec<_>> =
                    merges.iter().map(|merge| merge.split_once(' ')).collect();
                let merges = merges
                    .ok_or_else(|| wrong("a merge must be two tokens with a space between"))?;
                let unknown = number("unknown_token_id");
                let whole = pre == "llama-bpe";
                let bpe = Bpe::new(&recipe.vocabulary, merges.into_iter(), unknown, whole)?;
                let begin = get("add_bos_token")
                    .and_then(Value::as_bool)
                    .unwrap_or(false);
                recipe.around = [
                    if begin { number("bos_token_id") } else { None }
                        .into_iter()
                        .collect(),
                    vec![],
                ];
                let characters = bytes::characters();
                recipe.build(Kind::Bpe(bpe), |name| bytes::of_name(name, &characters))
            }
            Some(model @ ("llama" | "t5")) => {
                let unigram = model == "t5";
                let flag = |key: &str, usual| get(key).and_then(Value::as_bool).unwrap_or(usual);
                let scores = match get("scores") {
                    Some(Value::Array(Array::F32(scores))) if scores.len() == names.len() => scores,
                    _ => return Err(wrong("`tokenizer.ggml.scores` must be one f32 per token")),
                };
                let pieces = all().zip(scores);
                let pieces = pieces.filter(|((_, kind), _)| **kind == NORMAL);
                let pieces: Vec<Piece<'_>> = pieces
                    .map(|(((token, name), _), &score)| (token, name.as_str(), score))
                    .collect();
                let mut of_byte = vec![None; 256];
                for ((token, name), _) in all().filter(|(_, kind)| **kind == BYTE) {
                    let byte = byte_of(name).ok_or_else(|| {
                        wrong(format!(
                            "the token of a byte must be as `<0x0A>`: it is `{name}`"
                        ))
                    })?;
                    if let Some(place) = of_byte.get_mut(usize::from(byte)) {
                        *place = Some(token);
                    }
                }
                let prefix = flag("add_space_prefix", true);
                let unknown = number("unknown_token_id");
                let kind = if unigram {
                    recipe
                        .normaliser
                        .extend(charsmap(get("precompiled_charsmap"))?);
                    if flag("remove_extra_whitespaces", false) {
                        recipe.normaliser.push(Normaliser::ExtraSpaces);
                    }
                    let wide = |&(token, text, score)| (token, text, f64::from(score));
                    let pieces: Vec<Scored<'_>> = pieces.iter().map(wide).collect();
                    let of_byte = of_byte.into_iter().collect::<Option<Vec<u32>>>();
                    Kind::Unigram(Unigram::new(&pieces, unknown, of_byte, true)?)
                } else {
                    for unread in ["precompiled_charsmap", "remove_extra_whitespaces"] {
                        if get(unread).is_some_and(|value| value.as_bool() != Some(false)) {
                            return Err(wrong(format!(
                                "`tokenizer.ggml.{unread}`, which is not supported"
                            )));
                        }
                    }
                    Kind::Pieces(Pieces::new(&pieces, of_byte, unknown)?)
                };
                for ((token, name), _) in all() {
                    recipe.vocabulary.entry(name.clone()).or_insert(token);
                }
                if prefix {
                    recipe.lead = Lead::Space;
                    recipe.normaliser.push(Normaliser::Prefix(Prefix::ALWAYS));
                }
                recipe.normaliser.push(Normaliser::spaces());
                let around = |said: bool, key: &str| said.then(|| number(key)).flatten();
                recipe.around = [
                    around(flag("add_bos_token", !unigram), "bos_token_id"),
                    around(flag("add_eos_token", unigram), "eos_token_id"),
                ]
                .map(|token| token.into_iter().collect());
                let bytes: HashSet<String> = all()
                    .filter(|(_, kind)| **kind == BYTE)
                    .map(|((_, name), _)| name.clone())
                    .collect();
                recipe.build(kind, move |name| {
                    match byte_of(name).filter(|_| bytes.contains(name)) {
                        Some(byte) => vec![byte],
                        None => name.replace(SPACE, " ").into_bytes(),
                    }
                })
            }
            Some("bert") => {
                // Pieces within a word bear no mark in these files, those that begin one do.
                for ((token, name), &kind) in all() {
                    let name = match name.strip_prefix(SPACE) {
                        Some(word) => word.to_owned(),
                        None if kind == 1 => format!("##{name}"),
                        None => name.clone(),
                    };
                    recipe.vocabulary.entry(name).or_insert(token);
                }
                recipe.normaliser = vec![Normaliser::Bert(Bert::UNCASED)];
                recipe.splitters = vec![Splitter::Bert];
                let unknown = number("unknown_token_id").and_then(|at| names.get(at as usize));
                let unknown = unknown.map_or("[UNK]", String::as_str);
                let words = WordPiece::new(&recipe.vocabulary, "##", unknown, 100)?;
                let first = number("cls_token_id").or_else(|| number("bos_token_id"));
                let last = number("seperator_token_id").or_else(|| number("eos_token_id"));
                recipe.around = [first, last].map(|token| token.into_iter().collect());
                recipe.build(Kind::WordPiece(words), |name| name.as_bytes().to_vec())
            }
            other => {
                let other = other.unwrap_or("missing");
                Err(wrong(format!(
                    "`tokenizer.ggml.model` must be `gpt2`, `llama`, `t5` or `bert`: it is `{other}`"
                )))
            }
        }
    }
}

/// The table of replacements of a unigram model, if there is one that is not empty.
fn charsmap(value: Option<&Value>) -> Result<Option<Normaliser>, Error> {
    let bytes = match value {
        None => return Ok(None),
        Some(Value::Array(Array::U8(bytes))) => bytes.clone(),
        Some(Value::Array(Array::I8(bytes))) => bytes.iter().map(|b| b.cast_unsigned()).collect(),
        Some(_) => {
            let rule = "`tokenizer.ggml.precompiled_charsmap` must be an array of bytes";
            return Err(wrong(rule));
        }
    };
    let map = (!bytes.is_empty())
        .then(|| Charsmap::new(&bytes))
        .transpose()?;
    Ok(map.map(|map| Normaliser::Map(Arc::new(map), Charsmap::longest)))
}

/// How texts are cut for the vocabularies with this name.
fn splitters(pre: &str) -> Option<Vec<Splitter>> {
    let pattern = |pattern| vec![Splitter::Pattern(pattern)];
    Some(match pre {
        "default" | "gpt-2" | "gpt2" | "phi-2" | "jina-en" => pattern(Pattern::GPT2),
        "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" => {
            vec![Splitter::Digits, Splitter::Pattern(Pattern::GPT2)]
        }
        "llama-bpe" | "llama3" | "llama-v3" => pattern(Pattern::LLAMA3),
        "qwen2" | "deepseek-r1-qwen" => pattern(Pattern::QWEN2),
        _ => return None,
    })
}
