"""Transformer base for hundreds of thousands of sentence pairs.

What was measured with it is in results/en_de_base_two_gpus.md. The student's text has
each distilled pair twice and each original one once.
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
    config.data.subword_model = "subword.model"  # made by bin/train_subword.py
    config.data.source_language = "en"  # kept in the model directory
    config.data.target_language = "de"  # decides SacreBLEU's tokeniser, too
    config.data.max_length_ratio = 3.0  # longer side by shorter, else dropped
    config.data.row_lengths = (128,)  # static shapes; sentences are packed in rows
    config.data.tokens_per_batch = 32_768  # target tokens of an update, with padding

    config.training = ml_collections.ConfigDict()
    config.training.max_steps = 4600  # updates in all
    config.training.initial_dir = ""  # a model to go on from, such as a trained one
    config.training.warmup_steps = 2000  # updates of rising learning rate
    config.training.learning_rate_scale = 1.0  # times that of Vaswani et al.
    config.training.cooldown_steps = 1500  # last of them; the rate falls to zero
    config.training.label_smoothing = 0.1  # share spread over the vocabulary
    config.training.clip_norm = 1.0  # most that the gradient's norm may be
    config.training.ema_decay = 0.999  # of the averaged weights, which are kept
    config.training.dtype = "mixed_bfloat16"  # or float32
    config.training.jit_compile = True  # XLA; pays on GPU and TPU
    config.training.steps_per_execution = 10  # updates per call from Python
    config.training.log_every = 100  # updates between reports
    config.training.checkpoint_every = 5000  # updates between checkpoints

    config.evaluation = ml_collections.ConfigDict()
    config.evaluation.every = 2300  # updates between evaluations
    config.evaluation.bleu_sentences = 0  # dev sentences translated; 0: no BLEU
    config.evaluation.select_by = "token_loss"  # of the best weights: or bleu
    config.evaluation.patience = 0  # evaluations without gain to stop; 0: never

    if role == "student":
        config.data.row_lengths = (64, 128)  # pays in a long training
        config.data.tokens_per_batch = 65_536
        config.training.max_steps = 13_000
        config.training.warmup_steps = 1000
        config.training.cooldown_steps = 5200
        config.evaluation.every = 6500
        config.evaluation.bleu_sentences = 500
        config.evaluation.select_by = "bleu"  # text of people misjudges a distilled one
        config.student = ml_collections.ConfigDict()
        config.student.teacher_dir = "teacher/model"  # where it starts from
        config.student.length_loss_weight = 0.1  # of the length loss in the sum
        config.evaluation.heuristic = "comb_thresh"  # for dev BLEU
        config.evaluation.setting = 0.3  # its tau
        config.evaluation.length_beam = 5  # length candidates, for dev BLEU
    return config
