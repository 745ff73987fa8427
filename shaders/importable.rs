//! The functions of the kernels that other shaders may import, by name.

use crate::find;

/// A piece of WGSL that shaders import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Importable {
    /// Its name in an `import`.
    pub name: &'static str,
    /// The names of the pieces that it needs.
    pub needs: &'static [&'static str],
    /// The text.
    pub text: &'static str,
}

const fn piece(
    name: &'static str,
    needs: &'static [&'static str],
    file: &'static str,
) -> Importable {
    match find(file) {
        Some(text) => Importable { name, needs, text },
        None => panic!("no such shader file"),
    }
}

/// All of them, each behind those that it needs.
pub const IMPORTABLE: [Importable; 19] = [
    piece("ziggurat/float.wgsl", &[], "prelude/float.wgsl"),
    piece(
        "ziggurat/exp.wgsl",
        &["ziggurat/float.wgsl"],
        "functions/exp.wgsl",
    ),
    piece(
        "ziggurat/expm1.wgsl",
        &["ziggurat/exp.wgsl"],
        "functions/expm1.wgsl",
    ),
    piece(
        "ziggurat/log.wgsl",
        &["ziggurat/float.wgsl"],
        "functions/log.wgsl",
    ),
    piece(
        "ziggurat/log1p.wgsl",
        &["ziggurat/log.wgsl"],
        "functions/log1p.wgsl",
    ),
    piece(
        "ziggurat/pow.wgsl",
        &["ziggurat/exp.wgsl", "ziggurat/log.wgsl"],
        "functions/pow.wgsl",
    ),
    piece(
        "ziggurat/sigmoid.wgsl",
        &["ziggurat/exp.wgsl"],
        "functions/sigmoid.wgsl",
    ),
    piece(
        "ziggurat/erfc_fit.wgsl",
        &["ziggurat/float.wgsl"],
        "functions/erfc.wgsl",
    ),
    piece(
        "ziggurat/erf_parts.wgsl",
        &["ziggurat/exp.wgsl", "ziggurat/erfc_fit.wgsl"],
        "functions/erf.wgsl",
    ),
    piece(
        "ziggurat/erf.wgsl",
        &["ziggurat/erf_parts.wgsl"],
        "library/erf.wgsl",
    ),
    piece(
        "ziggurat/divide.wgsl",
        &["ziggurat/float.wgsl"],
        "functions/divide.wgsl",
    ),
    piece(
        "ziggurat/sqrt.wgsl",
        &["ziggurat/float.wgsl"],
        "functions/sqrt.wgsl",
    ),
    piece(
        "ziggurat/fmod.wgsl",
        &["ziggurat/float.wgsl"],
        "functions/fmod.wgsl",
    ),
    piece(
        "ziggurat/trig.wgsl",
        &["ziggurat/float.wgsl"],
        "functions/trig.wgsl",
    ),
    piece(
        "ziggurat/wide_product.wgsl",
        &[],
        "random/product_words.wgsl",
    ),
    piece(
        "ziggurat/philox.wgsl",
        &["ziggurat/wide_product.wgsl"],
        "random/philox.wgsl",
    ),
    piece("ziggurat/hash.wgsl", &[], "library/hash.wgsl"),
    piece("ziggurat/halves.wgsl", &[], "library/halves.wgsl"),
    piece(
        "ziggurat/reduce256.wgsl",
        &["ziggurat/float.wgsl"],
        "library/reduce256.wgsl",
    ),
];

#[cfg(test)]
mod tests {
    use super::IMPORTABLE;

    #[test]
    fn pieces_stand_behind_what_they_need() {
        for (at, piece) in IMPORTABLE.iter().enumerate() {
            for need in piece.needs {
                let before = IMPORTABLE.iter().take(at);
                assert!(
                    before.into_iter().any(|other| other.name == *need),
                    "{} needs {need}",
                    piece.name
                );
            }
        }
    }
}
