"""A real browser for the tests: Chromium without a window, spoken to through a pipe (DevTools protocol)."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATH = next(filter(None, map(shutil.which, NAMES)), None)
WHY = f"no browser: none of {', '.join(NAMES)} is on the path (Debian: apt-get install chromium)"
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-extensions", "--disable-quic", "--disable-sync", "--remote-debugging-pipe",
]  # fmt: skip
SILENCE = 120


class Browser:
    """One tab. `problems` collects what the page itself complained about."""

    def __init__(self, width: int = 1280, height: int = 900) -> None:
        assert PATH is not None
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for pair in (os.pipe(), os.pipe()) for fd in pair]
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.loaded = False
        words = [PATH, *FLAGS, f"--window-size={width},{height}", f"--user-data-dir={self.folder.name}"]
        self.process = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=lambda: (os.dup2(ends[0], 3), os.dup2(ends[3], 4)),
        )  # fmt: skip
        self.into, self.out = os.fdopen(ends[1], "wb", 0), os.fdopen(ends[2], "rb")
        os.close(ends[0])
        os.close(ends[3])
        self.number, self.rest, self.session = 0, b"", ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.into.close()
        self.out.close()
        self.folder.cleanup()

    def call(self, method: str, **params: Any) -> Any:
        self.number += 1
        words: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        words |= {"sessionId": self.session} if self.session else {}
        self.into.write(json.dumps(words).encode() + b"\0")
        while (answer := self._next()).get("id") != self.number:
            pass
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def open(self, file: Path, fragment: str = "") -> None:
        self.loaded = False
        self.call("Page.navigate", url="about:blank")
        while not self.loaded:
            self._next()
        self.loaded = False
        self.call("Page.navigate", url=file.as_uri() + fragment)
        while not self.loaded:
            self._next()
        self.settle()

    def settle(self) -> None:
        """Waits until the page has been drawn again: only then does it hear of having been scrolled."""
        frames = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.call("Runtime.evaluate", expression=frames, awaitPromise=True)

    def run(self, script: str) -> Any:
        """The value of an expression in the page; it goes around the page's policy as the console does."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Waits until an expression in the page is true."""
        end = time.monotonic() + SILENCE / 4
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < end, f"this did not come true: {condition}"
            time.sleep(0.01)

    def mouse(self, selector: str, click: bool = False) -> None:
        """Moves to the middle of an element, as a person would."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{found}.scrollIntoView({{block: 'center', inline: 'center'}})")
        self.settle()
        box = f"{found}.getBoundingClientRect()"
        x, y = self.run(f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({box})")
        self.point(x, y, click)

    def point(self, x: float, y: float, click: bool = False) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def press(self, key: str) -> None:
        code = {"Enter": 13, "Tab": 9, "Escape": 27}.get(key, 0)
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)
        self.settle()

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def screenshot(self, file: Path, whole: bool = False) -> None:
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            assert select.select([self.out], [], [], SILENCE)[0], f"the browser was silent for {SILENCE} s"
            piece = os.read(self.out.fileno(), 1 << 20)
            assert piece, "the browser ended"
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self.loaded = True
        if method in ("Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening"):
            self.problems.append(json.dumps(params))
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
