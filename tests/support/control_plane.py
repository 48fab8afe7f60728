"""A real Kubernetes API server on loopback, as `tools/setup_kubernetes.sh` brings it: no node, no container.

etcd and kube-apiserver always; where a test asks for them the Prometheus operator, kwok, which says of every
pod that it runs, and the controllers of Deployments and autoscalers.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from support.programs import free_port
from tritonobs.programs import tools_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self

_START_SECONDS = 180.0
_LOOK_SECONDS = 0.2
_END_SECONDS = 20.0
POD_ADDRESSES = "127.10.0.0/16"


def parts() -> Path:
    """Where the programs are."""
    return tools_folder() / "kubernetes" / "bin"


def missing(*programs: str) -> str:
    """Why a test cannot run; "" when every program is there."""
    absent = [one for one in programs if not (parts() / one).is_file()]
    return f"{', '.join(absent)} not built; run: tools/setup_kubernetes.sh" if absent else ""


class ControlPlane:
    """A context manager; while it is open, `url`, `token` and `ca` are those of an empty cluster."""

    def __init__(
        self,
        folder: Path,
        *,
        operator: bool = False,
        pods: bool = False,
        controllers: bool = False,
        pods_end_seconds: int = 0,
    ) -> None:
        self.folder = folder
        self.token = secrets.token_urlsafe(24)
        self.url = f"https://127.0.0.1:{free_port()}"
        self.ca = folder / "certs" / "apiserver.crt"
        self.config = folder / "kubeconfig"
        self._operator, self._pods, self._controllers = operator, pods, controllers
        self._pods_end_seconds = pods_end_seconds
        self._running = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._running.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()
        for name in ("kubeconfig", "tokens.csv", "token"):
            (self.folder / name).unlink(missing_ok=True)
        # It holds the Secrets.
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)

    def kubectl(self, *words: str, text: str = "", check: bool = True) -> str:
        """What kubectl prints.

        Raises:
            RuntimeError: it failed; the text is what it said.
        """
        return self.program("kubectl", *words, text=text, check=check)

    def program(self, name: str, *words: str, text: str = "", check: bool = True) -> str:
        """What a program prints that reads the kubeconfig from its environment; errors as `kubectl`."""
        env = {**os.environ, "KUBECONFIG": str(self.config), "HOME": str(self.folder)}
        done = subprocess.run(
            [str(parts() / name), *words], input=text, env=env, capture_output=True, text=True, check=False
        )
        if check and done.returncode:
            raise RuntimeError(f"{name} {' '.join(words)}: {done.stderr[-3000:]}")
        return done.stdout if check else done.stdout + done.stderr

    def objects(self, kind: str, *, namespace: str = "monitoring") -> list[dict[str, Any]]:
        """Everything of a kind."""
        found: dict[str, Any] = json.loads(self.kubectl("-n", namespace, "get", kind, "-o", "json"))
        return list(found["items"])

    def apply(self, *objects: Mapping[str, Any]) -> None:
        """Create or change these."""
        self.kubectl("apply", "--server-side", "-f", "-", text=yaml.safe_dump_all(objects))

    def everything(self) -> set[str]:
        """The name of every object in the cluster, but of Events and Leases."""
        kinds = self.kubectl("api-resources", "--verbs=list", "-o", "name").split()
        kinds = sorted(one for one in kinds if not one.startswith(("events", "leases")))
        words = ("get", ",".join(kinds), "--all-namespaces", "--ignore-not-found", "-o")
        template = r'{range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}'
        return set(self.kubectl(*words, f"jsonpath={template}").splitlines())

    def log(self, program: str) -> str:
        """What a program wrote so far."""
        return (self.folder / f"{program}.log").read_text(errors="replace")

    def _start(self) -> None:
        key, public = _keys(self.folder)
        client, peer = free_port(), free_port()
        store = f"http://127.0.0.1:{client}"
        self.run(
            "etcd",
            *("--data-dir", str(self.folder / "etcd"), "--unsafe-no-fsync"),
            *("--listen-client-urls", store, "--advertise-client-urls", store),
            *("--listen-peer-urls", f"http://127.0.0.1:{peer}"),
        )
        (self.folder / "tokens.csv").write_text(f"{self.token},admin,admin,system:masters\n")
        self.run(
            "kube-apiserver",
            *(f"--etcd-servers={store}", "--bind-address=127.0.0.1"),
            *(f"--secure-port={self.url.rpartition(':')[2]}", f"--cert-dir={self.folder / 'certs'}"),
            *(f"--service-account-key-file={public}", f"--service-account-signing-key-file={key}"),
            "--service-account-issuer=https://kubernetes.default.svc",
            *(f"--token-auth-file={self.folder / 'tokens.csv'}", "--authorization-mode=RBAC"),
            *("--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none"),
            *("--disable-admission-plugins=ServiceAccount", "--allow-privileged=true"),
        )
        self._write_config()
        wait(lambda: self.kubectl("get", "--raw=/readyz", check=False) == "ok", "the API server")
        if self._operator:
            crds = sorted((tools_folder() / "kubernetes" / "crds").glob("*.yaml"))
            self.kubectl("apply", "--server-side", *(word for file in crds for word in ("-f", str(file))))
            # The operator looks once which kinds there are, and does without the others.
            self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
            wait(
                lambda: self._served() >= {file.stem.partition("_")[2] for file in crds},
                "the operator's kinds",
            )
            self.run("operator", f"--web.listen-address=127.0.0.1:{free_port()}", "--log-level=info")
        if self._controllers:
            self.run(
                "kube-controller-manager",
                *(f"--kubeconfig={self.config}", "--leader-elect=false"),
                *("--bind-address=127.0.0.1", f"--secure-port={free_port()}", f"--cert-dir={self.folder}"),
                "--controllers=deployment-controller,replicaset-controller,garbage-collector-controller,"
                "horizontal-pod-autoscaler-controller",
                "--horizontal-pod-autoscaler-sync-period=1s",
                # By default it makes 20 pods a second.
                *("--kube-api-qps=200", "--kube-api-burst=400"),
            )
        if self._pods:
            self.run(
                "kwok",
                *(f"--kubeconfig={self.config}", "--manage-all-nodes=true", f"--cidr={POD_ADDRESSES}"),
                *("--node-ip=127.0.0.1", f"--config={self._stages()}"),
            )

    def _served(self) -> set[str]:
        """The kinds of the operator that the API server says it has."""
        group = "/apis/monitoring.coreos.com"
        said = [self.kubectl("get", f"--raw={group}/{one}", check=False) for one in ("v1", "v1alpha1")]
        return {
            kind["name"] for text in said if text.startswith("{") for kind in json.loads(text)["resources"]
        }

    def _stages(self) -> Path:
        """What happens to pods; one that is asked to end stays for a while."""
        stages = list(yaml.safe_load_all((tools_folder() / "kubernetes" / "kwok-stages.yaml").read_text()))
        for stage in stages:
            if stage and stage["metadata"]["name"] == "pod-delete":
                stage["spec"]["delay"] = {"durationMilliseconds": 1000 * self._pods_end_seconds}
        file = self.folder / "stages.yaml"
        file.write_text(yaml.safe_dump_all(one for one in stages if one))
        return file

    def run(self, program: str, *words: str) -> None:
        """Start a program of the parts, until the end of the context."""
        env = {**os.environ, "KUBECONFIG": str(self.config), "HOME": str(self.folder)}
        with (self.folder / f"{program}.log").open("ab") as log:
            process = subprocess.Popen([str(parts() / program), *words], stdout=log, stderr=log, env=env)
        self._running.callback(_end, process)

    def _write_config(self) -> None:
        named = {"cluster": "c", "user": "u"}
        value = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "contexts": [{"name": "c", "context": named}],
            "clusters": [
                {"name": "c", "cluster": {"server": self.url, "certificate-authority": str(self.ca)}}
            ],
            "users": [{"name": "u", "user": {"token": self.token}}],
        }
        self.config.write_text(json.dumps(value))


def wait(wanted: Callable[[], object], what: str, *, seconds: float = _START_SECONDS) -> None:
    """Until it comes true.

    Raises:
        TimeoutError: it did not.
    """
    ends = time.monotonic() + seconds
    while not wanted():
        if time.monotonic() > ends:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(_LOOK_SECONDS)


def prometheus_object(release: str = "kps", **more: object) -> dict[str, Any]:
    """A Prometheus of the operator that takes what is labelled as kube-prometheus-stack wants it."""
    chosen = {"matchLabels": {"release": release}}
    everywhere: dict[str, Any] = {}
    selectors = ("ruleSelector", "podMonitorSelector", "serviceMonitorSelector", "scrapeConfigSelector")
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "Prometheus",
        "metadata": {"name": "k8s", "namespace": "monitoring"},
        "spec": {
            "version": "v3.9.1",
            "replicas": 1,
            **dict.fromkeys(selectors, chosen),
            **{selector.replace("Selector", "NamespaceSelector"): everywhere for selector in selectors},
            **more,
        },
    }


def _keys(folder: Path) -> Sequence[Path]:
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    key, public = folder / "sa.key", folder / "sa.pub"
    key.write_bytes(
        made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(
        made.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return key, public


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
