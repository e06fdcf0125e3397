/** The longest message that a Surface may send, in bytes of UTF-8. */
export const LONGEST = 256 * 1024;
/** The most messages that wait for the next frame. */
export const QUEUE = 256;

/** How many messages may come at once, and how many a second after that. */
const BURST = 600;
const PER_SECOND = 200;
/** What nobody asked for is dearer: noise is noticed sooner than work. */
const REFUSED_COSTS = 10;

/** A bucket of tokens: an honest burst passes, a flood does not. */
export class Allowance {
  #left = BURST;
  #at: number;

  constructor(now: number) {
    this.#at = now;
  }

  /** Takes one message; false once there was too much. */
  take(now: number): boolean {
    this.#left = Math.min(BURST, this.#left + ((now - this.#at) * PER_SECOND) / 1000);
    this.#at = now;
    this.#left -= 1;
    return this.#left >= 0;
  }

  /** The last message was not fit to be read. */
  refused(): void {
    this.#left -= REFUSED_COSTS;
  }
}

/** Whether a text is within the limit; the cheap answers come first. */
export function fits(text: string): boolean {
  if (text.length > LONGEST) return false;
  return text.length * 3 <= LONGEST || new TextEncoder().encode(text).length <= LONGEST;
}
