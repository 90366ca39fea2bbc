"""Learning rates."""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class InverseSquareRoot:
    """Linear warm-up, then decay with the inverse square root of the step.

    Vaswani et al. (2017), section 5.3, times a constant:
    `scale * model_dim^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)`, where
    the first update is step 1. In the last `cooldown_steps` of `max_steps` updates
    the rate also falls to zero, by a factor that is linear in the step.

    >>> schedule = InverseSquareRoot(model_dim=4, warmup_steps=100, scale=2.0)
    >>> [round(float(schedule(step)), 6) for step in (0, 99, 399)]
    [0.001, 0.1, 0.05]
    >>> cooling = InverseSquareRoot(4, 100, 2.0, max_steps=400, cooldown_steps=100)
    >>> [round(float(cooling(step)), 6) for step in (299, 349, 399, 400)]
    [0.057735, 0.027261, 0.0005, 0.0]
    """

    model_dim: int
    warmup_steps: int
    scale: float = 1.0
    max_steps: int = 0
    cooldown_steps: int = 0

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """Returns the float32 rate for the update after `step` updates."""
        step = tf.cast(step, tf.float32) + 1.0
        rising = step * self.warmup_steps**-1.5
        rate = self.scale * self.model_dim**-0.5 * tf.minimum(step**-0.5, rising)
        if not self.cooldown_steps:
            return rate
        left = tf.maximum(self.max_steps + 1.0 - step, 0.0)
        return rate * tf.minimum(left / self.cooldown_steps, 1.0)
