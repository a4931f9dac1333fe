"""What the demo submits: some work with output on the way, a file, and a look at its own walls."""

import os
import pathlib
import socket
import sys
import time

words = sys.stdin.read().split()
print(f"python {sys.version.split()[0]} as uid {os.getuid()}, {len(words)} words on stdin", flush=True)
for number, word in enumerate(words, 1):
    time.sleep(0.3)
    print(f"{number}/{len(words)} {word[::-1]}", flush=True)

pathlib.Path("result.txt").write_text("written in /workspace\n")
try:
    pathlib.Path("/etc/passwd").write_text("root::0:0::/:/bin/sh\n")
except OSError as error:
    print(f"the rest of the file system: {error.strerror}")
try:
    socket.create_connection(("1.1.1.1", 53), timeout=2)
except OSError as error:
    print(f"the network: {error.strerror}")
