//! Reading the text of a [`UserOp`](super::UserOp) or a user's combination: its signatures, its names, what it costs, and what it may not say.
//!
//! naga decides what is WGSL; this file decides what an elementwise op is. Everything here takes time in proportion to the
//! text, whose size is limited first.

use std::collections::{HashMap, HashSet};

use ziggurat_core::DType;
use ziggurat_core::text::shortened;
use ziggurat_core::wgsl::{measure, tokens};
use ziggurat_pipeline::{
    KernelDescriptor, PipelineError, ShaderFeatures, ShaderLimits, ShaderSource, reflect_within,
};

use super::MAX_OPERANDS;
use crate::run::error::KernelError;

/// Bytes of a text.
const TEXT_BYTES: usize = 64 << 10;
/// Tokens of one function, blocks and operations within each other, module-scope declarations: a kernel with several
/// such ops is still small.
const TOKENS: usize = 6_000;
const BLOCKS: usize = 30;
const OPERATIONS: usize = 120;
const DECLARATIONS: usize = 100;
/// Expressions and statements once calls are inlined.
const INLINED: u64 = 20_000;

/// How much more a function with a loop counts: nobody knows how often it goes round.
const LOOP: u32 = 16;
/// The work of a function such as `exp`.
const FUNCTION: u32 = 8;

/// The file of the generated call.
const CALL: &str = "the call of a custom op";

/// What a text says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) params: Vec<DType>,
    pub(crate) result: DType,
    /// The work of one element, in ops of a few instructions; a function such as `exp` counts as 8.
    pub(crate) work: u32,
    pub(crate) loops: bool,
    pub(crate) indexes: bool,
}

/// A text that was read and checked.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) facts: Facts,
    globals: HashSet<String>,
}

pub(super) type Token<'a> = (usize, &'a str);

pub(super) struct Words<'a> {
    source: ShaderSource,
    pub(super) tokens: Vec<Token<'a>>,
}

/// Reads and checks the text of an elementwise op.
pub(crate) fn read(name: &str, text: &str) -> Result<Read, KernelError> {
    let (words, globals) = checked(name, text)?;
    let (params, result) = words.signature("apply", MAX_OPERANDS, Words::scalar)?;
    compile(name, text, &call("apply", &params))?;
    let facts = Facts {
        params,
        result,
        work: words.work(),
        loops: words.any(is_loop),
        indexes: words.any(|word| word == "["),
    };
    Ok(Read { facts, globals })
}

/// A text that was measured, has nothing that it may not have, and is WGSL by itself.
pub(super) fn checked<'a>(
    name: &str,
    text: &'a str,
) -> Result<(Words<'a>, HashSet<String>), KernelError> {
    check_size(name, text)?;
    // An empty text has a line, too.
    let source = ShaderSource::wgsl(name.to_owned(), format!("{text} "));
    let words = Words {
        tokens: tokens(text).collect(),
        source,
    };
    if !ends_outside_of_comments(text) {
        return Err(words.refuse(words.tokens.len(), "a comment `/*` is not closed"));
    }
    let globals = words.globals()?;
    // What is no WGSL is said by the compiler, whatever the signatures.
    compile(name, text, "")?;
    Ok((words, globals))
}

/// An error that is about no line: it shows the first.
fn of_the_whole(name: &str, text: &str, message: String) -> KernelError {
    let first = text.lines().next().unwrap_or_default();
    let source = ShaderSource::wgsl(name.to_owned(), shortened(first, 80).into_owned());
    PipelineError::refused(&source, 0..0, message).into()
}

