"""The optimizer of teacher and student."""

import keras
import tensorflow as tf


class Adam(keras.optimizers.Adam):
    """Keras's Adam with two changes.

    The norm is clipped of the whole global batch's gradient; Keras clips each
    replica's share before the shares are added up, so that the same batch would
    train differently on one device and on two. And each weight is updated by
    one fused operation instead of a dozen, which a model of hundreds of weights
    is slow to trace and to launch.
    """

    @property
    def averages(self) -> list[keras.Variable]:
        """The moving averages of the weights, in the order of the weights."""
        return self._model_variables_moving_average

    def update_step(self, gradient, variable, learning_rate):
        """Updates one weight and its moments."""
        index = self._get_variable_index(variable)
        step = tf.cast(self.iterations.value + 1, variable.dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=self.beta_1**step,
            beta2_power=self.beta_2**step,
            lr=tf.cast(learning_rate, variable.dtype),
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=tf.convert_to_tensor(gradient),
        )

    def _clip_gradients(self, grads):
        return grads

    def _all_reduce_sum_gradients(self, grads_and_vars):
        grads, variables = zip(
            *super()._all_reduce_sum_gradients(grads_and_vars), strict=True
        )
        if self.global_clipnorm:
            grads, _ = tf.clip_by_global_norm(grads, self.global_clipnorm)
        return list(zip(grads, variables, strict=True))
