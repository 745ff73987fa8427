//! `ziggurat`: talks to a model in a file, lets it write and measures it, makes vectors of texts and texts of speech, and says
//! what is in a file.

#![allow(clippy::print_stdout, reason = "a command line program")]

mod bench;
mod embed;
mod info;
mod transcribe;

use std::error::Error;
use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ziggurat_models::gguf::GgufFile;
use ziggurat_models::{
    FullContext, GenerateOptions, Generation, LoadOptions, Message, Model, ModelFile, Sampling,
};
use ziggurat_tensor::{AdapterWish, DType, Device, DeviceOptions, SoftwareWish};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Runs language models from GGUF files and folders of safetensors on any GPU, or on the CPU where there is none.
#[derive(Parser)]
#[command(name = "ziggurat", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Talks: one line is one message; an empty line or the end of the input ends it
    Chat {
        #[command(flatten)]
        run: Run,
        /// What the model is told first
        #[arg(long)]
        system: Option<String>,
    },
    /// Goes on with a text
    Generate {
        #[command(flatten)]
        run: Run,
        /// The text
        prompt: String,
    },
    /// Prints the vector of each text, by an encoder of the BERT family
    Embed(embed::Embed),
    /// Writes down what is said in recordings, by a Whisper
    Transcribe(transcribe::Transcribe),
    /// Measures how fast a model reads a prompt and writes behind it
    Bench(bench::Bench),
    /// Says what is in a file
    Info {
        /// A GGUF file
        file: PathBuf,
        /// Lists all tensors, too
        #[arg(long)]
        tensors: bool,
    },
}

/// Where it runs.
#[derive(Args)]
struct Adapter {
    /// An adapter by index or a part of its name, or `software[:profile]`
    #[arg(long)]
    device: Option<String>,
}

/// What is loaded, and how.
#[derive(Args)]
struct Load {
    /// A GGUF file, or a folder with config.json, tokenizer.json and safetensors
    file: PathBuf,
    #[command(flatten)]
    adapter: Adapter,
    /// Activations, caches, and weights that are not quantised
    #[arg(long, value_enum, default_value = "f32")]
    dtype: Width,
    /// Makes quantised weights numbers of that dtype: more memory, faster prompts
    #[arg(long)]
    dequantise: bool,
    /// Tokens that there is room for
    #[arg(long, default_value_t = 4096)]
    context: usize,
}

/// What is loaded, and how it writes.
#[derive(Args)]
struct Run {
    #[command(flatten)]
    load: Load,
    #[command(flatten)]
    cache: Cache,
    /// When the context is full, keeps so many of the first tokens, drops the oldest others and goes on
    #[arg(long)]
    keep: Option<usize>,
    /// The most tokens of an answer
    #[arg(long, default_value_t = 512)]
    max_tokens: usize,
    /// 0 takes the best token always
    #[arg(long, default_value_t = 0.0)]
    temperature: f32,
    /// Only so many of the best tokens; 0 for all
    #[arg(long, default_value_t = 40)]
    top_k: usize,
    /// Only the best tokens that have this probability together
    #[arg(long, default_value_t = 0.95)]
    top_p: f32,
    /// Only tokens with this fraction of the best one's probability
    #[arg(long, default_value_t = 0.05)]
    min_p: f32,
    /// Scores of tokens that were there are divided by this
    #[arg(long, default_value_t = 1.0)]
    repetition_penalty: f32,
    /// Where random numbers begin
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Draws tokens on the device where it can, so that only the token comes to the host
    #[arg(long)]
    on_device: bool,
    /// A text that ends the answer
    #[arg(long)]
    stop: Vec<String>,
}

/// What keys and values are kept in.
#[derive(Args)]
struct Cache {
    /// The cache of keys and values; without, as activations
    #[arg(long, value_enum)]
    cache: Option<CacheWidth>,
}

#[derive(Clone, Copy, ValueEnum)]
enum CacheWidth {
    F32,
    F16,
    I8,
}

