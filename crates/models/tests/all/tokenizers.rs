//! Tokens of texts in many scripts, as the Python package `tokenizers` has them for the same files.

use serde_json::Value;
use ziggurat_models::gguf::{Gguf, GgufFile};
use ziggurat_models::{Error, TokenDecoder, Tokenizer};

use crate::data;
use crate::writer::Writer;

pub(crate) fn json(name: &str) -> Value {
    crate::texts::read(&data("tokenizers"), name)
}

pub(crate) fn tokenizer(name: &str) -> Tokenizer {
    let path = data("tokenizers").join(format!("{name}.json"));
    Tokenizer::from_json(&std::fs::read(path).unwrap()).unwrap()
}

pub(crate) fn texts() -> Vec<String> {
    crate::texts::texts(&data("tokenizers"))
}

pub(crate) fn tokens(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

/// How many texts have other tokens than the reference, with the first of them.
pub(crate) fn differences(tokenizer: &Tokenizer, vectors: &Value) -> (usize, String) {
    let encode = |text: &str| tokenizer.encode(text).unwrap();
    crate::texts::differences(&texts(), vectors, encode)
}

const BPE: [&str; 4] = ["gpt2", "smollm", "llama3", "qwen2"];

#[test]
fn texts_have_the_tokens_of_the_reference() {
    for name in ["gpt2", "smollm", "llama3", "qwen2", "wordpiece"] {
        let vectors = json(&format!("{name}.vectors.json"));
        let (wrong, first) = differences(&tokenizer(name), &vectors);
        assert_eq!(wrong, 0, "{name}: {first}");
    }
    // The texts tell the ways to cut them from each other.
    for (name, other) in [("gpt2", "smollm"), ("llama3", "qwen2")] {
        let vectors = json(&format!("{name}.vectors.json"));
        let (wrong, _) = differences(&tokenizer(other), &vectors);
        assert!(wrong > 400, "{name} {other}: {wrong}");
    }
}

#[test]
fn one_wrong_token_of_one_text_is_found_and_reported() {
    let (tokenizer, vectors) = (tokenizer("gpt2"), json("gpt2.vectors.json"));
    let texts = texts();
    // With its tokens in the file, and with their hash alone.
    for number in [3, 900] {
        let changed = |text: &str| {
            let mut tokens = tokenizer.encode(text).unwrap();
            if text == texts[number] {
                *tokens.last_mut().unwrap() ^= 1;
            }
            tokens
        };
        let (wrong, first) = crate::texts::differences(&texts, &vectors, changed);
        assert_eq!(wrong, 1, "{first}");
        assert!(first.starts_with(&format!("text {number}, ")), "{first}");
    }
}

#[test]
fn the_texts_have_ten_scripts_emoji_controls_and_damaged_bytes() {
    let texts = texts();
    assert!(texts.len() > 1_000);
    for (name, from, to) in [
        ("Latin", 'a', 'z'),
        ("Greek", '\u{391}', '\u{3c9}'),
        ("Cyrillic", '\u{400}', '\u{4ff}'),
        ("Hebrew", '\u{5d0}', '\u{5ea}'),
        ("Arabic", '\u{620}', '\u{64a}'),
        ("Devanagari", '\u{900}', '\u{97f}'),
        ("Thai", '\u{e01}', '\u{e5b}'),
        ("Hangul", '\u{ac00}', '\u{d7a3}'),
        ("Kana", '\u{3041}', '\u{30ff}'),
        ("Han", '\u{4e00}', '\u{9fff}'),
        ("emoji", '\u{1f300}', '\u{1faff}'),
        ("controls", '\0', '\u{1f}'),
        ("damaged bytes", '\u{fffd}', '\u{fffd}'),
        ("code", '{', '{'),
    ] {
        let with = |text: &&String| text.contains(|c| (from..=to).contains(&c));
        let count = texts.iter().filter(with).count();
        assert!(count > 30, "{name}: {count}");
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

fn sentence_piece() -> Tokenizer {
    let file = GgufFile::open(data("tokenizers/sentencepiece.gguf")).unwrap();
    Tokenizer::from_gguf(file.head()).unwrap()
}

#[test]
fn sentence_piece_has_the_tokens_of_the_reference() {
    let tokenizer = sentence_piece();
    let vectors = json("sentencepiece.vectors.json");
    let texts = texts();
    let encode = |text: &str| tokenizer.encode_text(text).unwrap();
    let (wrong, first) = crate::texts::differences(&texts, &vectors, encode);
    assert_eq!(wrong, 0, "{first}");
    let mut bytes = 0;
    for text in &texts {
        let tokens = encode(text);
        // The character of a space is a space in a text.
        assert_eq!(tokenizer.decode(&tokens), text.replace('\u{2581}', " "));
        let byte = |token: &u32| tokenizer.token("<0x80>").unwrap() == *token;
        bytes += tokens.iter().filter(|token| byte(token)).count();
    }
    assert!(bytes > 10, "characters are written as bytes {bytes} times");
    for case in vectors["decoded"].as_array().unwrap() {
        assert_eq!(
            tokenizer.decode(&tokens(&case[0])),
            case[1].as_str().unwrap()
        );
    }
    // Another text has other tokens.
    let all = tokenizer.encode_text("The fox").unwrap();
    assert_ne!(all, tokenizer.encode_text("Thefox").unwrap());
    assert_ne!(all, tokenizer.encode_text(" The fox").unwrap());
}

#[test]
fn sentence_piece_has_special_tokens_and_streams_spaces() {
    let tokenizer = sentence_piece();
    let user = tokenizer.token("<|user|>").unwrap();
    let whole = tokenizer.encode_with_specials("The<|user|>fox").unwrap();
    let [the, fox] = ["The", "fox"].map(|text| tokenizer.encode_text(text).unwrap());
    // A space stands in front of what follows a special token, too.
    assert_eq!(whole, [&[1], &the[..], &[user], &fox].concat());
    let mut decoder = TokenDecoder::new();
    let pieces = fox.iter().map(|&token| decoder.push(&tokenizer, token));
    assert_eq!(pieces.collect::<String>(), " fox");
    assert_eq!(tokenizer.decode(&fox), "fox");
}

#[test]
fn sentence_piece_in_json_has_the_tokens_of_the_reference() {
    for name in ["llama2", "mistral"] {
        let tokenizer = tokenizer(name);
        let vectors = json(&format!("{name}.vectors.json"));
        let (wrong, first) = differences(&tokenizer, &vectors);
        assert_eq!(wrong, 0, "{name}: {first}");
        for case in vectors["decoded"].as_array().unwrap() {
            let all = tokens(&case[0]);
            assert_eq!(tokenizer.decode(&all), case[1].as_str().unwrap(), "{all:?}");
        }
    }
    // They tell the ways to put spaces in front from each other.
    let vectors = json("mistral.vectors.json");
    let (wrong, _) = differences(&tokenizer("llama2"), &vectors);
    assert!(wrong > 10, "{wrong}");
}

#[test]
fn steps_of_sentence_piece_that_are_not_known_are_refused_by_name() {
    let text = std::fs::read_to_string(data("tokenizers/mistral.json")).unwrap();
    for (from, to, name) in [
        ("\"split\":false", "\"split\":true", "Metaspace"),
        ("\"first\"", "\"last\"", "last"),
        ("<0x41>", "<0xZZ>", "`<0x41>`"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Tokenizer::from_json(text.replace(from, to).as_bytes()).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
    let text = std::fs::read_to_string(data("tokenizers/llama2.json")).unwrap();
    let error = Tokenizer::from_json(text.replace("\"Prepend\"", "\"Append\"").as_bytes());
    assert!(error.unwrap_err().to_string().contains("`Append`"));
}

/// A vocabulary of SentencePiece with these scores, types and further entries.
fn with_pieces(
    names: &[&str],
    scores: &[f32],
    types: &[u32],
    more: &[&str],
) -> Result<Tokenizer, Error> {
    let mut file = Writer::new(0, 4 + more.len() as u64);
    file.key("general.architecture", 8).text("llama");
    file.key("tokenizer.ggml.model", 8).text("llama");
    file.key("tokenizer.ggml.tokens", 9)
        .u32(8)
        .u64(names.len() as u64);
    for name in names {
        file.text(name);
    }
    file.key("tokenizer.ggml.scores", 9)
        .u32(6)
        .u64(scores.len() as u64);
    for score in scores {
        file.u32(score.to_bits());
    }
    for key in more {
        file.key(key, 7).raw(&[1]);
    }
    if !types.is_empty() {
        file.bytes[16] += 1;
        file.key("tokenizer.ggml.token_type", 9)
            .u32(5)
            .u64(types.len() as u64);
        for &kind in types {
            file.u32(kind);
        }
    }
    Tokenizer::from_gguf(&Gguf::parse(&file.bytes).unwrap())
}

#[test]
fn the_pair_with_the_best_score_is_joined_first_and_of_equals_the_leftmost() {
    let names = ["\u{2581}", "a", "b", "c", "ab", "bc", "aa"];
    let with = |ab: f32, bc: f32| {
        let scores = [-9.0, -9.0, -9.0, -9.0, ab, bc, -1.0];
        with_pieces(&names, &scores, &[], &[]).unwrap()
    };
    let encoded = |tokenizer: &Tokenizer, text: &str| tokenizer.encode(text).unwrap();
    assert_eq!(encoded(&with(-1.0, -2.0), "abc"), [0, 4, 3]);
    assert_eq!(encoded(&with(-2.0, -1.0), "abc"), [0, 1, 5]);
    assert_eq!(encoded(&with(-1.0, -1.0), "abc"), [0, 4, 3]);
    assert_eq!(encoded(&with(-2.0, -2.0), "aaab"), [0, 6, 4]);
    let error = with(-1.0, -1.0).encode("d").unwrap_err();
    assert!(error.to_string().contains("'d'"), "{error}");
}

#[test]
fn vocabularies_of_sentence_piece_that_contradict_themselves_are_refused() {
    let refused = |names: &[&str], scores: &[f32], types: &[u32], more: &[&str], text: &str| {
        let error = with_pieces(names, scores, types, more).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    };
    refused(&["a"], &[], &[], &[], "scores");
    refused(&["a"], &[f32::NAN], &[], &[], "NaN");
    refused(&["a"], &[0.0], &[6], &[], "`<0x0A>`");
    refused(&["<0x+1>"], &[0.0], &[6], &[], "`<0x+1>`");
    refused(&["a"], &[0.0], &[1, 1], &[], "token_type");
    refused(&[&"a".repeat(257)], &[0.0], &[], &[], "257");
    let spaces = "tokenizer.ggml.remove_extra_whitespaces";
    refused(&["a"], &[0.0], &[], &[spaces], "remove_extra_whitespaces");
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
    let text = with(&|json| json["model"]["type"] = "WordLevel".into());
    assert!(text.contains("`WordLevel`"), "{text}");
    let text = with(&|json| json["pre_tokenizer"]["type"] = "Metaspace".into());
    assert!(text.contains("`Metaspace`"), "{text}");
    let text = with(&|json| json["normalizer"] = serde_json::json!({ "type": "Nmt" }));
    assert!(text.contains("`Nmt`"), "{text}");
    let text = with(&|json| json["model"]["merges"][0] = serde_json::json!(["no", "such"]));
    assert!(text.contains("`no` and `such`"), "{text}");
    let text = with(&|json| json["model"]["vocab"]["far"] = 4_000_000_000u32.into());
    assert!(text.contains("4000000000"), "{text}");
    assert!(matches!(
        Tokenizer::from_json(b"{"),
        Err(Error::Tokenizer(_))
    ));
}
