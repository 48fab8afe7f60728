"""What a cluster does with our objects: real API server, operator and Prometheus 3; kwok runs the pods.

python bench/cluster.py objects       1,000 and 3,000 models, applied; and the chart from lint to uninstall
python bench/cluster.py pods          1,000 pods from their Deployments to a page, through the chart
python bench/cluster.py churn         a rollout of 200 of 1,000 pods; pages, series and memory meanwhile
python bench/cluster.py autoscaler    ten minutes of autoscalers whose metrics are missing
python bench/cluster.py leader        the `serve` that delivers is killed in a burst of 100 alerts

tools/setup_kubernetes.sh builds the programs. `--write` puts the result into RESULTS.md, `--json` prints it.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path

import cluster_autoscaler
import cluster_churn
import cluster_leader
import cluster_objects
import cluster_pods
from results import publish

from support.control_plane import missing

_PROGRAMS = (
    *("kubectl", "helm", "kubeconform", "etcd", "kube-apiserver", "kube-controller-manager"),
    *("operator", "kwok", "prometheus"),
)


def main() -> int:
    """Read the command line, measure, publish; 1 when something is not as it must be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["objects", "pods", "churn", "autoscaler", "leader"])
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=20, help="pods that the rollout replaces at once")
    parser.add_argument("--starts", type=int, default=40, help="seconds until a new pod answers")
    parser.add_argument("--minutes", type=float, default=10, help="of the autoscalers")
    parser.add_argument("--rounds", type=int, default=3, help="of the leader")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if why := missing(*_PROGRAMS):
        sys.exit(why)
    # Ended from outside, it still stops what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what == "objects":
            text, values, good = cluster_objects.measure(folder, (1000, 3000))
        elif options.what == "pods":
            text, values, good = cluster_pods.measure(folder, options.pods)
        elif options.what == "churn":
            text, values, good = cluster_churn.measure(
                folder, pods=options.pods, at_once=options.at_once, starts=options.starts
            )
        elif options.what == "autoscaler":
            text, values, good = cluster_autoscaler.measure(folder, options.minutes)
        else:
            text, values, good = cluster_leader.measure(folder, options.rounds)
    publish(f"cluster {options.what}", text, values, as_json=options.json, write=options.write)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
