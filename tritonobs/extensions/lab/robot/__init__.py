"""A DingTalk robot on loopback, as strict as the vendor's."""
