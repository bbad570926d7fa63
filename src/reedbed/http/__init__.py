"""What the page and the API share about HTTP: who calls, what errors become, which headers guard us.

It stands between `services` and the surfaces: it may import services, the surfaces may import it.
"""
