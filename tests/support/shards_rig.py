"""Four shards and a global Prometheus beside one that has everything, over the same pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from support.beside import Beside, Configs, loaded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack

SHARDS: Final = 4


@dataclass(slots=True)
class Tiers(Beside):
    """Both ways to watch the fleet, while the block runs: `one`, and `whole` over its shards."""

    # On a busy machine a server's scrapes may fall beside the evaluations of one and not of the other, for as
    # long as both run: 20 requests in each evaluation of one, 30 and 10 in turn in the other.
    JITTERY: ClassVar[str] = r".+:increase"
    # Six evaluations. A minute had the start of requests in it at the first look, and after a lost sample no
    # look of the following 45 s was without it.
    JITTER_SECONDS: ClassVar[int] = 36

    def start(self, held: ExitStack) -> None:
        """One, the global Prometheus and its shards."""
        shards = [self.address(str(number)) for number in range(SHARDS)]
        one = self.built("one", rules="{tier: all}")
        whole = self.built("whole", rules="{tier: global}", others=f", shards: {shards}")
        configs: Configs = {
            "one": loaded(one, "prometheus/prometheus.yml"),
            "whole": loaded(whole, "prometheus/prometheus.yml"),
            **{
                str(number): loaded(whole, f"prometheus/shards/shard-{number}.yml")
                for number in range(SHARDS)
            },
        }
        self.plant(configs)
        for name, config in configs.items():
            self.prometheus(held, name, config)

    def holders(self) -> Sequence[str]:
        """The shards, too: none of them should have any."""
        return [name for name in self.programs if name != "one"]

    def part_of(self, address: str) -> str:
        """Which shard has a server."""
        query = f'shard:replica:triton_scraped:info{{replica=~"{address}:.+"}}'
        (row,) = self.client("whole").query(query)
        return row.labels["shard"]

    def missing(self, part: str) -> Mapping[str, str]:
        """What is said of a shard that is gone."""
        return {"alertname": "TritonobsShardMissing", "shard": part}
