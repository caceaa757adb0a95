"""Names for addresses."""


def slug(text):
    return text.lower().replace(" ", "-")


def shorten(text, width):
    return text[:width]
