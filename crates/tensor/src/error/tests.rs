//! The texts of errors, and which predicate is true of each.

use super::*;

#[test]
fn texts_say_operation_rule_and_what_was_given() {
    let error = Error::wrong_dtype("to_vec", DType::F32, DType::I8);
    assert_eq!(
        error.to_string(),
        "to_vec: the tensor holds i8, asked for f32"
    );
    assert_eq!(format!("{error:?}"), error.to_string());
    let error = Error::too_large("zeros", 200, 128);
    assert_eq!(
        error.to_string(),
        "zeros: a tensor must fit one buffer of the device: it has 200 bytes, the limit is 128"
    );
}

#[test]
fn predicates_tell_kinds_apart() {
    let not_found = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let errors = [
        Error::shape("a", "b"),
        Error::dtype("a", "b"),
        Error::argument("a", "b"),
        Error::too_large("a", 2, 1),
        Error::io("read", Path::new("x"), not_found()),
        Error::format("b"),
        Error::internal("a", "b"),
    ];
    let predicates = [
        Error::is_shape,
        Error::is_dtype,
        Error::is_argument,
        Error::is_too_large,
        Error::is_io,
        Error::is_format,
        Error::is_internal,
    ];
    for (i, error) in errors.iter().enumerate() {
        for (j, predicate) in predicates.iter().enumerate() {
            assert_eq!(predicate(error), i == j, "error {i}, predicate {j}");
        }
    }
}

#[test]
fn a_file_is_named_once() {
    let error = Error::format("too short")
        .in_file(Path::new("a.npy"))
        .in_file(Path::new("b.npy"));
    assert_eq!(error.to_string(), "a.npy: too short");
    assert!(error.is_format());
}

#[test]
fn no_text_is_longer_than_a_kibibyte() {
    let long = "ä[".repeat(1 << 20);
    for error in [
        Error::shape("a", &*long),
        Error::format(&*long).in_file(Path::new(&long)),
        Error::from_shape(
            "a",
            ShapeError::StrideCount {
                dims: vec![1; 1 << 20],
                got: 0,
            },
        ),
        Error::argument("einsum", &*long),
    ] {
        let text = error.to_string();
        assert!(text.len() <= 1024, "{}", text.len());
        assert!(text.ends_with(" [...]"), "{text}");
        assert_eq!(format!("{error:?}"), text);
    }
    let fits = Error::format("a".repeat(1018)).to_string();
    assert_eq!(fits, "a".repeat(1018));
}

#[test]
fn memory_that_is_missing_is_told_in_numbers() {
    let error = Error::from_memory(
        "full",
        MemoryError::OutOfMemory {
            requested: 100,
            in_use: 30,
            reserved: 40,
            limit: Some(64),
            available: Some(34),
            source: None,
        },
    );
    assert!(error.is_out_of_memory());
    assert_eq!(error.requested_bytes(), Some(100));
    assert_eq!(error.available_bytes(), Some(34));
    let source = std::error::Error::source(&error).and_then(|e| e.downcast_ref::<MemoryError>());
    assert!(matches!(
        source,
        Some(MemoryError::OutOfMemory { requested: 100, .. })
    ));
    assert_eq!(Error::shape("a", "b").requested_bytes(), None);
}
