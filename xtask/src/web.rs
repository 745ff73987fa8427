//! `cargo xtask web`: what runs in a browser. Builds programs for wasm32 and the JavaScript around them: of the tests, which the
//! driver in `xtask-checks` opens in Chromium, or of the page for people; or weighs them.

mod build;
mod size;

use std::path::Path;

use crate::{checks, models};
use xtask::failure::{Failure, Outcome};

/// Does what the options say; without any it runs all tests.
pub(crate) fn run(arguments: &[String]) -> Outcome<String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--size"] => size::run(),
        ["--page"] => page(),
        _ => tests(arguments),
    }
}

/// Builds the page for people; where it is.
fn page() -> Outcome<String> {
    let folder = build::page_folder()?;
    build::page(&folder, &[])?;
    Ok(format!(
        "any server of files can serve {}",
        folder.display()
    ))
}

/// Builds what the page of the tests needs, opens it, and gives the driver's last line.
fn tests(arguments: &[String]) -> Outcome<String> {
    let asks = |word: &str| word == "--chat" || word.split(',').any(|stage| stage == "chat");
    let chat = arguments.iter().any(|word| asks(word));
    let folder = build::tests(chat)?;
    if chat {
        std::fs::copy(models::language()?, folder.join("model.gguf"))?;
    }
    driven(&folder, arguments)
}

/// Opens the page of a folder in a browser; the driver's last line.
fn driven(folder: &Path, arguments: &[String]) -> Outcome<String> {
    let folder = folder
        .to_str()
        .ok_or_else(|| Failure::new("the folder of builds has a name that is not UTF-8"))?;
    let mut words = vec![folder.to_owned()];
    words.extend_from_slice(arguments);
    checks::built("web", &words)
}
