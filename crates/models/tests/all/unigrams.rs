//! Unigram models of SentencePiece: tokens as the Python packages `tokenizers` (for `tokenizer.json`) and `sentencepiece` (for GGUF)
//! have them for the same files.

use serde_json::{Value, json};
use ziggurat_models::gguf::{Gguf, GgufFile};
use ziggurat_models::{Error, Tokenizer};

use crate::data;
use crate::tokenizers::{differences, json as file, texts, tokenizer, tokens};
use crate::writer::Writer;

const FILES: [&str; 3] = ["unigram", "unigram_bytes", "unigram_albert"];

#[test]
fn texts_have_the_tokens_of_the_reference_and_come_back_as_there() {
    for name in FILES {
        let (tokenizer, vectors) = (tokenizer(name), file(&format!("{name}.vectors.json")));
        let (wrong, first) = differences(&tokenizer, &vectors);
        assert_eq!(wrong, 0, "{name}: {first}");
        for case in vectors["decoded"].as_array().unwrap() {
            let all = tokens(&case[0]);
            assert_eq!(
                tokenizer.decode(&all),
                case[1].as_str().unwrap(),
                "{name} {all:?}"
            );
        }
    }
    // The texts tell the steps in front of a model from each other.
    let vectors = file("unigram.vectors.json");
    let (wrong, _) = differences(&tokenizer("unigram_albert"), &vectors);
    assert!(wrong > 400, "{wrong}");
    let whole = tokenizer("unigram")
        .encode_with_specials("The fox")
        .unwrap();
    assert_eq!(whole.last(), Some(&1), "the end is behind a text");
}

#[test]
fn texts_have_the_tokens_of_the_reference_by_gguf_files() {
    for name in ["unigram", "unigram_bytes"] {
        let gguf = GgufFile::open(data(&format!("tokenizers/{name}.gguf"))).unwrap();
        let tokenizer = Tokenizer::from_gguf(gguf.head()).unwrap();
        let vectors = file(&format!("{name}.gguf.vectors.json"));
        let encode = |text: &str| tokenizer.encode_text(text).unwrap();
        let (wrong, first) = crate::texts::differences(&texts(), &vectors, encode);
        assert_eq!(wrong, 0, "{name}: {first}");
        let decoded = vectors["decoded"].as_array().unwrap();
        assert!(decoded.len() > 20);
        for case in decoded {
            let all = tokens(&case[0]);
            assert_eq!(
                tokenizer.decode(&all),
                case[1].as_str().unwrap(),
                "{name} {all:?}"
            );
        }
        let whole = tokenizer.encode_with_specials("The fox").unwrap();
        assert_eq!(whole.last(), Some(&1), "the end is behind a text");
    }
}

/// A file with a model of these tokens with scores, without steps in front of it.
fn plain(vocab: &Value, unknown: &Value) -> Value {
    json!({
        "model": {"type": "Unigram", "vocab": vocab, "unk_id": unknown},
        "decoder": {"type": "Fuse"},
    })
}

fn model(vocab: &Value, unknown: &Value) -> Tokenizer {
    Tokenizer::from_json(plain(vocab, unknown).to_string().as_bytes()).unwrap()
}

/// The tests' file with a change.
fn changed(change: &dyn Fn(&mut Value)) -> Result<Tokenizer, Error> {
    let mut all = file("unigram.json");
    change(&mut all);
    Tokenizer::from_json(all.to_string().as_bytes())
}

#[test]
fn the_greatest_sum_of_scores_is_taken_and_not_the_longest_token() {
    let vocab = |abc: f64| {
        json!([
            ["<unk>", 0.0],
            ["a", -1.0],
            ["b", -2.0],
            ["c", -3.0],
            ["ab", -1.5],
            ["bc", -1.0],
            ["abc", abc]
        ])
    };
    let encoded = |abc: f64, text: &str| model(&vocab(abc), &json!(0)).encode(text).unwrap();
    // a + bc is -2, ab + c is -4.5.
    assert_eq!(encoded(-9.0, "abc"), [1, 5]);
    assert_eq!(encoded(-1.9, "abc"), [6]);
    // Neighbours that are unknown are one, and nothing reaches over them.
    assert_eq!(encoded(-9.0, "\u{6f22}\u{5b57}abxya"), [0, 4, 0, 1]);
    // Of equal sums the one whose last token begins first.
    assert_eq!(encoded(-2.0, "abc"), [6]);
    // The name of the unknown token is no token that text becomes.
    assert_eq!(encoded(-9.0, "<unk>"), [0]);
    let none = model(&vocab(-9.0), &Value::Null);
    let error = none.encode("abx").unwrap_err();
    assert!(error.to_string().contains("\"x\""), "{error}");
}

