import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { connect } from './index';

type Message = { id?: string; method?: string; params?: unknown; result?: unknown };

const context = { theme: 'dark', locale: 'en', reducedMotion: false };
let hellos: number;

beforeEach(() => {
  vi.useFakeTimers();
  hellos = 0;
  vi.spyOn(window.parent, 'postMessage').mockImplementation(() => {
    hellos += 1;
  });
});
afterEach(() => vi.useRealTimers());

/** A Host's end, which hands over at once. */
function host() {
  const got: Message[] = [];
  const port = {
    onmessage: null as ((event: { data: string }) => void) | null,
    postMessage: (text: string) => got.push(JSON.parse(text)),
  };
  const give = (source: unknown = window.parent, data: unknown = 'lineup/port') =>
    window.dispatchEvent(Object.assign(new Event('message'), { source, data, ports: [port] }));
  const say = (message: object) => port.onmessage?.({ data: JSON.stringify({ jsonrpc: '2.0', ...message }) });
  const answer = () => say({ id: got[0]?.id, result: { hostContext: context } });
  return { got, give, say, answer };
}

test('C9 what is sent before ready arrives once, in order, after the handshake', async () => {
  const bridge = connect({ name: 'a' });
  const { got, give, answer } = host();
  for (const n of [1, 2, 3]) void bridge.notify('n', { n });
  give();
  expect(got).toMatchObject([{ method: 'ui/initialize' }]);
  answer();
  await bridge.ready;
  await vi.advanceTimersByTimeAsync(0);
  expect(got.slice(1).map(({ method, params }) => [method, params])).toEqual([
    ['ui/notifications/initialized', undefined],
    ['n', { n: 1 }],
    ['n', { n: 2 }],
    ['n', { n: 3 }],
  ]);
});

test('C9 without a Host each send fails with surface_timeout', async () => {
  const bridge = connect({ name: 'a' });
  const sends = [bridge.notify('n'), bridge.request('r'), bridge.ready];
  const ends = Promise.allSettled(sends);
  await vi.advanceTimersByTimeAsync(10_000);
  for (const end of await ends) expect(end).toMatchObject({ reason: { code: 'surface_timeout' } });
});

test('C4 the port is taken from the window around it alone', () => {
  connect({ name: 'a' });
  const stranger = host();
  stranger.give({}, 'lineup/port');
  stranger.give(window.parent, 'something else');
  expect(stranger.got).toEqual([]);
  const real = host();
  real.give();
  expect(real.got).toHaveLength(1);
  stranger.give();
  expect(stranger.got).toEqual([]);
});

test('it says hello until it is heard', () => {
  connect({ name: 'a' });
  vi.advanceTimersByTime(350);
  expect(hellos).toBe(4);
  host().give();
  vi.advanceTimersByTime(1000);
  expect(hellos).toBe(4);
});

test('C13 what JSON cannot carry is refused with the path to it', async () => {
  const bridge = connect({ name: 'a' });
  for (const [params, path] of [
    [{ a: [1, { run: () => {} }] }, 'params.a.1.run'],
    [{ at: new Date() }, 'params.at'],
    [{ n: Number.NaN }, 'params.n'],
    [{ big: 1n }, 'params.big'],
    [new Map(), 'params'],
  ] as [unknown, string][]) {
    await expect(bridge.request('r', params)).rejects.toMatchObject({
      code: 'not_json',
      message: `${path} is not JSON`,
    });
  }
});

test('a listener that comes late hears the newest state and context', async () => {
  const bridge = connect({ name: 'a' });
  const { give, say, answer } = host();
  give();
  answer();
  await bridge.ready;
  say({ method: 'lineup/notifications/state', params: { revision: 1, data: {}, time: null } });
  say({ method: 'lineup/notifications/state', params: { revision: 2, data: {}, time: null } });
  say({ method: 'ui/notifications/host-context-changed', params: { theme: 'light' } });
  const [states, contexts] = [vi.fn(), vi.fn()];
  bridge.onState(states);
  bridge.onContext(contexts);
  expect(states.mock.calls).toEqual([[{ revision: 2, data: {}, time: null }]]);
  expect(contexts.mock.calls).toEqual([[{ ...context, theme: 'light' }]]);
});

test('C12 answers go to the request of their id, an error with its code', async () => {
  const bridge = connect({ name: 'a' });
  const { got, give, say, answer } = host();
  give();
  answer();
  await bridge.ready;
  const [one, two] = [bridge.request('one'), bridge.request('two')];
  const failed = expect(one).rejects.toMatchObject({ code: 'capability_denied' });
  await vi.advanceTimersByTimeAsync(0);
  const [first, second] = got.slice(-2);
  say({ id: second?.id, result: 2 });
  say({ id: first?.id, error: { code: -32000, message: 'no', data: { code: 'capability_denied' } } });
  expect(await two).toBe(2);
  await failed;
});
