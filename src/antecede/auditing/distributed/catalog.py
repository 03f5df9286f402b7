"""Who acts in the executions that are audited by many tasks: their processes by code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.events.columns import to_integers
from antecede.kernels.ragged import Ints, join_keys


class ProcessCatalog(NamedTuple):
    """The processes of all executions; codes follow the executions, and then the names."""

    executions: list[str]
    names: list[str]  # of processes, by code
    execution: Ints  # of each process, a code

    def look_up_process_codes(self, execution_codes: Ints, names: pa.Array, name_numbers: Ints) -> Ints:
        """The codes of processes, given the execution and the name of each, as its number among `names`.

        -1 where there is no such process, and where there is no name (-1).
        """
        known = pa.array(sorted(set(self.names)), pa.string())
        own_names = to_integers(pc.index_in(pa.array(self.names, pa.string()), value_set=known), -1)
        # Ascending, since codes follow executions and names.
        keys = join_keys(self.execution, own_names, len(known))
        place_of_name = np.append(to_integers(pc.index_in(names, value_set=known), -1), -1)
        place = place_of_name[name_numbers]
        wanted = join_keys(execution_codes, np.maximum(place, 0), len(known))
        code = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where((place >= 0) & (keys[code] == wanted), code, -1)