#[test]
fn time_grows_with_the_text_and_not_with_its_square() {
    let tokenizer = tokenizer("unigram_bytes");
    let text = "ab".repeat(400_000);
    let start = std::time::Instant::now();
    let tokens = tokenizer.encode(&text).unwrap();
    assert_eq!(tokenizer.decode(&tokens), text);
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn a_special_token_may_take_the_white_space_around_it() {
    let with = |left: bool, right: bool| {
        let tokenizer = changed(&|all| {
            *all = plain(
                &json!([["<unk>", 0.0], ["a", -1.0], ["b", -1.0], [" ", -1.0]]),
                &json!(0),
            );
            all["added_tokens"] = json!([{"id": 4, "content": "<mask>", "special": true, "lstrip": left, "rstrip": right}]);
        });
        tokenizer.unwrap().encode("a  <mask>  b").unwrap()
    };
    assert_eq!(with(false, false), [1, 3, 3, 4, 3, 3, 2]);
    assert_eq!(with(true, false), [1, 4, 3, 3, 2]);
    assert_eq!(with(false, true), [1, 3, 3, 4, 2]);
    assert_eq!(with(true, true), [1, 4, 2]);
}

#[test]
fn files_that_are_malformed_or_ask_for_more_are_refused_by_name() {
    let steps = json!([{"type": "Digits"}, {"type": "Metaspace"}]);
    let map = "/normalizer/normalizers/0/precompiled_charsmap";
    for (place, value, name) in [
        ("/model/vocab", json!({"a": 1}), "`vocab`"),
        ("/model/vocab/3", json!(["a"]), "that of 3 is [\"a\"]"),
        ("/model/vocab/4", json!(["a", "-1"]), "that of 4"),
        ("/model/vocab/5", json!([1, -1.0]), "that of 5"),
        ("/model/vocab/3", json!(["a".repeat(257), -1.0]), "257"),
        ("/model/unk_id", json!(1_000_000), "`unk_id`"),
        ("/model/byte_fallback", json!(true), "`<0x00>`"),
        ("/pre_tokenizer/replacement", json!("_"), "Metaspace"),
        ("/pre_tokenizer/prepend_scheme", json!("last"), "\"last\""),
        (
            "/pre_tokenizer",
            json!({"type": "Sequence", "pretokenizers": steps}),
            "Digits",
        ),
        ("/decoder", json!({"type": "CTC"}), "CTC"),
        ("/decoder", Value::Null, "decoder"),
        ("/normalizer/normalizers/2/pattern/Regex", json!("a+"), "a+"),
        ("/added_tokens/0/single_word", json!(true), "single_word"),
        (map, json!("A"), "base64"),
        (map, json!("AAA"), "it has 2 bytes"),
        (map, json!("AAAAAAAA"), "0 bytes of 2"),
        (map, json!("CAAAAAAAAAA"), "8 bytes of 4"),
        (map, json!("BAAAAAAAAAD/"), "UTF-8"),
    ] {
        let found = changed(&|all| *all.pointer_mut(place).unwrap() = value.clone());
        match found {
            Err(Error::Tokenizer(text)) => assert!(text.contains(name), "{name}: {text}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn scores_and_tables_of_gguf_files_that_are_malformed_are_refused() {
    let with = |scores: &[f32], map: &[u8], kind: u32| {
        let mut writer = Writer::new(0, 6);
        writer.key("general.architecture", 8).text("t5");
        writer.key("tokenizer.ggml.model", 8).text("t5");
        writer.key("tokenizer.ggml.add_space_prefix", 7).raw(&[0]);
        writer.key("tokenizer.ggml.tokens", 9).u32(8).u64(2);
        writer.text("<unk>").text("a");
        writer
            .key("tokenizer.ggml.scores", 9)
            .u32(6)
            .u64(scores.len() as u64);
        for score in scores {
            writer.u32(score.to_bits());
        }
        writer
            .key("tokenizer.ggml.precompiled_charsmap", 9)
            .u32(kind)
            .u64(map.len() as u64);
        writer.raw(map);
        Tokenizer::from_gguf(&Gguf::parse(&writer.bytes).unwrap())
    };
    assert!(with(&[0.0, -1.0], &[], 0).is_ok());
    for (scores, map, kind, name) in [
        (&[0.0][..], &[][..], 0, "scores"),
        (&[0.0, f32::NAN], &[], 0, "that of 1 is NaN"),
        (&[0.0, f32::INFINITY], &[], 1, "that of 1 is inf"),
        (&[0.0, -1.0], &[1, 0], 0, "it has 2 bytes"),
        (&[0.0, -1.0], &[1], 7, "array of bytes"),
    ] {
        let error = with(scores, map, kind).unwrap_err();
        assert!(matches!(error, Error::Tokenizer(_)), "{error:?}");
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
    // A trie of which the text `a` has the replacement at a place.
    let with_a = |place: u32| {
        let mut units = [0u32; 98];
        units[97] = 1 << 10 | 1 << 8 | u32::from(b'a');
        units[96] = place;
        let units = [4 * 98].into_iter().chain(units);
        let bytes = units.flat_map(u32::to_le_bytes).chain(*b"b\0a\0");
        let map: Vec<u8> = bytes.collect();
        with(&[0.0, -1.0], &map, 0).unwrap()
    };
    assert_eq!(with_a(2).encode("a").unwrap(), [1]);
    let error = with_a(0).encode("a").unwrap_err();
    assert!(error.to_string().contains("\"b\""), "{error}");
    let error = with_a(9).encode("a").unwrap_err();
    assert!(error.to_string().contains("it points to 9"), "{error}");
}
