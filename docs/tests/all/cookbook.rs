//! Each program of cookbook.md runs and compares its results with the CPU's: `cookbook::programs::saxpy::runs` and so on.

/// Written by the build script.
mod programs {
    include!(concat!(env!("OUT_DIR"), "/cookbook.rs"));
}

const TEXT: &str = include_str!("../../cookbook.md");

/// Most lines of Rust that a program may have around its WGSL.
const MOST_LINES: usize = 40;

/// Lines of Rust: without blank ones, and without those that begin within a text.
fn host_lines(program: &str) -> usize {
    let (mut lines, mut is_text) = (0, false);
    for line in program.lines() {
        lines += usize::from(!is_text && !line.trim().is_empty());
        let mut signs = line.chars();
        while let Some(sign) = signs.next() {
            match sign {
                '\\' if is_text => drop(signs.next()),
                '"' => is_text = !is_text,
                _ => {}
            }
        }
    }
    lines
}

#[test]
fn programs_are_as_short_as_the_table_says() {
    let mut rows = TEXT.lines().filter(|line| line.starts_with("| ["));
    let mut programs = 0;
    for section in TEXT.split("\n## ").skip(1) {
        let title = section.lines().next().unwrap();
        let program = section.split("```rust\n").nth(1).unwrap();
        let lines = host_lines(program.split("```").next().unwrap());
        assert!(lines <= MOST_LINES, "{title}: {lines}");
        let row = rows.find(|row| {
            row.to_lowercase()
                .starts_with(&format!("| [{}](", title.to_lowercase()))
        });
        let row = row.unwrap_or_else(|| panic!("{title} is not in the table, or not in its order"));
        assert!(row.ends_with(&format!("| {lines} |")), "{lines}: {row}");
        programs += 1;
    }
    assert!(programs >= 10, "{programs}");
}

#[test]
fn lines_of_wgsl_are_not_counted() {
    assert_eq!(
        host_lines("let a = f(\"\n  fn apply()\n  \\\"\n\")?;\n\nlet b = \"x\";\n}"),
        3
    );
}
