"""Plays cases with the Python client: a JSON line in, a JSON line out. One process for all cases."""

import asyncio
import concurrent.futures
import inspect
import json
import os
import re
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../../../clients/python'))

import nightledger  # noqa: E402

MILLISECONDS = {
    'timeoutMs': 'timeout',
    'deadlineMs': 'deadline',
    'silenceMs': 'silence',
    'pollPauseMs': 'poll_pause',
    'verifyPauseMs': 'verify_pause',
}


def snake(name):
    if name == 'from':
        return 'from_'
    return re.sub(r'[A-Z]', lambda letter: '_' + letter.group().lower(), name)


def in_python(members):
    return {
        MILLISECONDS.get(name, snake(name)): value / 1000 if name in MILLISECONDS else value
        for name, value in members.items()
    }


class Clock(nightledger.Clock):
    def __init__(self):
        self.time = 0.0
        self.pauses = []

    def now(self):
        return self.time

    def random(self):
        return 1.0

    def sleep(self, seconds, closed):
        if not closed.is_set():
            self.pauses.append(seconds * 1000)
            self.time += seconds


def filled(arg, results):
    if isinstance(arg, str) and arg.startswith('$result'):
        return results[int(arg[len('$result') :])]
    if isinstance(arg, dict):
        return {name: filled(value, results) for name, value in arg.items()}
    return arg


def method_of(client, call):
    found = client
    for name in call.split('.'):
        found = getattr(found, snake(name))
    return found


def arguments(step, results, on_reset):
    args = [filled(arg, results) for arg in step.get('args', [])]
    named = in_python(args.pop()) if args and isinstance(args[-1], dict) else {}
    if step['call'] == 'changes.follow':
        named['on_reset'] = on_reset
    if 'options' in step:
        named['options'] = nightledger.CallOptions(**in_python(step['options']))
    return args, named


def call_sync(client, step, results, on_reset, checkpoints):
    args, named = arguments(step, results, on_reset)
    returned = method_of(client, step['call'])(*args, **named)
    if returned is None or isinstance(returned, (dict, list, tuple)):
        return returned
    items = []
    try:
        for item in returned:
            items.append(item)
            if len(items) == step.get('take'):
                break
    finally:
        if step['call'] == 'changes.follow':
            checkpoints.append(returned.checkpoint)
    return items


async def call_async(client, step, results, on_reset, checkpoints):
    args, named = arguments(step, results, on_reset)
    returned = method_of(client, step['call'])(*args, **named)
    if inspect.isawaitable(returned):
        return await returned
    items = []
    iterator = returned.__aiter__()
    try:
        async for item in iterator:
            items.append(item)
            if len(items) == step.get('take'):
                break
        await iterator.aclose()
    finally:
        if step['call'] == 'changes.follow':
            checkpoints.append(returned.checkpoint)
    return items


def seen(error, step):
    names = step.get('error', {}).get('members', {})
    text = ''.join(traceback.format_exception(type(error), error, error.__traceback__))
    return {
        'class': type(error).__name__,
        'members': {name: getattr(error, snake(name), None) for name in names},
        'text': f'{text} {error!r} {vars(error)!r}',
    }


