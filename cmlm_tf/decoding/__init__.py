"""Inference by masking (Kreutzer et al., 2020, section 3), for any model.

Nothing here knows a model: it is a function from partly masked targets to the most
probable token at each position and its log-probability; see `iterative_unmask`.

| in the paper                            | file          | name                    |
|-----------------------------------------|---------------|-------------------------|
| 3, the iterations                       | loop.py       | `iterative_unmask`      |
| 3, one target from several lengths      | candidates.py | `unmask_candidates`     |
| 3, the length beam b                    | lengths.py    | `length_beam`           |
| 3, the length-normalised score          | scores.py     | `length_normalized_score` |
| 3.1, update-all                         | strategies.py | `UpdateAll`             |
| 3.1, update-masked                      | strategies.py | `UpdateMasked`          |
| 3.1, update-masked-sub                  | strategies.py | `UpdateMaskedSub`       |
| 3.2, mask-predict, T iterations         | heuristics.py | `MaskPredict`           |
| 3.2, mask-predict, K tokens a time      | heuristics.py | `MaskPredictFixedK`     |
| 3.2, thresh                             | heuristics.py | `Thresh`                |
| 3.2, comb-thresh                        | heuristics.py | `CombThresh`            |
| 3.2, fcomb-thresh                       | heuristics.py | `FcombThresh`           |
| 4, repeated tokens                      | repeats.py    | `weaker_repeats`        |
| beyond it: a rule of its own for a row  | rowwise.py    | `RowwiseHeuristic`      |
| beyond it: the score of a given target  | forced.py     | `Forced`                |
| the teacher's search                    | beam_search.py | `beam_search`          |

How the rules order positions is in ranking.py; top_k.py is the beam search's.
"""

# ruff: noqa: F401  (what is imported here is offered)

from cmlm_tf.decoding.beam_search import Beam, BeamResult, beam_search
from cmlm_tf.decoding.candidates import Candidates, best_candidate, unmask_candidates
from cmlm_tf.decoding.forced import Forced
from cmlm_tf.decoding.heuristics import (
    HEURISTICS,
    CombThresh,
    FcombThresh,
    MaskPredict,
    MaskPredictFixedK,
    Thresh,
)
from cmlm_tf.decoding.lengths import length_beam, oracle_lengths
from cmlm_tf.decoding.loop import (
    Unmasking,
    UnmaskResult,
    UnmaskTrace,
    iterative_unmask,
)
from cmlm_tf.decoding.repeats import weaker_repeats
from cmlm_tf.decoding.rowwise import RowwiseHeuristic
from cmlm_tf.decoding.scores import length_normalized_score
from cmlm_tf.decoding.strategies import (
    STRATEGIES,
    UpdateAll,
    UpdateMasked,
    UpdateMaskedSub,
)
