//! WGSL texts changed at random, from small slips to nonsense.

use crate::random::Random;

/// What is put into texts besides their own tokens.
const WORDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "0u",
    "1u",
    "2u",
    "31u",
    "32u",
    "0x7fffffff",
    "4294967295u",
    "2147483648",
    "0x1p-149f",
    "3.4e38f",
    "1e-45",
    "0.0",
    "-0.0",
    "1h",
    "65504h",
    "1lf",
    "9223372036854775807li",
    "18446744073709551615lu",
    "true",
    "false",
    "i32",
    "u32",
    "f32",
    "f16",
    "i64",
    "u64",
    "f64",
    "bool",
    "vec2<f32>",
    "vec3<u32>",
    "vec4<i32>",
    "vec4<f16>",
    "mat2x2<f32>",
    "mat4x3<f32>",
    "array<u32, 4>",
    "array<f32>",
    "atomic<u32>",
    "atomic<i32>",
    "ptr<function, u32>",
    "ptr<workgroup, u32>",
    "if",
    "else",
    "loop",
    "while",
    "for",
    "switch",
    "case",
    "default",
    "break",
    "break if",
    "continue",
    "continuing",
    "return",
    "let",
    "var",
    "var<workgroup>",
    "var<private>",
    "const",
    "override",
    "fn",
    "struct",
    "alias",
    "@compute",
    "@workgroup_size(1)",
    "@id(0)",
    "@must_use",
    "@align(16)",
    "@size(32)",
    "enable f16;",
    "enable subgroups;",
    "diagnostic(off, derivative_uniformity);",
    "const_assert",
    "_",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "&",
    "|",
    "^",
    "~",
    "!",
    "&&",
    "||",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "=",
    "+=",
    "<<=",
    "++",
    "--",
    ".",
    ".xyzw",
    ".x",
    "[0]",
    "[-1]",
    "[1000000]",
    "(",
    ")",
    "{",
    "}",
    ";",
    ",",
    ":",
    "->",
    "/*",
    "*/",
    "//",
    "abs(",
    "acos(",
    "all(",
    "any(",
    "atan2(",
    "clamp(",
    "countOneBits(",
    "cross(",
    "determinant(",
    "dot(",
    "exp2(",
    "extractBits(",
    "faceForward(",
    "firstLeadingBit(",
    "fma(",
    "fract(",
    "frexp(",
    "insertBits(",
    "inverseSqrt(",
    "ldexp(",
    "length(",
    "mix(",
    "modf(",
    "normalize(",
    "pack4x8snorm(",
    "unpack4xI8(",
    "dot4I8Packed(",
    "pow(",
    "quantizeToF16(",
    "reflect(",
    "refract(",
    "reverseBits(",
    "select(",
    "smoothstep(",
    "step(",
    "transpose(",
    "bitcast<u32>(",
    "bitcast<vec2<f16>>(",
    "arrayLength(&",
    "atomicAdd(&",
    "atomicCompareExchangeWeak(&",
    "atomicLoad(&",
    "atomicStore(&",
    "workgroupBarrier();",
    "storageBarrier();",
    "workgroupUniformLoad(&",
    "subgroupAdd(",
    "subgroupBallot(",
    "subgroupShuffle(",
    "subgroupBarrier();",
    "quadSwapX(",
    "coopLoad<coop_mat8x8<f32,A>>(&",
    "coopMultiplyAdd(",
    "debug_print(",
    "textureLoad(",
    "rayQueryInitialize(",
    "dpdx(",
    "\u{0}",
    "\u{fffd}",
    "\u{202e}",
    "é",
    "\r\n",
    "\u{2028}",
];

fn tokens(source: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let len = if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..len]);
        rest = &rest[len..];
    }
    tokens
}

/// Numbers, names, blanks and signs are exchanged among themselves, so that some texts stay right.
fn kind(token: &str) -> (bool, bool, bool) {
    let first = token.chars().next().unwrap_or(' ');
    (
        first.is_numeric(),
        first.is_alphabetic(),
        first.is_whitespace(),
    )
}

/// One of `sources`, changed in one to four places; now and then spliced with another, or nested deeply.
pub(crate) fn mutate(sources: &[String], random: &mut Random) -> String {
    let source = random.pick(sources);
    let other = random.pick(sources);
    let mut words: Vec<String> = tokens(source).into_iter().map(str::to_owned).collect();
    let more = tokens(other);
    for _ in 0..=random.below(4) {
        if words.is_empty() {
            break;
        }
        let at = random.below(words.len());
        match random.below(16) {
            0..6 => {
                let from = random.below(words.len());
                if kind(&words[from]) == kind(&words[at]) {
                    words[at] = words[from].clone();
                }
            }
            6 | 7 => {
                let from = random.pick(&more);
                if kind(from) == kind(&words[at]) {
                    words[at] = (*from).to_owned();
                }
            }
            8 | 9 => words[at] = (*random.pick(WORDS)).to_owned(),
            10 => words.insert(at, (*random.pick(WORDS)).to_owned()),
            11 => {
                words.remove(at);
            }
            12 => {
                // A piece twice.
                let end = (at + random.below(40)).min(words.len());
                let piece = words[at..end].to_vec();
                words.splice(at..at, piece);
            }
            13 => {
                let end = (at + random.below(40)).min(words.len());
                words.drain(at..end);
            }
            14 => {
                let start = random.below(more.len().max(1)).min(more.len());
                let end = (start + random.below(60)).min(more.len());
                let piece: Vec<String> = more[start..end].iter().map(|&w| w.to_owned()).collect();
                words.splice(at..at, piece);
            }
            _ => {
                let depth = 1 << random.below(12);
                let (open, close) = *random.pick(&[
                    ("(", ")"),
                    ("{", "}"),
                    ("-", ""),
                    ("[", "]"),
                    ("&", ""),
                    ("vec4(", ")"),
                    ("array<", ">"),
                    ("if true {", "}"),
                ]);
                words[at] = format!("{}{}{}", open.repeat(depth), words[at], close.repeat(depth));
            }
        }
    }
    words.concat()
}
