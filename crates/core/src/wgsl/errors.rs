//! A validator's words in WGSL's own: types by their names, and no numbers of a compiler's tables.

use std::error::Error;

/// What naga's validator says, followed by its causes, with types as WGSL writes them and without numbers of naga's tables. What is
/// not recognised stays as it is.
///
/// ```
/// use ziggurat_core::wgsl::errors::said;
///
/// #[derive(Debug)]
/// struct Refusal;
/// impl std::error::Error for Refusal {}
/// impl std::fmt::Display for Refusal {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("got Scalar(Scalar { kind: Float, width: 2 })")
///     }
/// }
/// assert_eq!(said(&Refusal), "got f16");
/// ```
#[must_use]
pub fn said(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        message.push_str(": ");
        message.push_str(&next.to_string());
        cause = next.source();
    }
    in_wgsl(&message)
}

/// What naga says with numbers of its tables, `#` here, and what it says in WGSL's words.
const PHRASES: [(&str, &str); 13] = [
    (
        "Loading of # can't be done",
        "A value of this type cannot be loaded; `&` passes a pointer to it",
    ),
    (
        "The pointer # doesn't relate to a valid destination for a store",
        "This cannot be written: only variables that are `storage, read_write`, `workgroup`, `private` or of a function can",
    ),
    (
        "The type of # doesn't match the type stored in #",
        "The value has another type than the variable that it is stored in",
    ),
    (
        "The `return` expression Some(#) does not match the declared return type Some(#)",
        "What is returned is not of the type that the function declares",
    ),
    (
        "The `return` expression None does not match the declared return type Some(#)",
        "The function declares a type, and does not return a value at its end or at a `return`",
    ),
    (
        "The `return` expression Some(#) does not match the declared return type None",
        "The function returns a value and declares no type of it",
    ),
    ("Call to # is invalid", "The call is invalid"),
    (
        "Constant expression # is invalid",
        "The constant is invalid",
    ),
    (
        "value # doesn't match the type #",
        "has another type than the parameter",
    ),
    (
        "as expression # has an invalid type.",
        "has an invalid type",
    ),
    ("Field '", "Member '"),
    (" at Compute is invalid", " is invalid"),
    (", has type #", ""),
];

/// Types that naga writes with all their fields.
const FIELDS: [(&str, &str); 8] = [
    ("Struct {", "a struct"),
    ("Array {", "an array"),
    ("ValuePointer {", "a pointer"),
    ("Pointer {", "a pointer"),
    ("Image {", "a texture"),
    ("Sampler {", "a sampler"),
    ("BindingArray {", "an array of bindings"),
    ("AccelerationStructure {", "an acceleration structure"),
];

/// The same of one message.
///
/// ```
/// use ziggurat_core::wgsl::errors::in_wgsl;
///
/// let said = "Call to [2] is invalid: Argument 0 value [11] doesn't match the type [3]";
/// assert_eq!(in_wgsl(said), "The call is invalid: Argument 0 has another type than the parameter");
/// ```
#[must_use]
pub fn in_wgsl(message: &str) -> String {
    let typed = types(message)
        .replace("{AbstractFloat}", "AbstractFloat")
        .replace("{AbstractInt}", "AbstractInt");
    let whole = FIELDS.iter().fold(typed, |text, (begin, name)| {
        replaced(&text, begin, |rest| {
            Some(((*name).to_owned(), closed(rest)?))
        })
    });
    // `[3] (of type a struct)`
    let whole = replaced(&whole, "[", |rest| {
        let (number, rest) = rest.split_once("] (of type a")?;
        let (name, _) = rest.split_once(')')?;
        number.parse::<u32>().ok()?;
        let taken = number.len() + "] (of type a".len() + name.len() + 1;
        Some((format!("a{name}"), taken))
    });
    let said = PHRASES.iter().fold(whole, |text, (said, instead)| {
        let mut parts = said.split('#');
        let first = parts.next().unwrap_or_default();
        let others: Vec<&str> = parts.collect();
        replaced(&text, first, |rest| {
            let mut left = rest;
            for part in &others {
                left = number(left)?.strip_prefix(part)?;
            }
            Some(((*instead).to_owned(), rest.len() - left.len()))
        })
    });
    // A number that is left says nothing to whoever wrote the text.
    let said = replaced(&said, " [", |rest| {
        let (number, _) = rest.split_once(']')?;
        number.parse::<u32>().ok()?;
        Some((String::new(), number.len() + 1))
    });
    replaced(&said, "Capabilities(", |rest| {
        let (names, _) = rest.split_once(')')?;
        let words = names.to_lowercase().replace('_', " ").replace(" |", ",");
        Some((words, names.len() + 1))
    })
}

