//! `cargo xtask web --size`: what a page downloads, beside its budget.

use super::build::{self, Sizes};
use xtask::failure::{Failure, Outcome};
use xtask::workspace;

/// A program, what it is, and how many KiB it may have after `wasm-opt`: what it had when the budget was set, and a little.
struct Weighed {
    name: &'static str,
    what: &'static str,
    budget: u64,
}

const PROGRAMS: [Weighed; 3] = [
    Weighed {
        name: "add_device",
        what: "two vectors added, on the device layer",
        budget: 124,
    },
    Weighed {
        name: "add_pipeline",
        what: "the same with own WGSL, on the pipeline layer",
        budget: 328,
    },
    Weighed {
        name: "add_tensor",
        what: "the same through Tensor",
        budget: 674,
    },
];

const DEMO: Weighed = Weighed {
    name: "demo",
    what: "the page for people, without the network's weights",
    budget: 904,
};

const CHAT: Weighed = Weighed {
    name: "chat",
    what: "the program of the page's chat, loaded with a model",
    budget: 1912,
};

/// Builds the programs for their size, prints what they weigh, and fails where one is over its budget. Drives the page, which has
/// passed through more tools than the one of the tests.
pub(super) fn run() -> Outcome<String> {
    let pages = workspace::target_dir()?.join("web-size");
    let examples = PROGRAMS.map(|program| (program.name, pages.join(program.name)));
    let sizes = build::page(&pages.join("demo"), &examples)?;
    let programs = [&DEMO, &CHAT].into_iter().chain(&PROGRAMS);
    let all: Vec<_> = programs.zip(sizes).collect();
    println!("{HEAD}");
    for (program, sizes) in &all {
        println!("{}", line(program, sizes));
    }
    let over = all
        .iter()
        .filter(|(program, sizes)| sizes.optimised > program.budget << 10);
    let over: Vec<&str> = over.map(|(program, _)| program.name).collect();
    if !over.is_empty() {
        return Err(Failure::new(format!("over budget: {}", over.join(", "))));
    }
    let driven = super::driven(&pages, &["--only".to_owned(), "demo".to_owned()])?;
    Ok(format!(
        "{} programs within their budgets; {driven}",
        all.len()
    ))
}

const HEAD: &str = "program       raw KiB  wasm-opt KiB  budget KiB  gzip KiB";

fn line(program: &Weighed, sizes: &Sizes) -> String {
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    format!(
        "{:12} {:8.1} {:13.1} {:11} {:9.1}  {}",
        program.name,
        kib(sizes.raw),
        kib(sizes.optimised),
        program.budget,
        kib(sizes.gzip),
        program.what
    )
}
