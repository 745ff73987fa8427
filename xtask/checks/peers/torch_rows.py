#!/usr/bin/env python3
"""Cases of `cargo xtask bench` in PyTorch eager on CUDA: one JSON line per case, for `--beside "python3 torch_rows.py"`.

   python3 torch_rows.py [--only SUITE,...] [--budget-s 60] [--quick]
"""
import argparse, json, math, statistics, time

START = time.time()
PARSER = argparse.ArgumentParser()
PARSER.add_argument("--only", default="")
PARSER.add_argument("--budget-s", type=float, default=60.0)
PARSER.add_argument("--quick", action="store_true")
ARGS = PARSER.parse_args()

import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CUDA = DEVICE == "cuda"
torch.manual_seed(0)
torch.set_grad_enabled(False)
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True
F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
NAMES = {F32: "f32", F16: "f16", BF16: "bf16", torch.uint8: "u8", torch.int32: "i32"}
ONLY = [word for word in ARGS.only.split(",") if word]
Q = ARGS.quick
BATCH, MOST = 0.016, 0.3


def wants(suite):
    return not ONLY or suite in ONLY


def sync():
    if CUDA:
        torch.cuda.synchronize()


def batch(call, n):
    sync()
    if CUDA:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    at = time.perf_counter()
    if CUDA:
        begin.record()
    for _ in range(n):
        call()
    if CUDA:
        end.record()
    sync()
    wall = (time.perf_counter() - at) / n
    return wall, begin.elapsed_time(end) * 1e-3 / n if CUDA else None


def row(op, dtype, shape, call, bytes_=0.0, flops=0.0):
    name = dict(peer=f"torch-{NAMES[dtype]}", op=op, dtype=NAMES[dtype], shape=shape)
    if time.time() - START > ARGS.budget_s:
        print(json.dumps(dict(**name, error="skipped: over the time budget")), flush=True)
        return
    try:
        at = time.perf_counter()
        call()
        sync()
        first = time.perf_counter() - at
        for _ in range(3):
            call()
        n = 1
        while True:
            wall, _ = batch(call, n)
            more = math.ceil(BATCH * 1.15 / max(wall, 1e-7))
            if wall * n >= BATCH or more <= n or n >= 20000:
                break
            n = min(20000, n * 16, more)
        times, began = [], time.perf_counter()
        while len(times) < 7 and (not times or time.perf_counter() - began < MOST):
            times.append(batch(call, n))
        ms = statistics.median(t[0] for t in times) * 1e3
        gpu = statistics.median(t[1] for t in times) * 1e3 if CUDA else None
        print(json.dumps(dict(
            **name, ms=round(ms, 6), gpu_ms=gpu and round(gpu, 6), n=n, reps=len(times), first_ms=round(first * 1e3, 3),
            gbps=round(bytes_ / ms / 1e6, 3) if bytes_ else None, gflops=round(flops / ms / 1e6, 3) if flops else None)), flush=True)
    except Exception as error:
        print(json.dumps(dict(**name, error=str(error)[:200].replace("\n", " "))), flush=True)
    if CUDA and torch.cuda.memory_reserved() > 60e9:
        torch.cuda.empty_cache()


def rnd(*dims, dt=F32, lo=-1.0, hi=1.0):
    return torch.empty(*dims, device=DEVICE, dtype=F32).uniform_(lo, hi).to(dt)


def text(dims):
    return str(list(dims)).replace(" ", "")


def short(n):
    for size, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if n >= size and n % size == 0:
            return f"{n // size}{letter}"
    return str(n)


def width(dt):
    return torch.empty(0, dtype=dt).element_size()


