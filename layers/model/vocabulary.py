"""The tokenizer of multilingual-e5-small (XLM-RoBERTa's SentencePiece unigram) rebuilt from the packed vocabulary."""

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from layers.model.packed import Vocabulary

_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


def make_tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    """Return the tokenizer, without truncation or padding: both belong to whoever uses it.

    The container's table says which code points are dropped and which become a space; every other entry equals NFKC
    (all 4,837 were compared), so NFKC stands for them.
    """
    tokenizer = Tokenizer(models.Unigram(list(vocabulary.pieces), unk_id=vocabulary.unk, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(_one_of(vocabulary.dropped), ""),
            normalizers.Replace(_one_of(vocabulary.blanked), " "),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in _SPECIAL])
    tokenizer.add_special_tokens([AddedToken("<mask>", special=True, lstrip=True, normalized=False)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", vocabulary.bos), ("</s>", vocabulary.eos)],
    )
    return tokenizer


def _one_of(code_points: tuple[int, ...]) -> Regex:
    return Regex("[" + "".join(f"\\x{{{code_point:X}}}" for code_point in code_points) + "]")
