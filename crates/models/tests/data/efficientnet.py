# python efficientnet.py FOLDER [MODEL.pth PICTURE.jpg...]: a small EfficientNet-Lite with random weights in FOLDER/efficientnet, in
# both layouts of PyTorch's files (zip.pth, legacy.pth), and the scores of a forward pass in float64 (reference.safetensors). With a
# model, the best classes of pictures. The files are written by Python's own pickle with PyTorch's names for classes and calls.
import collections, io, json, os, pickle, struct, sys, types, zipfile
import numpy as np

torch = sys.modules["torch"] = types.ModuleType("torch"); utils = sys.modules["torch._utils"] = types.ModuleType("torch._utils"); torch._utils = utils
def _rebuild_tensor_v2(storage, offset, size, stride, *rest): return np.lib.stride_tricks.as_strided(storage[offset:], size, [s * storage.itemsize for s in stride])
_rebuild_tensor_v2.__module__ = "torch._utils"; utils._rebuild_tensor_v2 = _rebuild_tensor_v2
TYPES = {"FloatStorage": np.float32, "HalfStorage": np.float16, "DoubleStorage": np.float64, "LongStorage": np.int64}
for name in TYPES: setattr(torch, name, type(name, (), {"__module__": "torch"}))

class Storage:
    def __init__(self, key, data): self.key, self.data = key, data
class Tensor:
    def __init__(self, storage, offset, size, stride): self.args = (storage, offset, size, stride, False, collections.OrderedDict())
    def __reduce__(self): return _rebuild_tensor_v2, self.args

def pickled(value, legacy):
    out = io.BytesIO(); p = pickle.Pickler(out, protocol=2)
    def persistent(x):
        if isinstance(x, Storage):
            kind = getattr(torch, next(k for k, t in TYPES.items() if t == x.data.dtype)); return ("storage", kind, x.key, "cpu", x.data.size) + ((None,) if legacy else ())
    p.persistent_id = persistent; p.dump(value); return out.getvalue()

def save(folder, W):
    for legacy in (False, True):
        storages, state = [], collections.OrderedDict()
        for i, (k, a) in enumerate(W.items()):
            s = Storage(str(i), np.ascontiguousarray(a).reshape(-1)); storages.append(s)
            # As slices of tensors are kept: behind something else in the same memory.
            if k == "_fc.bias": s.data = np.concatenate([np.float32([7, 8, 9]), s.data])
            stride = [int(np.prod(a.shape[j + 1:])) for j in range(a.ndim)]; state[k] = Tensor(s, s.data.size - a.size, tuple(a.shape), tuple(stride))
        if legacy:
            with open(f"{folder}/legacy.pth", "wb") as f:
                facts = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
                for value in (0x1950a86a20f9469cfc6c, 1001, facts): pickle.dump(value, f, protocol=2)
                f.write(pickled(state, True)); order = sorted(storages, key=lambda s: s.key); pickle.dump([s.key for s in order], f, protocol=2)
                for s in order: f.write(struct.pack("<q", s.data.size) + s.data.tobytes())
        else:
            with zipfile.ZipFile(f"{folder}/zip.pth", "w", zipfile.ZIP_STORED) as z:
                def entry(name, data):
                    info = zipfile.ZipInfo(f"archive/{name}"); pad = -(z.fp.tell() + 30 + len(info.filename) + 4) % 64; info.extra = b"FB" + struct.pack("<H", pad) + b"Z" * pad; z.writestr(info, data)
                # Within another dictionary, as training programs keep it.
                entry("data.pkl", pickled({"epoch": 3, "loss": 0.5, "state_dict": state}, False)); entry("byteorder", b"little")
                for s in storages: entry(f"data/{s.key}", s.data.tobytes())
                entry("version", b"3\n")

class Unpickler(pickle.Unpickler):
    def persistent_load(self, x): return self.storages.setdefault(x[2], np.zeros(x[4], TYPES[x[1].__name__]))
def load(path):  # the legacy layout
    f = open(path, "rb"); assert pickle.load(f) == 0x1950a86a20f9469cfc6c; pickle.load(f), pickle.load(f); u = Unpickler(f); u.storages = {}; state = u.load()
    for key in pickle.load(f): n, = struct.unpack("<q", f.read(8)); s = u.storages[key]; assert n == s.size; s[:] = np.frombuffer(f.read(s.nbytes), s.dtype)
    return state

