# python whisper_stamps.py: the tokens that OpenAI's rules of timestamps choose in 500 synthetic cases, a character each, for the tests of
# src/whisper/stamps.rs. Vocabulary: text below 20, 20 the end, 21 to 28 other tokens, 28 for no timestamps, 29 to 39 timestamps.
import os, sys
import numpy as np
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizers"))
from texts import Random

def choose(scores, written, end=20, first=29, latest=4, never=[3, 21, 22], not_first=[5, 20, 31]):
    s = np.array(scores, np.float64); s[never] = -np.inf; s[first - 1] = -np.inf
    if not written: s[not_first] = -np.inf; s[:first] = -np.inf; s[first + latest + 1:] = -np.inf
    stamp = [t >= first for t in written]; last = bool(stamp and stamp[-1]); before = len(stamp) < 2 or stamp[-2]
    if last and before: s[first:] = -np.inf
    if last and not before: s[:end] = -np.inf
    stamps = [t for t in written if t >= first]
    if stamps: s[first:stamps[-1] + (0 if last and not before else 1)] = -np.inf
    p = np.exp(s - s.max()); p /= p.sum()
    if p[first:].sum() > p[:first].max(): s[:first] = -np.inf
    return int(s.argmax())

if __name__ == "__main__":
    out = ""
    for i in range(500):
        r = Random(i); written = [29 + r.below(11) if r.below(2) else r.below(20) for _ in range(r.below(6))]
        scores = [r.below(4096) / 256 - 8 for _ in range(40)]; out += "0123456789abcdefghijklmnopqrstuvwxyzABCD"[choose(scores, written)]
    for i in range(0, 500, 100): print(f'    "{out[i:i + 100]}",')
