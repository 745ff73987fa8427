//! Reading the text of a user's combination: `combine`, and `lift`, `finish` and `identity` where they are there.
//!
//! What is combined is a number, or a type of the text of up to four words. Invariant: a text has no loops and no indices,
//! because kernels of reductions and scans are compiled without wgpu's checks of those.

use std::collections::HashSet;

use ziggurat_core::DType;
use ziggurat_pipeline::{KernelDescriptor, ShaderFeatures, ShaderSource, reflect_within};

use super::text::{Words, checked, compile, is_loop, renamed};
use super::{MAX_OPERANDS, UserOp, check_name};
use crate::run::error::KernelError;

/// Words of 32 bits that the memory of a workgroup holds for each invocation and vector of the kernels.
const MOST_WORDS: u32 = 4;

/// The text of a combination that was read and checked.
#[derive(Debug)]
pub(crate) struct Combination {
    globals: HashSet<String>,
    /// What is combined, as the text writes it.
    accumulator: String,
    /// The same, if it is a number.
    number: Option<DType>,
    words: u32,
    lifts: Option<DType>,
    /// What `lift` takes, if that is several.
    operands: Vec<DType>,
    finishes: Option<DType>,
    has_identity: bool,
}

/// A type as it is written, and the place behind it.
fn written(words: &Words<'_>, _: &str, index: usize) -> Result<(String, usize), KernelError> {
    let mut ty = words.token(index).to_owned();
    let mut next = index + 1;
    if words.token(next) == "<" {
        while !["", ">", "{", ")"].contains(&words.token(next)) {
            ty.push_str(words.token(next));
            next += 1;
        }
        if words.token(next) != ">" {
            return Err(words.refuse(next, "expected `>`"));
        }
        ty.push('>');
        next += 1;
    }
    Ok((ty, next))
}

fn number(ty: &str) -> Option<DType> {
    match ty {
        "f32" => Some(DType::F32),
        "i32" => Some(DType::I32),
        "u32" => Some(DType::U32),
        "bool" => Some(DType::Bool),
        _ => None,
    }
}

