"""MessagePack in and out, with our errors instead of the codec's, and one bound on every count.

Types that MessagePack lacks (arrays) are registered by the room that uses them.
"""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_origin

import msgspec

from antecede.core.errors import InputError

T = TypeVar("T")

LARGEST = 2**62 - 1
"""No counter on the wire is larger: two of them still add up within 64 bits."""

Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Number = Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
Convert = Callable[[Any], Any]

_foreign_types: dict[type, tuple[Convert, Convert]] = {}


def register_type(kind: type, pack: Convert, unpack: Convert) -> None:
    """Teach the codec a type that MessagePack does not have."""
    _foreign_types[kind] = (pack, unpack)


def _pack_registered_type(value: Any) -> Any:
    pack, _ = _foreign_types[type(value)]
    return pack(value)


def _unpack_registered_type(kind: type, value: Any) -> Any:
    _, unpack = _foreign_types[get_origin(kind) or kind]
    return unpack(value)


def convert_sets_to_sorted_lists(value: Any) -> Any:
    """The value with its sets as sorted lists: equal values have equal bytes."""
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [convert_sets_to_sorted_lists(one) for one in value]
    if isinstance(value, dict):
        return {key: convert_sets_to_sorted_lists(one) for key, one in value.items()}
    if isinstance(value, msgspec.Struct):
        fields = {
            name: convert_sets_to_sorted_lists(getattr(value, name)) for name in value.__struct_fields__
        }
        return list(fields.values()) if value.__struct_config__.array_like else fields
    return value


_encoder = msgspec.msgpack.Encoder(enc_hook=_pack_registered_type)


def encode(value: Any) -> bytes:
    """The MessagePack form of a value."""
    return _encoder.encode(value)


def make_decoder(kind: type[T], error_text: str) -> Callable[[bytes], T]:
    """A function that decodes bytes into `kind` or raises an InputError that names `error_text`."""
    decoder = msgspec.msgpack.Decoder(kind, dec_hook=_unpack_registered_type)

    def decode(data: bytes) -> T:
        try:
            return decoder.decode(data)
        except (msgspec.MsgspecError, RecursionError, ValueError, TypeError) as error:
            raise InputError(f"{error_text}: {error}") from None

    return decode
