//! Writes the programs of cookbook.md as modules, for the tests of this package to run on any adapter.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=cookbook.md");
    let text = fs::read_to_string("cookbook.md")?;
    let mut modules = String::new();
    let (mut title, mut is_program) = (String::new(), false);
    for line in text.lines() {
        match line {
            "```rust" => {
                is_program = true;
                write!(
                    modules,
                    "mod {title} {{\n#[test]\nfn runs() {{ main().unwrap(); }}\n"
                )?;
            }
            "```" if is_program => {
                is_program = false;
                modules.push_str("}\n");
            }
            _ if is_program => writeln!(modules, "{line}")?,
            _ => {
                if let Some(heading) = line.strip_prefix("## ") {
                    title = heading.to_lowercase().replace([' ', '-'], "_");
                }
            }
        }
    }
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("cookbook.rs"), modules)?;
    Ok(())
}
