"""Alerts as messages of DingTalk robots: grouped, within the vendor's budget, acknowledged once accepted."""
