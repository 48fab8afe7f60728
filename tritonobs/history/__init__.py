"""Limits and objectives compared with recorded history."""
