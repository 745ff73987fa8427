//! The programs in the documents, as documentation tests: they compile and run. Those of docs/cookbook.md are tests of this
//! package, so that they run on any adapter.

/// README.md at the root.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// docs/debugging.md.
#[cfg(doctest)]
#[doc = include_str!("debugging.md")]
struct Debugging;

/// docs/models.md.
#[cfg(doctest)]
#[doc = include_str!("models.md")]
struct Models;

/// docs/tutorial.md.
#[cfg(doctest)]
#[doc = include_str!("tutorial.md")]
struct Tutorial;

/// docs/web.md.
#[cfg(doctest)]
#[doc = include_str!("web.md")]
struct Web;
