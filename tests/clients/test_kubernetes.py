"""The Kubernetes API: lists, watches, and every way they end."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from support.kubernetes import KubernetesDouble
from tritonobs.clients import kubernetes_api
from tritonobs.clients.kubernetes import KubernetesClient
from tritonobs.clients.kubernetes_api import Expired, KubernetesApi
from tritonobs.errors import BadAnswer, ClientError, SecretUnusable, Unreachable
from tritonobs.plan.kubernetes import ApiServer, usual_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

QPS = "tritonobs.dev/max-qps"


@pytest.fixture(name="cluster")
def _cluster() -> Iterator[KubernetesDouble]:
    with KubernetesDouble(bookmark_seconds=0.2) as double:
        yield double


@pytest.fixture(name="client_of")
def _client_of(cluster: KubernetesDouble, tmp_path: Path) -> Iterator[Callable[..., KubernetesClient]]:
    made: list[KubernetesClient] = []
    (tmp_path / "token").write_text(cluster.token + "\n")

    def make(*, namespace: str = "", **more: str) -> KubernetesClient:
        files = {"token_file": tmp_path / "token", "ca_file": tmp_path / "ca"}
        api = KubernetesApi(ApiServer(**{"url": cluster.url, **files, **more}))
        made.append(KubernetesClient(api, usual_kinds()[0], namespace=namespace))
        return made[-1]

    yield make
    for client in made:
        client.close()


def test_a_list_has_our_annotations_and_who_wrote_them(cluster, client_of):
    """Others' annotations stay where they are; the server's own account says which program wrote ours."""
    cluster.annotate("shop", "inspect", {QPS: "8", "other.io/x": "y"}, manager="helm")
    cluster.annotate("shop", "inspect", {f"{QPS}.2": "3"}, manager="kubectl-annotate")

    (deployment,) = client_of().list().objects

    assert deployment.key == "Deployment shop/inspect"
    assert deployment.annotations == {QPS: "8", f"{QPS}.2": "3"}
    assert deployment.writers == {QPS: "helm", f"{QPS}.2": "kubectl-annotate"}


def test_a_list_comes_page_by_page_and_as_metadata_only(cluster, client_of, monkeypatch):
    """A large cluster is read in bites, and without pod templates."""
    monkeypatch.setattr(kubernetes_api, "PAGE", 2)
    for number in range(5):
        cluster.annotate("shop", f"m{number}", {QPS: "1"})

    listing = client_of().list()

    assert [one.name for one in listing.objects] == ["m0", "m1", "m2", "m3", "m4"]
    assert [asked["limit"] for asked in cluster.asked] == ["2", "2", "2"]
    assert all("as=PartialObjectMetadataList" in asked["accept"] for asked in cluster.asked)


def test_a_page_that_expired_is_expired(cluster, client_of, monkeypatch):
    """The caller lists again from the beginning; half a list is never taken for a whole one."""
    monkeypatch.setattr(kubernetes_api, "PAGE", 1)
    for number in range(3):
        cluster.annotate("shop", f"m{number}", {QPS: "1"})
    page = cluster.page

    def page_then_compact(*arguments):
        found = page(*arguments)
        cluster.forget()
        return found

    monkeypatch.setattr(cluster, "page", page_then_compact)

    with pytest.raises(Expired):
        client_of().list()


def test_one_namespace_is_asked_for_by_its_path(cluster, client_of):
    """A daemon that may see one namespace asks for no other."""
    cluster.annotate("shop", "a", {QPS: "1"})
    cluster.annotate("other", "b", {QPS: "1"})

    listing = client_of(namespace="shop").list()

    assert [one.key for one in listing.objects] == ["Deployment shop/a"]
    assert cluster.asked[0]["path"] == "/apis/apps/v1/namespaces/shop/deployments"


def test_a_watch_tells_what_came_after_the_list(cluster, client_of):
    """Added, changed, deleted, each once; and it ends when its time is over."""
    client = client_of()
    version = client.list().resource_version
    cluster.annotate("shop", "a", {QPS: "1"})
    cluster.annotate("shop", "a", {QPS: "2"})
    cluster.delete("shop", "a")

    changes = [change for change in client.watch(version, seconds=1) if change.kind != "BOOKMARK"]

    told = [(change.kind, change.annotated.annotations.get(QPS)) for change in changes]
    assert told == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


def test_a_quiet_watch_moves_on_by_bookmarks(cluster, client_of):
    """Events of other namespaces do not make the version too old."""
    client = client_of(namespace="shop")
    version = client.list().resource_version
    cluster.annotate("other", "b", {QPS: "1"})

    changes = list(client.watch(version, seconds=1))

    assert {change.kind for change in changes} == {"BOOKMARK"}
    assert int(changes[-1].resource_version) > int(version)


def test_a_version_too_old_is_expired(cluster, client_of):
    """The history was compacted: list again."""
    client = client_of()
    version = client.list().resource_version
    cluster.annotate("shop", "a", {QPS: "1"})
    cluster.forget()

    with pytest.raises(Expired, match="too old"):
        list(client.watch(version, seconds=5))


def test_a_watch_that_breaks_is_an_error_of_ours(cluster, client_of):
    """Half a line and a reset: no exception of another library, and no half event."""
    client = client_of()
    version = client.list().resource_version
    watching = client.watch(version, seconds=30)
    threading.Timer(0.3, cluster.break_watches).start()

    with pytest.raises(ClientError):
        list(watching)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        pytest.param(403, BadAnswer, id="not allowed"),
        pytest.param(429, BadAnswer, id="too many requests"),
        pytest.param(500, BadAnswer, id="broken inside"),
        pytest.param(410, Expired, id="gone"),
    ],
)
def test_a_refusal_is_an_error_of_ours(cluster, client_of, status, error):
    """The server's own message is in it."""
    cluster.refuse(status)

    with pytest.raises(error):
        client_of().list()