def conv(x, w, stride, groups=1):
    k = w.shape[-1]; pads = [max((-(-n // stride) - 1) * stride + k - n, 0) for n in x.shape[1:]]; x = np.pad(x, [(0, 0)] + [(p // 2, p - p // 2) for p in pads])
    v = np.lib.stride_tricks.sliding_window_view(x, (k, k), (1, 2))[:, ::stride, ::stride]
    return np.einsum("chwij,cij->chw", v, w[:, 0]) if groups > 1 else np.einsum("chwij,ocij->ohw", v, w, optimize=True)

def forward(W, x):
    W = {k: v.astype(np.float64) for k, v in W.items()}; relu6 = lambda x: np.clip(x, 0, 6); strides = [1, 2, 2, 2, 1, 2, 1]
    def norm(x, p): a = W[p + ".weight"] / np.sqrt(W[p + ".running_var"] + 1e-3); return x * a[:, None, None] + (W[p + ".bias"] - W[p + ".running_mean"] * a)[:, None, None]
    x = relu6(norm(conv(x, W["_conv_stem.weight"], 2), "_bn0")); i, stage = 0, -1
    while f"_blocks.{i}._bn1.weight" in W:
        p = f"_blocks.{i}."; y = x; n = W[p + "_project_conv.weight"].shape[0]; begins = i == 0 or n != len(x); stage += begins; s = strides[stage] if begins else 1
        if p + "_expand_conv.weight" in W: y = relu6(norm(conv(y, W[p + "_expand_conv.weight"], 1), p + "_bn0"))
        w = W[p + "_depthwise_conv.weight"]; y = relu6(norm(conv(y, w, s, len(w)), p + "_bn1")); y = norm(conv(y, W[p + "_project_conv.weight"], 1), p + "_bn2")
        x = x + y if s == 1 and len(x) == n else y; i += 1
    return W["_fc.weight"] @ relu6(norm(conv(x, W["_conv_head.weight"], 1), "_bn1")).mean((1, 2)) + W["_fc.bias"]

def model(rng):
    W = {}; r = lambda name, *shape, spread=0.3, offset=0.0: W.__setitem__(name, (rng.standard_normal(shape) * spread + offset).astype(np.float32))
    def norm(p, n): r(p + ".weight", n, spread=0.2, offset=1.0); r(p + ".bias", n); r(p + ".running_mean", n); W[p + ".running_var"] = rng.uniform(0.5, 2, n).astype(np.float32); W[p + ".num_batches_tracked"] = np.array(11, np.int64)
    r("_conv_stem.weight", 6, 3, 3, 3); norm("_bn0", 6); a, i = 6, 0
    for n, k, repeats in [(4, 3, 1), (5, 3, 2), (6, 5, 1), (7, 3, 2), (8, 5, 1), (9, 5, 1), (10, 3, 1)]:
        for _ in range(repeats):
            p = f"_blocks.{i}."; wide = a if i == 0 else 2 * a
            if i: r(p + "_expand_conv.weight", wide, a, 1, 1, spread=0.6); norm(p + "_bn0", wide)
            r(p + "_depthwise_conv.weight", wide, 1, k, k); norm(p + "_bn1", wide); r(p + "_project_conv.weight", n, wide, 1, 1, spread=0.6); norm(p + "_bn2", n); a, i = n, i + 1
    r("_conv_head.weight", 12, a, 1, 1, spread=0.6); norm("_bn1", 12); r("_fc.weight", 5, 12, spread=1.0); r("_fc.bias", 5); return W

def write(path, tensors):
    head, at, parts = {}, 0, []
    for k, a in tensors.items():
        b = np.ascontiguousarray(a, np.float32).tobytes(); head[k] = {"dtype": "F32", "shape": list(a.shape), "data_offsets": [at, at + len(b)]}; at += len(b); parts.append(b)
    h = json.dumps(head).encode(); h += b" " * (-len(h) % 8)
    open(path, "wb").write(struct.pack("<Q", len(h)) + h + b"".join(parts))

folder = sys.argv[1] + "/efficientnet"; os.makedirs(folder, exist_ok=True); rng = np.random.default_rng(3); W = model(rng); save(folder, W)
assert all((W[k] == v).all() for k, v in load(f"{folder}/legacy.pth").items())
images = rng.standard_normal((2, 3, 37, 46)).astype(np.float32)
write(f"{folder}/reference.safetensors", {"images": images, "scores": np.stack([forward(W, x) for x in images]), "_fc.weight": W["_fc.weight"], "_fc.bias": W["_fc.bias"]})
if len(sys.argv) > 2:
    from PIL import Image
    W = load(sys.argv[2])
    for path in sys.argv[3:]:
        x = Image.open(path).convert("RGB"); w, h = x.size; side = int(min(w, h) * 224 / 256); a, b = (w - side + 1) // 2, (h - side + 1) // 2
        x = np.float64(x.crop((a, b, a + side, b + side)).resize((224, 224), Image.BICUBIC)).transpose(2, 0, 1); s = forward(W, (x - 127) / 128)
        print(path, [(int(i), round(float(s[i]), 3)) for i in np.argsort(-s)[:5]])
