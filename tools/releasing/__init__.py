"""What `tools/release.py` is made of: a module makes one kind of artifact, or says why none may be made."""