def play(request):
    case = request['case']
    clock = Clock()
    resets, checkpoints = [], []

    def on_reset(reset):
        resets.append({'forget': reset.forget, 'cursor': reset.cursor})

    outcomes, results = [], []

    def note(step, outcome, error):
        if error is not None:
            outcomes.append({'error': seen(error, step)})
            return
        if isinstance(outcome, nightledger.Checkpoint):
            outcome = outcome._asdict()
        results.append(outcome)
        outcomes.append({'result': outcome})

    options = in_python(case.get('options', {}))
    if request['mode'] == 'sync':
        with nightledger.Nightledger(request['key'], request['url'], clock=clock, **options) as client:
            for step in case['steps']:
                try:
                    note(step, call_sync(client, step, results, on_reset, checkpoints), None)
                except Exception as error:
                    note(step, None, error)
            shown = f'{client!r} {vars(client)!r} {vars(client._http)!r}'
    else:

        async def run():
            async with nightledger.AsyncNightledger(request['key'], request['url'], clock=clock, **options) as client:
                for step in case['steps']:
                    try:
                        note(step, await call_async(client, step, results, on_reset, checkpoints), None)
                    except Exception as error:
                        note(step, None, error)
                return f'{client!r} {vars(client)!r}'

        shown = asyncio.run(run())
    return {'outcomes': outcomes, 'pauses': clock.pauses, 'resets': resets, 'checkpoints': checkpoints, 'shown': shown}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = METHODS[request.get('ask', 'play')](request)
        except Exception:
            answer = {'failure': traceback.format_exc()}
        print(json.dumps(answer), flush=True)


def surface(request):
    """Which methods and classes of errors there are, in both faces."""
    sync = nightledger.Nightledger('hr_test_x', 'http://127.0.0.1:1')
    face = nightledger.AsyncNightledger('hr_test_x', 'http://127.0.0.1:1')

    def has(client, call):
        try:
            return callable(method_of(client, call))
        except AttributeError:
            return False

    return {
        'missing': [call for call in request['calls'] if not (has(sync, call) and has(face, call))],
        'classes': {code: found.__name__ for code, found in nightledger.errors.CLASSES.items()},
    }


def webhook(request):
    try:
        body = bytes.fromhex(request['body'])
        return {'event': nightledger.unwrap(body, request['headers'], request['secret'], now=request['now'])}
    except nightledger.WebhookError as error:
        return {'reason': error.reason}


def cancelled(request):
    """How long a loop over changes goes on that is cancelled while it reads a silent stream."""

    async def loop_for_ever(client):
        async for _ in client.changes.follow(after='c0'):
            pass

    async def run():
        async with nightledger.AsyncNightledger(request['key'], request['url']) as client:
            task = asyncio.ensure_future(loop_for_ever(client))
            await asyncio.sleep(0.3)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return task.cancelled()

    begin = time.monotonic()
    return {'cancelled': asyncio.run(run()), 'seconds': time.monotonic() - begin}


def closed(request):
    """What a loop over changes still gives that is closed while its stream is being opened, or by its own body."""
    with nightledger.Nightledger(request['key'], request['url']) as client:
        changes = client.changes.follow(after='c0', poll=request['poll'])
        opened = client._http.open

        def closed_meanwhile(*args):
            exchange = opened(*args)
            changes.close()
            return exchange

        if request['when'] == 'opening':
            client._http.open = closed_meanwhile
        seen = []
        for change in changes:
            seen.append(change['cursor'])
            changes.close()
        return {'seen': seen, 'cursor': changes.cursor}


def crowded(request):
    """Whether a call is answered while as many loops over changes are reading as the loop's executor has threads."""

    async def run():
        asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(2))
        async with nightledger.AsyncNightledger(request['key'], request['url']) as client:
            follows = [client.changes.follow(after='c0') for _ in range(2)]
            tasks = [asyncio.ensure_future(each.__aiter__().__anext__()) for each in follows]
            # Each loop reads its stream, so that the next answer of the server is that of the call.
            while any(each._sync._exchange is None for each in follows):
                await asyncio.sleep(0.01)
            try:
                answer = await asyncio.wait_for(client.me(), 10)
            except asyncio.TimeoutError:
                answer = None
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return answer

    return {'answer': asyncio.run(run())}


def address(request):
    connection, _ = nightledger.Nightledger(request['key'], request['url'])._http._connection(1, True)
    return {'host': connection.host, 'port': connection.port}


METHODS = {'address': address, 'crowded': crowded, 'closed': closed, 'play': play, 'surface': surface, 'webhook': webhook, 'cancelled': cancelled}

if __name__ == '__main__':
    main()
