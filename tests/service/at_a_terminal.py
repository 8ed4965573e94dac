"""Attaches an agent from a pseudo-terminal: checks its screen, its keys, and that the terminal is restored."""

import fcntl, os, pty, signal, struct, sys, termios, tty

menace = sys.argv[1]


def sized(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


ours, theirs = pty.openpty()
sized(ours, 33, 101)
before = termios.tcgetattr(theirs)
child = os.fork()
if child == 0:
    os.setsid()
    fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
    for stream in (0, 1, 2):
        os.dup2(theirs, stream)
    os.execv(menace, [menace, "sandbox", "attach", "--", "sh", "-i"])
screen = b""


def until(text):
    global screen
    while text not in screen:
        screen += os.read(ours, 4096)
    screen = screen.split(text, 1)[1]


os.write(ours, b"tty && stty size\n")
until(b"/dev/pts/")
until(b"33 101")
sized(ours, 40, 120)
os.kill(child, signal.SIGWINCH)
# The size is sent on another channel than keys, so poll until it has arrived.
os.write(ours, b"until stty size | grep -q '40 120'; do :; done; echo lar''ger\n")
until(b"larger")
os.write(ours, b"sh -c 'echo wai\"\"ting; exec sleep 1000'\n")
until(b"waiting")
os.write(ours, b"\x03")
os.write(ours, b"exit 7\n")
status = os.waitpid(child, 0)[1]
assert os.waitstatus_to_exitcode(status) == 7, status
assert termios.tcgetattr(theirs) == before, "the terminal was not restored"
print("as it should be")
