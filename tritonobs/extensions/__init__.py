"""What can be taken out of tritonobs, a folder each; `tritonobs.registry` lists them.

An extension imports the heart. The heart imports no extension, and no extension imports another.
"""
