r"""Times a layer's matrix product in the number formats that TensorFlow has on a CPU.

The product is a feed-forward layer's: positions by 512 times 512 by 2048. Formats
take turns; printed is the median, and float32's time over it, pair by pair.

Example:
  python -m benchmarks.products --positions=32,150,600 --output=products.json
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf
from absl import flags

from benchmarks.flag_checks import check_items, check_writable
from benchmarks.timing import describe_machine, time_in_turn
from cmlm_tf.commands import cli
from cmlm_tf.utils.json_files import write_json

_POSITIONS = flags.DEFINE_list("positions", ["32", "150", "600"], "Rows.")
_ROUNDS = flags.DEFINE_integer(
    "rounds", 60, "Timed products of each format.", lower_bound=1
)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write as well.")

_INPUT_DIM, _OUTPUT_DIM = 512, 2048

check_items(_POSITIONS, flags.IntegerParser(1).parse, least=1)


def main(_) -> None:
    """Prints a line for each number of positions and format."""
    check_writable(_OUTPUT)
    rows = []
    for positions in map(int, _POSITIONS.value):
        products = {}
        for name, product in _products(positions).items():
            if _computes(product, positions):
                products[name] = product
            else:
                print(f"{positions:5d} {name:22s} does not compute on this CPU")
        systems = {
            name: lambda _, product=product: product()
            for name, product in products.items()
        }
        seconds = time_in_turn(systems, [positions], _ROUNDS.value)
        for name, times in seconds.items():
            ratios = seconds["float32"] / times
            low, ratio, high = map(float, np.quantile(ratios, [0.1, 0.5, 0.9]))
            milliseconds = 1e3 * float(np.median(times))
            print(
                f"{positions:5d} {name:22s} {milliseconds:8.3f} ms  "
                f"{ratio:5.2f} times as fast as float32"
            )
            rows.append(
                {
                    "positions": positions,
                    "format": name,
                    "median_ms": milliseconds,
                    "times float32": [ratio, low, high],
                }
            )
    if _OUTPUT.value:
        write_json(_OUTPUT.value, describe_machine() | {"rows": rows})


def _computes(product: Callable[[], tf.Tensor], positions: int) -> bool:
    """Runs it once; where oneDNN has no such product, TensorFlow returns nothing."""
    result = tf.nest.flatten(product())[0]
    return result.shape == [positions, _OUTPUT_DIM]


def _products(positions: int) -> dict[str, Callable[[], tf.Tensor]]:
    rng = np.random.default_rng(1)
    x = tf.constant(rng.normal(size=[positions, _INPUT_DIM]), tf.float32)
    w = tf.constant(rng.normal(size=[_INPUT_DIM, _OUTPUT_DIM]), tf.float32)
    half = tf.cast(x, tf.bfloat16), tf.cast(w, tf.bfloat16)
    x8 = tf.constant(rng.integers(-127, 128, x.shape), tf.int8)
    w8 = tf.constant(rng.integers(-127, 128, w.shape), tf.int8)
    unsigned = tf.bitcast(x8, tf.quint8)
    limits = {"min_a": 0.0, "max_a": 1.0, "min_b": -1.0, "max_b": 1.0}
    bias = tf.zeros([_OUTPUT_DIM])
    return {
        "float32": lambda: tf.matmul(x, w),
        "bfloat16": lambda: tf.matmul(*half),
        "int8, tf.matmul": lambda: tf.matmul(x8, w8, output_type=tf.int32),
        "int8, QuantizedMatMul": lambda: tf.raw_ops.QuantizedMatMul(
            a=unsigned, b=tf.bitcast(w8, tf.quint8), **limits
        ),
        "int8, with bias": lambda: tf.raw_ops.QuantizedMatMulWithBias(
            a=unsigned,
            b=tf.bitcast(w8, tf.qint8),
            bias=bias,
            Toutput=tf.qint32,
            **limits,
        ),
    }


if __name__ == "__main__":
    cli.run(main)