/// A text larger than any op, before anything reads it.
fn check_size(name: &str, text: &str) -> Result<(), KernelError> {
    let refuse = |what: &str, count: usize, most: usize| {
        let message = format!("{count} {what}; a custom op may have {most}");
        Err(of_the_whole(name, text, message))
    };
    if text.len() > TEXT_BYTES {
        return refuse("bytes of text", text.len(), TEXT_BYTES);
    }
    let extent = measure(text);
    if extent.declarations > DECLARATIONS {
        let what = "functions, constants and types";
        return refuse(what, extent.declarations, DECLARATIONS);
    }
    for (what, found, most) in [
        (
            "operations within each other in one expression",
            extent.operations,
            OPERATIONS,
        ),
        ("blocks within each other", extent.blocks, BLOCKS),
        ("tokens in one function", extent.function_tokens, TOKENS),
    ] {
        if found.count > most {
            let line = (found.line as usize).saturating_sub(1);
            let begin: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
            let end = begin
                + text
                    .get(begin..)
                    .and_then(|rest| rest.lines().next())
                    .map_or(0, str::len);
            let message = format!("{} {what}; a custom op may have {most}", found.count);
            let source = ShaderSource::wgsl(name.to_owned(), text.to_owned());
            return Err(PipelineError::refused(&source, begin..end, message).into());
        }
    }
    Ok(())
}

/// Whether what stands behind the text is read.
fn ends_outside_of_comments(text: &str) -> bool {
    let longer = format!("{text}\nend");
    tokens(&longer)
        .last()
        .is_some_and(|(at, _)| at == text.len() + 1)
}

/// Has naga read the text: with a kernel of these statements, if there are any.
pub(crate) fn compile(name: &str, text: &str, statements: &str) -> Result<(), KernelError> {
    let mut source = ShaderSource::wgsl(name.to_owned(), text.to_owned());
    if !statements.is_empty() {
        let entry = format!("@compute @workgroup_size(1) fn ziggurat_call() {{ {statements} }}\n");
        source = source.part(CALL, entry);
    }
    match reflect_within(
        &KernelDescriptor::new(source),
        ShaderFeatures::NONE,
        &limits(),
    ) {
        Err(PipelineError::NoEntryPoint { .. }) if statements.is_empty() => Ok(()),
        Ok(_) => Ok(()),
        Err(PipelineError::ShaderTooLarge {
            what, count, limit, ..
        }) => {
            let message = format!("{count} {what}; a custom op may have {limit}");
            Err(of_the_whole(name, text, message))
        }
        Err(error) => Err(error.into()),
    }
}

/// What kernels that call a text may have.
pub(super) fn limits() -> ShaderLimits {
    let mut limits = ShaderLimits::default();
    limits.inlined = INLINED;
    limits
}

/// A statement that calls a function with zeros.
pub(crate) fn call(function: &str, params: &[DType]) -> String {
    let zeros: Vec<String> = params.iter().map(|ty| format!("{ty}()")).collect();
    format!("_ = {function}({});", zeros.join(", "))
}

pub(super) fn is_loop(word: &str) -> bool {
    ["for", "while", "loop"].contains(&word)
}

fn is_name(token: &str) -> bool {
    let first = token.chars().next();
    first.is_some_and(|c| c == '_' || c.is_alphabetic())
}

/// What works across invocations, or only in a fragment shader.
fn is_shared(word: &str) -> bool {
    let begins = [
        "subgroup", "quad", "dpdx", "dpdy", "fwidth", "texture", "atomic",
    ];
    [
        "workgroupBarrier",
        "storageBarrier",
        "workgroupUniformLoad",
        "discard",
    ]
    .contains(&word)
        || begins.iter().any(|begin| word.starts_with(begin))
}

