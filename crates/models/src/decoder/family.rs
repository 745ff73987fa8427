//! What families of decoders differ in, a row for each.

/// What families of decoders differ in, beyond numbers of the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Family {
    /// `general.architecture` of a GGUF file, or `model_type` of a `config.json`.
    pub name: &'static str,
    /// Whether rotated pairs are neighbours in the order of rows that GGUF files have. In safetensors they are halves of a head.
    pub interleaved: bool,
    /// Whether queries, keys and values must have biases, whatever the metadata says.
    pub biases: bool,
    /// Whether each head of queries and keys has a norm.
    pub head_norms: bool,
    /// When a `config.json` means its sliding window.
    pub window: WindowRule,
}

/// When a family's `config.json` means its `sliding_window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowRule {
    /// Never.
    Never,
    /// Always; with so many tokens if it says nothing.
    Always(u64),
    /// If `use_sliding_window` is true, from the layer `max_window_layers` on.
    Asked,
}

/// All families. In GGUF files Mistral and SmolLM2 say that they are `llama`.
const FAMILIES: [Family; 4] = [
    Family {
        name: "llama",
        interleaved: true,
        biases: false,
        head_norms: false,
        window: WindowRule::Never,
    },
    Family {
        name: "mistral",
        interleaved: true,
        biases: false,
        head_norms: false,
        window: WindowRule::Always(4096),
    },
    Family {
        name: "qwen2",
        interleaved: false,
        biases: true,
        head_norms: false,
        window: WindowRule::Asked,
    },
    Family {
        name: "qwen3",
        interleaved: false,
        biases: false,
        head_norms: true,
        window: WindowRule::Asked,
    },
];

impl Family {
    /// The family of this name.
    pub fn named(name: &str) -> Option<Self> {
        FAMILIES.into_iter().find(|family| family.name == name)
    }
}
