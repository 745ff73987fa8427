//! Every malformed field is an error with its place.

use ziggurat_models::gguf::{Gguf, GgufError, GgufProblem};

use crate::writer::Writer;

fn refused(file: &Writer) -> GgufError {
    match Gguf::parse(&file.bytes) {
        Err(error) => error,
        Ok(head) => panic!("accepted: {head:?}"),
    }
}

/// A file with one entry of metadata, and where the entry begins.
fn entry(fill: impl FnOnce(&mut Writer)) -> Writer {
    let mut file = Writer::new(0, 1);
    fill(&mut file);
    file
}

#[test]
fn heads_of_other_files_are_refused() {
    let mut zip = Writer::default();
    zip.raw(b"PK\x03\x04........................");
    assert_eq!(refused(&zip).problem, GgufProblem::Magic(*b"PK\x03\x04"));
    for (version, problem) in [
        (1, GgufProblem::Version(1)),
        (4, GgufProblem::Version(4)),
        (3u32.swap_bytes(), GgufProblem::BigEndian),
    ] {
        let mut file = Writer::default();
        file.raw(b"GGUF").u32(version).u64(0).u64(0);
        assert_eq!(refused(&file), GgufError { offset: 4, problem });
    }
}

#[test]
fn counts_beyond_the_file_are_refused_where_they_stand() {
    let is_count = |error: GgufError, offset: u64| {
        assert_eq!(error.offset, offset, "{error}");
        assert!(
            matches!(error.problem, GgufProblem::Count { .. }),
            "{error}"
        );
    };
    is_count(refused(&Writer::new(u64::MAX, 0)), 8);
    is_count(refused(&Writer::new(0, 1 << 40)), 16);
    let key = entry(|file| {
        file.u64(1 << 60).data(1, 16);
    });
    is_count(refused(&key), 24);
    let array = entry(|file| {
        file.key("k", 9).u32(6).u64(u64::MAX / 4 + 2).data(1, 64);
    });
    is_count(refused(&array), 24 + 9 + 4 + 4);
    let strings = entry(|file| {
        file.key("k", 9).u32(8).u64(9).data(1, 64);
    });
    is_count(refused(&strings), 24 + 9 + 4 + 4);
}

#[test]
fn values_that_do_not_exist_are_refused() {
    for (kind, value, offset) in [(13, 0u8, 33), (7, 2, 37)] {
        let file = entry(|file| {
            file.key("k", kind).raw(&[value; 8]);
        });
        let error = refused(&file);
        assert_eq!(error.offset, offset, "{error}");
        let known = matches!(
            error.problem,
            GgufProblem::ValueType { id: 13, .. } | GgufProblem::Bool(2)
        );
        assert!(known, "{error}");
    }
    let text = entry(|file| {
        file.key("k", 8).u64(2).raw(&[0xff, 0xfe]);
    });
    assert_eq!(refused(&text).problem, GgufProblem::Utf8("a string"));
    let nested = entry(|file| {
        file.key("k", 9);
        for _ in 0..6 {
            file.u32(9).u64(1);
        }
        file.data(1, 64);
    });
    assert_eq!(refused(&nested).problem, GgufProblem::Nesting("k".into()));
}

#[test]
fn names_that_are_there_twice_are_refused() {
    let mut keys = Writer::new(0, 2);
    keys.key("k", 0).raw(&[1]);
    let second = keys.at();
    keys.key("k", 0).raw(&[1]);
    let error = refused(&keys);
    assert_eq!(error.offset, second);
    assert!(error.to_string().contains("the key `k` is there twice"));
    let mut tensors = Writer::new(2, 0);
    tensors
        .tensor("t", &[4], 0, 0)
        .tensor("t", &[4], 0, 32)
        .data(32, 64);
    assert!(refused(&tensors).to_string().contains("the tensor `t`"));
}

#[test]
fn alignments_are_multiples_of_eight() {
    for bytes in [0u32, 4, 12] {
        let file = entry(|file| {
            file.key("general.alignment", 4).u32(bytes);
        });
        assert!(matches!(refused(&file).problem, GgufProblem::Alignment(_)));
    }
    let mut file = Writer::new(1, 1);
    file.key("general.alignment", 4).u32(8);
    file.tensor("t", &[1], 0, 0).data(8, 4);
    let head = Gguf::parse(&file.bytes).unwrap();
    assert_eq!(head.alignment(), 8);
    assert_eq!(head.tensor("t").unwrap().start() % 8, 0);
}

#[test]
fn tensors_lie_within_the_file_and_share_nothing() {
    let one = |dims: &[u64], block: u32, at: u64| {
        let mut file = Writer::new(1, 0);
        file.tensor("t", dims, block, at).data(32, 64);
        refused(&file).problem
    };
    assert!(matches!(
        one(&[1; 5], 0, 0),
        GgufProblem::Rank { rank: 5, .. }
    ));
    assert!(matches!(
        one(&[4], 99, 0),
        GgufProblem::BlockType { id: 99, .. }
    ));
    assert!(matches!(
        one(&[33], 8, 0),
        GgufProblem::Row { block: 32, .. }
    ));
    assert!(matches!(one(&[4], 0, 16), GgufProblem::Unaligned { .. }));
    assert!(matches!(one(&[17], 0, 0), GgufProblem::Beyond { .. }));
    assert!(matches!(one(&[4], 0, 64), GgufProblem::Beyond { .. }));
    let far = one(&[4], 0, u64::MAX - 31);
    assert!(matches!(far, GgufProblem::Beyond { .. }));
    let huge = one(&[1 << 40, 1 << 40], 0, 0);
    assert!(matches!(huge, GgufProblem::Elements { .. }));
    let mut two = Writer::new(2, 0);
    two.tensor("a", &[16], 0, 32)
        .tensor("b", &[9], 0, 0)
        .data(32, 96);
    let error = refused(&two);
    let (first, second) = ("b".to_owned(), "a".to_owned());
    assert_eq!(error.problem, GgufProblem::Overlap { first, second });
}

#[test]
fn a_tensor_without_elements_is_none_too_many() {
    let mut file = Writer::new(2, 0);
    file.tensor("none", &[0, 3], 0, 0)
        .tensor("scalar", &[], 0, 0)
        .data(32, 4);
    let head = Gguf::parse(&file.bytes).unwrap();
    assert_eq!(head.tensor("none").unwrap().dims(), [3, 0]);
    assert_eq!(head.tensor("none").unwrap().bytes(), 0);
    assert_eq!(head.tensor("scalar").unwrap().elements(), 1);
}
