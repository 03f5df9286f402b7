"""Processes that are killed with SIGKILL under load: a slice of the campaign."""

from pathlib import Path
from typing import Any

import pytest

from tests.live.kills import KillCampaign


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "kind"), [("optimal", "multicast"), ("vector", "broadcast")])
def test_killed_processes_lose_nothing_and_repeat_nothing(protocol: str, kind: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {}
    campaign = KillCampaign(tmp_path, 11, protocol, kind, options)
    assert campaign.run(trouble=6) == []
    assert campaign.counts["killed"] >= 6
    assert campaign.counts["deliver"] > 100
    assert campaign.counts["effects"] > 20
