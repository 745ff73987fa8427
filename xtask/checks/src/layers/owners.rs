//! Which layer may call which part of wgpu.
//!
//! A scan of the sources rather than Clippy's `disallowed-methods`: the table below is the whole rule,
//! and it needs no exception in the owning modules. Test code may do as it likes.

use crate::problem::Problem;
use crate::rust_text;
use xtask::workspace::{LAYERS, TextFile};

/// Stands next to the tower: it answers the calls that layers own, and reads no environment either.
const BESIDE: &str = "software";

const RULE: &str = "wgpu-owner";

/// (call, layers that may make it).
const OWNERS: [(&str, &[&str]); 20] = [
    ("request_adapter", DEVICE),
    ("request_device", DEVICE),
    ("enumerate_adapters", DEVICE),
    ("create_command_encoder", DEVICE),
    ("begin_compute_pass", DEVICE),
    ("submit", DEVICE),
    ("PollType", DEVICE),
    ("create_query_set", DEVICE),
    ("create_buffer", MEMORY),
    ("create_buffer_init", MEMORY),
    ("create_texture", MEMORY),
    ("create_sampler", MEMORY),
    ("write_buffer", MEMORY),
    ("write_buffer_with", MEMORY),
    ("map_async", MEMORY),
    ("create_shader_module", PIPELINE),
    ("create_shader_module_trusted", PIPELINE),
    ("create_compute_pipeline", PIPELINE),
    ("create_bind_group", PIPELINE),
    ("create_pipeline_cache", PIPELINE_CACHE),
];
const DEVICE: &[&str] = &["device"];
const MEMORY: &[&str] = &["device", "memory"];
const PIPELINE: &[&str] = &["pipeline"];
const PIPELINE_CACHE: &[&str] = &["device", "pipeline"];

/// The one file that reads environment variables.
const ENVIRONMENT: &str = "crates/device/src/env.rs";

/// Refuses calls made outside the layer that owns them.
pub(super) fn check(sources: &[TextFile]) -> Vec<Problem> {
    let owned = sources
        .iter()
        .filter_map(|file| Some((layer_of(&file.path)?, file)));
    owned
        .flat_map(|(layer, file)| {
            let calls = if layer == BESIDE {
                Vec::new()
            } else {
                check_file((layer, file))
            };
            calls.into_iter().chain(environment(file))
        })
        .collect()
}

/// Refuses reads of environment variables anywhere but in their one file.
fn environment(file: &TextFile) -> Vec<Problem> {
    if file.path == ENVIRONMENT {
        return Vec::new();
    }
    let code = rust_text::code_only(&file.text);
    let tests = rust_text::test_lines(&code);
    let lines = (1_u32..).zip(code.lines().zip(tests));
    lines
        .filter(|(_, (line, in_test))| {
            !in_test && (line.contains("env::var(") || line.contains("env::var_os("))
        })
        .map(|(number, _)| {
            Problem::new(
                &file.path,
                number,
                "environment",
                format!("environment variables are read in {ENVIRONMENT} only"),
            )
        })
        .collect()
}

fn check_file((layer, file): (&str, &TextFile)) -> Vec<Problem> {
    let code = rust_text::code_only(&file.text);
    let tests = rust_text::test_lines(&code);
    let mut problems = Vec::new();
    for (call, owners) in OWNERS {
        if owners.contains(&layer) {
            continue;
        }
        for line in rust_text::lines_with_word(&code, call) {
            let index = line as usize - 1;
            let in_test = tests.get(index).copied().unwrap_or(false);
            let text = code.lines().nth(index).unwrap_or_default();
            let called = call == "PollType" || is_call(text, call);
            if called && !in_test {
                problems.push(Problem::new(
                    &file.path,
                    line,
                    RULE,
                    format!(
                        "`{call}` belongs to {}, and this is {layer}",
                        owners.join(" and ")
                    ),
                ));
            }
        }
    }
    problems
}

/// True if `line` calls `name` as a method or path, rather than declaring or mentioning it.
fn is_call(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default().trim_end();
        let after = line.get(at + name.len()..).unwrap_or_default();
        (before.ends_with('.') || before.ends_with("::"))
            && !after.starts_with(char::is_alphanumeric)
            && !after.starts_with('_')
    })
}

/// The layer a source file belongs to; tests and examples belong to none.
fn layer_of(path: &str) -> Option<&str> {
    if rust_text::is_test_file(path) {
        return None;
    }
    let mut parts = path.strip_prefix("crates/")?.split('/');
    let layer = parts.next()?;
    (parts.next() == Some("src") && (LAYERS.contains(&layer) || layer == BESIDE)).then_some(layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_call_outside_its_layer_is_refused() {
        let file = TextFile::new(
            "crates/kernels/src/plan.rs",
            "fn f(d: &D) {\n    d.create_bind_group(x);\n}",
        );
        let problems = check(&[file]);
        assert_eq!(problems.len(), 1);
        assert_eq!(
            (problems[0].file.as_str(), problems[0].line),
            ("crates/kernels/src/plan.rs", 2)
        );
    }

    #[test]
    fn the_owner_may_call() {
        let code = "fn f(d: &D) {\n    d.create_bind_group(x);\n}";
        assert_eq!(
            check(&[TextFile::new("crates/pipeline/src/bind.rs", code)]),
            []
        );
    }

    #[test]
    fn comments_declarations_tests_and_longer_names_are_not_calls() {
        let code = "// q.submit()\nfn submit(&self) {}\nself.submit_after(3);\n#[cfg(test)]\nmod tests {\n    fn f() { q.submit(); }\n}";
        assert_eq!(check(&[TextFile::new("crates/tensor/src/a.rs", code)]), []);
        assert_eq!(
            check(&[TextFile::new("crates/tensor/tests/a.rs", "q.submit();")]),
            []
        );
    }

    #[test]
    fn the_environment_is_read_in_one_file() {
        let code = "fn f() {\n    std::env::var(\"HOME\");\n}";
        assert_eq!(
            check(&[TextFile::new("crates/device/src/open.rs", code)]).len(),
            1
        );
        assert_eq!(check(&[TextFile::new(ENVIRONMENT, code)]), []);
    }

    #[test]
    fn memory_may_create_buffers_but_not_submit() {
        let code = "d.create_buffer(x);\nq.submit(y);";
        let problems = check(&[TextFile::new("crates/memory/src/pool.rs", code)]);
        assert_eq!(
            problems
                .iter()
                .map(|problem| problem.line)
                .collect::<Vec<_>>(),
            [2]
        );
    }
}
