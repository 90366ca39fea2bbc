"""Decodes with a model of your own: any function from masked targets to predictions.

Here it is a table that knows two sentences by heart and is less sure of the rest of a
sentence as long as it sees nothing of it.
"""

import tensorflow as tf

from cmlm_tf.decoding import CombThresh, Unmasking, length_beam, unmask_candidates

PAD, MASK = 0, 1
WORDS = ["<pad>", "<mask>", "das", "ist", "ein", "kleines", "Haus", "sie", "lacht"]
TARGETS = tf.constant([[2, 3, 4, 5, 6], [7, 8, PAD, PAD, PAD]])
LENGTH_LOGITS = tf.constant([[0.0, 1.0, 0.0, 2.0, 3.0], [0.0, 3.0, 2.0, 0.0, 0.0]])
BEAM = 2


def predict(input_ids, wanted):
    """Returns the best token at each position, and its log-probability."""
    ids = tf.repeat(TARGETS, BEAM, axis=0)[:, : tf.shape(input_ids)[1]]
    is_seen = (input_ids != MASK) & (input_ids != PAD)
    share = tf.reduce_mean(tf.cast(is_seen, tf.float32), axis=1, keepdims=True)
    fits = tf.where(ids == PAD, 0.2, 0.8 + 0.2 * share)
    return ids, tf.math.log(fits * tf.ones_like(input_ids, tf.float32))


def main():
    """Prints how many passes each sentence took, and the sentence."""
    lengths = length_beam(LENGTH_LOGITS, BEAM)
    unmasking = Unmasking(CombThresh(0.4))
    result = unmask_candidates(predict, lengths, unmasking, mask_id=MASK, pad_id=PAD)
    for sentence, best in enumerate(result.best.numpy()):
        ids = result.token_ids[sentence, best].numpy()
        passes = result.num_iterations[sentence, best]
        print(f"{passes}:", *(WORDS[i] for i in ids if i != PAD))


if __name__ == "__main__":
    main()
