"""Read texts aloud: a speech endpoint with OpenAI's protocol, or a program on this machine. Both return WAV."""

import asyncio
import io
import os
import resource
import shlex
import signal
import struct
import wave
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import orjson

from reedbed.domain.errors import ReedbedError, Unavailable
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.records import record

if TYPE_CHECKING:
    import aiohttp

MAX_BYTES = 100_000_000
"""The limit for the sound of one request: half an hour at the usual rate."""
MAX_MEMORY = 1_500_000_000
CPU_SECONDS = 120
CHUNK = 64 * 1024


@record
class Sound:
    """Samples of 16 bits on one channel."""

    rate: int
    frames: bytes


class Speaker(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def is_remote(self) -> bool:
        """Whether a call sends text to a third party."""
        ...

    async def speak(self, text: str, language: str, voice: str) -> Sound:
        """Raises `Unavailable` if that is worth another try, else `SpeechFailed`."""
        ...

    async def close(self) -> None: ...


class SpeechFailed(ReedbedError):
    """The speaker cannot read this text."""


class SpeechProgram:
    """A program that gets text on its standard input and writes WAV to its standard output, such as espeak-ng."""

    is_remote = False

    def __init__(self, command: str, *, timeout: float = 120, max_bytes: int = MAX_BYTES) -> None:
        self._command = shlex.split(command)
        self.name = self._command[0].rpartition("/")[2]
        self._timeout = timeout
        self._max_bytes = max_bytes

    async def speak(self, text: str, language: str, voice: str) -> Sound:
        chosen = voice or language or "en"
        arguments = [part.replace("{voice}", chosen).replace("{language}", language or "en") for part in self._command]
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=_environment(), start_new_session=True
            )
        except OSError as error:
            raise SpeechFailed(_failure(type(error).__name__)) from error
        try:
            _limit(process.pid)
            async with asyncio.timeout(self._timeout):
                output = await self._output(process, text)
                status = await process.wait()
        except TimeoutError:
            raise SpeechFailed(_failure(f"no answer within {self._timeout:g} s")) from None
        finally:
            if process.returncode is None:
                await _end(process)
        if status != 0:
            raise SpeechFailed(_failure(f"exit code {status}"))
        return read_wave(output)

    async def close(self) -> None:
        """Nothing to close."""

    async def _output(self, process: asyncio.subprocess.Process, text: str) -> bytes:
        assert process.stdin is not None and process.stdout is not None
        writing = asyncio.ensure_future(_write(process.stdin, text))
        output = bytearray()
        try:
            while chunk := await process.stdout.read(CHUNK):
                output += chunk
                if len(output) > self._max_bytes:
                    raise SpeechFailed(_failure("too much sound"))
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        return bytes(output)


def _environment() -> dict[str, str]:
    """The program must not see our secrets."""
    return {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the program and what it has started, and read what is left: a full pipe would keep `wait` waiting."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(5):
            await process.communicate()


async def _write(stdin: asyncio.StreamWriter, text: str) -> None:
    stdin.write(text.encode("utf-8", "replace"))
    await stdin.drain()
    stdin.close()
    await stdin.wait_closed()


def _limit(pid: int) -> None:
    """Limit memory, time and files of a process that has just started, where the system can."""
    prlimit = getattr(resource, "prlimit", None)
    if prlimit is None:
        return
    try:
        # Not the address space: each thread of a program reserves 64 MB of it and uses little.
        prlimit(pid, resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
        prlimit(pid, resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
        prlimit(pid, resource.RLIMIT_FSIZE, (MAX_BYTES, MAX_BYTES))
    except (ProcessLookupError, PermissionError):
        return  # it has ended already


class SpeechEndpoint:
    """Any endpoint with `POST /audio/speech`, such as that of OpenAI, Kokoro-FastAPI or LocalAI.

    The URL is the operator's own setting, as that of the model is. Redirects are rejected.
    """

    is_remote = True

    def __init__(self, model: str, *, base_url: str, api_key: str = "", timeout: float = 120) -> None:
        self.name = model
        self._url = f"{base_url.rstrip('/')}/audio/speech"
        self._key = api_key
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None

    async def speak(self, text: str, language: str, voice: str) -> Sound:
        import aiohttp

        body = {"model": self.name, "voice": voice or "alloy", "input": text, "response_format": "wav"}
        try:
            status, content = await self._post(orjson.dumps(body))
        except TimeoutError:
            raise Unavailable(_failure(f"no answer within {self._timeout:g} s")) from None
        except (aiohttp.ClientError, OSError) as error:
            raise Unavailable(_failure(type(error).__name__)) from None
        if status in (408, 425, 429) or status >= 500:
            raise Unavailable(_failure(f"HTTP {status}"))
        if status != 200:
            raise SpeechFailed(_failure(f"HTTP {status}"))
        return read_wave(content)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _post(self, body: bytes) -> tuple[int, bytes]:
        import aiohttp

        if self._session is None:
            headers = {"Content-Type": "application/json"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            self._session = aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=self._timeout))
        async with self._session.post(self._url, data=body, allow_redirects=False) as response:
            content = bytearray()
            while chunk := await response.content.read(CHUNK):
                content += chunk
                if len(content) > MAX_BYTES:
                    raise SpeechFailed(_failure("too much sound"))
            return response.status, bytes(content)


def _failure(reason: str) -> Failure:
    return Failure(FailureCode.SPEECH_FAILED, {"reason": reason})


def read_wave(content: bytes) -> Sound:
    """The samples of a WAV file. Programs that write to a pipe cannot know its length, so what it says is ignored."""
    rate = channels = bits = 0
    position = 12
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        raise SpeechFailed(_failure("no WAV"))
    while position + 8 <= len(content):
        name, size = content[position : position + 4], struct.unpack_from("<I", content, position + 4)[0]
        start = position + 8
        if name == b"fmt " and start + 16 <= len(content):
            _, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", content, start)
        if name == b"data":
            if channels != 1 or bits != 16 or not 4_000 <= rate <= 192_000:
                break
            frames = content[start : start + min(size, len(content) - start)]
            return Sound(rate, frames[: len(frames) // 2 * 2])
        position = start + size + size % 2
    raise SpeechFailed(_failure("another format than 16 bits on one channel"))


def write_wave(rate: int, frames: bytes) -> bytes:
    output = io.BytesIO()
    with wave.open(output, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(frames)
    return output.getvalue()


async def encode(content: bytes, command: str = "ffmpeg") -> tuple[bytes, str]:
    """MP3, which is about a tenth of it; the WAV itself where there is no encoder or it fails."""
    arguments = ("-v", "error", "-i", "pipe:0", "-ac", "1", "-b:a", "64k", "-f", "mp3", "pipe:1")
    try:
        process = await asyncio.create_subprocess_exec(
            command, *arguments, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=_environment()
        )
    except OSError:
        return content, "audio/wav"
    try:
        output, _ = await asyncio.wait_for(process.communicate(content), CPU_SECONDS)
    except TimeoutError:
        return content, "audio/wav"
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    return (output, "audio/mpeg") if process.returncode == 0 and output else (content, "audio/wav")
