//! `bindgen PROGRAM.wasm FOLDER`: the program and the JavaScript that a page imports, without wasm-bindgen's command.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, folder] = words.as_slice() else {
        eprintln!("usage: bindgen PROGRAM.wasm FOLDER");
        return ExitCode::FAILURE;
    };
    let mut bindgen = Bindgen::new();
    let made = bindgen
        .input_path(program)
        .web(true)
        .map(|bindgen| bindgen.typescript(false).omit_default_module_path(false))
        .and_then(|bindgen| bindgen.generate(folder));
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: wasm-bindgen: {error}");
            ExitCode::FAILURE
        }
    }
}
