//! Tokens to text as they come.

use super::Tokenizer;

/// Turns tokens into text one by one. What it hands out is whole characters: bytes of one that is not complete wait for the
/// next token.
///
/// ```no_run
/// use ziggurat_models::{TokenDecoder, Tokenizer};
///
/// let tokenizer = Tokenizer::from_json(&std::fs::read("tokenizer.json").unwrap_or_default())?;
/// let mut decoder = TokenDecoder::new();
/// for token in tokenizer.encode("a \u{1f600}")? {
///     print!("{}", decoder.push(&tokenizer, token));
/// }
/// println!("{}", decoder.finish());
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TokenDecoder {
    /// The beginning of a character: at most three bytes between calls.
    waiting: Vec<u8>,
    begun: bool,
}

impl TokenDecoder {
    /// One that has seen no token.
    pub fn new() -> Self {
        Self::default()
    }

    /// The characters that are complete with this token.
    pub fn push(&mut self, tokenizer: &Tokenizer, token: u32) -> String {
        let Some(bytes) = tokenizer.bytes(token) else {
            return String::new();
        };
        if tokenizer.is_word_piece() {
            let text = String::from_utf8_lossy(bytes);
            let within = text.strip_prefix("##");
            let text = match within {
                Some(rest) => rest.to_owned(),
                None if self.begun => format!(" {text}"),
                None => text.into_owned(),
            };
            self.begun = true;
            return text;
        }
        self.waiting.extend_from_slice(bytes);
        let mut text = String::new();
        loop {
            let error = match std::str::from_utf8(&self.waiting) {
                Ok(rest) => {
                    text.push_str(rest);
                    self.waiting.clear();
                    return text;
                }
                Err(error) => error,
            };
            let (whole, rest) = self.waiting.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(whole));
            let Some(wrong) = error.error_len() else {
                self.waiting = rest.to_vec();
                return text;
            };
            text.push(char::REPLACEMENT_CHARACTER);
            self.waiting = rest.get(wrong..).unwrap_or_default().to_vec();
        }
    }

    /// What is left at the end: `U+FFFD` if the last character is not complete.
    pub fn finish(&mut self) -> String {
        self.begun = false;
        let rest = std::mem::take(&mut self.waiting);
        String::from_utf8_lossy(&rest).into_owned()
    }
}
