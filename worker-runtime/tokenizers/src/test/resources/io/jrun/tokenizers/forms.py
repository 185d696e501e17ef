# Makes forms.txt with the Python package tokenizers: python3 forms.py
# A line of forms.txt: the family of published tokenizers, the model (bpe, wordpiece, unigram or characters: one of the
# tiny tokenizers beside this file), normalizer, pre-tokenizer and decoder as JSON, token numbers of all texts of
# TEXTS, decoded text of the last.
import json
from tokenizers import Tokenizer

TEXTS = [
    "Hello  the world's 12345 cats, they'LL say: \"the end\"!\n\n\tGrüße  ",
    "if (x >= 3.14) { return foo_bar[i]; }  // 世界 ①② e\u0301 a\u0308\r\n\r\n   the   and\u00a0hat ",
    "ABCdefGHI JSONFile 1,000,000.50 Ünïcödé ﬁ Ⅷ mañana 한국어 คน 🎉🎉 ... --- ??? \u3000 the",
    " ",
]
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
BYTES_AND_WORDS = {**BYTES, "use_regex": True}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def chain(*parts, field="pretokenizers"):
    return {"type": "Sequence", field: list(parts)}


def norms(*parts):
    return chain(*parts, field="normalizers")


def decoders(*parts):
    return chain(*parts, field="decoders")


def digits(individual):
    return {"type": "Digits", "individual_digits": individual}


def replace(pattern, content, kind="Regex"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
CL100K = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
POSSESSIVE = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTION}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTION}?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = O200K.replace(CONTRACTION + "?", "").replace(r"\p{N}{1,3}", r"\p{N}")
QWEN2 = CL100K.replace(r"\p{N}{1,3}", r"\p{N}")
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
HAN = "[一-龥\u3040-ゟ゠-ヿ]+"
DEEPSEEK3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
             r"|\s*[\r\n]+|\s+(?!\S)|\s+")
BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
LLAMA_NORM = norms({"type": "Prepend", "prepend": "▁"}, replace(" ", "▁", "String"))
LLAMA_DECODER = decoders(replace("▁", " ", "String"), {"type": "ByteFallback"}, {"type": "Fuse"},
                         {"type": "Strip", "content": " ", "start": 1, "stop": 0})
BYTE_DECODER = BYTES_AND_WORDS
META_DECODER = METASPACE
SPACES = norms(replace(" {2,}", " "))

