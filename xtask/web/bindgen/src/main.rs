//! `bindgen PROGRAM.wasm FOLDER [small]`: the program and the JavaScript that a page imports, without wasm-bindgen's command.
//! `small` leaves out the names of functions, and shortens those of imports, which are a good part of a small program.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (program, folder, small) = match words.as_slice() {
        [program, folder] => (program, folder, false),
        [program, folder, small] if small == "small" => (program, folder, true),
        _ => {
            eprintln!("usage: bindgen PROGRAM.wasm FOLDER [small]");
            return ExitCode::FAILURE;
        }
    };
    match make(program, Path::new(folder), small) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: wasm-bindgen: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make(program: &str, folder: &Path, small: bool) -> Result<(), Box<dyn Error>> {
    let mut bindgen = Bindgen::new();
    let bindgen = bindgen.input_path(program).web(true)?;
    let mut output = bindgen
        .typescript(false)
        .omit_default_module_path(false)
        .remove_name_section(small)
        .remove_producers_section(small)
        .generate_output()?;
    if !small {
        return Ok(output.emit(folder)?);
    }
    let mut renamed = BTreeMap::new();
    for (at, import) in output.wasm_mut().imports.iter_mut().enumerate() {
        let short = format!("f{at}");
        renamed.insert(format!("{:?}: import", import.module), "m: import".to_owned());
        renamed.insert(format!(" {}: ", import.name), format!(" {short}: "));
        (import.name, import.module) = (short, "m".to_owned());
    }
    output.emit(folder)?;
    let name = Path::new(program).with_extension("js");
    let file = folder.join(name.file_name().unwrap_or_default());
    let mut text = fs::read_to_string(&file)?;
    for (long, short) in renamed {
        if text.matches(&long).count() != 1 {
            return Err(format!("{} has not one place with `{long}`", file.display()).into());
        }
        text = text.replace(&long, &short);
    }
    Ok(fs::write(file, text)?)
}
