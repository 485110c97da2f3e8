"""Threads that compute, wait with timeouts and start processes; prints what it computed and whether every wait was as long as asked."""
import hashlib
import queue
import select
import socket
import subprocess
import threading
import time


def work(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def lasted(seconds, wait):
    start = time.monotonic()
    wait()
    return time.monotonic() - start >= seconds


found = queue.Queue()
waits = []


def waiter():
    a, b = socket.socketpair()
    a.settimeout(0.2)

    def receive():
        try:
            a.recv(1)
        except TimeoutError:
            pass

    def take():
        try:
            queue.Queue().get(timeout=0.2)
        except queue.Empty:
            pass

    for wait in (lambda: time.sleep(0.2), lambda: threading.Event().wait(0.2), lambda: select.select([a], [], [], 0.2), receive, take):
        waits.append(lasted(0.2, wait))
    b.close()


threads = [threading.Thread(target=lambda k=k: found.put((k, work(1200000 + k)))) for k in range(4)] + [threading.Thread(target=waiter)]
for t in threads:
    t.start()
echoed = [subprocess.run(['/bin/echo', str(k)], stdout=subprocess.PIPE, check=True).stdout for k in range(20)]
for t in threads:
    t.join()
print(sorted(found.queue))
print(waits)
print(hashlib.pbkdf2_hmac('sha256', b'word', b'salt', 300000).hex(), b''.join(echoed))
