"""EPUB 3 files: clean HTML as strict XHTML, pictures for e-readers, and the container."""
