//! How many crates a user of the tensor crate compiles.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::problem::Problem;
use xtask::failure::{Failure, Outcome};

/// Crates in the tensor crate's normal dependency tree on this platform, itself included.
pub(super) const LIMIT: usize = 85;

const TOP: &str = "ziggurat-tensor";

/// Features of the tensor crate that are off by default, each with the crate that it brings. The tests of the workspace switch
/// them on, and with them what `cargo metadata` says of the workspace.
const OPTIONAL: [(&str, &str); 1] = [("watch", "notify")];

/// Refuses a tree over the limit.
pub(super) fn check(crates: usize) -> Option<Problem> {
    (crates > LIMIT).then(|| {
        Problem::new(
            "Cargo.lock",
            0,
            "crate-budget",
            format!("{TOP} needs {crates} crates, the budget is {LIMIT}: see `cargo tree -p {TOP} -e normal`"),
        )
    })
}

/// The number of packages reached from the tensor crate through normal dependencies.
pub(super) fn count(metadata: &Value) -> Outcome<usize> {
    let nodes = metadata.pointer("/resolve/nodes").and_then(Value::as_array);
    let nodes = nodes.ok_or_else(|| Failure::new("cargo metadata has no dependency graph"))?;
    let default = default_features(metadata);
    let is_optional = |dep: &Value| {
        let mut all = OPTIONAL.iter();
        all.any(|(feature, name)| *name == text(dep, "name") && !default.contains(feature))
    };
    let mut edges: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in nodes {
        let id = text(node, "id");
        let deps = node
            .get("deps")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        edges.insert(
            id,
            deps.filter(|dep| is_normal(dep) && !is_optional(dep))
                .map(|dep| text(dep, "pkg"))
                .collect(),
        );
    }
    let packages = metadata
        .get("packages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let top = packages
        .filter(|package| text(package, "name") == TOP)
        .map(|package| text(package, "id"));
    let mut waiting: Vec<&str> = top.collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if seen.insert(id) {
            waiting.extend(edges.get(id).into_iter().flatten());
        }
    }
    if seen.is_empty() {
        return Err(Failure::new(format!("cargo metadata does not know {TOP}")));
    }
    Ok(seen.len())
}

/// The features that the tensor crate has by default.
fn default_features(metadata: &Value) -> Vec<&str> {
    let packages = metadata.get("packages").and_then(Value::as_array);
    let mut packages = packages.into_iter().flatten();
    let top = packages.find(|package| text(package, "name") == TOP);
    let default = top.and_then(|top| top.pointer("/features/default")?.as_array());
    let default = default.into_iter().flatten();
    default.filter_map(Value::as_str).collect()
}

fn is_normal(dependency: &Value) -> bool {
    let kinds = dependency.get("dep_kinds").and_then(Value::as_array);
    kinds.is_none_or(|kinds| {
        kinds
            .iter()
            .any(|kind| kind.get("kind").is_none_or(Value::is_null))
    })
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_normal_dependencies_count() {
        let metadata = json!({
            "packages": [{ "name": TOP, "id": "t" }, { "name": "a", "id": "a" }],
            "resolve": { "nodes": [
                { "id": "t", "deps": [
                    { "pkg": "a", "dep_kinds": [{ "kind": null }] },
                    { "pkg": "d", "dep_kinds": [{ "kind": "dev" }] },
                ] },
                { "id": "a", "deps": [{ "pkg": "b", "dep_kinds": [{ "kind": null }, { "kind": "build" }] }] },
                { "id": "b", "deps": [] },
                { "id": "d", "deps": [] },
            ] },
        });
        assert!(count(&metadata).is_ok_and(|crates| crates == 3));
    }

    #[test]
    fn what_a_feature_brings_counts_only_if_it_is_on_by_default() {
        let with = |default: &[&str]| {
            json!({
                "packages": [{ "name": TOP, "id": "t", "features": { "default": default } }],
                "resolve": { "nodes": [
                    { "id": "t", "deps": [
                        { "name": "notify", "pkg": "n", "dep_kinds": [{ "kind": null }] },
                        { "name": "half", "pkg": "h", "dep_kinds": [{ "kind": null }] },
                    ] },
                    { "id": "n", "deps": [{ "name": "walkdir", "pkg": "w", "dep_kinds": [{ "kind": null }] }] },
                    { "id": "h", "deps": [] },
                    { "id": "w", "deps": [] },
                ] },
            })
        };
        assert!(count(&with(&["software"])).is_ok_and(|crates| crates == 2));
        assert!(count(&with(&["watch"])).is_ok_and(|crates| crates == 4));
    }

    #[test]
    fn a_tree_over_the_budget_is_refused() {
        assert!(check(LIMIT).is_none());
        assert!(check(LIMIT + 1).is_some());
    }

    #[test]
    fn a_missing_top_is_an_error_and_not_an_empty_tree() {
        assert!(count(&json!({ "packages": [], "resolve": { "nodes": [] } })).is_err());
    }
}