impl Words<'_> {
    pub(super) fn token(&self, index: usize) -> &str {
        self.tokens.get(index).map_or("", |(_, token)| token)
    }

    fn any(&self, wanted: impl Fn(&str) -> bool) -> bool {
        self.tokens.iter().any(|(_, token)| wanted(token))
    }

    pub(super) fn refuse(&self, index: usize, message: impl Into<String>) -> KernelError {
        let last = self.tokens.last().map_or(0, |(at, token)| at + token.len());
        let bytes = match self.tokens.get(index) {
            Some((at, token)) => *at..at + token.len(),
            None => last..last,
        };
        PipelineError::refused(&self.source, bytes, message).into()
    }

    /// Names of functions, constants and types. Refuses other declarations, and calls that are not of one element.
    fn globals(&self) -> Result<HashSet<String>, KernelError> {
        let mut globals = HashSet::new();
        let mut depth = 0_usize;
        for (index, (_, token)) in self.tokens.iter().enumerate() {
            let before = index.checked_sub(1).map_or("", |before| self.token(before));
            match *token {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                word if is_shared(word) && self.token(index + 1) == "(" || word == "discard" => {
                    let message = format!(
                        "`{word}` is not for a custom op: it computes each element by itself"
                    );
                    return Err(self.refuse(index, message));
                }
                "compute" | "vertex" | "fragment" if before == "@" => {
                    let message = "a custom op has no entry point: write `fn apply(x: f32) -> f32`";
                    return Err(self.refuse(index, message));
                }
                "var" | "override" if depth == 0 => {
                    let message = format!(
                        "a custom op has no `{token}` outside of functions: numbers that change are operands of `apply`"
                    );
                    return Err(self.refuse(index, message));
                }
                "enable" | "requires" | "diagnostic" if depth == 0 && before != "@" => {
                    let message = format!("a custom op has no directives: leave out `{token}`");
                    return Err(self.refuse(index, message));
                }
                "fn" | "const" | "struct" | "alias" if depth == 0 => {
                    let name = self.token(index + 1);
                    if ["f32", "i32", "u32", "bool"].contains(&name) {
                        let message = format!("`{name}` is the name of a type");
                        return Err(self.refuse(index + 1, message));
                    }
                    globals.insert(name.to_owned());
                }
                _ => {}
            }
        }
        Ok(globals)
    }

    /// The place of a function's name; behind the last token if it is not there.
    pub(super) fn declared(&self, function: &str) -> usize {
        let mut pairs = self.tokens.windows(2);
        let at = pairs.position(|pair| matches!(pair, [(_, "fn"), (_, name)] if *name == function));
        at.map_or(self.tokens.len(), |at| at + 1)
    }

    /// A type of numbers, and the place behind it.
    pub(super) fn scalar(
        &self,
        function: &str,
        index: usize,
    ) -> Result<(DType, usize), KernelError> {
        let scalar = match self.token(index) {
            "f32" => DType::F32,
            "i32" => DType::I32,
            "u32" => DType::U32,
            "bool" => DType::Bool,
            other => {
                let message = format!(
                    "`{function}` takes and returns f32 (for all floats), i32, u32 or bool, not `{other}`"
                );
                return Err(self.refuse(index, message));
            }
        };
        Ok((scalar, index + 1))
    }

    /// The types of what a function takes, at most so many, and of what it returns. `ty` reads the one that begins at a place.
    pub(super) fn signature<T>(
        &self,
        function: &str,
        most: usize,
        ty: impl Fn(&Self, &str, usize) -> Result<(T, usize), KernelError>,
    ) -> Result<(Vec<T>, T), KernelError> {
        let at = self.declared(function);
        if at == self.tokens.len() {
            let message = format!(
                "the text has no function `{function}`: write `fn {function}(x: f32, …) -> f32 {{ … }}`"
            );
            return Err(self.refuse(at, message));
        }
        let expect = |index: usize, wanted: &str| {
            if self.token(index) == wanted {
                return Ok(index + 1);
            }
            let message = format!("expected `{wanted}` of `fn {function}(x: f32, …) -> f32`");
            Err(self.refuse(index, message))
        };
        let mut params = Vec::new();
        let mut next = expect(at + 1, "(")?;
        while self.token(next) != ")" {
            if !is_name(self.token(next)) {
                let message = format!("expected the name of an operand of `{function}`");
                return Err(self.refuse(next, message));
            }
            if params.len() == most {
                let message = match most {
                    MAX_OPERANDS => format!(
                        "`{function}` takes at most {most} operands; `TensorKernel` takes more"
                    ),
                    _ => format!("`{function}` takes {most}"),
                };
                return Err(self.refuse(next, message));
            }
            let (param, end) = ty(self, function, expect(next + 1, ":")?)?;
            params.push(param);
            next = end;
            if self.token(next) != ")" {
                next = expect(next, ",")?;
            }
        }
        if params.is_empty() {
            let message = format!("`{function}` takes at least one operand");
            return Err(self.refuse(next, message));
        }
        next = expect(next + 1, "-")?;
        next = expect(next, ">")?;
        Ok((params, ty(self, function, next)?.0))
    }

    /// The work of `apply`, with what it calls.
    fn work(&self) -> u32 {
        let mut functions: HashMap<&str, &[Token<'_>]> = HashMap::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let tokens = self.tokens.get(at..).unwrap_or_default();
            let [(_, "fn"), (_, name), ..] = tokens else {
                at += 1;
                continue;
            };
            let mut depth = 0_usize;
            let closes = tokens.iter().position(|(_, token)| {
                match *token {
                    "{" => depth += 1,
                    "}" => depth = depth.saturating_sub(1),
                    _ => return false,
                }
                *token == "}" && depth == 0
            });
            let (body, _) = tokens.split_at(closes.unwrap_or(tokens.len()));
            let _ = functions.insert(name, body.get(2..).unwrap_or_default());
            at += body.len().max(1);
        }
        let mut known = HashMap::new();
        // WGSL has no recursion, which the compiler checks; a function calls another within as many steps as there are.
        work_of("apply", &functions, &mut known, functions.len()).max(1)
    }
}