if wants("elementwise"):
    n = 1 << (18 if Q else 26)
    for dt in (F32, F16, BF16):
        x, y, e = rnd(n, dt=dt, lo=0), rnd(n, dt=dt, lo=0), width(dt)
        row("add", dt, short(n), lambda: x + y, 3 * n * e)
        row("exp", dt, short(n), lambda: torch.exp(x), 2 * n * e)
        row("gelu", dt, short(n), lambda: F.gelu(x), 2 * n * e)
        row("tanh", dt, short(n), lambda: torch.tanh(x), 2 * n * e)
        if dt == F16:
            row("relu", dt, short(n), lambda: torch.relu(x), 2 * n * e)
            row("silu", dt, short(n), lambda: F.silu(x), 2 * n * e)
            row("cast_f32", dt, short(n), lambda: x.float(), 6 * n)
        if dt == F32:
            z = rnd(n, lo=0.5, hi=1.5)
            row("relu", dt, short(n), lambda: torch.relu(x), 8 * n)
            row("sigmoid", dt, short(n), lambda: torch.sigmoid(x), 8 * n)
            row("mul", dt, short(n), lambda: x * z, 12 * n)
            row("div", dt, short(n), lambda: x / z, 12 * n)
            row("cast_f16", dt, short(n), lambda: x.half(), 6 * n)
    for dt in (torch.uint8, torch.int32):
        x, y = (torch.randint(0, 100, (n,), device=DEVICE, dtype=dt) for _ in range(2))
        row("add", dt, short(n), lambda: x + y, 3 * n * width(dt))
        if dt == torch.uint8:
            row("cast_f32", dt, short(n), lambda: x.float(), 5 * n)
    side = 256 if Q else 8192
    a, b, shape = rnd(side, side), rnd(side, side), text((side, side))
    r, c, m = rnd(1, side), rnd(side, 1), torch.randint(0, 2, (side, side), device=DEVICE).bool()
    row("add_row", F32, shape, lambda: a + r, 8 * side**2)
    row("add_column", F32, shape, lambda: a + c, 8 * side**2)
    row("where", F32, shape, lambda: torch.where(m, a, b), 13 * side**2)
    row("masked_fill", F32, shape, lambda: a.masked_fill(m, -1.0), 9 * side**2)
    left, right = a[:, :side // 2], b[:, :side // 2]
    row("add_slices", F32, text((side, side // 2)), lambda: left + right, 6 * side**2)
    del a, b, m, x, y

if wants("reduce"):
    n, side = (1 << 18, 256) if Q else (1 << 26, 8192)
    for dt in (F32, F16):
        e, x, shape = width(dt), rnd(side, side, dt=dt), text((side, side))
        flat = rnd(n, dt=dt)
        row("sum_all", dt, short(n), lambda: flat.sum(), n * e)
        row("sum_last", dt, shape, lambda: x.sum(1), side**2 * e)
        row("sum_axis0", dt, shape, lambda: x.sum(0), side**2 * e)
        row("max_last", dt, shape, lambda: x.amax(1), side**2 * e)
        row("argmax_last", dt, shape, lambda: x.argmax(1), side**2 * e)
        row("var_last", dt, shape, lambda: x.var(1), side**2 * e)

if wants("rows"):
    for dt in (F32, F16):
        e = width(dt)
        for dims in [(256, 256), (1024, 64), (1, 4096)] if Q else [(8192, 8192), (32768, 1024), (1, 131072)]:
            s = rnd(*dims, dt=dt)
            row("softmax", dt, text(dims), lambda: torch.softmax(s, 1), 2 * s.numel() * e)
        dims = (256, 128) if Q else (8192, 4096)
        x, r, g, b = rnd(*dims, dt=dt), rnd(*dims, dt=dt), rnd(dims[1], dt=dt, lo=0.5, hi=1.5), rnd(dims[1], dt=dt)
        by = x.numel() * e
        row("layernorm", dt, text(dims), lambda: F.layer_norm(x, (dims[1],), g, b, 1e-5), 2 * by)
        row("layernorm_residual", dt, text(dims), lambda: F.layer_norm(x + r, (dims[1],), g, b, 1e-5), 3 * by)
        row("rmsnorm", dt, text(dims), lambda: F.rms_norm(x, (dims[1],), g, 1e-5), 2 * by)
        row("rmsnorm_composed", dt, text(dims), lambda: x / torch.sqrt((x * x).mean(1, keepdim=True) + 1e-5) * g, 2 * by)
        dims = (64, 1000) if Q else (4096, 32000)
        x, t = rnd(*dims, dt=dt), torch.randint(0, dims[1], (dims[0],), device=DEVICE)
        row("cross_entropy", dt, text(dims), lambda: F.cross_entropy(x, t, reduction="none"), x.numel() * e)

if wants("movement"):
    side = 256 if Q else 8192
    for dt in (F32, F16):
        e, x, shape = width(dt), rnd(side, side, dt=dt), text((side, side))
        by = 2 * side**2 * e
        row("transpose_copy", dt, shape, lambda: x.t().contiguous(), by)
        for name, axes, dims in (("permute_0213", (0, 2, 1, 3), (2, 32, 4, 16) if Q else (32, 1024, 16, 128)),
                                 ("permute_0231", (0, 2, 3, 1), (2, 8, 14, 14) if Q else (32, 64, 112, 112))):
            p = rnd(*dims, dt=dt)
            row(name, dt, text(dims), lambda: p.permute(axes).contiguous(), 2 * p.numel() * e)
        row("slice_rows_copy", dt, shape, lambda: x[:, 1:side // 2 + 1].contiguous(), by / 2)
        vo, de, ni = (100, 64, 64) if Q else (32000, 4096, 8192)
        w, i, j = rnd(vo, de, dt=dt), torch.randint(0, vo, (ni,), device=DEVICE), torch.randint(0, de, (ni,), device=DEVICE)
        row("embedding", dt, f"{vo}x{de} idx{ni}", lambda: F.embedding(i, w), 2 * ni * de * e)
        w2 = rnd(de, de, dt=dt)
        row("index_select", dt, f"{de}x{de} idx{ni}", lambda: w2.index_select(0, j), 2 * ni * de * e)
        at = torch.randint(0, side, (side, side), device=DEVICE)
        row("gather", dt, shape, lambda: x.gather(1, at), by + 8 * side**2)
        l, r = rnd(side, side // 2, dt=dt), rnd(side, side // 2, dt=dt)
        row("concat_last", dt, shape, lambda: torch.cat([l, r], -1), by)
        row("pad", dt, shape, lambda: F.pad(x, (1, 1)), by)
        q = side // 4

        def assign():
            y = x.clone()
            y[:, q:3 * q] = l
            return y

        row("slice_assign", dt, shape, assign, 3 * side**2 * e)
        heads, cap, dim = (2, 64, 16) if Q else (32, 4096, 128)
        tok = rnd(1, heads, 1, dim, dt=dt)
        ck, cv = torch.zeros(1, heads, cap, dim, device=DEVICE, dtype=dt), torch.zeros(1, heads, cap, dim, device=DEVICE, dtype=dt)

        def append():
            ck[:, :, 7:8] = tok
            cv[:, :, 7:8] = tok

        row("kv_append", dt, f"[1,{heads},1,{dim}] of {cap}", append, 4 * heads * dim * e)
        del w, w2, at

if wants("matmul"):
    k = 256 if Q else 4096
    odd, vocab = (255, 1001) if Q else (4095, 50257)

    def product(op, dt, m, kk, n, bb=1):
        s = f"{m}x{kk}x{n}" if bb == 1 else f"{bb}x[{m}x{kk}x{n}]"
        lead = () if bb == 1 else (bb,)
        x = rnd(*lead, m, kk, dt=dt)
        w = rnd(n, kk, dt=dt).t() if op == "matmul_bt" else rnd(*lead, kk, n, dt=dt)
        row(op, dt, s, lambda: torch.matmul(x, w), width(dt) * bb * (m * kk + kk * n + m * n), 2.0 * bb * m * n * kk)

    for dt in (F32, F16):
        for m in (2, 4, 8, 32, 64, 128):
            product("matmul", dt, m, k, k)
            product("matmul_bt", dt, m, k, k)
        for m, kk, n in ((k, odd, k), (odd, odd, odd), (k, k, odd)):
            product("matmul", dt, m, kk, n)
        for m in (1, 16):
            product("matmul_bt", dt, m, k, vocab)
        for bb, m, kk, n in ((8, 64, 64, 64), (8, 32, 32, 32), (4, 1, 128, 1024), (4, 96, 64, 96)) if Q else ((1024, 64, 64, 64), (4096, 32, 32, 32), (512, 1, 128, 1024), (512, 96, 64, 96)):
            product("matmul", dt, m, kk, n, bb)
        for m, kk, n in ((vocab, 64, 8), (2048, 3, 64)) if Q else ((vocab, 768, 8), (65536, 3, 64)):
            product("matmul", dt, m, kk, n)
        product("matmul_bt", dt, 17, 512, 256 if Q else 8192)
        columns = ((k, k, 1), (vocab, 64, 1), (1024, 64, 2), (1000, 100, 10), (1, 4096, 64), (16, k, 512)) if Q else ((k, k, 1), (vocab, 768, 1), (16384, 1024, 2), (1000, 1000, 10), (1, 65536, 64), (16, k, 11008))
        for m, kk, n in columns:
            product("matmul", dt, m, kk, n)
        d = 96 if Q else 768
        for m, kk, n in ((384, d, d), (64, d, 4 * d), (64, 4 * d, d)):
            product("matmul_bt", dt, m, kk, n)

if wants("conv"):
    cases = [((32, 64, 56, 56), (64, 64, 3, 3), 1, 1, 1), ((32, 256, 28, 28), (256, 256, 3, 3), 1, 1, 1),
             ((32, 3, 224, 224), (64, 3, 7, 7), 2, 3, 1), ((32, 128, 56, 56), (128, 1, 3, 3), 1, 1, 128),
             ((32, 256, 56, 56), (64, 256, 1, 1), 1, 0, 1), ((32, 512, 7, 7), (512, 512, 3, 3), 1, 1, 1),
             ((32, 128, 28, 28), (128, 4, 3, 3), 1, 1, 32), ((1, 512, 14, 14), (512, 512, 3, 3), 1, 1, 1)]
    for dt in (F32, F16, BF16):
        for i, (xs, ws, s, p, g) in enumerate(cases if not Q else []):
            if dt == BF16 and i > 1:
                break
            x, w = rnd(*xs, dt=dt), rnd(*ws, dt=dt)
            oh = (xs[2] + 2 * p - ws[2]) // s + 1
            out = xs[0] * ws[0] * oh * oh
            shape = f"x{text(xs)} w{text(ws)} s{s} p{p} g{g}"
            bytes_, flops = width(dt) * (x.numel() + w.numel() + out), 2.0 * out * ws[1] * ws[2] * ws[3]
            row("conv2d", dt, shape, lambda: F.conv2d(x, w, stride=s, padding=p, groups=g), bytes_, flops)
            if i < 2:
                x, w = (t.to(memory_format=torch.channels_last) for t in (x, w))
                row("conv2d_nhwc", dt, shape, lambda: F.conv2d(x, w, stride=s, padding=p, groups=g), bytes_, flops)
    transposed = [((32, 256, 14, 14), (256, 128, 4, 4), 2, 1, 0), ((32, 128, 28, 28), (128, 64, 3, 3), 2, 1, 1),
                  ((8, 256, 32, 32), (256, 128, 2, 2), 2, 0, 0), ((32, 64, 28, 28), (64, 64, 3, 3), 1, 1, 0),
                  ((1, 512, 16, 16), (512, 256, 3, 3), 2, 1, 1)]
    for dt in (F32, F16):
        for xs, ws, s, p, o in transposed if not Q else []:
            x, w = rnd(*xs, dt=dt), rnd(*ws, dt=dt)
            call = lambda: F.conv_transpose2d(x, w, stride=s, padding=p, output_padding=o)
            row("conv_transpose2d", dt, f"x{text(xs)} w{text(ws)} s{s} p{p} o{o}", call,
                width(dt) * (x.numel() + w.numel() + call().numel()), 2.0 * x.numel() * ws[1] * ws[2] * ws[3])
    ps = (2, 8, 16, 16) if Q else (32, 64, 112, 112)
    for dt in (F32, F16):
        x, e = rnd(*ps, dt=dt), width(dt)
        row("maxpool2d_2x2s2", dt, text(ps), lambda: F.max_pool2d(x, 2, 2), 1.25 * e * x.numel())
        side = (ps[2] - 3) // 2 + 1
        row("avgpool2d_3x3s2", dt, text(ps), lambda: F.avg_pool2d(x, 3, 2), e * (x.numel() + ps[0] * ps[1] * side**2))
        row("adaptive_avgpool2d_7", dt, text(ps), lambda: F.adaptive_avg_pool2d(x, 7), e * (x.numel() + ps[0] * ps[1] * 49))

if wants("attention"):
    heads, length, dim, keys = (2, 128, 64, 256) if Q else (32, 2048, 128, 4096)
    for dt in (F32, F16, BF16):
        e = width(dt)
        variants = [(1, heads, keys), (1, heads // (2 if Q else 4), keys)]
        if dt == F16:
            variants += [(2 if Q else 16, heads, keys), (1, heads, 8 * keys)]
        for bb, kh, kk in variants:
            q = rnd(bb, heads, 1, dim, dt=dt)
            kk_, v = rnd(bb, kh, kk, dim, dt=dt), rnd(bb, kh, kk, dim, dt=dt)
            row("sdpa_decode", dt, f"[{bb},{heads},1,{dim}]kv[{kh},{kk}]",
                lambda: F.scaled_dot_product_attention(q, kk_, v, enable_gqa=kh != heads),
                e * bb * dim * (2 * heads + 2 * kh * kk), 4.0 * bb * heads * kk * dim)
        for narrow in (dim // 2, dim // 8 * 5) if dt == F16 else ():
            q, kk_, v = (rnd(1, heads, length, narrow, dt=dt) for _ in range(3))
            row("sdpa", dt, f"[1,{heads},{length},{narrow}]", lambda: F.scaled_dot_product_attention(q, kk_, v),
                4 * e * heads * length * narrow, 4.0 * heads * length**2 * narrow)

if wants("sort-scan"):
    n, pairs = (1 << 16, 1 << 12) if Q else (1 << 26, 1 << 20)
    x = rnd(n)
    row("cumsum", F32, short(n), lambda: x.cumsum(0), 8 * n)
    row("sort", F32, short(n), lambda: x.sort(), 16 * n)
    row("randn", F32, short(n), lambda: torch.randn(n, device=DEVICE), 4 * n)
    del x
    dims = (64, 256) if Q else (8192, 8192)
    s = rnd(*dims)
    row("cumsum_last", F32, text(dims), lambda: s.cumsum(1), 8 * s.numel())
    y = rnd(pairs)
    row("sort", F32, short(pairs), lambda: y.sort(), 16 * pairs)
    dims = (64, 256) if Q else (8192, 1024)
    z = rnd(*dims)
    row("sort_last", F32, text(dims), lambda: z.sort(1), 16 * z.numel())
    for dims in ((1, 4096), (8, 1024)) if Q else ((1, 131072), (64, 32768)):
        t = rnd(*dims)
        row("topk", F32, f"{text(dims)} k50", lambda: t.topk(50, 1), 4 * t.numel())
    b = torch.randint(0, 2, (pairs,), device=DEVICE, dtype=torch.int32)
    i = torch.randint(0, 1000, (pairs,), device=DEVICE, dtype=torch.int32)
    row("nonzero", torch.int32, short(pairs), lambda: b.nonzero(), 4 * pairs)
    row("unique", torch.int32, short(pairs), lambda: torch.unique(i, return_inverse=True, return_counts=True), 4 * pairs)
    row("bincount", torch.int32, short(pairs), lambda: torch.bincount(i), 4 * pairs)
    edges = rnd(pairs).sort()[0]
    row("searchsorted", F32, short(pairs), lambda: torch.searchsorted(edges, y), 12 * pairs)
    m = 16 * pairs
    x, at, zero = rnd(m), torch.randint(0, pairs, (m,), device=DEVICE), torch.zeros(pairs, device=DEVICE)
    row("scatter_add", F32, short(m), lambda: zero.scatter_add(0, at, x), 8 * m + 8 * pairs)
    perm, flat, base = torch.randperm(pairs, device=DEVICE), rnd(pairs), torch.zeros(pairs, device=DEVICE)
    row("index_put", F32, short(pairs), lambda: base.index_put((perm,), flat), 16 * pairs)

if wants("models"):
    wd, hd = (64, 128) if Q else (1024, 4096)
    for dt in (F32, F16):
        for tokens in (1, 4, 32) if Q else (1, 16, 512):
            x, w1, w2, b = rnd(tokens, wd, dt=dt), rnd(hd, wd, dt=dt) * 0.02, rnd(wd, hd, dt=dt) * 0.02, rnd(hd, dt=dt) * 0.1
            row("feed_forward", dt, f"{tokens}x{wd}x{hd}", lambda: F.linear(F.gelu(F.linear(x, w1, b)), w2) + x,
                width(dt) * (2 * wd * hd + 2 * tokens * wd), 4.0 * tokens * wd * hd)
