"""Alerts as messages of robots: grouped, within the budget of their chat, acknowledged once accepted."""
