"""Writes a model of random numbers that llama.cpp can load: two layers, tokens of one byte."""

import sys

import gguf
import numpy

EMBEDDING, FEED_FORWARD, HEADS, LAYERS, CONTEXT = 64, 128, 4, 2, 8192

numbers = numpy.random.default_rng(1)
writer = gguf.GGUFWriter(sys.argv[1], "llama")
writer.add_context_length(CONTEXT)
writer.add_embedding_length(EMBEDDING)
writer.add_block_count(LAYERS)
writer.add_feed_forward_length(FEED_FORWARD)
writer.add_head_count(HEADS)
writer.add_head_count_kv(HEADS)
writer.add_layer_norm_rms_eps(1e-5)
writer.add_rope_dimension_count(EMBEDDING // HEADS)
writer.add_file_type(gguf.LlamaFileType.ALL_F32)

special = [b"<unk>", b"<s>", b"</s>"]
octets = [f"<0x{octet:02X}>".encode() for octet in range(256)]
letters = ["▁".encode()] + [bytes([letter]) for letter in range(33, 127)]
tokens = special + octets + letters
kind = gguf.TokenType
writer.add_tokenizer_model("llama")
writer.add_token_list(tokens)
writer.add_token_scores([0.0] * 3 + [-1000.0] * 256 + [-1.0] * len(letters))
writer.add_token_types([kind.UNKNOWN, kind.CONTROL, kind.CONTROL] + [kind.BYTE] * 256 + [kind.NORMAL] * len(letters))
writer.add_unk_token_id(0)
writer.add_bos_token_id(1)
writer.add_eos_token_id(2)
writer.add_vocab_size(len(tokens))
writer.add_chat_template("{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:")


def add(name, *shape):
    writer.add_tensor(name, (numbers.standard_normal(shape) * 0.05).astype(numpy.float32))


def add_ones(name):
    writer.add_tensor(name, numpy.ones(EMBEDDING, numpy.float32))


add("token_embd.weight", len(tokens), EMBEDDING)
add_ones("output_norm.weight")
add("output.weight", len(tokens), EMBEDDING)
for layer in range(LAYERS):
    block = f"blk.{layer}."
    add_ones(block + "attn_norm.weight")
    add_ones(block + "ffn_norm.weight")
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        add(f"{block}{name}.weight", EMBEDDING, EMBEDDING)
    add(block + "ffn_gate.weight", FEED_FORWARD, EMBEDDING)
    add(block + "ffn_up.weight", FEED_FORWARD, EMBEDDING)
    add(block + "ffn_down.weight", EMBEDDING, FEED_FORWARD)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
