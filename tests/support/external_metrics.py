"""What prometheus-adapter is to an autoscaler: the API external.metrics.k8s.io, answering as a test says."""

from __future__ import annotations

import datetime as dt
import json
import ssl
from collections import Counter
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from support.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path


GROUP: Final = "external.metrics.k8s.io"
_ROOT: Final = f"/apis/{GROUP}/v1beta1"
_OLD: Final = dt.timedelta(minutes=2)
FAILS: Final = "fails"
"""The adapter does not reach Prometheus."""
NO_ROW: Final = "no row"
"""Prometheus answers with nothing."""


@dataclass(frozen=True, slots=True)
class Old:
    """A number that was read two minutes ago, and none since."""

    value: float


Said: TypeAlias = "float | str | Old"


class ExternalMetrics(Serving):
    """A context manager; `answers` are by metric, `default` is for all others, `asked` counts questions."""

    def __init__(self, folder: Path) -> None:
        self.answers: dict[str, Said] = {}
        self.default: Said = FAILS
        self.asked: Counter[str] = Counter()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_certificate(folder))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def say(self, default: Said, **answers: Said) -> None:
        """From now on these are the answers, and questions are counted from 0."""
        self.default, self.answers = default, answers
        self.asked.clear()

    def objects(self) -> list[dict[str, Any]]:
        """What leads an API server here."""
        place = {"name": "adapter", "namespace": "monitoring"}
        port = self._server.server_address[1]
        return [
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": place,
                "spec": {"type": "ExternalName", "externalName": "localhost"},
            },
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": f"v1beta1.{GROUP}"},
                "spec": {
                    "group": GROUP,
                    "version": "v1beta1",
                    "groupPriorityMinimum": 100,
                    "versionPriority": 100,
                    "insecureSkipTLSVerify": True,
                    "service": {**place, "port": port},
                },
            },
        ]


def _handler(metrics: ExternalMetrics) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == _ROOT:
                body = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/v1beta1"}
                self._answer(200, {**body, "resources": []})
            elif path.startswith(f"{_ROOT}/namespaces/"):
                self._metric(path.rpartition("/")[2])
            else:
                self._answer(404, {})

        def _metric(self, name: str) -> None:
            said = metrics.answers.get(name, metrics.default)
            metrics.asked[name] += 1
            if said == FAILS:
                self._answer(500, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500})
                return
            when = dt.datetime.now(dt.timezone.utc)
            if isinstance(said, Old):
                when, said = when - _OLD, said.value
            at = when.strftime("%Y-%m-%dT%H:%M:%SZ")
            row = {"metricName": name, "metricLabels": {}, "timestamp": at, "value": f"{said}"}
            kind = {"kind": "ExternalMetricValueList", "apiVersion": f"{GROUP}/v1beta1", "metadata": {}}
            self._answer(200, {**kind, "items": [] if said == NO_ROW else [row]})

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


def _certificate(folder: Path) -> Path:
    """A certificate for localhost and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "adapter.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return file
