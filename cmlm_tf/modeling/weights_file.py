"""Checks of a weights file from others, before any of it is read into memory."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py

from cmlm_tf.errors import UserError
from cmlm_tf.modeling.config import TransformerConfig

_BYTES = 2  # of a float16, the smallest kind of weight in use
_KINDS = "fiu"  # floats and whole numbers; others can hold references


def check_weights_file(path: Path, config: TransformerConfig) -> None:
    """Checks that loading a file takes no more memory than twice its size.

    HDF5 can name other files, and it can name more values than it holds, by
    compression or by leaving them out. Weights need none of this.

    Args:
        path: the HDF5 file.
        config: the sizes that the model would be made with.

    Raises:
        UserError: the file is smaller than the weights of such a model, is
            damaged, or holds something that is no plain array.
    """
    size = os.path.getsize(path)
    needed = _BYTES * least_weights(config)
    if size < needed:
        raise UserError(
            f"{path}: holds {size} bytes, a model of these sizes {needed} or more"
        )
    try:
        with h5py.File(path, "r") as file:
            total = sum(_num_bytes(dataset) for dataset in _datasets(file))
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    except Exception as error:  # A damaged file can raise anything.
        raise UserError(f"{path}: damaged") from error
    if total > size:
        raise UserError(f"{path}: names {total} bytes of values, but holds {size}")


def least_weights(config: TransformerConfig) -> int:
    """Counts the weights of the large matrices.

    >>> least_weights(TransformerConfig(8, 2, 1, 3, 1, 1, 0.1, 4))
    88
    """
    dim = config.model_dim
    feed_forward = 2 * dim * config.feed_forward_dim
    encoder = config.num_encoder_layers * (4 * dim * dim + feed_forward)
    decoder = config.num_decoder_layers * (8 * dim * dim + feed_forward)
    return config.vocab_size * dim + encoder + decoder


def _datasets(file: h5py.File) -> Iterator[h5py.Dataset]:
    """Yields all arrays; links to other places or files are faults."""
    groups, seen = [file["/"]], set()
    while groups:
        group = groups.pop()
        address = h5py.h5o.get_info(group.id).addr
        if address in seen:
            raise UserError(f"{group.name}: stands in a circle")
        seen.add(address)
        for name in group:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise UserError(f"{group.name}/{name}: is a link")
            item = group[name]
            if isinstance(item, h5py.Group):
                groups.append(item)
            elif isinstance(item, h5py.Dataset):
                yield item


def _num_bytes(dataset: Any) -> int:
    plain = (
        dataset.dtype.kind in _KINDS
        and dataset.external is None
        and not dataset.is_virtual
        and dataset.id.get_create_plist().get_nfilters() == 0
    )
    if not plain:
        raise UserError(f"{dataset.name}: is no plain array")
    return dataset.nbytes
