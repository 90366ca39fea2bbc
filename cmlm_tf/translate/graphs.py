"""Functions as graphs, made when they are first called and kept."""

from collections.abc import Callable, Hashable
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from cmlm_tf.modeling.packed_weights import to_vector


class GraphFunction(Protocol, Hashable):
    """What a graph is made of, and by what it is found again.

    A frozen dataclass: its fields are all that the graph depends on beside its
    arguments, so equal ones have the same graph.
    """

    def __call__(self, *args: Any) -> Any:
        """Computes with nested tensors, None and numbers."""


class Graphs:
    """Keeps the graph of each function that was called.

    With dynamic shapes a graph is traced once for tensors of any size; with static
    ones for each shape.
    """

    def __init__(self, static: bool, xla: bool, bind: Callable[[Callable], Callable]):
        """Keeps nothing yet.

        Args:
            static: whether shapes come from a small set.
            xla: whether to compile; needs static shapes.
            bind: maps a function to what is traced in its place.
        """
        self._static, self._xla, self._bind = static, xla, bind
        self._graphs: dict[Any, Any] = {}
        self._joined: dict[GraphFunction, _Joined] = {}

    def run(self, function: GraphFunction, *args: Any) -> Any:
        """Calls a function as a graph.

        Args:
            function: what it depends on beside the arguments is in its fields.
            *args: nested tensors, None and numbers.
        """
        key = function, tuple(x is None for x in tf.nest.flatten(args))
        if key not in self._graphs:
            graph = tf.function(
                self._bind(function), autograph=False, jit_compile=self._xla
            )
            if not self._static:
                specs = tf.nest.map_structure(_of_any_size, args)
                graph.get_concrete_function(*specs)
            self._graphs[key] = graph
        return self._graphs[key](*args)

    def run_to_arrays(self, function: GraphFunction, *args: Any) -> Any:
        """Calls a function likewise; returns its tensors as numpy arrays.

        Compiled, they come as one: a copy from a GPU takes as long as some kernels.

        Args:
            function: returns nested int32 and float32 tensors and None; of static
                shapes if compiled.
            *args: as of `run`.
        """
        if not self._xla:
            return as_arrays(self.run(function, *args))
        joined = self._joined.setdefault(function, _Joined(function))
        return joined.unpack(self.run(joined, *args).numpy(), args)

    def num_traces(self) -> list[int]:
        """Returns how often each function was traced."""
        return [f.experimental_get_tracing_count() for f in self._graphs.values()]


class _Joined:
    """A function whose tensors come as one vector; it notes what they were."""

    def __init__(self, function: GraphFunction):
        self._function = function
        self._results: dict[tuple, Any] = {}

    def __call__(self, *args: Any) -> tf.Tensor:
        result = self._function(*args)
        self._results[_shapes(args)] = tf.nest.map_structure(
            lambda x: None if x is None else tf.TensorSpec(x.shape, x.dtype), result
        )
        tensors = [x for x in tf.nest.flatten(result) if x is not None]
        return to_vector([tf.bitcast(x, tf.int32) for x in tensors])

    def unpack(self, vector: np.ndarray, args: Any) -> Any:
        """Returns the result for arguments; the vector is that of a call with them."""
        left = vector

        def array(spec: tf.TensorSpec | None) -> np.ndarray | None:
            nonlocal left
            if spec is None:
                return None
            part, left = np.split(left, [spec.shape.num_elements()])
            return part.view(spec.dtype.as_numpy_dtype).reshape(spec.shape.as_list())

        return tf.nest.map_structure(array, self._results[_shapes(args)])


def as_arrays(result: Any) -> Any:
    """Returns the same structure with numpy arrays for tensors."""
    return tf.nest.map_structure(lambda x: x if x is None else x.numpy(), result)


def _of_any_size(value: Any) -> Any:
    if not tf.is_tensor(value):
        return value
    return tf.TensorSpec([None] * value.shape.rank, value.dtype)


def _shapes(args: Any) -> tuple:
    """Returns what a trace depends on: the shapes of tensors, and all else itself."""
    return tuple(x.shape if tf.is_tensor(x) else x for x in tf.nest.flatten(args))
