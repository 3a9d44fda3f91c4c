"""Checks a directory of web pages: each link leads to a file of it, or to an element of a page.

    links.py DIRECTORY
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the ids of its elements."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, _, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def main(directory):
    pages = {path.resolve(): Page(path) for path in directory.rglob("*.html")}
    broken, links = [], 0
    for path, page in pages.items():
        for link in page.links:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            links += 1
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            anchor = unquote(url.fragment)
            if not target.is_file() or (anchor and (target not in pages or anchor not in pages[target].ids)):
                broken.append(f"{path.relative_to(directory.resolve())}: {link}")
    for line in broken:
        print(f"leads nowhere: {line}", file=sys.stderr)
    print(f"{len(pages)} pages, {links} links, {len(broken)} of them broken")
    if len(pages) < 50:
        print("pages are missing", file=sys.stderr)
    return 1 if broken or len(pages) < 50 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
