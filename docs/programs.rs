//! The programs in the documents, as documentation tests: they compile and run.

/// README.md at the root.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// docs/cookbook.md.
#[cfg(doctest)]
#[doc = include_str!("cookbook.md")]
struct Cookbook;

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
