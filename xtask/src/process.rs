//! Running other programs: with their output passed on, or captured behind a spinner.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use crate::failure::{Failure, Outcome};
use crate::progress::Step;

/// How a command looks on a command line.
pub fn spell(command: &Command) -> String {
    let name = std::path::Path::new(command.get_program());
    let name = name.file_name().unwrap_or(name.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs a command with its output passed straight on.
pub fn stream(command: &mut Command) -> Outcome {
    println!("$ {}", spell(command));
    let status = command
        .status()
        .map_err(|error| Failure::new(format!("cannot start {}: {error}", spell(command))))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!(
            "{} ended with {status}",
            spell(command)
        )))
    }
}

/// Runs a command with its output passed on line by line and shown to `see` as well.
pub fn stream_lines(command: &mut Command, mut see: impl FnMut(&str)) -> Outcome {
    println!("$ {}", spell(command));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::new(format!("cannot start {}: {error}", spell(command))))?;
    let (sender, lines) = mpsc::channel::<String>();
    let mut readers = Vec::new();
    if let Some(out) = child.stdout.take() {
        readers.push(pass_on(out, sender.clone(), |line| println!("{line}")));
    }
    if let Some(err) = child.stderr.take() {
        readers.push(pass_on(err, sender, |line| eprintln!("{line}")));
    }
    for line in lines {
        see(&line);
    }
    for reader in readers {
        // A reader only forwards; if it stopped, so did the output.
        let _ = reader.join();
    }
    let status = child.wait()?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!(
            "{} ended with {status}",
            spell(command)
        )))
    }
}

fn pass_on(
    from: impl Read + Send + 'static,
    to: mpsc::Sender<String>,
    print: impl Fn(&str) + Send + 'static,
) -> JoinHandle<()> {
    thread::spawn(move || {
        for line in BufReader::new(from).split(b'\n') {
            let Ok(line) = line else { break };
            let line = String::from_utf8_lossy(&line).into_owned();
            print(&line);
            if to.send(line).is_err() {
                break;
            }
        }
    })
}

/// Runs a command behind a spinner; its output is part of the error if it fails.
pub fn quiet(message: &str, command: &mut Command) -> Outcome<String> {
    let step = Step::start(message);
    let output = capture(command)?;
    drop(step);
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines
        .get(lines.len().saturating_sub(30)..)
        .unwrap_or_default()
        .join("\n");
    Err(Failure::new(format!(
        "{} ended with {}\n{tail}",
        spell(command),
        output.status
    )))
}

/// The command's output, whatever its status.
pub fn capture(command: &mut Command) -> Outcome<Output> {
    command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::new(format!("cannot start {}: {error}", spell(command))))
}

/// True if the command starts and succeeds; nothing is shown.
pub fn succeeds(command: &mut Command) -> bool {
    capture(command).is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_exist_is_named_in_the_error() {
        let outcome = stream(&mut Command::new("ziggurat-no-such-program"));
        assert!(
            outcome.is_err_and(|failure| failure.to_string().contains("ziggurat-no-such-program"))
        );
        assert!(!succeeds(&mut Command::new("ziggurat-no-such-program")));
    }

    #[test]
    fn a_command_is_spelt_as_it_would_be_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["test", "--doc"]);
        assert_eq!(spell(&command), "cargo test --doc");
    }
}
