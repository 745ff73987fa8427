# python vectors.py FOLDER [SMOLLM2.gguf]: small tokenizers trained on the texts below, and what the Python package
# `tokenizers` makes of many texts (texts.py) with them; with a model file also the tokens of its vocabulary.
# A tokenizer that is in FOLDER stays: training is not deterministic.
import json, os, random, sys
from tokenizers import Tokenizer, models, pre_tokenizers, decoders, normalizers, processors, trainers, Regex
from texts import load, write

out = sys.argv[1]
random.seed(11)
base = [
    "The quick brown fox jumps over the lazy dog. It's 12,345.67 o'clock, isn't it? We'll see: they've DON'T I'M you'd.",
    "Der Zweikampf: \u00fcber Stra\u00dfen, \u00c4pfel und \u00d6l \u2013 f\u00fcr 3\u00bd \u20ac! \u00c7a va? Ma\u00f1ana, cora\u00e7\u00e3o; na\u00efve caf\u00e9 (cafe\u0301).",
    "\u0421\u044a\u0435\u0448\u044c \u0436\u0435 \u0435\u0449\u0451 \u044d\u0442\u0438\u0445 \u043c\u044f\u0433\u043a\u0438\u0445 \u0444\u0440\u0430\u043d\u0446\u0443\u0437\u0441\u043a\u0438\u0445 \u0431\u0443\u043b\u043e\u043a, \u0434\u0430 \u0432\u044b\u043f\u0435\u0439 \u0447\u0430\u044e. 1999 \u0433.",
    "\u039e\u03b5\u03c3\u03ba\u03b5\u03c0\u03ac\u03b6\u03c9 \u03c4\u1f74\u03bd \u03c8\u03c5\u03c7\u03bf\u03c6\u03b8\u03cc\u03c1\u03b1 \u03b2\u03b4\u03b5\u03bb\u03c5\u03b3\u03bc\u03af\u03b1. \u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3",
    "\u4eca\u5929\u5929\u6c14\u5f88\u597d\uff0c\u6211\u4eec\u53bb\u516c\u56ed\u6563\u6b65\u5427\u30022024\u5e74\u7b2c\u2460\u6b21\u3002",
    "\u5439\u7e01\u304c\u5439\u3044\u3066\u3001\u30ab\u30bf\u30ab\u30ca\u3068\u3072\u3089\u304c\u306a\u3092\uff11\uff12\uff13\u56de\u66f8\u304f\u3002",
    "\ub2e4\ub78c\uc950 \ud5cc \uccc7\ubc14\ud034\uc5d0 \ud0c0\uace0\ud30c. \u1112\u1161\u11ab\u1100\u1173\u11af",
    "\u0646\u0635 \u062d\u0643\u064a\u0645 \u0644\u0647 \u0633\u0631 \u0642\u0627\u0637\u0639 \u0648\u0630\u0648 \u0634\u0623\u0646 \u0639\u0638\u064a\u0645 \u0661\u0662\u0663\u060c \u0645\u064e\u0643\u0652\u062a\u064f\u0648\u0628\u061f",
    "\u05d3\u05d2 \u05e1\u05e7\u05e8\u05df \u05e9\u05d8 \u05d1\u05d9\u05dd \u05de\u05d0\u05d5\u05db\u05d6\u05d1 \u05d5\u05dc\u05e4\u05ea\u05e2 \u05de\u05e6\u05d0 \u05d7\u05d1\u05e8\u05d4. \u05d1\u05b0\u05bc\u05e8\u05b5\u05d0\u05e9\u05b4\u05c1\u05d9\u05ea",
    "\u090b\u0937\u093f\u092f\u094b\u0902 \u0915\u094b \u0938\u0924\u093e\u0928\u0947 \u0935\u093e\u0932\u0947 \u0926\u0941\u0937\u094d\u091f \u0930\u093e\u0915\u094d\u0937\u0938\u094b\u0902 \u0967\u0968\u0969\u0964",
    "\u0e40\u0e1b\u0e47\u0e19\u0e21\u0e19\u0e38\u0e29\u0e22\u0e4c\u0e2a\u0e38\u0e14\u0e1b\u0e23\u0e30\u0e40\u0e2a\u0e23\u0e34\u0e10 \u0e51\u0e52\u0e53 \u0e51",
    "\u10d3\u10d4\u10d3\u10d0\u10db \u10da\u10dd\u10d2\u10d8\u10dc\u10d8 \u0535\u057d \u056f\u0561\u0580\u0578\u0572 \u0565\u0574 \u12a0\u121b\u122d\u129b \u1361",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f1e9\U0001f1ea\u2764\ufe0f\U0001f44d\U0001f3fd x\u00b2+y\u00b2\u2264r\u00b2 \u2200\u03b5>0 \u2203\u03b4 \u2167 \u00be",
    "fn main() {\n    let x: Vec<u32> = (0..10).map(|i| i * 2).collect();\r\n\tprintln!(\"{:?}\", x);\n}\n\n\n# def f(a, *b):\n\treturn a[1:-1]  # ok\n",
    "{\"key\": [1, 2.5e-3, null, true], \"\\u00e9\": \"<|im_start|>user\"}  </s>   https://example.org/a?b=c&d=%20",
    "a  b   c    d     e\n \n  \n\t\t x \u00a0\u2003\u3000 y\u0085z\u2028w \v\f",
    "\x00\x01\x02\x1f\x7f\x80\x9f\u200b\ufeff\u00ad\ufffd\ue000\U000f0000\ufdd0\u0378",
    "\u0130\u0131I\u0307 \u01c5 \ufb01\ufb02 \u017ft '\u017f 'S 'LL'Re \u212b \u1e9e \u03c2\u03c3",
]
words = [w for t in base for w in t.split(" ") if w]
texts = list(base) + ["", " ", "  ", "\n", "\r\n", "a", "'", "''s", " '", "123456", "1 2  3", "a1b22c333", "\u0661\u0662\u0663\u0664", "A" * 70, "ab" * 60, " " * 33, "\n" * 9, "-" * 41]
for i in range(170):
    n = random.randint(1, 7)
    texts.append("".join(random.choice(words) + random.choice(["", " ", " ", "  ", "\n", "\t", "\r\n ", ", "]) for _ in range(n)))
