#!/usr/bin/env python3
"""call.py - Weft from Python: ctypes, and the one door.

    python3 call.py jsonl:/tmp/weft-example

Everything that can be done to a store goes through weft_call, with JSON in
and JSON out; docs/API.md lists the methods.
"""
import ctypes
import json
import sys


class Error(ctypes.Structure):
    """struct weft_error of weft/types.h"""

    _fields_ = [
        ("code", ctypes.c_int),
        ("os_error", ctypes.c_int),
        ("message", ctypes.c_char * 504),
    ]


def load():
    """The library, with the types of the functions that are used here."""
    lib = ctypes.CDLL("libweft.so.0")
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    types = {
        "weft_version": (ctypes.c_char_p,),
        "weft_code_name": (ctypes.c_char_p, ctypes.c_int),
        "weft_open": (ctypes.c_int, ctypes.c_char_p, pointer,
                      ctypes.POINTER(pointer), ctypes.POINTER(Error)),
        "weft_close": (ctypes.c_int, pointer, ctypes.POINTER(Error)),
        "weft_call": (ctypes.c_int, pointer, ctypes.c_char_p, size,
                      ctypes.POINTER(pointer), ctypes.POINTER(Error)),
        "weft_answer_text": (ctypes.c_char_p, pointer, ctypes.POINTER(size)),
        "weft_answer_free": (None, pointer),
    }
    for name, (result, *arguments) in types.items():
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments
    return lib


LIB = load()


class WeftError(Exception):
    """What went wrong; `code` is its name, such as "not_found"."""

    def __init__(self, error):
        super().__init__(error.message.decode())
        self.code = LIB.weft_code_name(error.code).decode()


class Store:
    """An open store; may be used by many threads at once."""

    def __init__(self, url):
        self.handle = ctypes.c_void_p()
        error = Error()
        if LIB.weft_open(url.encode(), None, ctypes.byref(self.handle),
                         ctypes.byref(error)) < 0:
            raise WeftError(error)

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        handle, self.handle = self.handle, None
        LIB.weft_close(handle, None)

    def call(self, method, **fields):
        """Call a method of docs/API.md."""
        request = json.dumps({"method": method, **fields}).encode()
        answer, error = ctypes.c_void_p(), Error()
        if LIB.weft_call(self.handle, request, len(request),
                         ctypes.byref(answer), ctypes.byref(error)) < 0:
            raise WeftError(error)
        try:
            return json.loads(LIB.weft_answer_text(answer, None))
        finally:
            LIB.weft_answer_free(answer)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: call.py URL")
    print("weft", LIB.weft_version().decode())
    with Store(sys.argv[1]) as store:
        session = store.call("new", key="python", slug="From Python")
        said = store.call("append", session="python",
                          message={"role": "user", "content": "Grüß Gott"})
        print("message", said["seq"], "of", session["id"], "is durable")
        for message in store.call("history", session="python")["messages"]:
            for part in message["parts"]:
                print(f"{message['role']}: {part['text']}")
        try:
            store.call("show", session="nobody")
        except WeftError as error:
            print(f"{error.code}: {error}")


if __name__ == "__main__":
    main()
