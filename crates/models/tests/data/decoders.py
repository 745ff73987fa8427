# python decoders.py FOLDER TOKENIZER.json: small decoders with random weights as GGUF files, each with the scores that a
# forward pass in float64 over the dequantised weights gives for some tokens (`test.tokens`, `test.scores`); and as folders of
# safetensors, each with such scores in `reference.safetensors`, and with the same model as GGUF where it can be one.
import json, os, shutil, sys
import numpy as np, gguf
from gguf import GGMLQuantizationType as T, quants

rng = np.random.default_rng(3)
TEMPLATE = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are small<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

def forward(W, tokens, layers, heads, shared, dim, freq, eps, interleaved, windows, tied, amplitude=1.0):
    norms = "blk.0.attn_q_norm.weight" in W
    rms = lambda x, g: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * g
    n = len(tokens); pos = np.arange(n); c, s = amplitude * np.cos(pos[:, None] * freq)[:, None], amplitude * np.sin(pos[:, None] * freq)[:, None]
    def rope(x):
        y = np.empty_like(x)
        a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :dim // 2], x[..., dim // 2:])
        ya, yb = a * c - b * s, a * s + b * c
        if interleaved: y[..., 0::2], y[..., 1::2] = ya, yb
        else: y[..., :dim // 2], y[..., dim // 2:] = ya, yb
        return y
    x = W["token_embd.weight"][tokens]
    for i in range(layers):
        seen = (pos[None, :] <= pos[:, None]) & ((pos[:, None] - pos[None, :] < windows[i]) if windows[i] else True)
        g = lambda k: W[f"blk.{i}.{k}.weight"]
        b = lambda k: W.get(f"blk.{i}.{k}.bias", 0.0)
        h = rms(x, g("attn_norm"))
        q = (h @ g("attn_q").T + b("attn_q")).reshape(n, heads, dim); k = (h @ g("attn_k").T + b("attn_k")).reshape(n, shared, dim); v = (h @ g("attn_v").T + b("attn_v")).reshape(n, shared, dim)
        if norms: q, k = rms(q, g("attn_q_norm")), rms(k, g("attn_k_norm"))
        q, k = rope(q), rope(k); kk, vv = np.repeat(k, heads // shared, 1), np.repeat(v, heads // shared, 1)
        z = np.einsum("qhd,khd->hqk", q, kk) / np.sqrt(dim); z = np.where(seen, z, -np.inf)
        e = np.exp(z - z.max(-1, keepdims=True)); e /= e.sum(-1, keepdims=True)
        x = x + np.einsum("hqk,khd->qhd", e, vv).reshape(n, -1) @ g("attn_output").T + b("attn_output")
        h = rms(x, g("ffn_norm")); a = h @ g("ffn_gate").T; x = x + ((a / (1 + np.exp(-a))) * (h @ g("ffn_up").T)) @ g("ffn_down").T
    return rms(x, W["output_norm.weight"]) @ (W["token_embd.weight"] if tied else W["output.weight"]).T

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
    freq = base ** (-np.arange(0, dim, 2) / dim) / scale
    if factors: freq = freq / W["rope_freqs.weight"]
    scores = forward(W, tokens, layers, heads, shared, dim, freq, eps, interleaved, [window] * layers, tied)
    w.add_array("test.tokens", [int(t) for t in tokens]); w.add_tensor("test.scores", scores.astype(np.float32))
    w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
    print(path, "scores from", scores.min(), "to", scores.max())


# The names in safetensors.
NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
NAMES |= {f"attn_{a}": f"self_attn.{b}_proj" for a, b in [("q", "q"), ("k", "k"), ("v", "v"), ("output", "o")]} | {f"attn_{a}_norm": f"self_attn.{a}_norm" for a in "qk"} | {f"ffn_{a}": f"mlp.{a}_proj" for a in ["gate", "up", "down"]}
# A number as bf16 has it, and its bits.
bits = lambda a: ((a.astype(np.float32).view(np.uint32).astype(np.uint64) + 0x7FFF + ((a.astype(np.float32).view(np.uint32) >> 16) & 1)) >> 16).astype(np.uint16)
rounded = lambda a: (bits(a).astype(np.uint32) << 16).view(np.float32)

def save(path, tensors):
    head, data = {}, b""
    for name, (kind, a) in tensors.items():
        raw = np.ascontiguousarray(a).tobytes(); head[name] = {"dtype": kind, "shape": list(a.shape), "data_offsets": [len(data), len(data) + len(raw)]}; data += raw
    text = json.dumps(head).encode(); text += b" " * (-len(text) % 8)
    with open(path, "wb") as f: f.write(len(text).to_bytes(8, "little") + text + data)

# A model as a folder, and as `model.gguf` within it if `pair` is the architecture there.
def folder(path, kind, config, vocabulary, freq, amplitude=1.0, windows=(0, 0), tied=False, biases=(), norms=False, pair=None, keys=(), shards=False, factors=None, tokenizer=None):
    os.makedirs(path, exist_ok=True)
    layers, width, heads, shared, dim, hidden, base, eps, context = 2, 32, 4, 2, 8, 48, 10000.0, 1e-5, 128
    if tokenizer:
        t = json.load(open(tokenizer)); vocabulary = len(t["model"]["vocab"]); shutil.copy(tokenizer, f"{path}/tokenizer.json")
        json.dump({"bos_token": {"content": "<|im_start|>"}, "eos_token": "<|im_end|>", "chat_template": [{"name": "default", "template": TEMPLATE}]}, open(f"{path}/tokenizer_config.json", "w"))
    json.dump({"model_type": kind, "hidden_act": "silu", "num_hidden_layers": layers, "hidden_size": width, "intermediate_size": hidden, "num_attention_heads": heads, "num_key_value_heads": shared, "max_position_embeddings": context, "rms_norm_eps": eps, "rope_theta": base, "vocab_size": vocabulary, "tie_word_embeddings": tied, "eos_token_id": [2]} | config, open(f"{path}/config.json", "w"))
    W = {}
    def put(name, shape, spread, offset=0.0): W[name] = rounded(rng.standard_normal(shape) * spread + offset)
    put("token_embd.weight", (vocabulary, width), 0.5); put("output_norm.weight", (width,), 0.2, 1.0)
    if not tied: put("output.weight", (vocabulary, width), 0.3)
    for i in range(layers):
        for n, s in [("attn_q", (heads * dim, width)), ("attn_k", (shared * dim, width)), ("attn_v", (shared * dim, width)), ("attn_output", (width, heads * dim)), ("ffn_gate", (hidden, width)), ("ffn_up", (hidden, width)), ("ffn_down", (width, hidden))]:
            put(f"blk.{i}.{n}.weight", s, 0.3)
            if n in biases: put(f"blk.{i}.{n}.bias", (s[0],), 0.3)
        for n in ["attn_norm", "ffn_norm"]: put(f"blk.{i}.{n}.weight", (width,), 0.2, 1.0)
        for n in ["attn_q_norm", "attn_k_norm"] if norms else []: put(f"blk.{i}.{n}.weight", (dim,), 0.2, 1.0)
    tokens = rng.integers(3, vocabulary, 24)
    scores = forward({n: a.astype(np.float64) for n, a in W.items()}, tokens, layers, heads, shared, dim, freq, eps, False, windows, tied, amplitude)
    save(f"{path}/reference.safetensors", {"tokens": ("I32", tokens.astype(np.int32)), "scores": ("F32", scores.astype(np.float32))})
    def name(n):
        layer, rest = (f"model.layers.{n.split('.')[1]}.", n.split(".", 2)[2]) if n.startswith("blk.") else ("", n)
        part, end = rest.rsplit(".", 1)
        return f"{layer}{NAMES[part]}.{end}"
    tensors = {name(n): ("BF16", bits(a)) for n, a in W.items()}
    if shards:
        files = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]; place = {n: files["layers.1" in n] for n in tensors}
        for f in files: save(f"{path}/{f}", {n: t for n, t in tensors.items() if place[n] == f})
        json.dump({"metadata": {}, "weight_map": place}, open(f"{path}/model.safetensors.index.json", "w"))
    else: save(f"{path}/model.safetensors", tensors)
    print(path, "scores from", scores.min(), "to", scores.max())
    if not pair: return
    w = gguf.GGUFWriter(f"{path}/model.gguf", pair)
    w.add_block_count(layers); w.add_context_length(context); w.add_embedding_length(width); w.add_feed_forward_length(hidden)
    w.add_head_count(heads); w.add_head_count_kv(shared); w.add_layer_norm_rms_eps(eps); w.add_rope_freq_base(base)
    for key, value in keys: (w.add_string if isinstance(value, str) else w.add_float32 if isinstance(value, float) else w.add_uint32)(f"{pair}.{key}", value)
    for n, a in W.items():
        # In GGUF files of the llama family rotated pairs are neighbours.
        if pair == "llama" and n.split(".")[-2] in ("attn_q", "attn_k"): a = a.reshape(-1, 2, dim // 2, *a.shape[1:]).swapaxes(1, 2).reshape(a.shape)
        w.add_tensor(n, bits(a).view(np.uint8) if a.ndim == 2 else a, raw_dtype=T.BF16 if a.ndim == 2 else None)
    if factors is not None: w.add_tensor("rope_freqs.weight", factors.astype(np.float32))
    w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()

out = sys.argv[1]
decoder(f"{out}/llama.gguf", "llama", True, T.Q8_0, 0, factors=True, tokenizer=sys.argv[2])
decoder(f"{out}/qwen2.gguf", "qwen2", False, T.Q4_1, 96, biases=True, scale=2.0)
decoder(f"{out}/qwen3.gguf", "qwen3", False, T.Q5_0, 96, norms=True, tied=False, window=8)

plain = 10000.0 ** (-np.arange(0, 8, 2) / 8)
# As transformers/modeling_rope_utils.py describes the scalings.
wave, old, f, low, high = 2 * np.pi / plain, 16, 4.0, 1.0, 4.0
smooth = (old / wave - low) / (high - low)
llama3 = np.where(wave > old / low, plain / f, np.where(wave < old / high, plain, (1 - smooth) * plain / f + smooth * plain))
folder(f"{out}/folders/llama", "llama", {"rope_scaling": {"rope_type": "llama3", "factor": f, "low_freq_factor": low, "high_freq_factor": high, "original_max_position_embeddings": old}}, 0, llama3, tied=True, pair="llama", shards=True, factors=plain / llama3, tokenizer=sys.argv[2])
folder(f"{out}/folders/mistral", "mistral", {"sliding_window": 8}, 96, plain, windows=(8, 8), pair="llama", keys=[("attention.sliding_window", 8)])
old = 32
turn = lambda beta: 8 * np.log(old / (beta * 2 * np.pi)) / (2 * np.log(10000.0))
first, last = max(np.floor(turn(2.0)), 0), min(np.ceil(turn(0.5)), 7)
ramp = np.clip((np.arange(4) - first) / (last - first), 0, 1)
yarn = plain / f * ramp + plain * (1 - ramp)
folder(f"{out}/folders/qwen2", "qwen2", {"rope_scaling": {"type": "yarn", "factor": f, "original_max_position_embeddings": old, "beta_fast": 2.0, "beta_slow": 0.5}, "use_sliding_window": False, "sliding_window": 8}, 96, yarn, amplitude=0.1 * np.log(f) + 1, biases=("attn_q", "attn_k", "attn_v"), pair="qwen2", keys=[("rope.scaling.type", "yarn"), ("rope.scaling.factor", f), ("rope.scaling.original_context_length", old), ("rope.scaling.yarn_beta_fast", 2.0), ("rope.scaling.yarn_beta_slow", 0.5)])
folder(f"{out}/folders/qwen3", "qwen3", {"rope_parameters": {"rope_type": "linear", "factor": f, "rope_theta": 10000.0}, "rope_theta": None, "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}, 96, plain / f, windows=(0, 8), norms=True, biases=("attn_q", "attn_k", "attn_v", "attn_output"))
