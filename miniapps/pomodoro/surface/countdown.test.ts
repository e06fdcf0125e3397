import { expect, test } from 'vitest';
import { phaseOf, remaining, text } from './countdown';

const told = { length_ms: 60_000, remaining_ms: 60_000, at: 1_000 };

test('C54 the time counts from when it was told, whatever the wall clock says, and stops at zero', () => {
  expect(remaining(told, 11_000)).toBe(50_000);
  expect(remaining(told, 1_000_000)).toBe(0);
});

test('a second that has begun is shown as whole', () => {
  for (const [ms, shown] of [
    [0, '00:00'],
    [1, '00:01'],
    [59_001, '01:00'],
    [1_200_000, '20:00'],
    [3_600_000, '1:00:00'],
    [86_400_000, '24:00:00'],
  ] as [number, string][])
    expect(text(ms)).toBe(shown);
});

test('OP-1 the period is over when the Runtime says so: counting to zero ends nothing', () => {
  const running = { phase: 'running' as const, told };
  expect(phaseOf(running, told, 1_000_000)).toBe('running');
  expect(phaseOf(running, null, 61_000)).toBe('done');
  expect(phaseOf(running, null, 30_000)).toBe('stopped');
});

test('C18 a view that is loaded anew takes up what runs, and claims nothing of what ended before', () => {
  expect(phaseOf({ phase: 'waiting', told: null }, null, 0)).toBe('waiting');
  expect(phaseOf({ phase: 'waiting', told: null }, told, 0)).toBe('running');
  expect(phaseOf({ phase: 'done', told: null }, null, 0)).toBe('done');
  expect(phaseOf({ phase: 'done', told: null }, told, 0)).toBe('running');
});
