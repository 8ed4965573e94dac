"""Error of a part of the bench."""


class PartFailed(Exception):
    """A part could not be measured; the message has the reason."""