/// What follows `[3]`.
fn number(text: &str) -> Option<&str> {
    let (number, rest) = text.strip_prefix('[')?.split_once(']')?;
    number.parse::<u32>().ok().map(|_| rest)
}

/// Bytes to the end of a brace that is open.
fn closed(text: &str) -> Option<usize> {
    let mut open = 1_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Types of numbers by their names, and without numbers of naga's tables.
fn types(message: &str) -> String {
    let scalars = replaced(message, "Scalar { kind: ", |rest| {
        let (kind, rest) = rest.split_once(", width: ")?;
        let (width, _) = rest.split_once(" }")?;
        let name = scalar(kind, width)?;
        let taken = kind.len() + ", width: ".len() + width.len() + " }".len();
        Some((name, taken))
    });
    let scalars = unwrapped(&scalars, "Scalar(", |name| name.to_owned());
    let vectors = replaced(&scalars, "Vector { size: ", |rest| {
        let (fields, _) = rest.split_once(" }")?;
        let (size, scalar) = fields.split_once(", scalar: ")?;
        let name = format!("vec{}<{}>", extent(size)?, simple(scalar)?);
        Some((name, fields.len() + " }".len()))
    });
    let matrices = replaced(&vectors, "Matrix { columns: ", |rest| {
        let (fields, _) = rest.split_once(" }")?;
        let (columns, fields_left) = fields.split_once(", rows: ")?;
        let (rows, scalar) = fields_left.split_once(", scalar: ")?;
        let (columns, rows) = (extent(columns)?, extent(rows)?);
        let name = format!("mat{columns}x{rows}<{}>", simple(scalar)?);
        Some((name, fields.len() + " }".len()))
    });
    let atomics = unwrapped(&matrices, "Atomic(", |name| format!("atomic<{name}>"));
    // `[3] (of type f32)`: the number says nothing to whoever wrote the text.
    let typed = replaced(&atomics, "[", |rest| {
        let (number, rest) = rest.split_once("] (of type ")?;
        number.parse::<u32>().ok()?;
        let (name, _) = rest.split_once(')')?;
        simple(name.trim_end_matches('>'))?;
        let taken = number.len() + "] (of type ".len() + name.len() + 1;
        Some((format!("`{name}`"), taken))
    });
    let unnumbered = replaced(&typed, "Expression [", |rest| {
        let (number, _) = rest.split_once("] is invalid: ")?;
        number.parse::<u32>().ok()?;
        Some((String::new(), number.len() + "] is invalid: ".len()))
    });
    let functions = replaced(&unnumbered, "Function [", |rest| {
        let (number, _) = rest.split_once("] ")?;
        number.parse::<u32>().ok()?;
        Some(("Function ".to_owned(), number.len() + "] ".len()))
    });
    replaced(&functions, "Type [", |rest| {
        let (number, behind) = rest.split_once("] '")?;
        let (name, _) = behind.split_once("' is invalid: ")?;
        number.parse::<u32>().ok()?;
        let shown = match name {
            "" => String::new(),
            name => format!("Type '{name}' is invalid: "),
        };
        let taken = number.len() + "] '".len() + name.len() + "' is invalid: ".len();
        Some((shown, taken))
    })
}

/// The text with every `prefix` replaced, together with as many bytes behind it as `name` says; not where it knows none.
fn replaced(text: &str, prefix: &str, name: impl Fn(&str) -> Option<(String, usize)>) -> String {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(prefix) {
        done.push_str(before);
        let known = name(behind).and_then(|(name, taken)| Some((name, behind.get(taken..)?)));
        match known {
            Some((name, left)) => {
                done.push_str(&name);
                rest = left;
            }
            None => {
                done.push_str(prefix);
                rest = behind;
            }
        }
    }
    done.push_str(rest);
    done
}

/// The text with every `prefix`, a simple name and a bracket replaced.
fn unwrapped(text: &str, prefix: &str, whole: impl Fn(&str) -> String) -> String {
    replaced(text, prefix, |rest| {
        let (name, _) = rest.split_once(')')?;
        Some((whole(simple(name)?), name.len() + 1))
    })
}

/// The text if it is the name of a type without brackets of its own, or of a vector.
fn simple(name: &str) -> Option<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '<' || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

fn scalar(kind: &str, width: &str) -> Option<String> {
    let bits = width.parse::<u32>().ok()?.checked_mul(8)?;
    match kind {
        "Float" => Some(format!("f{bits}")),
        "Sint" => Some(format!("i{bits}")),
        "Uint" => Some(format!("u{bits}")),
        "Bool" => Some("bool".to_owned()),
        "AbstractInt" => Some("an integer literal".to_owned()),
        "AbstractFloat" => Some("a float literal".to_owned()),
        _ => None,
    }
}

fn extent(size: &str) -> Option<u32> {
    match size {
        "Bi" => Some(2),
        "Tri" => Some(3),
        "Quad" => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::in_wgsl;

    #[test]
    fn types_are_named_and_numbers_are_left_out() {
        let said = "Function [26] 'kernel' is invalid: Expression [3] is invalid: Operation Add can't work with [1] (of type Scalar(Scalar { kind: Float, width: 4 })) and [2] (of type Vector { size: Tri, scalar: Scalar { kind: Uint, width: 4 } })";
        assert_eq!(
            in_wgsl(said),
            "Function 'kernel' is invalid: Operation Add can't work with `f32` and `vec3<u32>`"
        );
        let matrix = "got Matrix { columns: Bi, rows: Quad, scalar: Scalar { kind: Float, width: 2 } } and Atomic(Scalar { kind: Sint, width: 8 })";
        assert_eq!(in_wgsl(matrix), "got mat2x4<f16> and atomic<i64>");
        for (said, shown) in [
            ("Type [1] '' is invalid: Not floats", "Not floats"),
            (
                "Type [7] 'Params' is invalid: Too large",
                "Type 'Params' is invalid: Too large",
            ),
            (
                "Expression [4] is invalid: Loading of [2] can't be done",
                "A value of this type cannot be loaded; `&` passes a pointer to it",
            ),
            (
                "Entry point main at Compute is invalid: The pointer [80] doesn't relate to a valid destination for a store",
                "Entry point main is invalid: This cannot be written: only variables that are `storage, read_write`, `workgroup`, `private` or of a function can",
            ),
            (
                "Call to [2] is invalid: Argument 0 value [11] doesn't match the type [3]",
                "The call is invalid: Argument 0 has another type than the parameter",
            ),
            (
                "The `return` expression None does not match the declared return type Some([1])",
                "The function declares a type, and does not return a value at its end or at a `return`",
            ),
            (
                "Operation Add can't work with [3] (of type Struct { members: [StructMember { name: Some(\"x\"), ty: [0] }], span: 8 }) and [1] (of type Array { base: [0], size: Constant(4), stride: 4 })",
                "Operation Add can't work with a struct and an array",
            ),
            (
                "The `if` condition [12] is not a boolean scalar",
                "The `if` condition is not a boolean scalar",
            ),
            (
                "Shader requires capability Capabilities(RAY_QUERY | MESH_SHADER)",
                "Shader requires capability ray query, mesh shader",
            ),
        ] {
            assert_eq!(in_wgsl(said), shown);
        }
    }

    #[test]
    fn what_is_not_known_stays() {
        for text in [
            "",
            "Scalar { kind: ",
            "Scalar { kind: New, width: 4 }",
            "Vector { size: Penta, scalar: f32 }",
            "Matrix { columns: Bi, rows: ",
            "Expression [x] is invalid: (of type ",
            "item a[3]",
            " [x]",
            "Struct { x",
            "The pointer [x] doesn't relate to a valid destination for a store",
            "Capabilities(",
            "Type [x] '' is invalid: ",
            "Loading of [x] can't be done",
            "Atomic(",
        ] {
            assert_eq!(in_wgsl(text), text);
        }
    }
}
