//! `cargo ziggurat check PATH…`

use std::env;
use std::panic;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use ziggurat_check::{Checker, Class, Language, Level};

const USAGE: &str = "\
usage: cargo ziggurat check [options] PATH...

Checks `.wgsl` files, and those below folders, as Ziggurat would compile them, without a GPU.

  --class mobile|webgpu|desktop|all     limits to stay within (webgpu); may be repeated; none refuses nothing
  --language spirv|msl|hlsl|glsl|all    languages to translate to (spirv, msl, hlsl; glsl only warns); may be repeated;
                                        none makes what cannot be translated a warning
  --software                            create every pipeline on the software device, too
  --seconds N                           time for one file (120)
  --constant NAME=VALUE                 the value of an override; may be repeated
  --deny-warnings                       warnings are errors
  --quiet                               no warnings";

struct Arguments {
    paths: Vec<String>,
    checker: Checker,
    deny_warnings: bool,
    quiet: bool,
}

fn class(text: &str) -> Result<Vec<Class>, String> {
    Ok(match text {
        "all" => Class::ALL.to_vec(),
        "none" => Vec::new(),
        name => vec![name.parse()?],
    })
}

fn language(text: &str) -> Result<Vec<Language>, String> {
    Ok(match text {
        "spirv" => vec![Language::SpirV],
        "msl" => vec![Language::Msl],
        "hlsl" => vec![Language::Hlsl],
        "glsl" => vec![Language::Glsl],
        "all" => Language::ALL.to_vec(),
        "none" => Vec::new(),
        _ => {
            return Err(format!(
                "there is no language `{text}`; there are spirv, msl, hlsl, glsl, all and none"
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
    let (mut classes, mut languages) = (None::<Vec<Class>>, None::<Vec<Language>>);
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .ok_or_else(|| format!("`{word}` needs a value"))
        };
        match word.as_str() {
            "--class" => {
                let chosen = class(&value()?)?;
                classes.get_or_insert_default().extend(chosen);
            }
            "--language" => {
                let chosen = language(&value()?)?;
                languages.get_or_insert_default().extend(chosen);
            }
            "--software" => arguments.checker = arguments.checker.on_software_device(),
            "--seconds" => {
                let text = value()?;
                let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
                let seconds = seconds.ok_or_else(|| format!("`{text}` is no number of seconds"))?;
                arguments.checker = arguments.checker.time_limit(Duration::from_secs(seconds));
            }
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
    if let Some(classes) = classes {
        arguments.checker = arguments.checker.classes(classes);
    }
    if let Some(languages) = languages {
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
    // A text is checked on a thread of its own, and told as refused if naga panics on it.
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| {
        if thread::current().name() == Some("main") {
            print(panicked);
        }
    }));
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
