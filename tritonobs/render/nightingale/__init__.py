"""A fleet's alerts as Nightingale (n9e) keeps them; facts are from its source of August 2026."""
