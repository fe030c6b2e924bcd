"""Write a DeBERTa-v2 of random weights for inference, in the form of a hub's folder: no hub is needed to export one.

Runs in the environment that exports models (``.local/export``), beside nothing of ours:
``python -P tests/export/random_deberta.py FOLDER``. Tiny: some 100 KB.
"""

import argparse
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import DebertaV2Config, DebertaV2ForSequenceClassification, PreTrainedTokenizerFast

LABELS = ("entailment", "neutral", "contradiction")
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
CORPUS = (
    "The government announced a new budget on Monday; the parliament will vote on it.",
    "This text is about sports. This text is about politics, the economy and health.",
    "Der Bundestag beschließt ein Gesetz. In diesem Text geht es um Politik.",
    "Le club de football a gagné le match. Ce texte parle de sport.",
    "Business, technology, health, science and entertainment news from all over the world.",
)
HIDDEN = 32


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    tokens = tokenizer()
    torch.manual_seed(5)
    config = DebertaV2Config(
        vocab_size=len(tokens),
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=512,
        relative_attention=True,
        position_buckets=32,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type="p2c|c2p",
        position_biased_input=False,
        type_vocab_size=0,
        pooler_hidden_size=HIDDEN,
        initializer_range=0.2,  # smaller ones would answer the same to everything
        id2label=dict(enumerate(LABELS)),
        label2id={label: place for place, label in enumerate(LABELS)},
    )
    DebertaV2ForSequenceClassification(config).eval().save_pretrained(options.folder)
    tokens.save_pretrained(options.folder)


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a small unigram tokenizer that marks a text and what is asked of it as DeBERTa's does."""
    tokens = Tokenizer(models.Unigram())
    tokens.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokens.pre_tokenizer = pre_tokenizers.Metaspace()
    tokens.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=SPECIAL, unk_token="[UNK]", show_progress=False)
    tokens.train_from_iterator(CORPUS * 20, trainer)
    marks = [(mark, tokens.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    tokens.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=marks
    )
    names = dict(zip(("pad", "cls", "sep", "unk", "mask"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokens, model_max_length=512, **{f"{name}_token": mark for name, mark in names.items()}
    )


if __name__ == "__main__":
    main()