/// Reads and checks the text of a combination, which says its own identity or is given one.
pub(crate) fn read(name: &str, text: &str, has_identity: bool) -> Result<Combination, KernelError> {
    check_name(name)?;
    let (words, globals) = checked(name, text)?;
    let is_refused = |token: &str| is_loop(token) || token == "[";
    if let Some(at) = words.tokens.iter().position(|(_, token)| is_refused(token)) {
        let message = format!(
            "the text of a reduction or scan has no loops and no indices: `{}`",
            words.token(at)
        );
        return Err(words.refuse(at, message));
    }
    let refuse = |function: &str, message: String| words.refuse(words.declared(function), message);
    let (operands, accumulator) = words.signature("combine", 2, written)?;
    if operands
        .iter()
        .chain([&accumulator])
        .any(|ty| *ty != accumulator)
        || operands.len() != 2
    {
        let message = "`combine` takes two of a type and returns one: write `fn combine(a: f32, b: f32) -> f32`";
        return Err(refuse("combine", message.to_owned()));
    }
    let number = number(&accumulator);
    if number == Some(DType::Bool) {
        let message = "bool is not combined: use u32, with `fn lift(x: bool) -> u32`";
        return Err(refuse("combine", message.to_owned()));
    }
    // A function besides `combine` that takes and returns these; of what a number may be, which it is.
    let partner = |function: &str, lifts: bool| {
        if !globals.contains(function) {
            if number.is_some() {
                return Ok(None);
            }
            let [from, to] = if lifts {
                ["f32", &accumulator]
            } else {
                [&accumulator, "f32"]
            };
            let message = format!(
                "what is combined is no number: write `fn {function}(x: {from}) -> {to}`, of f32, i32, u32 or bool"
            );
            return Err(refuse("combine", message));
        }
        let (operands, result) = words.signature(function, 1, written)?;
        let operand = operands.first().map_or("", String::as_str);
        let (own, other) = if lifts {
            (result.as_str(), operand)
        } else {
            (operand, result.as_str())
        };
        match self::number(other) {
            Some(dtype) if own == accumulator => Ok(Some(dtype)),
            _ => {
                let [from, to] = if lifts {
                    ["f32", &accumulator]
                } else {
                    [&accumulator, "f32"]
                };
                let message = format!(
                    "write `fn {function}(x: {from}) -> {to}`: f32, i32, u32 or bool with `{accumulator}`, which is combined"
                );
                Err(refuse(function, message))
            }
        }
    };
    let operands = lifted(&words, &globals, &accumulator, number)?;
    let lifts = match operands.as_slice() {
        [] => partner("lift", true)?,
        _ => None,
    };
    let finishes = partner("finish", false)?;
    if has_identity {
        let declared = format!("fn identity() -> {accumulator}");
        let at = words.declared("identity");
        let spelled: String = (at..at + 5).map(|at| words.token(at)).collect();
        if spelled != "identity()->" || written(&words, "", at + 5)?.0 != accumulator {
            let message =
                format!("write `{declared}`: what changes nothing that it is combined with");
            return Err(words.refuse(at, message));
        }
    } else if number.is_none() {
        let message =
            format!("`{accumulator}` is no number: its identity stands in the text (`from_wgsl`)");
        return Err(refuse("combine", message));
    }
    let mut combination = Combination {
        globals,
        number,
        words: 1,
        lifts,
        operands,
        finishes,
        has_identity,
        accumulator,
    };
    compile(name, text, &combination.calls(""))?;
    if number.is_none() {
        let words = size(name, text, &combination.accumulator);
        let Some(words) = words.filter(|words| *words <= MOST_WORDS) else {
            let message = format!(
                "what is combined has at most {MOST_WORDS} words of f32, i32, u32 or vectors of them, not `{}`",
                combination.accumulator
            );
            return Err(refuse("combine", message));
        };
        combination.words = words;
    }
    Ok(combination)
}

/// What `lift` takes, if it takes several: then what is combined is a number, since it is made of elements by itself.
fn lifted(
    words: &Words<'_>,
    globals: &HashSet<String>,
    accumulator: &str,
    number: Option<DType>,
) -> Result<Vec<DType>, KernelError> {
    if !globals.contains("lift") {
        return Ok(Vec::new());
    }
    let (operands, result) = words.signature("lift", MAX_OPERANDS, written)?;
    if operands.len() < 2 {
        return Ok(Vec::new());
    }
    let types: Vec<DType> = operands.iter().filter_map(|ty| self::number(ty)).collect();
    let message = if number.is_none() {
        format!(
            "`lift` of several operands gives a number, which is combined: f32, i32 or u32, not `{accumulator}`"
        )
    } else if types.len() < operands.len() || result != accumulator {
        format!(
            "write `fn lift(x: f32, y: f32) -> {accumulator}`: f32, i32, u32 or bool give `{accumulator}`, which is combined"
        )
    } else if globals.contains("apply") {
        "with a `lift` of several operands no function may be called `apply`".to_owned()
    } else {
        return Ok(types);
    };
    Err(words.refuse(words.declared("lift"), message))
}

/// The words of a type in memory, if it can be there.
fn size(name: &str, text: &str, ty: &str) -> Option<u32> {
    let source = ShaderSource::wgsl(name.to_owned(), text.to_owned()).part(
        "the memory of a custom op",
        format!(
            "@group(0) @binding(0) var<storage, read_write> ziggurat_accumulators: array<{ty}>;
@compute @workgroup_size(1) fn ziggurat_size() {{ ziggurat_accumulators[0] = combine(ziggurat_accumulators[0], ziggurat_accumulators[1]); }}\n"
        ),
    );
    let descriptor = KernelDescriptor::new(source);
    let reflection =
        reflect_within(&descriptor, ShaderFeatures::NONE, &super::text::limits()).ok()?;
    reflection.bindings.first()?.stride.map(|bytes| bytes / 4)
}

