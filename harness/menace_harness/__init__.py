"""Harness that runs inside a sandbox and makes calls. Needs Python 3.9 or newer and only the standard library."""
