"""One Hypothesis profile: the same examples in every run; the environment may ask for more of them."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "antecede",
    max_examples=int(os.environ.get("ANTECEDE_EXAMPLES", "60")),
    deadline=None,
    derandomize="ANTECEDE_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("antecede")
