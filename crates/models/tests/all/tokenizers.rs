//! Tokens of texts in many scripts, as the Python package `tokenizers` has them for the same files.

use serde_json::Value;
use ziggurat_models::{Error, TokenDecoder, Tokenizer};

use crate::data;

fn json(name: &str) -> Value {
    let path = data("tokenizers").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn tokenizer(name: &str) -> Tokenizer {
    let path = data("tokenizers").join(format!("{name}.json"));
    Tokenizer::from_json(&std::fs::read(path).unwrap()).unwrap()
}

fn texts() -> Vec<String> {
    serde_json::from_value(json("texts.json")).unwrap()
}

fn tokens(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

/// How many texts have other tokens than the reference, with the first of them.
pub(crate) fn differences(tokenizer: &Tokenizer, expected: &[Value]) -> (usize, String) {
    let texts = texts();
    assert_eq!(texts.len(), expected.len());
    let mut first = String::new();
    let mut wrong = 0;
    for (text, expected) in texts.iter().zip(expected) {
        let got = tokenizer.encode(text).unwrap();
        if got != tokens(expected) {
            wrong += 1;
            if first.is_empty() {
                first = format!("{text:?}: {got:?} instead of {expected}");
            }
        }
    }
    (wrong, first)
}

const BPE: [&str; 4] = ["gpt2", "smollm", "llama3", "qwen2"];

#[test]
fn texts_have_the_tokens_of_the_reference() {
    for name in ["gpt2", "smollm", "llama3", "qwen2", "wordpiece"] {
        let vectors = json(&format!("{name}.vectors.json"));
        let expected = vectors["encoded"].as_array().unwrap();
        assert!(expected.len() > 250);
        let (wrong, first) = differences(&tokenizer(name), expected);
        assert_eq!(wrong, 0, "{name}: {first}");
    }
    // The texts tell the ways to cut them from each other.
    for (name, other) in [("gpt2", "smollm"), ("llama3", "qwen2")] {
        let vectors = json(&format!("{name}.vectors.json"));
        let (wrong, _) = differences(&tokenizer(other), vectors["encoded"].as_array().unwrap());
        assert!(wrong > 100, "{name} {other}: {wrong}");
    }
}

#[test]
fn any_tokens_have_the_text_of_the_reference() {
    for name in BPE {
        let tokenizer = tokenizer(name);
        let vectors = json(&format!("{name}.vectors.json"));
        let mut replaced = 0;
        for case in vectors["decoded"].as_array().unwrap() {
            let expected = case[1].as_str().unwrap();
            let all = tokens(&case[0]);
            assert_eq!(tokenizer.decode(&all), expected, "{name} {all:?}");
            replaced += usize::from(expected.contains(char::REPLACEMENT_CHARACTER));
        }
        assert!(
            replaced > 10,
            "{name}: bytes that are no characters were tried {replaced} times"
        );
    }
}

#[test]
fn a_text_comes_back_from_its_tokens() {
    for name in ["gpt2", "smollm", "llama3"] {
        let tokenizer = tokenizer(name);
        for text in texts().iter().filter(|text| !text.contains("<|")) {
            let tokens = tokenizer.encode(text).unwrap();
            assert_eq!(tokenizer.decode(&tokens), *text, "{name}");
        }
    }
}

#[test]
fn a_stream_gives_whole_characters() {
    let tokenizer = tokenizer("gpt2");
    let text = "\u{1f468}\u{200d}\u{1f469} \u{6f22}\u{5b57} \u{e9}";
    let tokens = tokenizer.encode(text).unwrap();
    let mut decoder = TokenDecoder::new();
    let pieces: Vec<String> = tokens
        .iter()
        .map(|&t| decoder.push(&tokenizer, t))
        .collect();
    assert!(
        pieces.iter().any(String::is_empty),
        "no character takes two tokens: {pieces:?}"
    );
    assert!(
        !pieces
            .iter()
            .any(|piece| piece.contains(char::REPLACEMENT_CHARACTER))
    );
    assert_eq!(pieces.concat(), text);
    assert_eq!(decoder.finish(), "");
    // A character that never ends is replaced, once.
    let first = tokenizer.encode("\u{1f468}").unwrap()[0];
    assert_eq!(decoder.push(&tokenizer, first), "");
    assert_eq!(decoder.finish(), "\u{fffd}");
}

#[test]
fn special_tokens_are_found_by_name_unless_the_text_is_a_users() {
    let tokenizer = tokenizer("smollm");
    let end = tokenizer.token("<|im_end|>").unwrap();
    assert!(tokenizer.is_special(end));
    let tokens = tokenizer.encode("a<|im_end|>b").unwrap();
    assert_eq!(tokens.iter().filter(|&&token| token == end).count(), 1);
    assert_eq!(tokenizer.decode(&tokens), "ab");
    let plain = tokenizer.encode_text("a<|im_end|>b").unwrap();
    assert!(!plain.contains(&end));
    assert_eq!(tokenizer.decode(&plain), "a<|im_end|>b");
    let words = self::tokenizer("wordpiece");
    let around = words.encode_with_specials("the fox").unwrap();
    assert_eq!((around.first(), around.last()), (Some(&2), Some(&3)));
}

#[test]
fn long_pieces_take_no_quadratic_time() {
    let tokenizer = tokenizer("gpt2");
    let text = "ab".repeat(400_000);
    let start = std::time::Instant::now();
    let tokens = tokenizer.encode(&text).unwrap();
    assert_eq!(tokenizer.decode(&tokens), text);
    // Every pair against every other one would be minutes.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut json = json("gpt2.json");
        change(&mut json);
        match Tokenizer::from_json(json.to_string().as_bytes()) {
            Err(Error::Tokenizer(text)) => text,
            other => panic!("{other:?}"),
        }
    };
    let text = with(&|json| json["model"]["type"] = "Unigram".into());
    assert!(text.contains("`Unigram`"), "{text}");
    let text = with(&|json| json["pre_tokenizer"]["type"] = "Metaspace".into());
    assert!(text.contains("`Metaspace`"), "{text}");
    let text = with(&|json| json["normalizer"] = serde_json::json!({ "type": "NFKC" }));
    assert!(text.contains("`NFKC`"), "{text}");
    let text = with(&|json| json["model"]["merges"][0] = serde_json::json!(["no", "such"]));
    assert!(text.contains("`no` and `such`"), "{text}");
    let text = with(&|json| json["model"]["vocab"]["far"] = 4_000_000_000u32.into());
    assert!(text.contains("4000000000"), "{text}");
    assert!(matches!(
        Tokenizer::from_json(b"{"),
        Err(Error::Tokenizer(_))
    ));
}
