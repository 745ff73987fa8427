# python pieces.py FOLDER: a small SentencePiece model of the kind that Llama 2 has (BPE with bytes), trained on FOLDER's texts.json,
# as a GGUF file without tensors, and the tokens that the Python package `sentencepiece` makes of these texts; and two
# tokenizer.json of the same kind, with what the package `tokenizers` makes of the texts.
import io, json, os, sys
import sentencepiece
from gguf import GGUFWriter
from texts import load, write

out = sys.argv[1]; texts = json.load(open(f"{out}/texts.json")); model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([t for t in texts[:120] if t.isprintable() and t.strip()] * 3), model_writer=model, model_type="bpe", vocab_size=1300, byte_fallback=True, split_digits=True, normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=True, allow_whitespace_only_pieces=True, character_coverage=0.98, user_defined_symbols=["<|user|>"], unk_id=0, bos_id=1, eos_id=2, minloglevel=2)
sp = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()); n = sp.vocab_size()
kind = lambda i: 2 if sp.is_unknown(i) else 3 if sp.is_control(i) else 5 if sp.is_unused(i) else 6 if sp.is_byte(i) else 4 if sp.id_to_piece(i) == "<|user|>" else 1
w = GGUFWriter(f"{out}/sentencepiece.gguf", "llama"); w.add_tokenizer_model("llama"); w.add_tokenizer_pre("default"); w.add_token_list([sp.id_to_piece(i) for i in range(n)])
w.add_token_scores([sp.get_score(i) for i in range(n)]); w.add_token_types([kind(i) for i in range(n)]); w.add_bos_token_id(1); w.add_eos_token_id(2); w.add_unk_token_id(0)
w.write_header_to_file(); w.write_kv_data_to_file(); w.close()
every = load(out); encoded = [sp.encode(t) for t in every]; write(f"{out}/sentencepiece.vectors.json", encoded, [[ids, sp.decode(ids)] for ids in encoded[:40]])

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
for name in ["llama2", "mistral"]:
    tok = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    if name == "llama2": tok.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]); tok.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    else: tok.pre_tokenizer = pre_tokenizers.Metaspace("\u2581", "first", False); tok.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    special = ["<unk>", "<s>", "</s>"]; some = [" ".join(w for w in t.split(" ") if w.isprintable()) for t in texts[:120]]
    tok.train_from_iterator([w for t in some for w in t.split(" ")], trainers.BpeTrainer(vocab_size=1000, special_tokens=special + [f"<0x{i:02X}>" for i in range(256)], show_progress=False, limit_alphabet=300))
    d = json.loads(tok.to_str()); d["added_tokens"] = d["added_tokens"][:3]; 
    # A tokenizer that is there stays: training is not deterministic.
    if not os.path.exists(f"{out}/{name}.json"): json.dump(d, open(f"{out}/{name}.json", "w"), separators=(",", ":"))
    tok = Tokenizer.from_file(f"{out}/{name}.json"); encoded = [tok.encode(t).ids for t in every]; write(f"{out}/{name}.vectors.json", encoded, [[ids, tok.decode(ids)] for ids in encoded[:40]])
