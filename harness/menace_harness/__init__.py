"""What runs inside a sandbox on behalf of menace. Python 3.9 or newer, the standard library alone."""
