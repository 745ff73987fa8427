//! Error scopes and the handler of uncaptured errors, with wgpu's rules.
//!
//! Scopes belong to the thread that pushed them, and an error goes to the innermost scope *of the
//! thread that caused it* whose filter fits. Without one it goes to the handler; without a handler
//! it panics, as wgpu does everywhere else: a test that forgets its errors fails here too.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::thread::ThreadId;

use parking_lot::Mutex;
use ziggurat_core::text::shortened;

/// wgpu's three kinds of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Validation,
    OutOfMemory,
    Internal,
}

/// Where an error happened: the outer link of every error's chain.
#[derive(Debug, thiserror::Error)]
#[error("In {call}{}", shown(.label))]
struct Context {
    call: &'static str,
    label: String,
    source: Link,
}

/// A link of an error's chain, with a text of limited length: names and lines of shaders have any.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Link {
    text: String,
    source: Option<Box<Self>>,
}

/// Bytes of a link's text, and of a whole description: layers above put it into a text of at most 1 KiB.
const LINK_BYTES: usize = 640;
const DESCRIPTION_BYTES: usize = 900;

impl Link {
    fn new(error: &dyn Error) -> Self {
        Self {
            text: shortened(&error.to_string(), LINK_BYTES).into_owned(),
            source: error.source().map(|source| Box::new(Self::new(source))),
        }
    }
}

fn shown(label: &str) -> String {
    if label.is_empty() {
        String::new()
    } else {
        format!(", label = '{}'", shortened(label, 128))
    }
}

struct Scope {
    filter: wgpu::ErrorFilter,
    error: Option<wgpu::Error>,
}

type Handler = Arc<dyn wgpu::UncapturedErrorHandler>;

/// The error scopes of every thread, and the handler.
#[derive(Default)]
pub(super) struct Errors {
    scopes: Mutex<HashMap<ThreadId, Vec<Scope>>>,
    handler: Mutex<Option<Handler>>,
}

impl Errors {
    pub(super) fn handle_with(&self, handler: Handler) {
        *self.handler.lock() = Some(handler);
    }

    /// Opens a scope on this thread and returns its depth.
    pub(super) fn push(&self, filter: wgpu::ErrorFilter) -> u32 {
        let mut scopes = self.scopes.lock();
        let own = scopes.entry(std::thread::current().id()).or_default();
        let depth = u32::try_from(own.len()).unwrap_or(u32::MAX);
        own.push(Scope {
            filter,
            error: None,
        });
        depth
    }

    /// Closes the scope at `depth`, which must be the innermost one of this thread.
    ///
    /// # Panics
    ///
    /// Scopes closed out of order, or on another thread, are a bug of the caller for which wgpu
    /// has no error; it panics, and so does this, but not while the thread unwinds already.
    pub(super) fn pop(&self, depth: u32) -> Option<wgpu::Error> {
        let thread = std::thread::current().id();
        let mut scopes = self.scopes.lock();
        let own = scopes.entry(thread).or_default();
        let in_order = usize::try_from(depth).is_ok_and(|depth| depth + 1 == own.len());
        let scope = own.pop();
        if own.is_empty() {
            scopes.remove(&thread);
        }
        drop(scopes);
        assert!(
            in_order || std::thread::panicking(),
            "error scopes are thread-local and must be popped in reverse order"
        );
        scope.and_then(|scope| scope.error)
    }

    /// Delivers an error to the scope it belongs to, else to the handler.
    pub(super) fn report(
        &self,
        kind: Kind,
        call: &'static str,
        label: &str,
        source: Box<dyn Error + Send + Sync>,
    ) {
        let context = Context {
            call,
            label: label.to_owned(),
            source: Link::new(&*source),
        };
        let description = shortened(&describe(kind, &context), DESCRIPTION_BYTES).into_owned();
        let source = Box::new(context);
        let (filter, error) = match kind {
            Kind::Validation => (
                wgpu::ErrorFilter::Validation,
                wgpu::Error::Validation {
                    source,
                    description,
                },
            ),
            Kind::OutOfMemory => (
                wgpu::ErrorFilter::OutOfMemory,
                wgpu::Error::OutOfMemory { source },
            ),
            Kind::Internal => (
                wgpu::ErrorFilter::Internal,
                wgpu::Error::Internal {
                    source,
                    description,
                },
            ),
        };
        if let Some(error) = self.capture(filter, error) {
            let handler = self.handler.lock().clone();
            match handler {
                Some(handler) => handler(error),
                None => uncaptured(&error),
            }
        }
    }

    /// Keeps the error if a scope wants it; a scope keeps its first one.
    fn capture(&self, filter: wgpu::ErrorFilter, error: wgpu::Error) -> Option<wgpu::Error> {
        let mut scopes = self.scopes.lock();
        let own = scopes.get_mut(&std::thread::current().id());
        let fitting = own.and_then(|own| own.iter_mut().rev().find(|scope| scope.filter == filter));
        let Some(scope) = fitting else {
            return Some(error);
        };
        scope.error.get_or_insert(error);
        None
    }
}

fn uncaptured(error: &wgpu::Error) {
    panic!("wgpu error: {error}\n");
}

/// The chain of causes in the shape that wgpu prints.
fn describe(kind: Kind, context: &Context) -> String {
    let mut text = match kind {
        Kind::Validation => "Validation Error",
        Kind::OutOfMemory => "Out of Memory",
        Kind::Internal => "Internal Error",
    }
    .to_owned();
    text.push_str("\n\nCaused by:\n");
    let mut cause: Option<&dyn Error> = Some(context);
    let mut indent = 2;
    while let Some(error) = cause {
        for line in error.to_string().lines() {
            text.push_str(&format!("{:indent$}{line}\n", ""));
        }
        indent += 2;
        cause = error.source();
    }
    text
}
