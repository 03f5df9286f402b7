"""One Hypothesis profile: the same examples in every run; the environment may ask for more of them."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "antecede",
    max_examples=int(os.environ.get("ANTECEDE_EXAMPLES", "60")),
    deadline=None,
    derandomize="ANTECEDE_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("antecede")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on Spark come first: of two test processes one gets them all, and one JVM starts and warms up.

    What a test process has not begun yet the other one takes from the end of its list.
    """
    items.sort(key=_is_on_spark, reverse=True)


def _is_on_spark(item: pytest.Item) -> bool:
    fixtures: list[str] = getattr(item, "fixturenames", [])
    return item.get_closest_marker("spark") is not None or "spark" in fixtures
