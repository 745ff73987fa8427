//! The program of the page's chat. A worker of its own runs it, `page/chat-worker.js`, and is ended with the model: then the
//! browser has all of its memory again.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use ziggurat_models::gguf::GgufFile;
use ziggurat_models::{GenerateOptions, Generation, LoadOptions, Message, Model, ModelFile};
use ziggurat_tensor::{Device, DeviceOptions};

/// A model, and what was said.
#[wasm_bindgen]
#[allow(missing_debug_implementations, reason = "only JavaScript holds it")]
pub struct Chat {
    model: Model,
    messages: Vec<Message>,
    answer: Option<Generation>,
    text: String,
}

#[wasm_bindgen]
impl Chat {
    /// Opens a device and loads a model, the bytes of a GGUF file, with room for so many tokens of a conversation.
    ///
    /// # Errors
    /// If the browser has no WebGPU or not enough memory, or the file has no model that Ziggurat knows.
    pub async fn open(bytes: Vec<u8>, context: usize) -> Result<Self, JsError> {
        let device = Device::open(DeviceOptions::default()).await?;
        let file = ModelFile::from(GgufFile::from_bytes(bytes)?);
        let options = LoadOptions {
            context,
            ..LoadOptions::default()
        };
        Ok(Self {
            model: Model::load(&device, &file, options)?,
            messages: Vec::new(),
            answer: None,
            text: String::new(),
        })
    }

    /// Puts a question; [`Self::next`] gives the answer.
    ///
    /// # Errors
    /// If the file has no template for conversations, or the context is full.
    pub fn ask(&mut self, question: String) -> Result<(), JsError> {
        self.end();
        self.messages.push(Message::new("user", question));
        let answer = self.model.chat(&self.messages, &GenerateOptions::default());
        match answer {
            Ok(answer) => self.answer = Some(answer),
            Err(error) => {
                // As if it had not been asked.
                self.messages.pop();
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// The text that the next token completes, which may be none yet; nothing when the answer is complete.
    ///
    /// # Errors
    /// If the context is full, or the device failed.
    pub async fn next(&mut self) -> Result<Option<String>, JsError> {
        let Some(answer) = &mut self.answer else {
            return Ok(None);
        };
        let Some(piece) = answer.advance().await else {
            self.end();
            return Ok(None);
        };
        let piece = piece?;
        self.text.push_str(&piece.text);
        Ok(Some(piece.text))
    }

    /// Ends an answer where it is: what there is of it belongs to the conversation.
    pub fn end(&mut self) {
        if self.answer.take().is_some() {
            let text = std::mem::take(&mut self.text);
            self.messages.push(Message::new("assistant", text));
        }
    }
}
