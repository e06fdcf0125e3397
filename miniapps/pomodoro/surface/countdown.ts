/** The time of a focus period when it was told. */
export interface Told {
  length_ms: number;
  remaining_ms: number;
  /** By `performance.now()`, which no clock setting moves. */
  at: number;
}

export type Phase = 'waiting' | 'running' | 'done' | 'stopped';

/** A period that ends this close to its end has not been stopped. */
const AT_THE_END_MS = 2_000;

export function remaining(told: Told, now: number): number {
  return Math.max(0, told.remaining_ms - (now - told.at));
}

/** Where the period stands. The Runtime ends it; a view that counts to zero only stops counting. */
export function phaseOf(before: { phase: Phase; told: Told | null }, told: Told | null, now: number): Phase {
  if (told) return 'running';
  if (before.phase !== 'running' || !before.told) return before.phase;
  return remaining(before.told, now) <= AT_THE_END_MS ? 'done' : 'stopped';
}

/** As in 18:04, or 1:18:04. A second that has begun is shown as whole. */
export function text(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const two = (n: number) => String(n).padStart(2, '0');
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${two(m)}:${two(s)}`;
}
