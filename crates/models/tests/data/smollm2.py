# python smollm2.py SmolLM2-135M-Instruct.Q4_1.gguf OUT.gguf: scores of 200 tokens by a forward pass in float64 over the
# dequantised weights: for each token the scores of 64 tokens of the vocabulary, the highest score and the sum's logarithm.
import sys, numpy as np, gguf
from gguf import GGUFReader, dequantize
from tokenizers import Tokenizer, models, pre_tokenizers
r = GGUFReader(sys.argv[1]); F = {k: f.contents() for k, f in r.fields.items() if not k.startswith("GGUF")}
toks = F["tokenizer.ggml.tokens"]
tok = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(toks)}, merges=[tuple(m.split(" ")) for m in F["tokenizer.ggml.merges"]]))
tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
tok.add_special_tokens([t for t, y in zip(toks, F["tokenizer.ggml.token_type"]) if y == 3])
W = {t.name: dequantize(t.data, t.tensor_type).astype(np.float64).reshape(t.shape[::-1]) for t in r.tensors}
L, H, KV, D = 30, 9, 3, 64; eps = F["llama.attention.layer_norm_rms_epsilon"]; base = F["llama.rope.freq_base"]
TEXT = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\nWhat is the capital of France, and what is it known for?<|im_end|>\n<|im_start|>assistant\nThe capital of France is Paris. It is known for the Eiffel Tower, for its museums, and for 2,000 years of history.<|im_end|>\n<|im_start|>user\nNow write a function in Rust that adds two numbers, and explain why 17 * 23 = 391 in one sentence.<|im_end|>\n<|im_start|>assistant\nHere is the function:\n\n```rust\nfn add(a: i64, b: i64) -> i64 {\n    a + b\n}\n```\n\nSeventeen times twenty is 340, seventeen times three is 51, and together they are 391. Stra\u00dfe, \u6f22\u5b57, \u041c\u043e\u0441\u043a\u0432\u0430: other scripts are texts like any other, and take more tokens for each of their characters."
ids = np.array(tok.encode(TEXT).ids)[:200]; n = len(ids); pos = np.arange(n); print(n, "tokens")
rms = lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w
freq = base ** (-np.arange(0, D, 2) / D); c, s = np.cos(pos[:, None] * freq)[:, None], np.sin(pos[:, None] * freq)[:, None]
def rope(x):
    y = np.empty_like(x); y[..., 0::2] = x[..., 0::2] * c - x[..., 1::2] * s; y[..., 1::2] = x[..., 0::2] * s + x[..., 1::2] * c; return y
x = W["token_embd.weight"][ids]
for i in range(L):
    g = lambda k: W[f"blk.{i}.{k}.weight"]
    h = rms(x, g("attn_norm")); q = rope((h @ g("attn_q").T).reshape(n, H, D)); k = rope((h @ g("attn_k").T).reshape(n, KV, D)); v = (h @ g("attn_v").T).reshape(n, KV, D)
    z = np.einsum("qhd,khd->hqk", q, np.repeat(k, H // KV, 1)) / 8.0; z = np.where(pos[None, :] > pos[:, None], -np.inf, z)
    e = np.exp(z - z.max(-1, keepdims=True)); e /= e.sum(-1, keepdims=True)
    x = x + np.einsum("hqk,khd->qhd", e, np.repeat(v, H // KV, 1)).reshape(n, -1) @ g("attn_output").T
    h = rms(x, g("ffn_norm")); a = h @ g("ffn_gate").T; x = x + ((a / (1 + np.exp(-a))) * (h @ g("ffn_up").T)) @ g("ffn_down").T
scores = rms(x, W["output_norm.weight"]) @ W["token_embd.weight"].T
sample = np.sort(np.random.default_rng(5).choice(len(toks), 64, replace=False)); top = scores.max(-1)
w = gguf.GGUFWriter(sys.argv[2], "reference")
w.add_array("test.tokens", [int(t) for t in ids]); w.add_array("test.sample", [int(t) for t in sample]); w.add_string("test.text", TEXT)
w.add_tensor("test.scores", scores[:, sample].astype(np.float32)); w.add_tensor("test.highest", top.astype(np.float32))
w.add_tensor("test.logarithm", (np.log(np.exp(scores - top[:, None]).sum(-1)) + top).astype(np.float32))
w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
print("scores from", scores.min(), "to", scores.max())
