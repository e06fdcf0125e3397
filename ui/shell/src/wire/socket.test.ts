import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TestWire } from '../testing';
import { Lost, Refusal, Socket } from './socket';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function opened() {
  const wires: TestWire[] = [];
  const frames: unknown[] = [];
  let unopened = 0;
  const socket = new Socket(
    () => {
      const wire = new TestWire();
      wires.push(wire);
      return wire;
    },
    {
      frame: (frame) => frames.push(frame),
      unopened: () => {
        unopened += 1;
      },
    },
    () => 1,
  );
  socket.connect();
  return { socket, wires, frames, unopened: () => unopened };
}

test('an answer goes to the one who asked', async () => {
  const { socket, wires } = opened();
  wires[0]?.onopen?.();
  const [first, second] = [socket.ask({ type: 'a' }), socket.ask({ type: 'b' })];
  wires[0]?.say({ type: 'ok', id: '2', value: 'of b' });
  wires[0]?.say({ type: 'ok', id: '1', value: 'of a' });
  expect(await first).toBe('of a');
  expect(await second).toBe('of b');
});

test('a refusal carries its code and reason', async () => {
  const { socket, wires } = opened();
  wires[0]?.onopen?.();
  const asked = socket.ask({ type: 'a' });
  wires[0]?.say({ type: 'error', id: '1', code: 'lifecycle_denied', reason: 'focus', message: 'no' });
  await expect(asked).rejects.toEqual(new Refusal('lifecycle_denied', 'focus', 'no'));
});

test('what is unanswered when the connection ends is lost, and nothing is sent before it opens', async () => {
  const { socket, wires } = opened();
  await expect(socket.ask({ type: 'early' })).rejects.toThrow(Lost);
  wires[0]?.onopen?.();
  const asked = socket.ask({ type: 'a' });
  wires[0]?.onclose?.({ code: 1006, reason: '' });
  await expect(asked).rejects.toThrow(Lost);
  vi.advanceTimersByTime(300);
  await expect(socket.ask({ type: 'between' })).rejects.toThrow(Lost);
  expect(wires[1]?.sent).toEqual([]);
});

test('tries come further and further apart, up to ten seconds, until one holds', () => {
  const { wires } = opened();
  const waits: number[] = [];
  for (let n = 0; n < 8; n += 1) {
    wires.at(-1)?.onclose?.({ code: 1006, reason: '' });
    const before = wires.length;
    let waited = 0;
    while (wires.length === before) {
      vi.advanceTimersByTime(100);
      waited += 100;
    }
    waits.push(waited);
  }
  expect(waits).toEqual([300, 600, 1200, 2400, 4800, 9600, 10_000, 10_000]);
  wires.at(-1)?.onopen?.();
  vi.advanceTimersByTime(6_000);
  wires.at(-1)?.onclose?.({ code: 1006, reason: '' });
  const before = wires.length;
  vi.advanceTimersByTime(300);
  expect(wires.length).toBe(before + 1);
});

test('a try that never opened is told, so that somebody finds out why', () => {
  const { wires, unopened } = opened();
  wires[0]?.onclose?.({ code: 1006, reason: '' });
  expect(unopened()).toBe(1);
});

test('what is not a frame is passed over', () => {
  const { wires, frames } = opened();
  wires[0]?.onopen?.();
  for (const data of ['{', '[]', 'null', '7', '{"x":1}', new ArrayBuffer(2)]) wires[0]?.onmessage?.({ data });
  wires[0]?.say({ type: 'ok', id: 'nobody' });
  wires[0]?.say({ type: 'state', conversations: [] });
  expect(frames).toEqual([{ type: 'state', conversations: [] }]);
});