for i in range(60):
    texts.append("".join(chr(random.choice([random.randint(0, 0x2ff), random.randint(0x300, 0xd7ff), random.randint(0x1f000, 0x1faff), random.randint(32, 126)])) for _ in range(random.randint(1, 18))))

json.dump(texts, open(f"{out}/texts.json", "w"), ensure_ascii=True, separators=(",", ":"))

def save(name, tok, unseen_ids=True):
    if os.path.exists(f"{out}/{name}.json"): tok = Tokenizer.from_file(f"{out}/{name}.json")
    else: tok.save(f"{out}/{name}.json", pretty=False)
    n = tok.get_vocab_size()
    rows = [tok.encode(t, add_special_tokens=False).ids for t in load(out)]
    decoded = []
    if unseen_ids:
        for i in range(80):
            ids = [random.randrange(n) for _ in range(random.randint(1, 9))]
            decoded.append([ids, tok.decode(ids)])
    write(f"{out}/{name}.vectors.json", rows, decoded)

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
split = lambda r: pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
for name, pre, norm, size in [
    ("gpt2", pre_tokenizers.ByteLevel(add_prefix_space=False), None, 600),
    ("smollm", pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]), None, 500),
    ("llama3", split(LLAMA3), None, 700),
    ("qwen2", split(QWEN2), normalizers.NFC(), 600),
]:
    tok = Tokenizer(models.BPE(ignore_merges=name == "llama3"))
    if norm: tok.normalizer = norm
    tok.pre_tokenizer = pre; tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(base + words, trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"], show_progress=False))
    save(name, tok)
tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
tok.normalizer = normalizers.BertNormalizer(); tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer(); tok.decoder = decoders.WordPiece(cleanup=False)
tok.train_from_iterator(base + words, trainers.WordPieceTrainer(vocab_size=700, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False))
tok.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
save("wordpiece", tok, False)
if len(sys.argv) > 2:
    from gguf import GGUFReader
    F = {k: f.contents() for k, f in GGUFReader(sys.argv[2]).fields.items() if not k.startswith("GGUF")}
    toks = F["tokenizer.ggml.tokens"]
    tok = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(toks)}, merges=[tuple(m.split(" ")) for m in F["tokenizer.ggml.merges"]], unk_token=toks[F["tokenizer.ggml.unknown_token_id"]]))
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens([t for t, y in zip(toks, F["tokenizer.ggml.token_type"]) if y == 3])
    write(f"{out}/smollm2.ids.json", [tok.encode(t, add_special_tokens=False).ids for t in load(out)])
