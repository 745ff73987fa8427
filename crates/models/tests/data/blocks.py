# python blocks.py blocks.gguf: random blocks of every format, and the numbers that the package `gguf` makes of them; numbers, and the blocks that it makes of these.
import sys, numpy as np, gguf
from gguf import GGMLQuantizationType as T, quants
rng = np.random.default_rng(7)
w = gguf.GGUFWriter(sys.argv[1], "blocks")
w.add_uint8("v.u8", 200); w.add_int8("v.i8", -3); w.add_uint16("v.u16", 60000); w.add_int16("v.i16", -30000)
w.add_uint32("v.u32", 4000000000); w.add_int32("v.i32", -2000000000); w.add_float32("v.f32", 0.1); w.add_bool("v.bool", True)
w.add_string("v.string", "zig\u00e9 \u6f22"); w.add_uint64("v.u64", 1 << 63); w.add_int64("v.i64", -(1 << 62)); w.add_float64("v.f64", 0.1)
w.add_array("v.ints", [1, -2, 3]); w.add_array("v.texts", ["a", "", "\u00e4"]); w.add_array("v.floats", [0.5, -1.5]); w.add_array("v.bools", [True, False])
w.add_array("v.nested", [[1, 2], [3]])
halves = {T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208]}
for t in [T.F32, T.F16, T.BF16, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0, T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K, T.Q6_K]:
    elements, size = gguf.GGML_QUANT_SIZES[t]
    rows, cols = (3, 64) if elements < 64 else (2, 512)
    n = rows * cols // elements
    if t == T.F32: raw = rng.standard_normal(rows * cols).astype(np.float32).view(np.uint8).reshape(n, size)
    elif t == T.F16: raw = rng.standard_normal(rows * cols).astype(np.float16).view(np.uint8).reshape(n, size)
    elif t == T.BF16: raw = (rng.standard_normal(rows * cols).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8).reshape(n, size)
    else:
        raw = rng.integers(0, 256, (n, size), dtype=np.uint8)
        for at in halves[t]:
            raw[:, at:at + 2] = rng.standard_normal((n, 1)).astype(np.float16).view(np.uint8)
    raw = np.ascontiguousarray(raw.reshape(rows, -1))
    out = quants.dequantize(raw.view(np.float32) if t == T.F32 else raw.view(np.float16) if t == T.F16 else raw, t).reshape(rows, cols).astype(np.float32)
    w.add_tensor(t.name, raw.view(np.float32) if t == T.F32 else raw.view(np.float16) if t == T.F16 else raw, raw_dtype=None if t in (T.F32, T.F16) else t)
    w.add_tensor(t.name + ".numbers", out)
# Numbers, and the blocks that the package makes of them: ordinary ones, zeros, halves of steps, tiny and huge ones.
for t in [T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0]:
    a = rng.standard_normal((8, 32)).astype(np.float32)
    a[1] = 0.0; a[2] = np.round(a[2] * 8) / 2; a[3] *= 1e-9; a[4] *= 1e4; a[5] = np.arange(32) - 16; a[6] = np.abs(a[6]); a[7, 5] = -a[7].max() * 2
    w.add_tensor(t.name + ".source", a)
    w.add_tensor(t.name + ".quantized", quants.quantize(a, t), raw_dtype=t)
w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
