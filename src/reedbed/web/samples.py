"""Well-known feeds to begin with: only addresses, nothing is asked of them until one is chosen."""

from typing import Final

SAMPLES: Final = (
    ("https://www.nasa.gov/feed/", "NASA", "Space"),
    ("https://apod.nasa.gov/apod.rss", "Astronomy Picture of the Day", "Space, in pictures"),
    ("https://www.theguardian.com/world/rss", "The Guardian: World", "News"),
    ("https://www.tagesschau.de/index~rss2.xml", "tagesschau", "News, in German"),
    ("https://www.lemonde.fr/rss/une.xml", "Le Monde", "News, in French"),
    ("https://hnrss.org/frontpage", "Hacker News", "Technology"),
    ("https://lwn.net/headlines/rss", "LWN", "Free software"),
    ("https://xkcd.com/atom.xml", "xkcd", "A comic"),
)
