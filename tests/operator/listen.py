"""Holds one socket open as a client does and says how the server ends it; Python's own library only.

    listen.py HOST:PORT KEY FILE

Writes `open` into FILE when the socket is there, and prints the code of the close frame, or `refused STATUS`.
"""

import base64
import os
import socket
import struct
import sys


def read(stream, size):
    data = b""
    while len(data) < size:
        part = stream.recv(size - len(data))
        if not part:
            sys.exit("the connection ended without a close frame")
        data += part
    return data


def main():
    address, key, told = sys.argv[1:]
    host, port = address.rsplit(":", 1)
    stream = socket.create_connection((host, int(port)), timeout=60)
    nonce = base64.b64encode(os.urandom(16)).decode()
    stream.sendall(
        f"GET /api/v1/socket/websocket?vsn=2.0.0 HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\n"
        f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {nonce}\r\n"
        f"X-API-Key: {key}\r\n\r\n".encode()
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += read(stream, 1)
    status = head.split()[1].decode()
    if status != "101":
        print(f"refused {status}")
        return
    with open(told, "w") as file:
        file.write("open\n")
    while True:
        first, size = read(stream, 2)
        if size == 126:
            (size,) = struct.unpack(">H", read(stream, 2))
        elif size == 127:
            (size,) = struct.unpack(">Q", read(stream, 8))
        body = read(stream, size)
        if first & 0x0F == 8:
            print(struct.unpack(">H", body[:2])[0])
            return


main()
