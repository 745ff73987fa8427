//! `cargo xtask check`: the four checks of the workspace itself, one after the other.

use crate::{docs, layers, tidy, wgsl};
use xtask::failure::{Failure, Outcome};
use xtask::workspace;

/// A check: the note says what it looked at.
type Check = fn() -> Outcome<String>;

/// Runs `wgsl`, `layers`, `tidy` and `docs --check`, all of them even if one fails.
pub(crate) fn all() -> Outcome<String> {
    let checks: [(&str, Check); 4] = [
        ("wgsl", wgsl),
        ("layers", layers),
        ("tidy", tidy),
        ("docs", || docs::run(true)),
    ];
    let mut failed = Vec::new();
    for (name, check) in checks {
        match check() {
            Ok(scope) => println!("{name}: ok, {scope}"),
            Err(failure) => {
                println!("{failure}");
                failed.push(name);
            }
        }
    }
    if failed.is_empty() {
        Ok("wgsl, layers, tidy, docs".into())
    } else {
        Err(Failure::new(format!("{} failed", failed.join(", "))))
    }
}

/// `cargo xtask wgsl`.
pub(crate) fn wgsl() -> Outcome<String> {
    wgsl::check(&workspace::root())?.conclude("wgsl")
}

/// `cargo xtask layers`.
pub(crate) fn layers() -> Outcome<String> {
    layers::check(&workspace::root())?.conclude("layers")
}

/// `cargo xtask tidy`.
pub(crate) fn tidy() -> Outcome<String> {
    tidy::check(&workspace::root())?.conclude("tidy")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(outcome: Outcome<String>) {
        let message = outcome.err().map(|failure| failure.to_string());
        assert_eq!(message, None, "see the problems printed above");
    }

    #[test]
    fn shaders_are_valid_on_every_backend_and_follow_the_rules() {
        passes(wgsl());
    }

    #[test]
    fn layers_rest_only_on_what_is_below_them() {
        passes(layers());
    }

    #[test]
    fn files_are_tidy() {
        passes(tidy());
    }

    #[test]
    fn generated_documents_are_up_to_date() {
        passes(docs::run(true));
    }
}
