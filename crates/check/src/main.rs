//! `cargo ziggurat check PATH…`

use std::env;
use std::process::ExitCode;

use ziggurat_check::{Checker, Class, Language, Level};

const USAGE: &str = "\
usage: cargo ziggurat check [options] PATH...

Checks `.wgsl` files, and those below folders, as Ziggurat would compile them, without a GPU.

  --class mobile|webgpu|desktop|all     limits to stay within (webgpu); may be repeated
  --language spirv|msl|hlsl|glsl|all    languages to translate to (spirv, msl, hlsl; glsl only warns); may be repeated
  --constant NAME=VALUE                 the value of an override; may be repeated
  --deny-warnings                       warnings are errors
  --quiet                               no warnings";

struct Arguments {
    paths: Vec<String>,
    checker: Checker,
    deny_warnings: bool,
    quiet: bool,
}

fn language(text: &str) -> Result<Vec<Language>, String> {
    Ok(match text {
        "spirv" => vec![Language::SpirV],
        "msl" => vec![Language::Msl],
        "hlsl" => vec![Language::Hlsl],
        "glsl" => vec![Language::Glsl],
        "all" => Language::ALL.to_vec(),
        _ => {
            return Err(format!(
                "there is no language `{text}`; there are spirv, msl, hlsl and glsl"
            ));
        }
    })
}

fn read(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut words = words.peekable();
    // Cargo gives the name of the subcommand first.
    let _cargo = words.next_if(|word| word == "ziggurat");
    match words.next().as_deref() {
        Some("check") => {}
        Some(other) => return Err(format!("there is no command `{other}`")),
        None => return Err("a command is missing".to_owned()),
    }
    let mut arguments = Arguments {
        paths: Vec::new(),
        checker: Checker::new(),
        deny_warnings: false,
        quiet: false,
    };
    let (mut classes, mut languages) = (Vec::new(), Vec::new());
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .ok_or_else(|| format!("`{word}` needs a value"))
        };
        match word.as_str() {
            "--class" => match value()?.as_str() {
                "all" => classes.extend(Class::ALL),
                name => classes.push(name.parse()?),
            },
            "--language" => languages.extend(language(&value()?)?),
            "--constant" => {
                let text = value()?;
                let given = text.split_once('=');
                let given =
                    given.and_then(|(name, value)| Some((name, value.parse::<f64>().ok()?)));
                let (name, number) = given.ok_or_else(|| format!("`{text}` is not NAME=NUMBER"))?;
                arguments.checker = arguments.checker.constant(name, number);
            }
            "--deny-warnings" => arguments.deny_warnings = true,
            "--quiet" => arguments.quiet = true,
            option if option.starts_with('-') => {
                return Err(format!("there is no option `{option}`"));
            }
            _ => arguments.paths.push(word),
        }
    }
    if arguments.paths.is_empty() {
        return Err("a path is missing".to_owned());
    }
    if !classes.is_empty() {
        arguments.checker = arguments.checker.classes(classes);
    }
    if !languages.is_empty() {
        arguments.checker = arguments.checker.languages(languages);
    }
    Ok(arguments)
}

#[expect(clippy::print_stdout, reason = "it prints what it finds")]
fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let arguments = match read(words.into_iter()) {
        Ok(arguments) => arguments,
        Err(error) => {
            println!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut is_good = true;
    for path in &arguments.paths {
        let mut report = arguments.checker.check(path);
        let has_warnings = report
            .problems
            .iter()
            .any(|problem| problem.level == Level::Warning);
        is_good &= report.is_good() && !(arguments.deny_warnings && has_warnings);
        if arguments.quiet {
            report
                .problems
                .retain(|problem| problem.level == Level::Error);
        }
        println!("{report}");
    }
    match is_good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
