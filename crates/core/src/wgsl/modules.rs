//! What naga refuses of a text or a module, all of it, with places: where naga tells the first mistake.
//!
//! For whoever reads WGSL with naga, when a program runs and when it is compiled: both tell the same mistakes at the same
//! places. Only an error costs anything here.

mod first_use;

use std::ops::Range;

use naga::front::wgsl::{ParseError, parse_str};
use naga::valid::ValidationError;
use naga::{Arena, Block, Expression, Function, Module, Span, Statement, WithSpan};

use super::mistakes::place_of;
use super::{function, measure};
use first_use::first_use;

/// What naga's parser refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Where, in bytes of the text; of errors that have no place it is looked for.
    pub bytes: Option<Range<usize>>,
    /// What it says, with its notes.
    pub words: String,
}

/// Where and why naga's parser refuses `text`.
///
/// ```
/// use ziggurat_core::wgsl::modules::refused;
///
/// let text = "fn f() -> f32 { return y; }";
/// let error = naga::front::wgsl::parse_str(text).unwrap_err();
/// assert_eq!(refused(text, &error).bytes, Some(23..24));
/// ```
#[must_use]
pub fn refused(text: &str, error: &ParseError) -> Refused {
    let labelled = |error: &ParseError| {
        let mut spans = error.labels().map(|(span, _)| span);
        spans.find(Span::is_defined)?.to_range()
    };
    let bytes = labelled(error).or_else(|| {
        let has = |left: &str| {
            let other = parse_str(left).err();
            other.is_some_and(|other| {
                labelled(&other).is_none() && other.message() == error.message()
            })
        };
        let is_small = measure(text).is_small();
        is_small.then(|| place_of(text, has)).flatten()
    });
    let mut words = error.message().to_owned();
    for note in error.notes() {
        words.push_str("; ");
        words.push_str(note);
    }
    Refused { bytes, words }
}

/// Where in the text a rule is broken: of the places within each other the shortest, which says most. naga keeps none of an entry
/// point's attributes, and none of types that are written where they are used; those are looked for.
#[must_use]
pub fn place_of_rule(
    text: &str,
    module: Option<&Module>,
    error: &WithSpan<ValidationError>,
) -> Option<Range<usize>> {
    if let Some(span) = best_span(error) {
        return span.to_range();
    }
    match error.as_inner() {
        ValidationError::EntryPoint { name, .. } => function(text, name),
        ValidationError::Type { handle, .. } => first_use(module?, *handle)?.to_range(),
        _ => None,
    }
}

/// The shortest of an error's places.
#[must_use]
pub fn best_span(error: &WithSpan<ValidationError>) -> Option<Span> {
    let spans = error.spans().map(|(span, _)| *span);
    let defined = spans.filter(Span::is_defined);
    defined.min_by_key(|span| span.to_range().map_or(usize::MAX, |range| range.len()))
}

/// Tells what breaks rules, function by function: of each that is told the body is replaced by one that breaks none, and `check`
/// asked again, until `told` gives `false`. `told` has the module as it is by then.
///
/// ```
/// use naga::valid::{Capabilities, ValidationFlags, Validator};
/// use ziggurat_core::wgsl::modules::{each_broken_rule, place_of_rule};
///
/// let text = "fn f() -> f32 { } fn g() -> u32 { return 1; } fn h() -> f32 { return 1u; }";
/// let module = naga::front::wgsl::parse_str(text).unwrap();
/// let check = |module: &naga::Module| {
///     let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
///     validator.validate(module).map(drop).map_err(Box::new)
/// };
/// let mut places = Vec::new();
/// each_broken_rule(module, check, |module, error| {
///     places.extend(place_of_rule(text, Some(module), error));
///     true
/// });
/// assert_eq!(places.len(), 2);
/// ```
pub fn each_broken_rule(
    mut module: Module,
    check: impl Fn(&Module) -> Result<(), Box<WithSpan<ValidationError>>>,
    mut told: impl FnMut(&Module, &WithSpan<ValidationError>) -> bool,
) {
    let (mut functions, mut points) = (Vec::new(), Vec::new());
    while let Err(error) = check(&module) {
        // What a body without mistakes does not mend is no mistake of the body.
        let function = match error.as_inner() {
            ValidationError::Function { handle, .. } if !functions.contains(handle) => {
                functions.push(*handle);
                Some(&mut module.functions[*handle])
            }
            ValidationError::EntryPoint { name, .. } if !points.contains(name) => {
                points.push(name.clone());
                let mut all = module.entry_points.iter_mut();
                let point = all.find(|point| point.name == *name);
                point.map(|point| &mut point.function)
            }
            ValidationError::Function { .. } | ValidationError::EntryPoint { .. } => return,
            _ => None,
        };
        let is_only = function.is_none();
        if let Some(function) = function {
            hollow(function);
        }
        if !told(&module, &error) || is_only {
            return;
        }
    }
}

/// Gives the functions of these names, of which parts were left out, bodies that break no rules.
pub fn hollow_named(module: &mut Module, names: &[String]) {
    for (_, function) in module.functions.iter_mut() {
        let name = function.name.as_ref();
        if name.is_some_and(|name| names.contains(name)) {
            hollow(function);
        }
    }
    for point in &mut module.entry_points {
        if names.contains(&point.name) {
            hollow(&mut point.function);
        }
    }
}

/// Gives a function a body that only returns a zero of its type.
fn hollow(function: &mut Function) {
    function.expressions = Arena::new();
    function.local_variables = Arena::new();
    function.named_expressions.clear();
    let value = function.result.as_ref().map(|result| {
        let zero = Expression::ZeroValue(result.ty);
        function.expressions.append(zero, Span::UNDEFINED)
    });
    let mut body = Block::new();
    body.push(Statement::Return { value }, Span::UNDEFINED);
    function.body = body;
}
