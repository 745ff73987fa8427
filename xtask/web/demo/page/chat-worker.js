// Runs a language model. The page ends this worker when the model is closed, which gives all its memory back.

import { answer } from "./ask.js";
import init, { Chat } from "./program/ziggurat_web_chat.js";

let chat;

answer({
  async open(bytes, context) {
    await init();
    chat = await Chat.open(new Uint8Array(bytes), context);
  },
  ask: (question) => chat.ask(question),
  next: () => chat.next(),
  end: () => chat.end(),
});
