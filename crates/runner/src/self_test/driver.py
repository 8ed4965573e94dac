import os, sys

try:
    import pytest
except ImportError:
    sys.exit(97)
times, files = int(sys.argv[1]), sys.argv[2:]
reports = os.dup(1)
os.dup2(2, 1)
code = 0
for number in range(times):
    report = f"/tmp/menace-report-{number}.xml"
    child = os.fork()
    if child == 0:
        os.close(reports)
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", f"--junitxml={report}", *files]))
    status = os.waitpid(child, 0)[1]
    code = code or (status >> 8 if status & 127 == 0 else 128 + (status & 127))
    try:
        with open(report, "rb") as file:
            text = file.read()
    except OSError:
        break
    text += b"\0"
    while text:
        text = text[os.write(reports, text) :]
sys.exit(code)
