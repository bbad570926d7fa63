"""Well-known feeds to begin with: only addresses, nothing is asked of them until one is chosen."""

from typing import Final

from reedbed.web.speech import marked

SAMPLES: Final = (
    ("https://www.nasa.gov/feed/", "NASA", marked("Space")),
    ("https://apod.nasa.gov/apod.rss", "Astronomy Picture of the Day", marked("Space, in pictures")),
    ("https://www.theguardian.com/world/rss", "The Guardian: World", marked("News")),
    ("https://www.tagesschau.de/index~rss2.xml", "tagesschau", marked("News, in German")),
    ("https://www.lemonde.fr/rss/une.xml", "Le Monde", marked("News, in French")),
    ("https://hnrss.org/frontpage", "Hacker News", marked("Technology")),
    ("https://lwn.net/headlines/rss", "LWN", marked("Free software")),
    ("https://xkcd.com/atom.xml", "xkcd", marked("A comic")),
)
