//! Dependency edges between workspace members, as Cargo sees them.
//!
//! Normal, build and development dependencies all count: an upward development dependency would make
//! the lower crate's tests need the upper crate. The software device stands next to the tower, on core and
//! under device, and is the one exception: its tests run the whole tower on it.

use serde_json::Value;

use crate::problem::Problem;
use xtask::workspace::LAYERS;

const RULE: &str = "layer-edge";

/// Packages that stand on the layers, and that no layer depends on.
const OUTSIDE: [&str; 8] = [
    "xtask",
    "xtask-checks",
    "ziggurat-check",
    "digits",
    "ziggurat-docs",
    "ziggurat-web",
    "ziggurat-web-chat",
    "ziggurat-web-demo",
];

/// Below every layer, which core does not need: text.
const BELOW: [&str; 1] = ["ziggurat-shaders"];

/// Stand between core and device without being layers: the software device, and macros that run in the compiler.
const BESIDE: [&str; 2] = ["ziggurat-software", "ziggurat-macros"];

/// Refuses every edge that does not go down the tower.
pub(super) fn check(metadata: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in array(metadata, "packages") {
        let name = text(package, "name");
        let manifest = manifest(metadata, package);
        let from = layer(name);
        if from.is_none() && !OUTSIDE.contains(&name) {
            problems.push(Problem::new(
                manifest,
                0,
                RULE,
                format!(
                    "{name} is neither a layer ({}) nor one of {}",
                    LAYERS.join(" < "),
                    OUTSIDE.join(", ")
                ),
            ));
            continue;
        }
        for dependency in array(package, "dependencies") {
            let other = text(dependency, "name");
            let to = layer(other);
            let refused = match (from, to) {
                _ if OUTSIDE.contains(&other) && !OUTSIDE.contains(&name) => true,
                // A crate's tests may want a feature of its own.
                _ if name == other && text(dependency, "kind") == "dev" => false,
                (Some(_), Some(_))
                    if BESIDE.contains(&name) && text(dependency, "kind") == "dev" =>
                {
                    false
                }
                (Some(from), Some(to)) => to >= from,
                _ => false,
            };
            if refused {
                problems.push(Problem::new(
                    manifest.clone(),
                    0,
                    RULE,
                    format!(
                        "{name} depends on {other}, which is not below it ({})",
                        LAYERS.join(" < ")
                    ),
                ));
            }
        }
    }
    problems
}

/// A package's height: layers have even ones, and what stands next to the tower is just above core.
fn layer(package: &str) -> Option<usize> {
    if BESIDE.contains(&package) {
        return Some(1);
    }
    if BELOW.contains(&package) {
        return Some(0);
    }
    let name = package.strip_prefix("ziggurat-")?;
    let layer = LAYERS.iter().position(|layer| *layer == name)?;
    Some(2 * layer)
}

fn manifest(metadata: &Value, package: &Value) -> String {
    let path = text(package, "manifest_path").replace('\\', "/");
    let root = text(metadata, "workspace_root").replace('\\', "/");
    path.strip_prefix(&root).map_or(path.clone(), |short| {
        short.trim_start_matches('/').to_owned()
    })
}

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workspace(edges: &[(&str, &[&str], Option<&str>)]) -> Value {
        let packages: Vec<Value> = edges
            .iter()
            .map(|(name, needs, kind)| {
                let needs: Vec<Value> = needs.iter().map(|n| json!({ "name": n, "kind": kind })).collect();
                json!({ "name": name, "manifest_path": format!("/w/{name}/Cargo.toml"), "dependencies": needs })
            })
            .collect();
        json!({ "workspace_root": "/w", "packages": packages })
    }

    #[test]
    fn edges_down_the_tower_are_accepted() {
        let metadata = workspace(&[
            ("ziggurat-core", &["thiserror"], None),
            ("ziggurat-device", &["ziggurat-core", "wgpu"], None),
            (
                "ziggurat-tensor",
                &["ziggurat-kernels", "ziggurat-core"],
                None,
            ),
            ("xtask", &["ziggurat-tensor"], None),
        ]);
        assert_eq!(check(&metadata), []);
    }

    #[test]
    fn a_planted_upward_dependency_is_refused() {
        let problems = check(&workspace(&[(
            "ziggurat-memory",
            &["ziggurat-kernels"],
            None,
        )]));
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].file, "ziggurat-memory/Cargo.toml");
        assert!(
            problems[0]
                .message
                .contains("ziggurat-memory depends on ziggurat-kernels")
        );
    }

    #[test]
    fn the_tests_of_a_crate_may_ask_for_its_own_features() {
        let own = |kind| workspace(&[("ziggurat-kernels", &["ziggurat-kernels"], kind)]);
        assert_eq!(check(&own(Some("dev"))), []);
        assert_eq!(check(&own(None)).len(), 1);
    }

    #[test]
    fn an_upward_development_dependency_is_refused_too() {
        assert_eq!(
            check(&workspace(&[(
                "ziggurat-core",
                &["ziggurat-device"],
                Some("dev")
            )]))
            .len(),
            1
        );
    }

    #[test]
    fn the_software_device_stands_on_core_and_under_device() {
        let accepted = [
            workspace(&[(BESIDE[0], &["ziggurat-core", "wgpu"], None)]),
            workspace(&[(BESIDE[0], &["ziggurat-tensor"], Some("dev"))]),
            workspace(&[("ziggurat-device", &[BESIDE[0]], None)]),
        ];
        for metadata in accepted {
            assert_eq!(check(&metadata), []);
        }
        let refused = [
            workspace(&[(BESIDE[0], &["ziggurat-device"], None)]),
            workspace(&[(BESIDE[0], &["ziggurat-kernels"], Some("build"))]),
            workspace(&[("ziggurat-core", &[BESIDE[0]], None)]),
            workspace(&[(BESIDE[0], &["xtask"], Some("dev"))]),
        ];
        for metadata in refused {
            assert_eq!(check(&metadata).len(), 1);
        }
    }

    #[test]
    fn nothing_depends_on_xtask() {
        assert_eq!(
            check(&workspace(&[("ziggurat-tensor", &["xtask"], None)])).len(),
            1
        );
    }

    #[test]
    fn a_crate_without_a_place_in_the_tower_is_refused() {
        assert_eq!(
            check(&workspace(&[("ziggurat-extras", &[], None)])).len(),
            1
        );
    }
}
