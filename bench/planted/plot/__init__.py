"""The scenes, by what is broken in them."""