FORMS = [
    ("GPT-2", "bpe", None, BYTES_AND_WORDS, BYTE_DECODER),
    ("RoBERTa", "bpe", None, {**BYTES_AND_WORDS, "add_prefix_space": True}, BYTE_DECODER),
    ("GPT-NeoX", "bpe", {"type": "NFC"}, BYTES_AND_WORDS, BYTE_DECODER),
    ("GPT-4, cl100k", "bpe", None, chain(split(CL100K, "Removed", True), BYTES), BYTE_DECODER),
    ("cl100k, possessive", "bpe", None, chain(split(POSSESSIVE, "Removed", True), BYTES), BYTE_DECODER),
    ("GPT-4o, o200k", "bpe", None, chain(split(O200K, "Removed", True), BYTES), BYTE_DECODER),
    ("Llama 3", "bpe", None, chain(split(CL100K), BYTES), BYTE_DECODER),
    ("Llama 4", "bpe", None, chain(split(O200K), BYTES), BYTE_DECODER),
    ("Qwen2", "bpe", {"type": "NFC"}, chain(split(QWEN2), BYTES), BYTE_DECODER),
    ("Mistral Tekken", "bpe", None, chain(split(TEKKEN), BYTES), BYTE_DECODER),
    ("DeepSeek LLM", "bpe", norms(), chain(split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split(HAN), digits(True), BYTES), BYTE_DECODER),
    ("DeepSeek V3", "bpe", norms(), chain(split(r"\p{N}{1,3}"), split(HAN), split(DEEPSEEK3), BYTES), BYTE_DECODER),
    ("Falcon", "bpe", None, chain({"type": "Punctuation", "behavior": "Contiguous"}, BYTES_AND_WORDS, digits(False), split("[0-9][0-9][0-9]")), BYTE_DECODER),
    ("BLOOM", "bpe", None, chain(split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), BYTES), BYTE_DECODER),
    ("StarCoder", "bpe", None, chain(digits(True), BYTES_AND_WORDS), BYTE_DECODER),
    ("CodeGen, Phi-2", "bpe", None, BYTES_AND_WORDS, BYTE_DECODER),
    ("OPT", "bpe", None, {**BYTES_AND_WORDS, "trim_offsets": False}, BYTE_DECODER),
    ("Whisper", "bpe", None, chain(BYTES_AND_WORDS), BYTE_DECODER),
    ("MPT", "bpe", norms({"type": "NFC"}), chain(split(r" {2,}", "MergedWithPrevious"), BYTES_AND_WORDS), BYTE_DECODER),
    ("ModernBERT", "bpe", {"type": "NFC"}, {**BYTES_AND_WORDS, "trim_offsets": True}, BYTE_DECODER),
    ("OLMo", "bpe", norms({"type": "NFC"}), BYTES_AND_WORDS, BYTE_DECODER),
    ("Command R", "bpe", {"type": "NFC"}, chain(digits(True), BYTES_AND_WORDS), BYTE_DECODER),
    ("Granite", "bpe", None, chain(digits(True), BYTES_AND_WORDS), BYTE_DECODER),
    ("SmolLM", "bpe", None, chain(digits(True), {**BYTES_AND_WORDS, "trim_offsets": True}), BYTE_DECODER),
    ("GPT-2 as a split", "bpe", None, chain(split(GPT2), BYTES), BYTE_DECODER),
    ("digits in threes from the right", "bpe", None, chain(split(r"\d{1,3}(?=(?:\d{3})*\b)"), BYTES), BYTE_DECODER),
    ("digits in threes, ahead and behind", "bpe", None, chain(split(r"(?<=\d)(?=(?:\d{3})+(?!\d))"), BYTES), BYTE_DECODER),
    ("atomic groups", "bpe", None, chain(split(r"(?>\p{L}+|\p{N}+)|(?>\s+)(?!\S)|[^\s\p{L}\p{N}]++"), BYTES), BYTE_DECODER),
    ("words with connectors", "bpe", None, chain(split(r"\p{L}+(?:['’-]\p{L}+)*|\p{N}+(?:[.,]\p{N}+)*|\s+|[^\s\p{L}\p{N}]"), BYTES), BYTE_DECODER),
    ("words and one blank", "bpe", None, chain(split(r"(?:\p{L}+ ?)+"), BYTES), BYTE_DECODER),
    ("camel case", "bpe", None, chain(split(r"(?:[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+)+"), BYTES), BYTE_DECODER),
    ("BERT uncased", "wordpiece", BERT, {"type": "BertPreTokenizer"}, {"type": "WordPiece", "prefix": "##", "cleanup": True}),
    ("BERT cased", "wordpiece", {**BERT, "lowercase": False}, {"type": "BertPreTokenizer"}, {"type": "WordPiece", "prefix": "##", "cleanup": True}),
    ("MPNet", "wordpiece", {**BERT, "strip_accents": False}, {"type": "BertPreTokenizer"}, {"type": "WordPiece", "prefix": "##", "cleanup": False}),
    ("Electra", "wordpiece", norms({"type": "NFD"}, {"type": "Lowercase"}, {"type": "StripAccents"}), chain({"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Isolated"}), {"type": "WordPiece", "prefix": "##", "cleanup": True}),
    ("words", "wordpiece", {"type": "Lowercase"}, {"type": "Whitespace"}, {"type": "WordPiece", "prefix": "##", "cleanup": True}),
    ("T5", "unigram", SPACES, METASPACE, META_DECODER),
    ("mT5", "unigram", norms({"type": "NFKC"}, replace(" {2,}", "▁")), chain({"type": "WhitespaceSplit"}, METASPACE), META_DECODER),
    ("ALBERT", "unigram", norms(replace("``", "\"", "String"), replace("''", "\"", "String"), {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}), chain({"type": "WhitespaceSplit"}, METASPACE), META_DECODER),
    ("XLM-R", "unigram", norms({"type": "NFKC"}, {"type": "Strip", "strip_left": False, "strip_right": True}), METASPACE, META_DECODER),
    ("Pegasus", "unigram", SPACES, chain({"type": "WhitespaceSplit"}, METASPACE), META_DECODER),
    ("XLNet", "unigram", norms({"type": "NFKD"}, {"type": "StripAccents"}, replace(" {2,}", " ")), METASPACE, META_DECODER),
    ("Llama 2", "unigram", LLAMA_NORM, None, LLAMA_DECODER),
    ("Mistral 7B", "unigram", None, {**METASPACE, "prepend_scheme": "first", "split": False}, META_DECODER),
    ("Gemma", "unigram", replace(" ", "▁", "String"), split(" ", "MergedWithPrevious", kind="String"), decoders(replace("▁", " ", "String"), {"type": "ByteFallback"}, {"type": "Fuse"})),
    ("Phi-3", "unigram", LLAMA_NORM, None, LLAMA_DECODER),
    ("CLIP", "bpe", norms({"type": "NFC"}, replace(r"\s+", " "), {"type": "Lowercase"}), chain(split(r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "Removed", True), BYTES), BYTE_DECODER),
]

with open("forms.txt", "w", encoding="utf-8") as out:
    print("texts", json.dumps(TEXTS), sep="\t", file=out)
    for name, model, normalizer, pre_tokenizer, decoder in FORMS:
        file = json.load(open(model + ".json", encoding="utf-8"))
        file.update(normalizer=normalizer, pre_tokenizer=pre_tokenizer, decoder=decoder, post_processor=None, truncation=None,
                    padding=None)
        tokenizer = Tokenizer.from_str(json.dumps(file))
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
        parts = [json.dumps(part, ensure_ascii=False) for part in (normalizer, pre_tokenizer, decoder)]
        print(name, model, *parts, json.dumps(ids, separators=(",", ":")), json.dumps(tokenizer.decode(ids[0])), sep="\t", file=out)
print(len(FORMS), "forms")
