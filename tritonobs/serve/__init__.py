"""The daemon: limits and objectives as series, DingTalk delivery, service discovery."""
