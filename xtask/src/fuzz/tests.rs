//! Arguments of the fuzzer, and what it starts.

use super::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn options_are_read_and_wrong_ones_refused() {
    let choice = Choice::parse(&words("--long --only files,memory --seed 7 --cases 3"));
    assert!(choice.is_ok_and(|choice| choice.long
        && choice.only == ["files", "memory"]
        && (choice.seed, choice.cases) == (7, Some(3))));
    for line in ["--only nothing", "--seed", "--seed x", "--fast"] {
        assert!(Choice::parse(&words(line)).is_err(), "{line}");
    }
}

#[test]
fn the_long_form_has_the_stated_numbers() {
    let of = |names: &[&str]| -> u64 {
        let chosen = TARGETS.iter().filter(|target| names.contains(&target.name));
        chosen.map(|target| target.long).sum()
    };
    assert_eq!(
        of(&[
            "executor",
            "accepted",
            "limits",
            "tensor",
            "tensor-limits",
            "device",
            "pipeline",
            "memory"
        ]),
        1_000_000
    );
    assert_eq!(
        (of(&["files", "cache"]), of(&["shaders"])),
        (100_000, 100_000)
    );
}

#[test]
fn programs_are_found_in_what_cargo_says() {
    let line = r#"{"reason":"compiler-artifact","target":{"name":"all","src_path":"/a/crates/b/tests/all/main.rs"},"executable":"/a/target/all-1"}"#;
    let found = artifact(line);
    assert_eq!(
        found,
        Some((
            "/a/crates/b/tests/all/main.rs".to_owned(),
            PathBuf::from("/a/target/all-1")
        ))
    );
    assert_eq!(artifact(r#"{"executable":null,"src_path":"/a"}"#), None);
}

#[cfg(unix)]
#[test]
fn a_process_that_hangs_is_killed_and_one_that_aborts_is_told() {
    let folder = std::env::temp_dir();
    let note = folder.join(format!("ziggurat-fuzz-{}.note", std::process::id()));
    let ends = |script: &str| {
        let _ = fs::write(&note, "41 sort\n");
        let child = Command::new("sh").args(["-c", script]).spawn();
        let patience = Duration::from_millis(300);
        child
            .ok()
            .and_then(|child| watch(child, &note, patience).ok())
    };
    assert_eq!(ends("exit 0"), Some(None));
    let hung = ends("exec sleep 20").flatten();
    assert!(hung.is_some_and(|text| text.contains("was killed")));
    let aborted = ends("kill -ABRT $$").flatten();
    assert!(aborted.is_some_and(|text| text.contains("signal")));
    let told = finding("limits", "41 sort\n", "ended with signal", "a\nb");
    assert_eq!(
        told,
        "limits: case 41 sort: ended with signal\n    a\n    b"
    );
    let _ = fs::remove_file(&note);
}
