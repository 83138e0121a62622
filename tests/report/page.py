"""The structure of a page, read with the standard library."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input", "circle", "rect", "path"}


class Page(HTMLParser):
    """Collects elements, headings, ids and the visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[str, str]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append((tag, ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"{tag} is closed where it is not open"

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.text.append(data)
            if self.open and {"h1", "h2", "h3", "h4"} & set(self.open):
                tag, before = self.headings[-1]
                self.headings[-1] = (tag, before + data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def ids(self) -> list[str]:
        return [a["id"] for _, a in self.elements if a.get("id")]  # type: ignore[misc]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())
