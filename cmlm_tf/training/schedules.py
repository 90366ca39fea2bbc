"""Learning rates."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable("cmlm_tf")
class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then decay with the inverse square root of the step.

    Vaswani et al. (2017), section 5.3, times a constant:
    `scale * model_dim^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)`, where
    the first update is step 1. In the last `cooldown_steps` of `max_steps` updates
    the rate falls to zero besides, by a factor that is linear in the step.

    >>> schedule = InverseSquareRoot(model_dim=4, warmup_steps=100, scale=2.0)
    >>> [round(float(schedule(step)), 6) for step in (0, 99, 399)]
    [0.001, 0.1, 0.05]
    """

    def __init__(
        self,
        model_dim: int,
        warmup_steps: int,
        scale: float = 1.0,
        max_steps: int = 0,
        cooldown_steps: int = 0,
    ):
        """Sets the constants; the first three are positive."""
        self.model_dim = model_dim
        self.warmup_steps = warmup_steps
        self.scale = scale
        self.max_steps = max_steps
        self.cooldown_steps = cooldown_steps

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """Returns the float32 rate for the update after `step` updates."""
        step = tf.cast(step, tf.float32) + 1.0
        rising = step * self.warmup_steps**-1.5
        rate = self.scale * self.model_dim**-0.5 * tf.minimum(step**-0.5, rising)
        if not self.cooldown_steps:
            return rate
        left = tf.maximum(self.max_steps + 1.0 - step, 0.0)
        return rate * tf.minimum(left / self.cooldown_steps, 1.0)

    def get_config(self) -> dict[str, float]:
        """Returns the constructor's arguments."""
        return {
            "model_dim": self.model_dim,
            "warmup_steps": self.warmup_steps,
            "scale": self.scale,
            "max_steps": self.max_steps,
            "cooldown_steps": self.cooldown_steps,
        }
