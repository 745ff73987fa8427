//! Every invocation of a workgroup reaches every barrier.
//!
//! Browsers refuse a barrier in control flow that may differ between invocations; naga lets it through
//! and a GPU may hang or compute nonsense. `ziggurat-check` has the analysis.

use ziggurat_check::divergent_barriers;

use crate::problem::Problem;
use crate::wgsl::variant::{Parsed, Variant};

/// Barriers of a kernel that some invocations may not reach.
pub(crate) fn check(variant: &Variant, parsed: &Parsed) -> Vec<Problem> {
    if !parsed.text.contains("Barrier(") && !parsed.text.contains("workgroupUniformLoad") {
        return Vec::new();
    }
    let Some(main) = parsed.main() else {
        return Vec::new();
    };
    let found = divergent_barriers(&parsed.module, main).into_iter();
    found
        .map(|span| {
            let message = "not every invocation of the workgroup reaches this barrier".to_owned();
            variant.problem(&parsed.text, span, "uniformity", message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wgsl::variant::{parse, planted};

    /// Lines of refused barriers, counted from the body's first line.
    fn lines(body: &str) -> Vec<u32> {
        let text = format!(
            "struct Params {{ len: u32 }}\n\
             @group(0) @binding(0) var<uniform> params: Params;\n\
             @group(0) @binding(1) var<storage, read> a: array<u32>;\n\
             @group(0) @binding(2) var<storage, read_write> out: array<u32>;\n\
             override WG: u32 = 64u;\n\
             var<workgroup> tile_a: array<u32, 64>;\n\
             fn halve(x: u32) -> u32 {{ return x / 2u; }}\n\
             fn sync() {{ workgroupBarrier(); }}\n\
             @compute @workgroup_size(WG)\n\
             fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wid: vec3<u32>) {{\n\
             {body}\n\
             }}"
        );
        let variant = planted(&text);
        let parsed = parse(&variant).unwrap();
        check(&variant, &parsed)
            .into_iter()
            .map(|problem| problem.line)
            .collect()
    }

    #[test]
    fn a_loop_over_uniform_values_is_accepted() {
        assert_eq!(
            lines(
                "for (var s = WG / 2u; s > 0u; s /= 2u) { if lid < s { tile_a[lid] += 1u; } workgroupBarrier(); }"
            ),
            Vec::<u32>::new()
        );
        assert_eq!(
            lines("for (var t = 0u; t < params.len; t = t + a[wid.x]) { workgroupBarrier(); }"),
            Vec::<u32>::new()
        );
        assert_eq!(
            lines("let n = halve(params.len); if n > 3u { sync(); }"),
            Vec::<u32>::new()
        );
        assert_eq!(
            lines("var t = 0u; loop { if t >= halve(wid.x) { break; } sync(); t += 1u; }"),
            Vec::<u32>::new()
        );
    }

    #[test]
    fn a_barrier_under_an_invocations_own_condition_is_rejected() {
        assert_eq!(lines("if lid < 3u {\nworkgroupBarrier(); }"), [12]);
        assert_eq!(lines("if tile_a[0] == 1u {\nstorageBarrier(); }"), [12]);
        assert_eq!(lines("if a[lid] == 1u {\nworkgroupBarrier(); }"), [12]);
    }

    #[test]
    fn a_barrier_in_a_loop_that_some_leave_early_is_rejected() {
        assert_eq!(
            lines("for (var i = lid; i < 9u; i++) {\nworkgroupBarrier(); }"),
            [12]
        );
        assert_eq!(
            lines("for (var i = 0u; i < 9u; i++) {\nworkgroupBarrier();\nif lid == i { break; } }"),
            [12]
        );
    }

    #[test]
    fn a_barrier_after_an_early_return_is_rejected() {
        assert_eq!(lines("if lid > 3u { return; }\nworkgroupBarrier();"), [12]);
        assert_eq!(
            lines("if wid.x > 3u { return; }\nworkgroupBarrier();"),
            Vec::<u32>::new()
        );
    }

    #[test]
    fn a_variable_set_under_a_divergent_condition_is_divergent() {
        assert_eq!(
            lines("var n = 1u;\nif lid == 0u { n = 2u; }\nif n == 2u {\nworkgroupBarrier(); }"),
            [14]
        );
    }

    #[test]
    fn a_barrier_inside_a_called_function_is_rejected_where_it_stands() {
        assert_eq!(lines("if lid == 0u { sync(); }"), [8]);
    }

    #[test]
    fn a_uniform_load_makes_a_value_uniform() {
        assert_eq!(
            lines("let n = workgroupUniformLoad(&tile_a)[0];\nif n == 2u { workgroupBarrier(); }"),
            Vec::<u32>::new()
        );
    }
}
