# python pieces.py FOLDER: a small SentencePiece model of the kind that Llama 2 has (BPE with bytes), trained on FOLDER's texts.json,
# as a GGUF file without tensors, and the tokens that the Python package `sentencepiece` makes of these texts.
import io, json, sys
import sentencepiece
from gguf import GGUFWriter

out = sys.argv[1]; texts = json.load(open(f"{out}/texts.json")); model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([t for t in texts[:120] if t.isprintable() and t.strip()] * 3), model_writer=model, model_type="bpe", vocab_size=1300, byte_fallback=True, split_digits=True, normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=True, allow_whitespace_only_pieces=True, character_coverage=0.98, user_defined_symbols=["<|user|>"], unk_id=0, bos_id=1, eos_id=2, minloglevel=2)
sp = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()); n = sp.vocab_size()
kind = lambda i: 2 if sp.is_unknown(i) else 3 if sp.is_control(i) else 5 if sp.is_unused(i) else 6 if sp.is_byte(i) else 4 if sp.id_to_piece(i) == "<|user|>" else 1
w = GGUFWriter(f"{out}/sentencepiece.gguf", "llama"); w.add_tokenizer_model("llama"); w.add_tokenizer_pre("default"); w.add_token_list([sp.id_to_piece(i) for i in range(n)])
w.add_token_scores([sp.get_score(i) for i in range(n)]); w.add_token_types([kind(i) for i in range(n)]); w.add_bos_token_id(1); w.add_eos_token_id(2); w.add_unk_token_id(0)
w.write_header_to_file(); w.write_kv_data_to_file(); w.close()
encoded = [sp.encode(t) for t in texts]; decoded = [[ids, sp.decode(ids)] for ids in encoded[:40]]
json.dump({"encoded": encoded, "decoded": decoded}, open(f"{out}/sentencepiece.vectors.json", "w"), separators=(",", ":"))
print(n, sum(map(len, encoded)), sum(kind(i) == 6 for t in encoded for i in t), [sp.id_to_piece(i) for i in range(300, 310)])
