"""The chat whose robots end-to-end tests of delivery use: `TRITONOBS_CHAT`, DingTalk's unless said."""

from __future__ import annotations

import os
from typing import Final

CHAT: Final = os.environ.get("TRITONOBS_CHAT", "dingtalk")
