"""Columns of numbers and texts as blocks that a page holds and static/store.js reads.

A block is an inert element: numbers byte by byte (first the lowest byte of all of them, then the next), or
UTF-8, compressed, in Base64. So no text of a log stands in the page as it is, and a million events fit. Texts
stand once each; the rows have their numbers, from 1, and 0 is none. What would make a page too large is left
out, the least needed first, and named.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.report.text import LONGEST

Numbers = NDArray[Any]

LARGEST_RAW = 200_000_000
"""Bytes of a group of blocks, before they are compressed, that are looked at at all."""
COMPRESSION = 1
"""Fast rather than small: a level of 6 takes four times as long and saves an eighth."""
_WIDTHS = (np.uint8, np.uint16, np.uint32)
_CODES = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "float64": "f64"}


class RawBlock(NamedTuple):
    """A column before it is compressed; `type` says how to read its numbers, or that it is text."""

    name: str
    type: str
    data: bytes


class BlockGroup(NamedTuple):
    """Blocks that are of use only together, and what people call them."""

    title: str
    blocks: list[RawBlock]


class PackedBlocks(NamedTuple):
    """The elements, and what was left out."""

    elements: list[str]
    left_out: list[str]


def pack_numbers(name: str, values: Numbers) -> RawBlock:
    """A column of numbers of 0 or more in as few bytes as hold the largest, or of fractions."""
    if values.dtype.kind != "f":
        values = _narrow_integers(values)
    planes = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), values.itemsize).T
    return RawBlock(name, _CODES[values.dtype.name], planes.tobytes())


def _narrow_integers(values: Numbers) -> Numbers:
    largest = int(values.max(initial=0))
    for width in _WIDTHS:
        if largest <= np.iinfo(width).max:
            return values.astype(width)
    return values.astype(np.float64)


def pack_optional_numbers(name: str, values: pa.Array) -> RawBlock:
    """A column of numbers as fractions, in which null is not-a-number."""
    return pack_numbers(
        name, np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    )


def pack_texts(name: str, column: pa.Array, are_distinct: bool = False) -> list[RawBlock]:
    """A column of texts: the number of each row's text, the lengths of all texts, and all texts.

    Where nearly all `are_distinct`, it is not looked for those that are the same.
    """
    if are_distinct:
        texts = column
        is_there = column.is_valid().to_numpy(zero_copy_only=False)
        codes = np.where(is_there, np.arange(1, len(column) + 1), 0)
    else:
        encoded = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
        texts = encoded.dictionary
        codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy() + 1
    lengths = _measure_text_lengths(texts)
    if lengths.max(initial=0) > LONGEST or texts.offset:
        texts = pc.utf8_slice_codeunits(texts, 0, LONGEST + 1)
        lengths = _measure_text_lengths(texts)
    data = texts.buffers()[2]
    whole = b"" if data is None else data.to_pybytes()[: int(lengths.sum())]
    return [
        pack_numbers(name, codes),
        pack_numbers(f"{name}-lengths", lengths),
        RawBlock(f"{name}-texts", "text", whole),
    ]


def _measure_text_lengths(texts: pa.Array) -> Numbers:
    """The bytes of each text."""
    lengths: Numbers = pc.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths


def pack_maps(name: str, column: pa.Array) -> list[RawBlock]:
    """A column of maps: how many entries each row has, and keys and values of all entries."""
    key, value = pa.field("key", column.type.key_type), pa.field("value", column.type.item_type)
    lists = column.cast(pa.list_(pa.struct([key, value])))
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    keys, values = pc.list_flatten(lists).flatten()
    if pa.types.is_integer(values.type):
        packed = [pack_optional_numbers(f"{name}-values", values)]
    else:
        packed = pack_texts(f"{name}-values", values)
    return [pack_numbers(name, lengths), *pack_texts(f"{name}-keys", keys), *packed]


def pack_groups_that_fit(groups: Sequence[BlockGroup], room_bytes: int) -> PackedBlocks:
    """The elements of as many groups as there is room for, in bytes of the page; the first ones go first."""
    small = [group for group in groups if sum(len(block.data) for block in group.blocks) <= LARGEST_RAW]
    with ThreadPoolExecutor(2) as threads:
        texts = iter(
            list(threads.map(_compress_to_base64, [block for group in small for block in group.blocks]))
        )
    elements: list[str] = []
    left_out = []
    for group in groups:
        lines = (
            [_render_block_element(block, next(texts)) for block in group.blocks] if group in small else []
        )
        size = sum(len(line) + 1 for line in lines)
        if size > room_bytes or group not in small:
            left_out.append(group.title)
            continue
        room_bytes -= size
        elements += lines
    return PackedBlocks(elements, left_out)


def _compress_to_base64(block: RawBlock) -> str:
    return base64.b64encode(zlib.compress(block.data, COMPRESSION)).decode()


def _render_block_element(block: RawBlock, text: str) -> str:
    """An element that no browser runs; Base64 has no sign that could end it."""
    return f'<script type="text/plain" id="block-{block.name}" data-type="{block.type}">{text}</script>'
