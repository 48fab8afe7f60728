"""Receivers that are Alertmanager's own, the dead man's switch, and the test message, as configured.

One way for all of them: a real Alertmanager with the generated configuration, strict services behind it.
"""

from __future__ import annotations

import email
import email.policy
import re
import ssl
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from support.programs import free_port
from support.receivers import WECOM_MOST_BYTES, ReceiverDoubles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import EmailMessage

pytestmark = pytest.mark.e2e

# One for each test: in a daemon's first minute, messages of one robot are far apart.
ROBOTS = ("alertmanager", "serve", "direct", "refuses")
PASSWORD = "mail-7f3d1e55c0"
MAILBOX = "leads@example.com"
HOSTILE = "<!channel> *x* `y` &lt; [a](http://evil) " + "模" * 2000
HEADERS = "x\r\nBcc: evil@example.com\r\n\r\n<script>alert(1)</script>"
NOTIFY = """\
  slack: {{vision: {{webhook_file: secrets/slack, channel: "#vision"}}}}
  webhook: {{archive: {{url: "{archive}"}}, pager: {{url_file: secrets/pager}}}}
  dead_man: {{url_file: secrets/ping, every: 15s}}
  alertmanager_file: {own}
  routes:
    - {{match: {{team: slack}}, to: slack/vision}}
    - {{match: {{team: mail}}, to: alertmanager/leads}}
    - {{match: {{team: wecom}}, to: alertmanager/ops}}
    - {{match: {{team: hooks}}, to: [webhook/archive, webhook/pager]}}
"""
# A user's own configuration. Alertmanager 0.25 reads WeCom's secret from nowhere else.
OWN = """\
global: {{smtp_smarthost: "127.0.0.1:{mail}", smtp_from: alerts@example.com, smtp_auth_username: alerts,
         smtp_auth_password_file: {password}}}
route: {{receiver: leads}}
receivers:
  - {{name: leads, email_configs: [{{to: leads@example.com}}]}}
  - name: ops
    wechat_configs:
      - {{corp_id: wwcorp, agent_id: "1000002", api_secret: {corp_secret}, api_url: "{wecom}",
         to_party: "2|3", message: '{{{{ template "tritonobs.wecom.text" . }}}}'}}
"""


class MailSink:
    """A mail server that wants TLS and a login, knows one mailbox, and keeps what it took."""

    def __init__(self) -> None:
        self.port = free_port()
        self.taken: list[EmailMessage] = []
        self.refused: list[str] = []

    async def handle_RCPT(self, *call) -> str:  # noqa: N802 (aiosmtpd names it)
        """One mailbox, no other."""
        _, _, envelope, address, _ = call
        if address != MAILBOX:
            self.refused.append(address)
            return "550 no such mailbox here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, *call) -> str:  # noqa: N802 (the same)
        """Read as strictly as a mail reader should; what is broken is refused."""
        policy = email.policy.SMTP.clone(raise_on_defect=True)
        self.taken.append(email.message_from_bytes(call[-1].content, policy=policy))
        return "250 taken"


def _let_in(server, session, envelope, mechanism, data) -> AuthResult:
    right = (getattr(data, "login", b""), getattr(data, "password", b"")) == (b"alerts", PASSWORD.encode())
    return AuthResult(success=right)


@pytest.fixture(scope="module")
def services() -> Iterator[ReceiverDoubles]:
    """Slack, and webhooks."""
    with ReceiverDoubles() as doubles:
        yield doubles


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Signs the mail server's certificate."""
    return trustme.CA()


@pytest.fixture(scope="module")
def sink(authority) -> Iterator[MailSink]:
    """The mail server's notes; `port` is where it listens."""
    sink = MailSink()
    encrypted = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(encrypted)
    controller = Controller(
        sink,
        hostname="127.0.0.1",
        port=sink.port,
        authenticator=_let_in,
        tls_context=encrypted,
        require_starttls=True,
        auth_required=True,
        # Its prompts are not those that Alertmanager, like most clients, answers.
        auth_exclude_mechanism=["LOGIN"],
    )
    controller.start()
    yield sink
    controller.stop()


@pytest.fixture(scope="module")
def path(builder, services, sink, authority, tmp_path_factory):
    """The way of all tests here; the Watchdog is on from the beginning."""
    folder = tmp_path_factory.mktemp("receivers")
    authority.cert_pem.write_to_path(folder / "authority.pem")
    with ExitStack() as running, pytest.MonkeyPatch.context() as environment:
        environment.setenv("SSL_CERT_FILE", str(folder / "authority.pem"))
        own = folder / "own.yml"
        password = folder / "mail-password"
        password.write_text(PASSWORD)
        own.write_text(
            OWN.format(
                mail=sink.port, password=password, corp_secret=services.corp_secret, wecom=services.wecom_url
            )
        )
        build = builder(folder=folder, running=running)
        way = build(
            *ROBOTS,
            auth="username: am, password_file: secrets/token",
            notify=NOTIFY.format(own=own, archive=services.webhook_url("archive")),
            more_secrets={
                "slack": services.slack_url,
                "pager": services.webhook_url("pager-very-secret"),
                "ping": services.webhook_url("ping-very-secret"),
            },
        )
        way.post("", alertname="Watchdog", severity="none")
        yield way
        way.require_no_secret_written()


