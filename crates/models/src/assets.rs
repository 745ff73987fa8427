//! What stands around a decoder: tokenizer, the tokens that end a message, and the template of a chat.

#[cfg(not(target_arch = "wasm32"))]
use serde_json::Value as Json;

#[cfg(feature = "chat")]
use crate::chat::ChatTemplate;
use crate::file::ModelFile;
use crate::gguf::{Gguf, Value};
use crate::{Error, Tokenizer};

/// What stands around a decoder.
#[derive(Debug)]
pub(crate) struct Assets {
    pub(crate) tokenizer: Tokenizer,
    pub(crate) ends: Vec<u32>,
    #[cfg(feature = "chat")]
    pub(crate) template: Option<ChatTemplate>,
}

/// What a file says about the ends of texts, and how messages are put together.
#[derive(Debug, Default)]
struct Said {
    ends: Vec<u32>,
    begin: String,
    end: String,
    template: Option<String>,
}

/// Tokens that end a message, whatever a file says.
const ENDS: [&str; 4] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
];

impl Assets {
    /// # Errors
    /// If the tokenizer or the template cannot be read.
    pub(crate) fn read(file: &ModelFile) -> Result<Self, Error> {
        let tokenizer = file.tokenizer()?;
        let mut said = match file {
            ModelFile::Gguf(file) => of_gguf(file.head(), &tokenizer),
            #[cfg(not(target_arch = "wasm32"))]
            ModelFile::Folder(folder) => of_folder(folder, &tokenizer)?,
        };
        let known = ENDS.iter().filter_map(|name| tokenizer.token(name));
        said.ends.extend(known);
        said.ends.sort_unstable();
        said.ends.dedup();
        #[cfg(feature = "chat")]
        let template = said
            .template
            .map(|source| ChatTemplate::new(&source, &said.begin, &said.end));
        Ok(Self {
            tokenizer,
            ends: said.ends,
            #[cfg(feature = "chat")]
            template: template.transpose()?,
        })
    }
}

fn of_gguf(head: &Gguf, tokenizer: &Tokenizer) -> Said {
    let token = |key: &str| {
        let token = head.get(&format!("tokenizer.ggml.{key}"))?.as_u64()?;
        u32::try_from(token).ok()
    };
    let name = |key: &str| {
        let bytes = token(key).and_then(|token| tokenizer.bytes(token));
        bytes.map_or_else(String::new, |bytes| {
            String::from_utf8_lossy(bytes).into_owned()
        })
    };
    let template = head.get("tokenizer.chat_template").and_then(Value::as_str);
    Said {
        ends: ["eos_token_id", "eot_token_id"]
            .into_iter()
            .filter_map(token)
            .collect(),
        begin: name("bos_token_id"),
        end: name("eos_token_id"),
        template: template.map(str::to_owned),
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn of_folder(folder: &crate::ModelFolder, tokenizer: &Tokenizer) -> Result<Said, Error> {
    let mut said = Said::default();
    for name in ["config.json", "generation_config.json"] {
        if let Some(json) = folder.json(name)? {
            let ends = json.get("eos_token_id").map(numbers);
            said.ends.extend(ends.unwrap_or_default());
        }
    }
    if let Some(json) = folder.json("tokenizer_config.json")? {
        said.begin = name_of(json.get("bos_token"));
        said.end = name_of(json.get("eos_token"));
        said.ends.extend(tokenizer.token(&said.end));
        said.template = json.get("chat_template").and_then(template_of);
    }
    // Newer files have it by itself.
    if said.template.is_none() {
        const FILE: &str = "chat_template.jinja";
        said.template = match folder.read(FILE) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
    }
    Ok(said)
}

/// A token's number, or several.
#[cfg(not(target_arch = "wasm32"))]
fn numbers(json: &Json) -> Vec<u32> {
    let one = |json: &Json| json.as_u64()?.try_into().ok();
    match json {
        Json::Array(all) => all.iter().filter_map(one).collect(),
        json => one(json).into_iter().collect(),
    }
}

/// A token's name, as a text or within an object.
#[cfg(not(target_arch = "wasm32"))]
fn name_of(json: Option<&Json>) -> String {
    let json = json.map(|json| json.get("content").unwrap_or(json));
    json.and_then(Json::as_str).unwrap_or_default().to_owned()
}

/// A template, or the one of several that is called `default`.
#[cfg(not(target_arch = "wasm32"))]
fn template_of(json: &Json) -> Option<String> {
    let Json::Array(all) = json else {
        return json.as_str().map(str::to_owned);
    };
    let usual = |one: &&Json| one.get("name").and_then(Json::as_str) == Some("default");
    let template = all.iter().find(usual)?.get("template")?;
    template.as_str().map(str::to_owned)
}
