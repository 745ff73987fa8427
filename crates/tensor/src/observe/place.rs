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
    let file_of = |line: &&str| -> Option<String> {
        let file = line.trim_start().strip_prefix("at ")?;
        Some(file.to_owned())
    };
    // With line tables a frame has a file, and what was inlined has a name without a path.
    let mut files = text.lines().filter_map(|line| file_of(&line));
    let root = files.find_map(|file| Some(file.split_once("observe/place.rs")?.0.to_owned()));
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((number, function)) = line.trim_start().split_once(": ") else {
            continue;
        };
        let file = lines.peek().and_then(file_of);
        let is_own = match &file {
            Some(file) => {
                let of_layer = |root: &String| file.starts_with(root.as_str());
                file.starts_with("/rustc/") || root.as_ref().is_some_and(of_layer)
            }
            None => !function.contains("::"),
        };
        if number.parse::<usize>().is_err() || is_own || is_own_function(function) {
            continue;
        }
        return Some(match file {
            Some(file) => format!("{function} ({file})"),
            None => function.to_owned(),
        });
    }
    None
}

/// Whether a function is of these layers or of the standard library.
#[cfg(not(target_arch = "wasm32"))]
fn is_own_function(function: &str) -> bool {
    let path = function.trim_start_matches(['<', '&', '[', '(', '*']);
    let path = path.strip_prefix("dyn ").unwrap_or(path);
    // What a function is generic over says nothing about where it is.
    let path = path.split('<').next().unwrap_or(path);
    let first = path.split([':', '[', ' ']).next().unwrap_or(path);
    path.is_empty()
        || path.starts_with("fn(")
        || first.starts_with("__")
        || (path.contains("::") && OWN.contains(&first))
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn the_caller_is_the_first_function_that_is_not_of_these_layers() {
        let text = "   0: std::backtrace::Backtrace::force_capture\n             at /rustc/1/std/backtrace.rs:1:2\n   \
                    1: here\n             at ./zig/src/observe/place.rs:3:4\n   \
                    2: exp\n             at ./zig/src/ops/elementwise.rs:5:6\n   \
                    3: forward\n             at ./src/layer.rs:7:9\n   4: model::main\n";
        assert_eq!(
            caller(text).as_deref(),
            Some("forward (./src/layer.rs:7:9)")
        );
    }

    #[test]
    fn without_line_tables_names_decide() {
        let bare = "   0: <ziggurat_tensor::observe::place::Place>::here\n   1: inlined\n   \
                    2: <fn() -> a::b<c> as core::ops::function::FnOnce<()>>::call_once\n   \
                    3: core::ops::FnOnce::call_once\n   4: model::main\n";
        assert_eq!(caller(bare).as_deref(), Some("model::main"));
        assert_eq!(caller("   0: std::main\n"), None);
    }
}
