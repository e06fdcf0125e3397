import { beforeEach, expect, test, vi } from 'vitest';
import { HostPort } from './port';

/** Both ends of a channel that hands over at once. */
function channel() {
  const got: Record<string, unknown>[] = [];
  const port = {
    onmessage: null as ((event: { data: unknown }) => void) | null,
    closed: false,
    postMessage: (text: string) => got.push(JSON.parse(text)),
    close() {
      this.closed = true;
    },
  };
  const frames: (() => void)[] = [];
  const duties = { initialize: vi.fn(() => ({})), initialized: vi.fn(), alive: vi.fn(), flooded: vi.fn() };
  const host = new HostPort(port as unknown as MessagePort, duties, (run) => frames.push(run));
  const send = (data: unknown) => port.onmessage?.({ data });
  const frame = () => {
    const now = frames.splice(0);
    for (const run of now) run();
    return now.length;
  };
  return { got, port, duties, host, send, frame };
}

const text = (message: object) => JSON.stringify({ jsonrpc: '2.0', ...message });

beforeEach(() => {
  vi.spyOn(performance, 'now').mockReturnValue(0);
});

test('C9 the handshake is a question and a word after it; the word alone counts for nothing', () => {
  const { send, frame, got, duties } = channel();
  send(text({ method: 'ui/notifications/initialized' }));
  frame();
  expect(duties.initialized).not.toHaveBeenCalled();
  send(text({ id: 1, method: 'ui/initialize' }));
  send(text({ method: 'ui/notifications/initialized' }));
  frame();
  expect(got).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
  expect(duties.initialized).toHaveBeenCalledOnce();
});

test('C12 two Surfaces with one request id each get their own answer', () => {
  const [one, two] = [channel(), channel()];
  one.duties.initialize.mockReturnValue({ of: 'one' });
  two.duties.initialize.mockReturnValue({ of: 'two' });
  one.send(text({ id: 7, method: 'ui/initialize' }));
  two.send(text({ id: 7, method: 'ui/initialize' }));
  two.frame();
  one.frame();
  expect(one.got).toEqual([{ jsonrpc: '2.0', id: 7, result: { of: 'one' } }]);
  expect(two.got).toEqual([{ jsonrpc: '2.0', id: 7, result: { of: 'two' } }]);
});

test('ENT-4 a view does not speak to agents', () => {
  const { send, frame, got, host } = channel();
  send(text({ id: 1, method: 'ui/message', params: { content: 'hello' } }));
  send(text({ id: 2, method: 'ui/update-model-context', params: {} }));
  frame();
  const error = {
    code: -32000,
    message: 'a view does not speak to agents',
    data: { code: 'capability_denied' },
  };
  expect(got).toEqual([
    { jsonrpc: '2.0', id: 1, error },
    { jsonrpc: '2.0', id: 2, error },
  ]);
  expect(host.refused).toBe(2);
});

test('C15 what is malformed or unknown is answered with an error of its kind', () => {
  for (const [data, code, id] of [
    ['{', -32700, null],
    ['[]', -32600, null],
    ['null', -32600, null],
    ['{"id":1,"method":"x"}', -32600, null],
    [text({ id: {}, method: 'x' }), -32600, null],
    [text({ id: 1.5, method: 'x' }), -32600, null],
    [text({ id: 1, method: 7 }), -32600, null],
    [text({ id: 'a', method: 'tools/call' }), -32601, 'a'],
    [text({ id: 'a', method: 'constructor' }), -32601, 'a'],
  ] as [string, number, unknown][]) {
    const { send, frame, got } = channel();
    send(data);
    frame();
    expect(got).toMatchObject([{ id, error: { code } }]);
  }
});

test('C15 what is no text, or too long in bytes, is not read at all', () => {
  const { send, frame, got, host } = channel();
  send({ jsonrpc: '2.0', id: 1, method: 'ui/initialize' });
  send(new ArrayBuffer(8));
  send(text({ id: 1, method: 'ui/initialize', params: 'x'.repeat(256 * 1024) }));
  send(text({ id: 1, method: 'ui/initialize', params: '字'.repeat(100 * 1024) }));
  expect(frame()).toBe(0);
  expect(got).toEqual([]);
  expect(host.refused).toBe(4);
});

test('C15 a thousand messages within a second are read in as many turns as there are frames, and end in a stop', () => {
  const { send, frame, duties, port, got } = channel();
  const now = vi.spyOn(performance, 'now');
  let turns = 0;
  for (let n = 0; n < 1000; n += 1) {
    now.mockReturnValue(n);
    send(text({ id: n, method: 'ping' }));
    if (n % 17 === 0) turns += frame();
  }
  expect(turns).toBeLessThanOrEqual(60);
  expect(duties.flooded).toHaveBeenCalledOnce();
  expect(port.closed).toBe(true);
  expect(got.length).toBeLessThan(850);
});

test('C15 noise is stopped sooner than work', () => {
  const { send, duties, frame } = channel();
  for (let n = 0; n < 100; n += 1) {
    send('{');
    frame();
  }
  expect(duties.flooded).toHaveBeenCalledOnce();
});

test('an honest view is never stopped: sixty messages a second, for a minute', () => {
  const { send, duties, frame } = channel();
  const now = vi.spyOn(performance, 'now');
  for (let n = 0; n < 3600; n += 1) {
    now.mockReturnValue((n * 1000) / 60);
    send(text({ id: n, method: 'ping' }));
    frame();
  }
  expect(duties.flooded).not.toHaveBeenCalled();
});

test('C6 a port that is closed reads and says nothing more', () => {
  const { send, frame, got, host, port } = channel();
  send(text({ id: 1, method: 'ping' }));
  host.close();
  frame();
  port.onmessage?.({ data: text({ id: 2, method: 'ping' }) });
  host.notify('lineup/notifications/state', {});
  expect(got).toEqual([]);
});
