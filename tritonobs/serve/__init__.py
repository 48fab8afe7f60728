"""The daemon: limits and objectives as series, delivery to chats, service discovery."""
