"""Prints different ports on which nothing listens on the loopback address.

    free_ports.py NUMBER

They are below those of outgoing connections, and above those of the Rust tests.
"""

import random
import socket
import sys

found, kept = [], []
for port in random.sample(range(30_000, 32_768), 100):
    if len(found) == int(sys.argv[1]):
        break
    probe = socket.socket()
    try:
        probe.bind(("127.0.0.1", port))
    except OSError:
        continue
    found.append(port)
    kept.append(probe)
if len(found) < int(sys.argv[1]):
    sys.exit("free_ports.py: no free ports from 30000 to 32767")
print(*found)
