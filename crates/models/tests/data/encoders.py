# python encoders.py FOLDER TOKENIZER.json [MINILM]: a small encoder with random weights (model.safetensors, config.json,
# tokenizer.json) and what a forward pass in float64 makes of the sentences; with MiniLM's folder also of its weights.
import json, math, shutil, struct, sys
import numpy as np
from tokenizers import Tokenizer

SENTENCES = ["A man is eating food.", "A man is eating a piece of bread.", "The girl is carrying a baby.", "A man is riding a horse.", "A woman is playing violin.", "Two men pushed carts through the woods.", "A man is riding a white horse on an enclosed ground.", "A monkey is playing drums.", "Someone in a gorilla costume is playing a set of drums.", "The quick brown fox jumps over the lazy dog; it's 12,345 o'clock.", "What is the capital of France?", "Paris is the capital and largest city of France.", "GPU", "x = a @ b + c  # a matrix product", "Der Zug f\u00e4hrt um halb neun nach M\u00fcnchen.", "\u6f22\u5b57 and \u30ab\u30ca in a row", "!", " ".join(["long"] * 60), "Numbers such as 3.14159, 2.71828 and 1.41421 are irrational.", "Rust's borrow checker refuses what it cannot prove."]
erf = np.vectorize(math.erf)

def read(path):
    data = open(path, "rb").read(); n = struct.unpack("<Q", data[:8])[0]; head = json.loads(data[8:8 + n]); kinds = {"F32": np.float32, "I64": np.int64}
    return {k: np.frombuffer(data, kinds[v["dtype"]], int(np.prod(v["shape"])), 8 + n + v["data_offsets"][0]).reshape(v["shape"]) for k, v in head.items() if k != "__metadata__"}

def write(path, tensors):
    head, at, parts = {}, 0, []
    for k, a in tensors.items():
        b = np.ascontiguousarray(a, np.float32).tobytes(); head[k] = {"dtype": "F32", "shape": list(a.shape), "data_offsets": [at, at + len(b)]}; at += len(b); parts.append(b)
    h = json.dumps(head).encode(); h += b" " * (-len(h) % 8)
    open(path, "wb").write(struct.pack("<Q", len(h)) + h + b"".join(parts))

def embed(W, c, ids):
    W = {k: v.astype(np.float64) for k, v in W.items()}; heads = c["num_attention_heads"]; eps = c["layer_norm_eps"]
    def norm(x, p):
        m = x.mean(-1, keepdims=True); v = ((x - m) ** 2).mean(-1, keepdims=True)
        return (x - m) / np.sqrt(v + eps) * W[p + ".weight"] + W[p + ".bias"]
    dense = lambda x, p: x @ W[p + ".weight"].T + W[p + ".bias"]
    n = len(ids); e = "embeddings."
    x = norm(W[e + "word_embeddings.weight"][ids] + W[e + "position_embeddings.weight"][:n] + W[e + "token_type_embeddings.weight"][0], e + "LayerNorm")
    for i in range(c["num_hidden_layers"]):
        p = f"encoder.layer.{i}."; s = lambda k: dense(x, p + "attention.self." + k).reshape(n, heads, -1)
        q, k, v = s("query"), s("key"), s("value"); z = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(q.shape[-1])
        z = np.exp(z - z.max(-1, keepdims=True)); z /= z.sum(-1, keepdims=True)
        x = norm(x + dense(np.einsum("hqk,khd->qhd", z, v).reshape(n, -1), p + "attention.output.dense"), p + "attention.output.LayerNorm")
        h = dense(x, p + "intermediate.dense"); h = h * 0.5 * (1 + erf(h / math.sqrt(2)))
        x = norm(x + dense(h, p + "output.dense"), p + "output.LayerNorm")
    y = x.mean(0); return y / np.sqrt((y * y).sum())

def reference(W, c, tokenizer):
    tok = Tokenizer.from_file(tokenizer); tok.no_padding(); tok.no_truncation()
    return np.stack([embed(W, c, tok.encode(s).ids) for s in SENTENCES])

out = sys.argv[1]; rng = np.random.default_rng(9); width, hidden, layers = 32, 64, 2
c = {"model_type": "bert", "hidden_act": "gelu", "hidden_size": width, "intermediate_size": hidden, "num_attention_heads": 4, "num_hidden_layers": layers, "layer_norm_eps": 1e-12, "max_position_embeddings": 256, "type_vocab_size": 2, "vocab_size": 700, "position_embedding_type": "absolute"}
W = {}
r = lambda name, *shape, spread=0.3, offset=0.0: W.__setitem__(name, (rng.standard_normal(shape) * spread + offset).astype(np.float32))
r("embeddings.word_embeddings.weight", 700, width); r("embeddings.position_embeddings.weight", 256, width); r("embeddings.token_type_embeddings.weight", 2, width)
def norms(p): r(p + ".weight", width, spread=0.1, offset=1.0); r(p + ".bias", width)
norms("embeddings.LayerNorm")
for i in range(layers):
    p = f"encoder.layer.{i}."
    for k, a, b in [("attention.self.query", width, width), ("attention.self.key", width, width), ("attention.self.value", width, width), ("attention.output.dense", width, width), ("intermediate.dense", hidden, width), ("output.dense", width, hidden)]: r(p + k + ".weight", a, b); r(p + k + ".bias", a)
    norms(p + "attention.output.LayerNorm"); norms(p + "output.LayerNorm")
write(f"{out}/model.safetensors", W); json.dump(c, open(f"{out}/config.json", "w")); shutil.copyfile(sys.argv[2], f"{out}/tokenizer.json"); json.dump(SENTENCES, open(f"{out}/sentences.json", "w"))
write(f"{out}/reference.safetensors", {"embeddings": reference(W, c, sys.argv[2])})
if len(sys.argv) > 3:
    m = sys.argv[3]; y = reference(read(f"{m}/model.safetensors"), json.load(open(f"{m}/config.json")), f"{m}/tokenizer.json")
    write(f"{out}/minilm.reference.safetensors", {"embeddings": y}); print("cosines", y[0] @ y[1], y[0] @ y[10], y[10] @ y[11])
