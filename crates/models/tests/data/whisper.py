# python whisper.py FOLDER: a small Whisper with random weights in FOLDER/whisper (config.json, tokenizer.json, model.safetensors)
# and in FOLDER/whisper-ctranslate2 (model.bin by the package ctranslate2), and what a forward pass in float64 makes of a sound
# (reference.safetensors): log-mel spectra by numpy's FFT, other rates, activations, scores, and the tokens of a greedy search.
import json, math, os, struct, sys
import numpy as np
import ctranslate2
from ctranslate2.specs.whisper_spec import WhisperConfig, WhisperSpec

erf = np.vectorize(math.erf); gelu = lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2)))
RATE, WINDOW, HOP, BINS = 16000, 400, 160, 201

def write(path, tensors):
    head, at, parts = {}, 0, []
    for k, a in tensors.items():
        integer = a.dtype.kind == "i"; b = np.ascontiguousarray(a, np.int32 if integer else np.float32).tobytes()
        head[k] = {"dtype": "I32" if integer else "F32", "shape": list(a.shape), "data_offsets": [at, at + len(b)]}; at += len(b); parts.append(b)
    h = json.dumps(head).encode(); h += b" " * (-len(h) % 8)
    open(path, "wb").write(struct.pack("<Q", len(h)) + h + b"".join(parts))

def mel_filters(bands):  # librosa.filters.mel(sr=16000, n_fft=400, n_mels=bands)
    mel = lambda f: np.where(f < 1000, f * 3 / 200, 15 + np.log(np.maximum(f, 1e-9) / 1000) * 27 / np.log(6.4))
    hertz = lambda m: np.where(m < 15, m * 200 / 3, 1000 * np.exp((m - 15) * np.log(6.4) / 27))
    edges = hertz(np.linspace(mel(np.float64(0)), mel(np.float64(8000)), bands + 2)); f = np.fft.rfftfreq(WINDOW, 1 / RATE)
    d = np.diff(edges); ramps = edges[:, None] - f[None]
    w = np.maximum(0, np.minimum(-ramps[:-2] / d[:-1, None], ramps[2:] / d[1:, None]))
    return w * (2 / (edges[2:] - edges[:-2]))[:, None]

