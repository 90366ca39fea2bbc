"""Transformer base (paper, section 4), on text files: every line explained.

The other configs say only what they change. One of your own can do the same:

    from cmlm_tf.configs import base

    def get_config(role="teacher"):
        config = base.get_config(role)
        config.model.update(num_encoder_layers=3, num_decoder_layers=3)
        return config
"""

import ml_collections


def get_config(role: str = "teacher") -> ml_collections.ConfigDict:
    """Returns the config of the teacher or the student."""
    config = ml_collections.ConfigDict()
    config.role = role  # teacher or student
    config.seed = 1  # of weights, batches, masks and dropout

    config.model = ml_collections.ConfigDict()
    config.model.model_dim = 512  # width of embeddings and layers
    config.model.num_heads = 8  # attention heads
    config.model.feed_forward_dim = 2048  # inner width of the feed-forward layers
    config.model.num_encoder_layers = 6  # layers of the encoder
    config.model.num_decoder_layers = 6  # layers of the decoder
    config.model.dropout = 0.1  # rate in training
    config.model.max_length = 128  # longest sentence in subwords, EOS included

    config.data = ml_collections.ConfigDict()
    config.data.train = "files:train.en,train.de"  # the student's is distilled
    config.data.dev = "files:dev.en,dev.de"  # held-out text, never distilled
    config.data.subword_model = "subword.model"  # made by cmlm-train-subword
    config.data.source_language = "en"  # kept in the model directory
    config.data.target_language = "de"  # decides SacreBLEU's tokeniser, too
    config.data.max_length_ratio = 3.0  # longer side by shorter, else dropped
    config.data.row_lengths = (128,)  # static shapes; sentences are packed in rows
    config.data.tokens_per_batch = 32_768  # target tokens of an update, with padding

    config.training = ml_collections.ConfigDict()
    config.training.max_steps = 20_000  # updates in all
    config.training.initial_dir = ""  # a trained model to start from; empty: none
    config.training.warmup_steps = 4000  # updates of rising learning rate
    config.training.learning_rate_scale = 1.0  # times that of Vaswani et al.
    config.training.cooldown_steps = 0  # last updates; in them the rate falls to zero
    config.training.label_smoothing = 0.1  # share spread over the vocabulary
    config.training.clip_norm = 1.0  # most that the gradient's norm may be
    config.training.ema_decay = 0.999  # of the averaged weights, which are kept
    config.training.dtype = "mixed_bfloat16"  # or float32
    config.training.jit_compile = True  # XLA; pays on GPU and TPU
    config.training.steps_per_execution = 10  # updates per call from Python
    config.training.log_every = 100  # updates between reports
    config.training.checkpoint_every = 5000  # updates between checkpoints

    config.evaluation = ml_collections.ConfigDict()
    config.evaluation.every = 1000  # updates between evaluations
    config.evaluation.bleu_sentences = 0  # dev sentences translated; 0: no BLEU
    config.evaluation.select_by = "token_loss"  # of the best weights: or bleu
    config.evaluation.patience = 0  # evaluations without gain to stop; 0: never

    if role == "student":
        config.student = ml_collections.ConfigDict()
        config.student.teacher_dir = "teacher/model"  # where it starts from
        config.student.length_loss_weight = 0.1  # of the length loss in the sum
        config.evaluation.heuristic = "comb_thresh"  # for dev BLEU
        config.evaluation.setting = 0.3  # its tau
        config.evaluation.length_beam = 5  # length candidates, for dev BLEU
    return config
