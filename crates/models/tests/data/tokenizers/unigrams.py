# python unigrams.py FOLDER: small unigram models of SentencePiece, as tokenizer.json and, two of them, as GGUF files without tensors,
# and what the packages `tokenizers` and `sentencepiece` make of all texts (texts.py) with them. A model that is in FOLDER stays.
#   unigram: the steps of T5's and XLM-RoBERTa's files, a table of replacements among them, and a token for the unknown
#   unigram_bytes: characters that are no tokens are bytes; one run of text, not cut at spaces
#   unigram_albert: the normalisers of ALBERT's files, words cut first
import io, os, random, sys
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from gguf import GGUFReader, GGUFWriter
from tokenizers import Regex, Tokenizer, decoders, models, normalizers as N, pre_tokenizers, processors
from texts import load, write

random.seed(5); out = sys.argv[1]; every = load(out); SPACE = "\u2581"
# Replacements: ligatures, wide letters, kinds of white space, characters that go, combined accents, one that begins another.
rules = {"\ufb01": "fi", "\ufb01\u0301": "f\u00ed", "\ufb02": "fl", "\u2460": "1", "\u00bd": "1/2", "\u2167": "VIII", "\u00a0": " ", "\u3000": " ", "\t": " ", "\n": " ", "\r": " ", "\u2003": " ", "\u00ad": "", "\u200b": "", "e\u0301": "\u00e9", "\u212b": "\u00c5", "\uff0c": ",", "\u20ac": "EUR "} | {chr(0xff21 + i): chr(65 + i) for i in range(26)} | {chr(0xff10 + i): chr(48 + i) for i in range(10)}

def train(bytes_too, identity):
    tsv = "/tmp/rules.tsv"; line = lambda k, v: " ".join(f"{ord(c):X}" for c in k) + "\t" + " ".join(f"{ord(c):X}" for c in v) + "\n"
    open(tsv, "w").writelines(line(k, v) for k, v in rules.items()); model = io.BytesIO()
    how = {"normalization_rule_name": "identity"} if identity else {"normalization_rule_tsv": tsv}
    some = [t for t in every[:266] + every[266::4] if t.isprintable() and t.strip()] * 5
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(some), model_writer=model, model_type="unigram", vocab_size=1300, byte_fallback=bytes_too, remove_extra_whitespaces=not identity, character_coverage=0.98, unk_id=2, pad_id=0, eos_id=1, bos_id=-1, minloglevel=2, hard_vocab_limit=False, **how)
    return model.getvalue()

def gguf(name, proto):
    m = sentencepiece_model_pb2.ModelProto(); m.ParseFromString(proto); words = [SPACE + w for t in every[:18] for w in t.split(" ") if len(w) > 2 and w.isprintable()]; known = {p.piece for p in m.pieces}
    # Parts of words with any scores: there are many ways to divide a text, and all but one have a smaller sum.
    for _ in range(500):
        w = random.choice(words); at = random.randrange(len(w) - 1); part = w[at:at + random.randint(2, 7)]
        if part not in known and SPACE not in part[1:] and not set(part) & set(rules): known.add(part); m.pieces.add(piece=part, score=random.uniform(-14, -3), type=1)
    w = GGUFWriter(f"{out}/{name}.gguf", "t5"); w.add_tokenizer_model("t5"); w.add_tokenizer_pre("default"); n = m.normalizer_spec
    w.add_token_list([p.piece for p in m.pieces]); w.add_token_scores([p.score for p in m.pieces]); w.add_token_types([p.type for p in m.pieces]); w.add_pad_token_id(0); w.add_eos_token_id(1); w.add_unk_token_id(2)
    w.add_add_space_prefix(n.add_dummy_prefix); w.add_remove_extra_whitespaces(n.remove_extra_whitespaces)
    if n.precompiled_charsmap: w.add_precompiled_charsmap(n.precompiled_charsmap)
    w.write_header_to_file(); w.write_kv_data_to_file(); w.close()

def proto(name):  # a model as the package wants it, from the GGUF file
    F = {k[15:]: f.contents() for k, f in GGUFReader(f"{out}/{name}.gguf").fields.items() if k.startswith("tokenizer.ggml.")}
    m = sentencepiece_model_pb2.ModelProto(); t = m.trainer_spec; t.model_type = 1; t.byte_fallback = 6 in F["token_type"]; t.unk_id, t.pad_id, t.eos_id, t.bos_id = 2, 0, 1, -1
    for p, s, kind in zip(F["tokens"], F["scores"], F["token_type"]): m.pieces.add(piece=p, score=float(s), type=int(kind))
    n = m.normalizer_spec; n.add_dummy_prefix = bool(F["add_space_prefix"]); n.remove_extra_whitespaces = bool(F["remove_extra_whitespaces"]); n.precompiled_charsmap = bytes(F.get("precompiled_charsmap", []))
    return m

def steps(tok, kind, charsmap):
    meta = pre_tokenizers.Metaspace(SPACE, "always", True); tok.pre_tokenizer = meta; tok.decoder = decoders.Metaspace(SPACE, "always", True)
    if kind == "unigram":
        tok.normalizer = N.Sequence([N.Precompiled(charsmap), N.Strip(False, True), N.Replace(Regex(" {2,}"), SPACE)])
        tok.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    elif kind == "unigram_bytes":
        tok.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "first", False); tok.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    else:
        tok.normalizer = N.Sequence([N.Replace("``", '"'), N.Replace("''", '"'), N.NFKD(), N.StripAccents(), N.Lowercase(), N.Precompiled(charsmap), N.Replace(Regex(" {2,}"), " ")])
        tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), meta])

for name, kinds in [("unigram", ["unigram", "unigram_albert"]), ("unigram_bytes", ["unigram_bytes"])]:
    with_bytes = name == "unigram_bytes"
    if not os.path.exists(f"{out}/{name}.gguf"): gguf(name, train(with_bytes, with_bytes))
    m = proto(name); sp = sentencepiece.SentencePieceProcessor(model_proto=m.SerializeToString()); encoded = [sp.encode(t) for t in every]
    write(f"{out}/{name}.gguf.vectors.json", encoded, [[ids, sp.decode(ids)] for ids in encoded[:60] if 2 not in ids])
    print(len(m.pieces), "unknown", sum(i == 2 for t in encoded for i in t), "bytes", sum(m.pieces[i].type == 6 for t in encoded for i in t))
    for kind in kinds:
        if not os.path.exists(f"{out}/{kind}.json"):
            tok = Tokenizer(models.Unigram([(p.piece, p.score) for p in m.pieces], 2, with_bytes)); tok.add_special_tokens(["<pad>", "</s>", "<unk>"])
            steps(tok, kind, m.normalizer_spec.precompiled_charsmap); tok.save(f"{out}/{kind}.json", pretty=False)
        tok = Tokenizer.from_file(f"{out}/{kind}.json"); encoded = [tok.encode(t, add_special_tokens=False).ids for t in every]; chosen = encoded[:60]
        # Of bytes that are no UTF-8, the package writes one U+FFFD each.
        if not with_bytes: chosen += [[(7 * i + 131 * j * j) % len(m.pieces) for j in range(1 + i % 9)] for i in range(60)]
        write(f"{out}/{kind}.vectors.json", encoded, [[ids, tok.decode(ids)] for ids in chosen]); print(kind, "unknown", sum(i == 2 for t in encoded for i in t))
