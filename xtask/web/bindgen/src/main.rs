//! `bindgen PROGRAM.wasm FOLDER [small]`: the program and the JavaScript that a page imports, without wasm-bindgen's command.
//! `small` leaves out the names of functions.

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
    let mut bindgen = Bindgen::new();
    let made = bindgen
        .input_path(program)
        .web(true)
        .map(|bindgen| {
            bindgen
                .typescript(false)
                .omit_default_module_path(false)
                .remove_name_section(small)
                .remove_producers_section(small)
        })
        .and_then(|bindgen| bindgen.generate(folder));
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: wasm-bindgen: {error}");
            ExitCode::FAILURE
        }
    }
}
