"""The client for asyncio: the same calls, awaited. Cancelling a task cancels its request on the server."""
import asyncio

from . import _library
from .client import BaseClient, BaseStream


class AsyncRLXStream(BaseStream):
    """`infer` as the client's, on the stream:

        async with client.stream() as stream:
            results = await asyncio.gather(*(stream.infer("resnet18", {"input": array}) for array in arrays))
    """

    async def infer(self, model_name, inputs, *arguments, **options):
        return await self._client.infer(model_name, inputs, *arguments, **options, _stream=self)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        self.close()


class AsyncRLXClient(BaseClient):
    """As RLXClient, with `await`. Belongs to the event loop that uses it."""

    async def infer(self, model_name, inputs, schedule_hint=None, outputs=None, timeout=None, *, connect_timeout=None, transfer_timeout=None,
                    compute_timeout=None, model_version=None, request_id=None, priority=0, _stream=None):
        timeouts = self._timeouts(timeout, connect_timeout, transfer_timeout, compute_timeout)
        if self._needs_types(model_name, model_version, inputs):
            self._learn_types(model_name, model_version, await self.metadata(model_name, model_version, timeout))
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def settle(pending):
            if future.done():
                return
            try:
                future.set_result(self._outcome(pending.call, pending.given))
            except BaseException as error:  # belongs to who awaits
                future.set_exception(error)

        def finish(pending):  # on a thread of the library
            try:
                loop.call_soon_threadsafe(settle, pending)
            except RuntimeError:  # the event loop is closed: nobody waits
                pass

        call, _ = self._submit(self._arrays(model_name, model_version, inputs), model_name, model_version, schedule_hint, outputs, timeouts,
                               request_id, priority, finish, _stream)
        try:
            return await future
        except asyncio.CancelledError:
            _library.call_cancel(call.handle)
            raise

    def stream(self):
        """Many requests on one stream: an AsyncRLXStream."""
        return AsyncRLXStream(self)

    async def _ask_later(self, question, model=None, version=None, timeout=None, endpoint=-1):
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, lambda: self._ask(question, model, version, timeout, endpoint))

    async def is_live(self, timeout=None):
        return bool((await self._ask_later(_library.SERVER_LIVE, timeout=timeout)).get("live", False))

    async def is_ready(self, model_name=None, model_version=None, timeout=None):
        question = _library.SERVER_READY if model_name is None else _library.MODEL_READY
        return bool((await self._ask_later(question, model_name, model_version, timeout)).get("ready", False))

    async def metadata(self, model_name=None, model_version=None, timeout=None):
        question = _library.SERVER_METADATA if model_name is None else _library.MODEL_METADATA
        return await self._ask_later(question, model_name, model_version, timeout)

    async def statistics(self, model_name=None, model_version=None, timeout=None):
        return (await self._ask_later(_library.STATISTICS, model_name, model_version, timeout)).get("model_stats", [])

    async def models(self, timeout=None):
        return (await self._ask_later(_library.INDEX, timeout=timeout)).get("models", [])

    async def load(self, model_name, timeout=None):
        """On every endpoint."""
        for endpoint in range(len(self.endpoints)):
            await self._ask_later(_library.LOAD, model_name, None, timeout, endpoint)

    async def unload(self, model_name, timeout=None):
        """On every endpoint."""
        for endpoint in range(len(self.endpoints)):
            await self._ask_later(_library.UNLOAD, model_name, None, timeout, endpoint)

    async def close(self):
        await asyncio.get_running_loop().run_in_executor(None, self._close)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        await self.close()
