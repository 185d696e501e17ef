# Makes the tiny tokenizers and golden.txt with the Python package tokenizers: python3 make.py
# A line of golden.txt: file, JSON string of the text, token numbers, JSON string of the decoded text.
import json
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = [
    "",
    "hello world",
    "Hello  the world\n\n  then\tthe end",
    "Grüße, 世界 🎉!",
    "unknownword the <|endoftext|> cat's 1234",
]
LINES = ["the cat and the hat", "hello hello the world", "then they went there, the end", "Grüße an die Welt"] * 3


def byte_bpe():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=280, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=8)
    return tokenizer


def word_piece():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "hello", "world", "the", "cat", "un", "##known", "##word", "'", "s", ",",
             "!", "1", "##2", "##3", "##4", "gru", "##ße", "end"]
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    return tokenizer


def unigram():
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("▁", -2.0), ("▁the", -1.0), ("▁hello", -1.5), ("▁world", -1.5),
              ("e", -4.0), ("n", -4.0), ("d", -4.0), ("th", -3.0), ("▁c", -3.5), ("at", -3.5), ("s", -4.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, 0, False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


with open("golden.txt", "w", encoding="utf-8") as golden:
    for name, make in (("bpe", byte_bpe), ("wordpiece", word_piece), ("unigram", unigram)):
        tokenizer = make()
        tokenizer.save(name + ".json", pretty=False)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        for text in TEXTS:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            print(name, json.dumps(text), ",".join(map(str, ids)), json.dumps(tokenizer.decode(ids)), sep="\t", file=golden)
