"""What is called before the first call, so that the interpreter has adapted itself to making one."""


def nothing(value):
    return value
