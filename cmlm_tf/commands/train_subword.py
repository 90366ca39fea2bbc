"""Trains a SentencePiece model on both sides of a corpus.

Example:
    cmlm-train-subword --corpus=files:a.en,a.de --output=subword.model
"""

from absl import flags, logging

from cmlm_tf.commands import cli
from cmlm_tf.data.corpora import open_corpus
from cmlm_tf.data.subwords import MODEL_TYPES, SubwordModel, train_subword_model
from cmlm_tf.utils.overwriting import refuse_overwriting
from cmlm_tf.utils.progress import progress

_CORPUS = flags.DEFINE_string(
    "corpus",
    None,
    "Parallel text: files:SRC,TGT, tsv:PATH?source=0&target=1, "
    "or tfds:NAME:SPLIT?source=en&target=de.",
    required=True,
)
_OUTPUT = flags.DEFINE_string("output", None, "The file to write.", required=True)
_VOCAB_SIZE = flags.DEFINE_integer(
    "vocab_size", 32000, "Number of subwords, a multiple of 8.", upper_bound=1 << 20
)
_MODEL_TYPE = flags.DEFINE_enum("model_type", "unigram", MODEL_TYPES, "Kind of model.")
_CHARACTER_COVERAGE = flags.DEFINE_float(
    "character_coverage",
    0.9995,
    "Share of running characters with an own piece.",
    lower_bound=0.98,
    upper_bound=1.0,
)
_NUM_SAMPLED_SENTENCES = flags.DEFINE_integer(
    "num_sampled_sentences",
    4_000_000,
    "The most sentences to use, drawn at random.",
    upper_bound=1 << 40,
)


@cli.command
def run(_) -> None:
    """Checks the corpus, trains and writes the model."""
    corpus = open_corpus(_CORPUS.value)
    refuse_overwriting({"--output": _OUTPUT.value}, corpus.files("--corpus"))
    pairs = progress(corpus, corpus.check(), "pairs", "reading")
    train_subword_model(
        (sentence for pair in pairs for sentence in pair),
        _OUTPUT.value,
        _VOCAB_SIZE.value,
        _MODEL_TYPE.value,
        character_coverage=_CHARACTER_COVERAGE.value,
        num_sampled_sentences=_NUM_SAMPLED_SENTENCES.value,
    )
    size = SubwordModel(_OUTPUT.value).vocab_size
    logging.info("%s: %d subwords", _OUTPUT.value, size)
