//! Where in a program an operation was called.

#[cfg(not(target_arch = "wasm32"))]
use std::backtrace::Backtrace;

/// The functions that were being called; nothing in a browser.
#[derive(Debug)]
pub(super) struct Place {
    #[cfg(not(target_arch = "wasm32"))]
    calls: Backtrace,
}

/// Crates whose functions are not the program's.
#[cfg(not(target_arch = "wasm32"))]
const OWN: [&str; 9] = [
    "ziggurat_tensor",
    "ziggurat_kernels",
    "ziggurat_pipeline",
    "ziggurat_memory",
    "ziggurat_device",
    "ziggurat_core",
    "std",
    "core",
    "alloc",
];

impl Place {
    pub(super) fn here() -> Self {
        Self {
            #[cfg(not(target_arch = "wasm32"))]
            calls: Backtrace::force_capture(),
        }
    }

    /// The innermost function of the program, with its file and line if the program has debug information.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn caller(&self) -> Option<String> {
        caller(&self.calls.to_string())
    }

    #[cfg(target_arch = "wasm32")]
    pub(super) fn caller(&self) -> Option<String> {
        None
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn caller(text: &str) -> Option<String> {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((number, function)) = line.trim_start().split_once(": ") else {
            continue;
        };
        if number.parse::<usize>().is_err() || is_own(function) {
            continue;
        }
        let file = lines
            .peek()
            .and_then(|line| line.trim_start().strip_prefix("at "));
        return Some(match file {
            Some(file) => format!("{function} ({file})"),
            None => function.to_owned(),
        });
    }
    None
}

/// Whether a function is of these layers or of the standard library.
#[cfg(not(target_arch = "wasm32"))]
fn is_own(function: &str) -> bool {
    let path = function.trim_start_matches(['<', '&', '[', '(', '*']);
    let path = path.strip_prefix("dyn ").unwrap_or(path);
    // What a function is generic over says nothing about where it is.
    let path = path.split('<').next().unwrap_or(path);
    let first = path.split([':', '[', ' ', '<']).next().unwrap_or(path);
    // Without debug information, what was inlined has no path.
    !path.contains("::")
        || path.starts_with("fn(")
        || first.is_empty()
        || first.starts_with("__")
        || OWN.contains(&first)
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn the_caller_is_the_first_function_that_is_not_of_these_layers() {
        let text = "   0: std::backtrace::Backtrace::force_capture\n             at /rustc/std/backtrace.rs:1:2\n   \
                    1: <ziggurat_tensor::tensor::Tensor>::exp\n   2: ziggurat_tensor::ops::softmax\n   \
                    3: model::layer::forward\n             at ./src/layer.rs:7:9\n   4: model::main\n";
        assert_eq!(
            caller(text).as_deref(),
            Some("model::layer::forward (./src/layer.rs:7:9)")
        );
        let bare = "   0: here\n             at ./src/place.rs:1:2\n   1: <fn() -> a::b<c> as core::ops::function::FnOnce<()>>::call_once\n   2: model::main\n";
        assert_eq!(caller(bare).as_deref(), Some("model::main"));
        assert_eq!(caller("   0: std::main\n"), None);
    }
}
