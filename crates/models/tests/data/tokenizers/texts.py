# The texts that tokenizers are compared on: those of texts.json, and as many again by a rule that `tests/common/texts.rs` follows, too.
# python texts.py FOLDER NAME NUMBER: a text by its number, and the tokens that the package `tokenizers` makes of it with NAME.json.
import json, sys

DERIVED, WITH_IDS = 1000, 40
SEPARATORS = ["", " ", " ", "  ", "\n", "\t", "\r\n ", ", "]
# First characters and how many there are, all of them in old versions of Unicode: scripts, symbols, emoji, controls, wide forms.
SCRIPTS = [(0x20, 0x230), (0x3a3, 0x5d), (0x400, 0x100), (0x559, 0x32), (0x591, 0x37), (0x5d0, 0x1b), (0x600, 0x100), (0x900, 0x80), (0xe01, 0x3a), (0xe3f, 0x1d), (0x10d0, 0x30), (0x1200, 0x49), (0x3041, 0x56), (0x3099, 0x67), (0x4e00, 0x51a6), (0xac00, 0x2ba4), (0x2010, 0x50), (0x2190, 0x170), (0x1f300, 0x350), (0x0, 0xa0), (0xff01, 0xbe)]

class Random:  # SplitMix64
    def __init__(self, seed): self.state = seed
    def below(self, n):
        m = 2 ** 64 - 1; self.state = (self.state + 0x9e3779b97f4a7c15) & m; x = self.state
        x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & m; x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & m
        return (x ^ (x >> 31)) % n

def derived(texts):
    first = texts[:18]; words = [w for t in first for w in t.split(" ") if w]; out = []
    for i in range(DERIVED):
        r = Random(i); t = ""
        if i % 4 == 0:  # words
            for _ in range(1 + r.below(7)): t += words[r.below(len(words))]; t += SEPARATORS[r.below(len(SEPARATORS))]
        elif i % 4 == 1:  # parts of texts, cut between any two characters
            for _ in range(2 + r.below(3)): s = first[r.below(len(first))]; at = r.below(len(s)); t += s[at:at + r.below(24)]
        elif i % 4 == 2:  # characters of one script
            start, n = SCRIPTS[i // 4 % len(SCRIPTS)]
            for _ in range(1 + r.below(20)): t += " " if r.below(6) == 0 else chr(start + r.below(n))
        else:  # damaged bytes; what is no UTF-8 is U+FFFD
            b = bytearray(texts[r.below(len(texts))].encode())
            for _ in range(1 + r.below(5)):
                at, kind = r.below(len(b) + 1), r.below(3)
                if kind: b[at:at + kind - 1] = bytes([r.below(256)])
                else: del b[at:at + 1]
            t = b.decode(errors="replace")
        out.append(t)
    return out

def load(folder): texts = json.load(open(f"{folder}/texts.json")); return texts + derived(texts)

def hash32(ids):  # FNV-1a of the tokens as bytes
    h = 0x811c9dc5
    for b in b"".join(i.to_bytes(4, "little") for i in ids): h = ((h ^ b) * 0x01000193) & 0xffffffff
    return h

def write(path, encoded, decoded=None):
    d = {"encoded": encoded[:WITH_IDS], "hashes": "".join(f"{hash32(ids):08x}" for ids in encoded)} | ({"decoded": decoded} if decoded else {})
    json.dump(d, open(path, "w"), ensure_ascii=True, separators=(",", ":")); print(path, len(encoded))

if __name__ == "__main__":
    from tokenizers import Tokenizer
    folder, name, number = sys.argv[1:]; text = load(folder)[int(number)]
    print(ascii(text), Tokenizer.from_file(f"{folder}/{name}.json").encode(text, add_special_tokens=False).ids)