def log_mel(x, bands=80):
    x = np.pad(np.float64(x), WINDOW // 2, mode="reflect"); window = np.hanning(WINDOW + 1)[:-1]
    frames = np.stack([x[i * HOP:i * HOP + WINDOW] * window for i in range((len(x) - WINDOW) // HOP)])
    e = np.log10(np.maximum(mel_filters(bands) @ (np.abs(np.fft.rfft(frames)) ** 2).T, 1e-10))
    return (np.maximum(e, e.max() - 8) + 4) / 4

def resample(x, a, b):  # every sample by the sum over all others
    g = math.gcd(a, b); p, q = a // g, b // g; cutoff = min(p, q) * 0.99; i = np.arange(len(x)) / p; out = []
    for j in range(-(-len(x) * q // p)):
        t = np.clip((i - j / q) * cutoff, -6, 6); out.append((np.sinc(t) * np.cos(t * np.pi / 12) ** 2 * cutoff / p) @ np.float64(x))
    return np.array(out)

c = {"model_type": "whisper", "activation_function": "gelu", "d_model": 16, "encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_layers": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 24, "num_mel_bins": 80, "max_source_positions": 50, "max_target_positions": 20, "scale_embedding": False}
names = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
c["vocab_size"] = 256 + len(names) + 11  # and eleven timestamps
width, wave = c["d_model"], 2 * c["max_source_positions"] * HOP
suppressed, first = [3, 40, 257, 258, 259, 260, 261, 262, 263, 264], [220, 256]

def model(rng):
    W = {}; r = lambda name, *shape, spread=0.3, offset=0.0: W.__setitem__(name, (rng.standard_normal(shape) * spread + offset).astype(np.float16).astype(np.float32))
    def norm(p): r(p + ".weight", width, spread=0.1, offset=1.0); r(p + ".bias", width)
    def linear(p, a, b, bias=True):
        r(p + ".weight", a, b)
        if bias: r(p + ".bias", a)
    def attention(p):
        for k in ["q_proj", "k_proj", "v_proj", "out_proj"]: linear(p + "." + k, width, width, k != "k_proj")
        norm(p + "_layer_norm")
    r("model.encoder.conv1.weight", width, 80, 3, spread=0.1); r("model.encoder.conv1.bias", width); r("model.encoder.conv2.weight", width, width, 3, spread=0.2); r("model.encoder.conv2.bias", width)
    r("model.encoder.embed_positions.weight", c["max_source_positions"], width); r("model.decoder.embed_positions.weight", c["max_target_positions"], width); r("model.decoder.embed_tokens.weight", c["vocab_size"], width, spread=0.5)
    for side in ["encoder", "decoder"]:
        for i in range(c[side + "_layers"]):
            p = f"model.{side}.layers.{i}."; attention(p + "self_attn")
            if side == "decoder": attention(p + "encoder_attn")
            h = c[side + "_ffn_dim"]; linear(p + "fc1", h, width); linear(p + "fc2", width, h); norm(p + "final_layer_norm")
        norm(f"model.{side}.layer_norm")
    return W

class Forward:
    def __init__(self, W): self.W = {k[6:]: v.astype(np.float64) for k, v in W.items()}
    def norm(self, x, p): m = x.mean(-1, keepdims=True); return (x - m) / np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5) * self.W[p + ".weight"] + self.W[p + ".bias"]
    def dense(self, x, p): return x @ self.W[p + ".weight"].T + self.W.get(p + ".bias", 0)
    def conv(self, x, p, stride):
        w = self.W[p + ".weight"]; x = np.pad(x, [(0, 0), (1, 1)]); n = (x.shape[1] - 3) // stride + 1
        return np.stack([(w * x[None, :, i * stride:i * stride + 3]).sum((1, 2)) for i in range(n)], 1) + self.W[p + ".bias"][:, None]
    def attend(self, x, m, p, heads, causal):
        q, k, v = [self.dense(a, f"{p}.{n}_proj").reshape(len(a), heads, -1) for a, n in [(x, "q"), (m, "k"), (m, "v")]]
        z = np.einsum("qhd,khd->hqk", q, k) / math.sqrt(q.shape[-1])
        if causal: z = np.where(np.tril(np.ones(z.shape[1:], bool)), z, -np.inf)
        z = np.exp(z - z.max(-1, keepdims=True)); z /= z.sum(-1, keepdims=True)
        return self.dense(np.einsum("hqk,khd->qhd", z, v).reshape(len(x), -1), p + ".out_proj")
    def mlp(self, x, p): return x + self.dense(gelu(self.dense(self.norm(x, p + "final_layer_norm"), p + "fc1")), p + "fc2")
    def encode(self, mel):
        x = gelu(self.conv(gelu(self.conv(mel, "encoder.conv1", 1)), "encoder.conv2", 2)).T + self.W["encoder.embed_positions.weight"]
        for i in range(c["encoder_layers"]):
            p = f"encoder.layers.{i}."; y = self.norm(x, p + "self_attn_layer_norm"); x = self.mlp(x + self.attend(y, y, p + "self_attn", c["encoder_attention_heads"], False), p)
        return self.norm(x, "encoder.layer_norm")
    def scores(self, tokens, heard):
        x = self.W["decoder.embed_tokens.weight"][tokens] + self.W["decoder.embed_positions.weight"][:len(tokens)]; heads = c["decoder_attention_heads"]
        for i in range(c["decoder_layers"]):
            p = f"decoder.layers.{i}."; y = self.norm(x, p + "self_attn_layer_norm"); x = x + self.attend(y, y, p + "self_attn", heads, True)
            x = x + self.attend(self.norm(x, p + "encoder_attn_layer_norm"), heard, p + "encoder_attn", heads, False); x = self.mlp(x, p)
        return self.norm(x, "decoder.layer_norm") @ self.W["decoder.embed_tokens.weight"].T
    def greedy(self, heard, most):
        tokens, margins = [257, 264], []
        while len(tokens) < 2 + most:
            s = self.scores(tokens, heard)[-1]; s[265:] = -np.inf; s[suppressed] = -np.inf
            if len(tokens) == 2: s[first] = -np.inf
            a, b = np.sort(s)[-2:]; margins.append(b - a); t = int(s.argmax())
            if t == 256: break
            tokens.append(t)
        return tokens[2:], min(margins)

def ctranslate(W, folder):
    spec = WhisperSpec(c["encoder_layers"], c["encoder_attention_heads"], c["decoder_layers"], c["decoder_attention_heads"]); H = lambda name: W["model." + name].astype(np.float16)
    def norm(s, p): s.gamma, s.beta = H(p + ".weight"), H(p + ".bias")
    def linear(s, *all):
        s.weight = np.concatenate([H(p + ".weight") for p in all]); s.bias = np.concatenate([H(p + ".bias") if f"model.{p}.bias" in W else np.zeros(width, np.float16) for p in all])
    def own(s, p): linear(s.linear[0], *[f"{p}.{k}_proj" for k in "qkv"]); linear(s.linear[1], p + ".out_proj"); norm(s.layer_norm, p + "_layer_norm")
    def second(s, p): norm(s.layer_norm, p + "final_layer_norm"); linear(s.linear_0, p + "fc1"); linear(s.linear_1, p + "fc2")
    for side, s in [("encoder", spec.encoder), ("decoder", spec.decoder)]:
        for i, layer in enumerate(s.layer):
            p = f"{side}.layers.{i}."; own(layer.self_attention, p + "self_attn"); second(layer.ffn, p)
            if side == "decoder":
                a, p = layer.attention, p + "encoder_attn"; linear(a.linear[0], p + ".q_proj"); linear(a.linear[1], p + ".k_proj", p + ".v_proj"); linear(a.linear[2], p + ".out_proj"); norm(a.layer_norm, p + "_layer_norm")
        norm(s.layer_norm, side + ".layer_norm"); s.position_encodings.encodings = H(side + ".embed_positions.weight")
    for k in ["conv1", "conv2"]: s = getattr(spec.encoder, k); s.weight, s.bias = H(f"encoder.{k}.weight"), H(f"encoder.{k}.bias")
    spec.decoder.embeddings.weight = H("decoder.embed_tokens.weight"); spec.decoder.projection.weight = spec.decoder.embeddings.weight
    spec.config.suppress_ids, spec.config.suppress_ids_begin = suppressed, first
    spec.register_vocabulary([str(i) for i in range(c["vocab_size"])]); spec.validate(); spec.optimize(); spec.save(folder)
    for f in os.listdir(folder):
        if f.startswith("vocabulary"): os.remove(f"{folder}/{f}")

def tokenizer():
    printing = [*range(33, 127), *range(161, 173), *range(174, 256)]; rest = [b for b in range(256) if b not in printing]
    vocab = {chr(b): i for i, b in enumerate(printing)} | {chr(256 + i): len(printing) + i for i in range(len(rest))}
    added = [{"id": 256 + i, "content": n, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i, n in enumerate(names)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": level, "post_processor": None, "decoder": level, "model": {"type": "BPE", "vocab": vocab, "merges": []}}

out = sys.argv[1]; folder, other = f"{out}/whisper", f"{out}/whisper-ctranslate2"; os.makedirs(folder, exist_ok=True); os.makedirs(other, exist_ok=True)
rng = np.random.default_rng(20); n = wave * 9 // 4; t = np.arange(n) / RATE
# A rising tone with overtones, noise, and a silence; of exact f32 values.
sound = sum(np.sin(2 * np.pi * k * (150 * t + 300 * t * t)) / k for k in (1, 2, 5, 9)) * 0.2 + rng.standard_normal(n) * 0.003; sound[wave + 3000:wave + 6000] = 0
sound = sound.astype(np.float32)
R = {"sound": sound, "log_mel": log_mel(sound), "log_mel_128": log_mel(sound[:4000], 128)}
short = sound[:2000]; R |= {f"resampled_{a}_{b}": resample(short, a, b) for a, b in [(48000, 16000), (44100, 16000), (8000, 16000), (16000, 11025)]}
# The first weights whose best tokens are well ahead of the next ones, and whose texts are not all as long as they may be.
for seed in range(1000):
    W = model(np.random.default_rng(seed)); F = Forward(W); windows = [np.pad(sound[i:i + wave], (0, max(0, i + wave - n))) for i in range(0, n, wave)]
    heard = [F.encode(log_mel(w)) for w in windows]; found = [F.greedy(h, c["max_target_positions"] // 2) for h in heard]; lengths = [len(t) for t, _ in found]
    if min(m for _, m in found) > 0.02 and min(lengths) >= 2 and min(lengths) < 10 and len({tuple(t) for t, _ in found}) == 3: break
else: sys.exit("no weights fit")
print("seed", seed, [(t, round(float(m), 3)) for t, m in found])
tokens = [257, 264, 5, 70, 133, 256, 9, 270]
R |= {"heard": heard[0], "tokens": np.array(tokens), "scores": F.scores(tokens, heard[0])} | {f"text_{i}": np.array(t) for i, (t, _) in enumerate(found)}
write(f"{folder}/model.safetensors", W); write(f"{folder}/reference.safetensors", R); json.dump(c, open(f"{folder}/config.json", "w"))
json.dump({"suppress_tokens": suppressed, "begin_suppress_tokens": first}, open(f"{folder}/generation_config.json", "w")); json.dump(tokenizer(), open(f"{folder}/tokenizer.json", "w"))
ctranslate(W, other)

# With timestamps: the first few tokens of text that are not suppressed, so that parts end, whose choices stay under small changes of scores.
from whisper_stamps import choose
def window(h, k):
    tokens, sure = [257], True
    while len(tokens) < 11:
        s = F.scores(tokens, h)[-1]; t = choose(s, tokens[1:], **k); sure &= all(choose(s + np.random.default_rng(i).uniform(-.01, .01, len(s)), tokens[1:], **k) == t for i in range(9))
        if t == 256: break
        tokens.append(t)
    return tokens[1:], sure
def parts(tokens, at, size):  # of a window: beginnings and ends in seconds, tokens of text, and the samples that are heard to their end
    stamp = [t >= 265 for t in tokens]; ends = [i for i in range(1, len(tokens)) if stamp[i - 1] and stamp[i]]; single = stamp[-2:] == [False, True]; out = []; begin = 0
    if not ends: assert stamp[0]; last = [t for t in tokens if t >= 265][-1]; return [[at + (tokens[0] - 265) * 320, at + ((last - 265) * 320 if last > tokens[0] else size), [t for t in tokens if t < 265]]], size
    for e in ends + ([len(tokens)] if single else []): out.append([at + (tokens[begin] - 265) * 320, at + (tokens[e - 1] - 265) * 320, [t for t in tokens[begin:e] if t < 265]]); begin = e
    return out, size if single else (tokens[begin - 1] - 265) * 320
for trial in range(1000):
    r = np.random.default_rng(trial); never = sorted(set(range(265)) - {int(t) for t in r.choice(256, 3, replace=False)}); k = dict(end=256, first=265, latest=50, never=never, not_first=first); at, all_parts, windows, sure = 0, [], [], True
    while at < n and sure:
        size = min(wave, n - at); tokens, sure = window(F.encode(log_mel(np.pad(sound[at:at + size], (0, wave - size)))), k); some, heard_to = parts(tokens, at, size); all_parts += some; windows.append(tokens); at += heard_to
    if sure and len(windows) > 4 and len(all_parts) > len(windows): break
else: sys.exit("no tokens fit")
print("timestamps", trial, windows); json.dump({"suppress_tokens": never, "windows": windows, "parts": [[a / RATE, b / RATE, t] for a, b, t in all_parts]}, open(f"{folder}/timestamps.json", "w"), separators=(",", ":"))