impl Combination {
    /// What its kernels read: f32, i32, u32 or bool.
    pub(crate) fn element(&self) -> DType {
        self.lifts.or(self.number).unwrap_or(DType::F32)
    }

    /// The elementwise op that gives what is combined, of several operands.
    pub(crate) fn lift(&self, name: &str, text: &str) -> Result<Option<UserOp>, KernelError> {
        if self.operands.is_empty() {
            return Ok(None);
        }
        let names: Vec<String> = (0..self.operands.len()).map(|i| format!("x{i}")).collect();
        let params: Vec<String> = names
            .iter()
            .zip(&self.operands)
            .map(|(name, ty)| format!("{name}: {ty}"))
            .collect();
        let apply = format!(
            "{text}\nfn apply({}) -> {} {{ return lift({}); }}",
            params.join(", "),
            self.accumulator,
            names.join(", ")
        );
        UserOp::define(name, &apply).map(Some)
    }

    /// What they write.
    pub(crate) fn result(&self) -> DType {
        self.finishes.or(self.number).unwrap_or(DType::F32)
    }

    /// What is combined, if it is a number.
    pub(crate) const fn number(&self) -> Option<DType> {
        self.number
    }

    /// Words of one accumulator in memory: a power of two.
    pub(crate) const fn words(&self) -> u32 {
        self.words.next_power_of_two()
    }

    /// Statements that call all of its functions.
    fn calls(&self, prefix: &str) -> String {
        let ty = self.accumulator(prefix);
        let lift = self
            .lifts
            .map_or(String::new(), |of| format!("_ = {prefix}lift({of}()); "));
        let finish = self
            .finishes
            .map_or(String::new(), |_| format!("_ = {prefix}finish({ty}()); "));
        format!("_ = {prefix}combine({ty}(), {ty}()); {lift}{finish}")
    }

    /// The type that is combined, under a prefix.
    fn accumulator(&self, prefix: &str) -> String {
        let prefix = prefix.trim_end_matches('_');
        if prefix.is_empty() {
            return self.accumulator.clone();
        }
        renamed(&self.globals, &self.accumulator, prefix)
            .trim()
            .to_owned()
    }

    /// The operator part of its kernels, with the text's names behind a prefix.
    pub(crate) fn operator(
        &self,
        name: &str,
        text: &str,
        prefix: &str,
    ) -> Result<String, KernelError> {
        let text = renamed(&self.globals, text, prefix);
        let own = format!("{prefix}_");
        compile(name, &text, &self.calls(&own))?;
        let ty = self.accumulator(&own);
        let identity = match self.number {
            _ if self.has_identity => format!("{own}identity()"),
            _ => format!("bitcast<{ty}>(params.identity)"),
        };
        let lift = match self.lifts {
            Some(_) => format!("{own}lift(x)"),
            None => "x".to_owned(),
        };
        // Buffers hold whole elements: three words and room for a fourth.
        let (declared, acc, value) = if self.words() == self.words {
            (format!("alias acc = {ty};"), ["", ""], "")
        } else {
            (
                format!("struct acc {{ value: {ty}, room: u32 }}"),
                ["acc(", ", 0u)"],
                ".value",
            )
        };
        let [open, close] = acc;
        let finish = match self.finishes {
            Some(_) => format!("{own}finish(v{value})"),
            None => "v".to_owned(),
        };
        Ok(format!(
            "{text}
{declared}
fn start() -> acc {{ return {open}{identity}{close}; }}
fn identity() -> acc {{ return start(); }}
fn lift(x: elem) -> acc {{ return {open}{lift}{close}; }}
fn combine(x: acc, y: acc) -> acc {{ return {open}{own}combine(x{value}, y{value}){close}; }}
fn finish(v: acc) -> out_elem {{ return out_elem({finish}); }}
"
        ))
    }
}