impl Cache {
    fn dtype(&self) -> Option<DType> {
        self.cache.map(|width| match width {
            CacheWidth::F32 => DType::F32,
            CacheWidth::F16 => DType::F16,
            CacheWidth::I8 => DType::I8,
        })
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Width {
    F32,
    F16,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Outcome<()> {
    match command {
        Command::Chat { run, system } => chat(&run, system),
        Command::Generate { run, prompt } => {
            let model = run.load.model()?;
            show(model.generate(&prompt, &run.options())?).map(|_| ())
        }
        Command::Embed(embed) => embed.run(),
        Command::Transcribe(transcribe) => transcribe.run(),
        Command::Bench(bench) => bench.run(),
        Command::Info { file, tensors } => info::run(&GgufFile::open(file)?, tensors),
    }
}

impl Run {
    fn options(&self) -> GenerateOptions {
        GenerateOptions {
            sampling: Sampling {
                temperature: self.temperature,
                top_k: self.top_k,
                top_p: self.top_p,
                min_p: self.min_p,
                repetition_penalty: self.repetition_penalty,
                seed: self.seed,
                on_device: self.on_device,
                ..Sampling::default()
            },
            max_tokens: Some(self.max_tokens),
            cache: self.cache.dtype(),
            stop: self.stop.clone(),
            full: self
                .keep
                .map_or(FullContext::Error, |keep| FullContext::Slide { keep }),
            ..GenerateOptions::default()
        }
    }
}

impl Adapter {
    fn open(&self) -> Outcome<Device> {
        Ok(Device::open_blocking(DeviceOptions {
            adapter: self.device.as_deref().map(wish).unwrap_or_default(),
            ..DeviceOptions::default()
        })?)
    }
}

impl Load {
    fn options(&self) -> LoadOptions {
        LoadOptions {
            dtype: match self.dtype {
                Width::F32 => DType::F32,
                Width::F16 => DType::F16,
            },
            context: self.context,
            dequantise: self.dequantise,
        }
    }

    fn model(&self) -> Outcome<Model> {
        self.load(Model::load)
    }

    /// Loads, and says what that took.
    fn load<T>(
        &self,
        load: impl FnOnce(&Device, &ModelFile, LoadOptions) -> Result<T, ziggurat_models::Error>,
    ) -> Outcome<T> {
        let start = Instant::now();
        let device = self.adapter.open()?;
        let file = ModelFile::open(&self.file)?;
        let loaded = load(&device, &file, self.options())?;
        let mib = device.usage().live >> 20;
        let seconds = start.elapsed().as_secs_f64();
        eprintln!(
            "{}: {mib} MiB of weights, loaded in {seconds:.1} s",
            device.adapter()
        );
        Ok(loaded)
    }
}

/// The adapter that is meant: an index, the software device with a profile, or a part of a name.
fn wish(text: &str) -> AdapterWish {
    let mut wish = AdapterWish::default();
    match (text.parse(), text.split_once(':')) {
        (Ok(index), _) => wish.index = Some(index),
        (_, Some(("software", profile))) => {
            wish.software = Some(SoftwareWish::Named(profile.into()));
        }
        _ if text == "software" => wish.software = Some(SoftwareWish::default()),
        _ => wish.name = Some(text.to_owned()),
    }
    wish
}

/// Shows a text as it comes, then how fast it came; the whole text.
fn show(generation: Generation) -> Outcome<String> {
    let (mut text, mut tokens) = (String::new(), 0u32);
    let start = Instant::now();
    let mut first = None;
    for piece in generation {
        let piece = piece?;
        print!("{}", piece.text);
        io::stdout().flush()?;
        text.push_str(&piece.text);
        tokens += u32::from(piece.token.is_some());
        first.get_or_insert_with(|| start.elapsed().as_secs_f64());
    }
    println!();
    let first = first.unwrap_or_default();
    let rate =
        f64::from(tokens.saturating_sub(1)) / (start.elapsed().as_secs_f64() - first).max(1e-9);
    eprintln!("{tokens} tokens, the first after {first:.2} s, then {rate:.1} tokens/s");
    Ok(text)
}

fn chat(run: &Run, system: Option<String>) -> Outcome<()> {
    let model = run.load.model()?;
    let mut messages: Vec<Message> = system
        .map(|text| Message::new("system", text))
        .into_iter()
        .collect();
    loop {
        eprint!("> ");
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        if line.trim().is_empty() {
            return Ok(());
        }
        messages.push(Message::new("user", line.trim()));
        let answer = show(model.chat(&messages, &run.options())?)?;
        messages.push(Message::new("assistant", answer));
    }
}
