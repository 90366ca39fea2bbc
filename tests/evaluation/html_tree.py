"""A page as a tree of its elements."""

import html.parser

_VOID = {"meta", "input"}


def parse(page):
    """Returns the root of a page's tree."""
    return _Parser(page).root


class Node:
    """An element with its children, texts among them."""

    def __init__(self, tag, attributes):
        self.tag, self.attributes, self.children = tag, attributes, []

    def all(self, tag, name=None):
        for child in self.children:
            if isinstance(child, Node):
                classes = (child.attributes.get("class") or "").split()
                if child.tag == tag and (name is None or name in classes):
                    yield child
                yield from child.all(tag, name)

    def text(self):
        parts = (c if isinstance(c, str) else c.text() for c in self.children)
        return "".join(parts)


class _Parser(html.parser.HTMLParser):
    """Builds a tree; refuses what is not closed in order."""

    def __init__(self, page):
        super().__init__()
        self.root = Node("", {})
        self.open = [self.root]
        self.feed(page)
        assert self.open == [self.root]

    def handle_starttag(self, tag, attrs):
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in _VOID:
            self.open.append(node)

    def handle_endtag(self, tag):
        assert self.open.pop().tag == tag

    def handle_data(self, data):
        self.open[-1].children.append(data)