def test_a_wrong_token_is_refused_and_never_shown(cluster, client_of, tmp_path):
    """Neither in the text nor in the arguments of the error."""
    client = client_of()
    (tmp_path / "token").write_text("not-the-token")

    with pytest.raises(BadAnswer, match="401: Unauthorized") as raised:
        client.list()

    assert "not-the-token" not in repr(raised.value)


def test_a_rotated_token_is_read_anew(cluster, client_of, tmp_path):
    """Kubernetes replaces the file every hour."""
    client = client_of()
    client.list()
    cluster.token = "rotated"
    (tmp_path / "token").write_text("rotated")

    assert client.list().objects == ()


@pytest.mark.parametrize("text", ["", "two words", "zwölf"])
def test_a_file_that_holds_no_token_is_refused(client_of, tmp_path, text):
    """Before anything is sent."""
    client = client_of()
    (tmp_path / "token").write_text(text)

    with pytest.raises(SecretUnusable, match="holds no token"):
        client.list()


def test_a_pipe_instead_of_a_token_is_not_waited_for(client_of, tmp_path):
    """A sentence, at once."""
    client = client_of()
    (tmp_path / "token").unlink()
    os.mkfifo(tmp_path / "token")

    with pytest.raises(SecretUnusable, match="token is a pipe; allowed is a regular file"):
        client.list()


def test_outside_a_cluster_the_address_has_to_be_written(client_of, monkeypatch):
    """A sentence that names the field."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    with pytest.raises(Unreachable, match=r"kubernetes\.api"):
        client_of(url="")


def test_inside_a_cluster_the_address_is_known(client_of, monkeypatch):
    """From the variables every pod has; an IPv6 address too."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")

    assert client_of(url="").address == "https://[fd00::1]:6443/apis/apps/v1/deployments"


def test_a_missing_authority_is_an_error_of_ours(client_of):
    """TLS without something to trust is not tried."""
    with pytest.raises(Unreachable, match="is not a certificate authority"):
        client_of(url="https://127.0.0.1:1").list()


def test_no_server_is_unreachable(client_of):
    """A refused connection."""
    with pytest.raises(Unreachable):
        client_of(url="http://127.0.0.1:1").list()
