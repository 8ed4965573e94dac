"""Runs inside the sandbox: one HTTPS request. Prints the response.

usage: fetch.py URL
"""

import sys
import urllib.request

with urllib.request.urlopen(sys.argv[1], timeout=30) as answer:
    print(answer.status)
    print(answer.headers)
    print(answer.read().decode())
