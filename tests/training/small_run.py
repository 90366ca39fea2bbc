"""A training run so small that a test can afford it."""

import functools
import importlib
import random
import shutil
import tempfile
from pathlib import Path

import tensorflow as tf

from cmlm_tf.data.subwords import SubwordModel, train_subword_model
from cmlm_tf.modeling.model_dir import ROLES, save_model
from cmlm_tf.training.building import build, transformer_config
from cmlm_tf.training.trainer import train

_WORDS = {"one": "eins", "two": "zwei", "red": "rot", "dog": "Hund", "sees": "sieht"}


def load_config_file(name, role):
    return importlib.import_module(f"cmlm_tf.configs.{name}").get_config(role)


def write_corpus(folder, num_pairs, seed=0):
    """Writes word-by-word translations and returns their description."""
    rng = random.Random(seed)
    pairs = [rng.choices(list(_WORDS), k=rng.randint(2, 6)) for _ in range(num_pairs)]
    source, target = folder / f"{seed}.en", folder / f"{seed}.de"
    source.write_text("".join(" ".join(words) + "\n" for words in pairs))
    target.write_text(
        "".join(" ".join(_WORDS[word] for word in words) + "\n" for words in pairs)
    )
    return f"files:{source},{target}"


#: Of a model that trains in seconds.
TINY_SIZES = {
    "model_dim": 16,
    "num_heads": 2,
    "feed_forward_dim": 32,
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
}


def small_config(folder, role="teacher"):
    """Returns a config of a tiny model on a tiny corpus written to `folder`."""
    config = load_config_file("toy", role)
    config.data.train = write_corpus(folder, 20)
    config.data.dev = write_corpus(folder, 8, seed=1)
    config.data.subword_model = str(folder / "subword.model")
    if not (folder / "subword.model").exists():
        words = [*_WORDS, *_WORDS.values()]
        train_subword_model(words * 20, config.data.subword_model, vocab_size=296)
    config.model.update(TINY_SIZES, max_length=48)
    config.data.update(row_lengths=(48,), tokens_per_batch=192)
    config.training.update(max_steps=8, warmup_steps=4, log_every=2, checkpoint_every=3)
    config.evaluation.update(every=4, bleu_sentences=0, select_by="token_loss")
    if role == "student":
        config.student.teacher_dir = str(folder / "teacher")
    return config


def write_model(folder, role):
    """Writes a model with random weights, of the sizes of `small_config`."""
    config = small_config(folder)
    subwords = SubwordModel(config.data.subword_model)
    model = ROLES[role](transformer_config(config, subwords))
    save_model(model, folder / role, subwords.model, "en", "de")


def build_training(config, strategy=None):
    """Returns the training model of a config."""
    sizes = transformer_config(config, SubwordModel(config.data.subword_model))
    return build(config, sizes, strategy or tf.distribute.get_strategy())


def write_teacher(folder):
    """Writes the teacher of `small_config`'s student."""
    write_model(folder, "teacher")


@functools.cache
def _finished_run():
    """A folder with a config's files and the whole run of a teacher."""
    _finished_run.folder = tempfile.TemporaryDirectory()
    folder = Path(_finished_run.folder.name)
    train(small_config(folder), folder / "run")
    return folder


def copy_finished_run(folder):
    """Writes what a teacher's whole run left; returns its config and its folder."""
    shutil.copytree(_finished_run(), folder, dirs_exist_ok=True)
    return small_config(folder), folder / "run"


def two_devices():
    """Makes virtual devices, which TensorFlow allows before it has begun."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert strategy.num_replicas_in_sync == 2
    return strategy