def _try(way, robot: str, via: str) -> subprocess.CompletedProcess[str]:
    fleet = str(way.folder / "fleet.yaml")
    argv = [sys.executable, "-m", "tritonobs", "notify", "test", robot, "--fleet", fleet, "--via", via]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_slack_gets_a_message_that_it_takes_and_whose_labels_are_data(path, services) -> None:
    """Again after a 503; channel, colour, the alert's name; no mention, no markup."""
    services.unavailable = 1
    path.post("inspect", team="slack", stage=HOSTILE)
    path.wait(lambda: services.slack)
    said = services.slack[-1]
    (attachment,) = said["attachments"]
    assert said["channel"] == "#vision"
    assert attachment["title"] == "1 firing: TritonQpsAboveLimit inspect"
    assert attachment["color"] == "danger"
    assert re.search("TritonQpsAboveLimit inspect stage .!channel. ·x· ·y·", attachment["text"])
    assert "<!channel>" not in attachment["text"]


def test_slack_text_stays_within_its_limit_whatever_the_labels_hold(path, services) -> None:
    """Two hundred alerts of one group, every label as long as it likes: one message, 12,000 characters."""
    for number in range(200):
        path.post(f"many{'&' * 500}", team="slack", version=f"{number:03}{'<' * 500}", stage=HOSTILE)
    path.wait(lambda: any("and more, all in Alertmanager" in str(said) for said in services.slack))
    texts = [attachment["text"] for said in services.slack for attachment in said["attachments"]]
    assert max(map(len, texts)) <= 12_000
    assert not [where for where, _ in services.refused if where == "slack"]


def test_mail_is_taken_and_its_headers_are_ours(path, sink) -> None:
    """Encrypted, after a login; a label cannot add a header or markup, and the alert's name stands in it."""
    path.post("inspect", team="mail", stage=HEADERS)
    path.wait(lambda: sink.taken)
    (mail,) = sink.taken
    assert sink.refused == []
    assert (mail["From"], mail["To"], mail["Bcc"]) == ("alerts@example.com", MAILBOX, None)
    assert "TritonQpsAboveLimit" in mail["Subject"]
    html = mail.get_body(("html",)).get_content()
    assert "TritonQpsAboveLimit" in html
    assert "<script>" not in html


def test_webhooks_get_the_call_directly_or_through_serve(path, services) -> None:
    """The open address by Alertmanager itself, the secret one passed on; both again after a 503."""
    services.unavailable = 2
    path.post("inspect", team="hooks")
    for name in ("archive", "pager-very-secret"):
        path.wait(lambda name=name: any(where.endswith(name) for where, _ in services.webhook))
    calls = {where: said for where, said in services.webhook if "ping" not in where}
    assert {said["alerts"][0]["labels"]["model"] for said in calls.values()} == {"inspect"}


@pytest.mark.parametrize("via", ROBOTS[:3])
def test_test_message_arrives(path, via: str) -> None:
    """By whichever way, and the command says so."""
    done = _try(path, via, via)
    assert (done.returncode, done.stdout) == (0, f"robot {via} accepted a test message\n"), done.stderr
    assert [("TritonobsTest" in message.text) for message in path.robots[via].messages] == [True]


def test_test_message_that_is_refused_says_why(path) -> None:
    """An exit code, the vendor's words, no secret."""
    robot = path.robots["refuses"]
    robot.rules.secret = "SECother"
    for via in ("serve", "direct"):
        done = _try(path, "refuses", via)
        assert done.returncode == 3
        assert "DingTalk said 310000: sign not match" in done.stderr
        assert robot.secret not in done.stderr


def test_watchdog_reaches_the_dead_mans_switch_again(path, services) -> None:
    """Through serve, which has the secret address: silence there means that something on the way is dead."""
    path.wait(lambda: sum(where.endswith("ping-very-secret") for where, _ in services.webhook) >= 2)
    assert [robot for robot in path.robots if path.named(robot)] == []


def test_wecom_gets_texts_it_need_not_cut(path, services) -> None:
    """A token fetched for the right application; every name within 2,048 bytes, the labels data.

    What WeCom refuses is not played: Alertmanager reads its errcode since 0.26, this one is 0.25.
    """
    for number in range(6):
        path.post(f"many{'模' * 300}", team="wecom", version=f"{number}{'9' * 300}", stage=HOSTILE)
    path.wait(lambda: any("and more, all in Alertmanager" in said["shown"] for said in services.wecom))
    assert not [said for said in services.wecom if said["cut"]], WECOM_MOST_BYTES
    assert not [answer for where, answer in services.refused if where == "wecom"]
    assert (services.wecom[0]["toparty"], services.wecom[0]["agentid"]) == ("2|3", "1000002")
    assert services.wecom[-1]["shown"].count("TritonQpsAboveLimit") == 5
    assert "<!channel>" not in str(services.wecom)


def test_test_message_nobody_can_take_says_where_it_ended(path) -> None:
    """The last test: without Alertmanager the way ends at its beginning."""
    path.managers[0].kill()
    done = _try(path, "alertmanager", "alertmanager")
    assert done.returncode == 3
    assert "/api/v2/alerts: connection refused" in done.stderr
