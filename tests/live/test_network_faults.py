"""Real processes whose network fails: a slice of the campaign. Nothing is late, lost or twice."""

import os
from pathlib import Path

import pytest

from tests.live.namespaces import find_obstacle
from tests.live.proxied import ProxyCampaign
from tests.live.proxy import list_fates
from tests.live.wires import WireCampaign


@pytest.mark.slow
def test_links_that_fail_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    obstacle = find_obstacle()
    if obstacle and not (os.environ.get("CI") and os.geteuid() == 0):
        pytest.skip(obstacle)
    assert obstacle == ""
    campaign = WireCampaign(tmp_path, 3, "optimal", "multicast", {})
    assert campaign.run(trouble=5) == []
    for fault in ("partition", "isolation", "interface off", "one-way loss", "flapping"):
        assert campaign.counts[fault] == 1
    assert campaign.counts["sessions lost"] > 0
    assert campaign.counts["segments sent again"] > 0
    assert campaign.counts["deliver"] > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "protocol", "kind"), [(2, "optimal", "multicast"), (3, "vector", "broadcast")]
)
def test_connections_that_are_maltreated_lose_nothing_and_repeat_nothing(
    seed: int, protocol: str, kind: str, tmp_path: Path
) -> None:
    campaign = ProxyCampaign(tmp_path, seed, protocol, kind, {})
    assert campaign.run(trouble=1) == []
    counts = campaign.counts
    assert all(counts[fate] >= 1 for fate in list_fates(campaign.plan["key"]))
    assert ("replayed" in counts) == (seed == 2)
    assert counts["delayed"] > 20
    assert counts["held for an earlier one"] > 0
    assert counts["sessions lost"] > 0
    assert any(name.startswith("refused: ") for name in counts)
    assert counts["deliver"] > 100
