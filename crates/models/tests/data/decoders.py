# python decoders.py FOLDER TOKENIZER.json: small decoders with random weights as GGUF files, each with the scores that a
# forward pass in float64 over the dequantised weights gives for some tokens (`test.tokens`, `test.scores`).
import json, sys
import numpy as np, gguf
from gguf import GGMLQuantizationType as T, quants

rng = np.random.default_rng(3)
TEMPLATE = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are small<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

def decoder(path, arch, interleaved, kind, vocabulary, biases=False, norms=False, tied=True, window=0, scale=1.0, factors=False, tokenizer=None):
    layers, width, heads, shared, dim, hidden, base, eps = 2, 64, 4, 2, 16, 96, 10000.0, 1e-5
    w = gguf.GGUFWriter(path, arch)
    w.add_block_count(layers); w.add_context_length(96); w.add_embedding_length(width); w.add_feed_forward_length(hidden)
    w.add_head_count(heads); w.add_head_count_kv(shared); w.add_layer_norm_rms_eps(eps); w.add_rope_freq_base(base); w.add_rope_dimension_count(dim)
    if window: w.add_uint32(f"{arch}.attention.sliding_window", window)
    if scale != 1.0: w.add_string(f"{arch}.rope.scaling.type", "linear"); w.add_float32(f"{arch}.rope.scaling.factor", scale)
    if tokenizer:
        t = json.load(open(tokenizer)); vocab = sorted(t["model"]["vocab"], key=t["model"]["vocab"].get)
        special = {a["content"] for a in t["added_tokens"]}
        w.add_tokenizer_model("gpt2"); w.add_tokenizer_pre("smollm"); w.add_token_list(vocab)
        w.add_token_types([3 if v in special else 1 for v in vocab]); w.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in t["model"]["merges"]])
        w.add_bos_token_id(vocab.index("<|im_start|>")); w.add_eos_token_id(vocab.index("<|im_end|>")); w.add_unk_token_id(0)
        w.add_chat_template(TEMPLATE); vocabulary = len(vocab)
    W = {}
    def put(name, shape, spread, offset=0.0, plain=False):
        a = (rng.standard_normal(shape) * spread + offset).astype(np.float32)
        if plain or len(shape) == 1: w.add_tensor(name, a); W[name] = a.astype(np.float64); return
        raw = quants.quantize(a, kind); w.add_tensor(name, raw, raw_dtype=None if kind == T.F32 else kind)
        W[name] = quants.dequantize(raw, kind).astype(np.float64).reshape(shape)
    put("token_embd.weight", (vocabulary, width), 0.5); put("output_norm.weight", (width,), 0.2, 1.0)
    if not tied: put("output.weight", (vocabulary, width), 0.3)
    if factors: put("rope_freqs.weight", (dim // 2,), 0.5, 2.0)
    for i in range(layers):
        for n, s in [("attn_q", (heads * dim, width)), ("attn_k", (shared * dim, width)), ("attn_v", (shared * dim, width)), ("attn_output", (width, heads * dim)), ("ffn_gate", (hidden, width)), ("ffn_up", (hidden, width)), ("ffn_down", (width, hidden))]:
            put(f"blk.{i}.{n}.weight", s, 0.25)
            if biases and n in ("attn_q", "attn_k", "attn_v"): put(f"blk.{i}.{n}.bias", (s[0],), 0.3)
        for n in ["attn_norm", "ffn_norm"]: put(f"blk.{i}.{n}.weight", (width,), 0.2, 1.0)
        if norms:
            for n in ["attn_q_norm", "attn_k_norm"]: put(f"blk.{i}.{n}.weight", (dim,), 0.2, 1.0)
    tokens = rng.integers(3, vocabulary, 24)
    rms = lambda x, g: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * g
    freq = base ** (-np.arange(0, dim, 2) / dim) / scale
    if factors: freq = freq / W["rope_freqs.weight"]
    n = len(tokens); pos = np.arange(n); c, s = np.cos(pos[:, None] * freq)[:, None], np.sin(pos[:, None] * freq)[:, None]
    def rope(x):
        y = np.empty_like(x)
        a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :dim // 2], x[..., dim // 2:])
        ya, yb = a * c - b * s, a * s + b * c
        if interleaved: y[..., 0::2], y[..., 1::2] = ya, yb
        else: y[..., :dim // 2], y[..., dim // 2:] = ya, yb
        return y
    x = W["token_embd.weight"][tokens]
    seen = (pos[None, :] <= pos[:, None]) & ((pos[:, None] - pos[None, :] < window) if window else True)
    for i in range(layers):
        g = lambda k: W[f"blk.{i}.{k}.weight"]
        b = lambda k: W.get(f"blk.{i}.{k}.bias", 0.0)
        h = rms(x, g("attn_norm"))
        q = (h @ g("attn_q").T + b("attn_q")).reshape(n, heads, dim); k = (h @ g("attn_k").T + b("attn_k")).reshape(n, shared, dim); v = (h @ g("attn_v").T + b("attn_v")).reshape(n, shared, dim)
        if norms: q, k = rms(q, g("attn_q_norm")), rms(k, g("attn_k_norm"))
        q, k = rope(q), rope(k); kk, vv = np.repeat(k, heads // shared, 1), np.repeat(v, heads // shared, 1)
        z = np.einsum("qhd,khd->hqk", q, kk) / np.sqrt(dim); z = np.where(seen, z, -np.inf)
        e = np.exp(z - z.max(-1, keepdims=True)); e /= e.sum(-1, keepdims=True)
        x = x + np.einsum("hqk,khd->qhd", e, vv).reshape(n, -1) @ g("attn_output").T
        h = rms(x, g("ffn_norm")); a = h @ g("ffn_gate").T; x = x + ((a / (1 + np.exp(-a))) * (h @ g("ffn_up").T)) @ g("ffn_down").T
    scores = rms(x, W["output_norm.weight"]) @ (W["token_embd.weight"] if tied else W["output.weight"]).T
    w.add_array("test.tokens", [int(t) for t in tokens]); w.add_tensor("test.scores", scores.astype(np.float32))
    w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
    print(path, "scores from", scores.min(), "to", scores.max())

out = sys.argv[1]
decoder(f"{out}/llama.gguf", "llama", True, T.Q8_0, 0, factors=True, tokenizer=sys.argv[2])
decoder(f"{out}/qwen2.gguf", "qwen2", False, T.Q4_1, 96, biases=True, scale=2.0)
decoder(f"{out}/qwen3.gguf", "qwen3", False, T.Q5_0, 96, norms=True, tied=False, window=8)