fn work_of<'a>(
    name: &'a str,
    functions: &HashMap<&'a str, &'a [Token<'a>]>,
    known: &mut HashMap<&'a str, u32>,
    deeper: usize,
) -> u32 {
    const CHEAP: [&str; 24] = [
        "abs", "all", "any", "array", "bitcast", "bool", "ceil", "clamp", "cross", "dot", "f32",
        "floor", "fma", "fract", "i32", "max", "min", "mix", "round", "saturate", "select", "sign",
        "trunc", "u32",
    ];
    const FREE: [&str; 7] = ["for", "if", "return", "switch", "while", "vec", "mat"];
    if let Some(work) = known.get(name) {
        return *work;
    }
    let Some(body) = functions.get(name) else {
        return FUNCTION;
    };
    let (mut work, mut loops) = (0_u32, false);
    for (index, (_, token)) in body.iter().enumerate() {
        loops |= is_loop(token);
        let called = body.get(index + 1).is_some_and(|(_, next)| *next == "(");
        let one = match *token {
            "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" | "~" | "[" => 1,
            "if" => 1,
            word if !called || !is_name(word) => 0,
            word if CHEAP.contains(&word) => 1,
            word if FREE.iter().any(|free| word.starts_with(free))
                && !functions.contains_key(word) =>
            {
                0
            }
            word if deeper > 0 => work_of(word, functions, known, deeper - 1),
            _ => FUNCTION,
        };
        work = work.saturating_add(one);
    }
    if loops {
        work = work.saturating_mul(LOOP);
    }
    let _ = known.insert(name, work);
    work
}

impl Read {
    /// [`renamed`].
    pub(crate) fn renamed(&self, text: &str, prefix: &str) -> String {
        renamed(&self.globals, text, prefix)
    }
}

/// The text with these module-scope names behind a prefix. Lines stay lines.
pub(super) fn renamed(globals: &HashSet<String>, text: &str, prefix: &str) -> String {
    let all: Vec<Token<'_>> = tokens(text).collect();
    let mut renamed = String::with_capacity(text.len() * 2);
    let (mut end, mut depth, mut of_struct) = (0, 0_usize, false);
    for (index, &(at, token)) in all.iter().enumerate() {
        let near = |by: isize| {
            let other = index
                .checked_add_signed(by)
                .and_then(|other| all.get(other));
            other.map_or("", |(_, token)| token)
        };
        match token {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "struct" if depth == 0 => of_struct = true,
            "fn" if depth == 0 => of_struct = false,
            _ => {}
        }
        renamed.push_str(text.get(end..at).unwrap_or_default());
        end = at + token.len();
        // `v.x` and `struct S { x: f32 }` name members; `@align` is no name at all.
        let is_member = near(-1) == "." || (of_struct && depth == 1 && near(1) == ":");
        if globals.contains(token) && !is_member && near(-1) != "@" {
            renamed.push_str(prefix);
            renamed.push('_');
        }
        renamed.push_str(token);
    }
    renamed.push_str(text.get(end..).unwrap_or_default());
    renamed.push('\n');
    renamed
}
