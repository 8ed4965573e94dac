"""What makes a part of the bench fail: a message for people, never a figure."""


class PartFailed(Exception):
    """A part could not be measured."""
