import { type ReadonlySignal, signal } from '@preact/signals';
import type { Answer } from '../protocol';

/** `waiting` is between two tries; `closed` is for good. */
export type Phase = 'connecting' | 'open' | 'waiting' | 'closed';

/** What a socket needs of a WebSocket; tests bring their own. */
export interface Wire {
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  send(text: string): void;
  close(code?: number): void;
}

/** The server's no to one request. */
export class Refusal extends Error {
  constructor(
    readonly code: string,
    readonly reason: string | undefined,
    message: string,
  ) {
    super(message);
  }
}

/** The connection ended before the answer came: nobody knows whether it was done. */
export class Lost extends Error {}

type Frame = { type: string } & Record<string, unknown>;
type Waiting = { settle(value: unknown): void; fail(error: Error): void };

const FIRST_DELAY_MS = 300;
const LONGEST_DELAY_MS = 10_000;
/** A connection that lived this long was a good one: the next try comes quickly again. */
const SETTLED_MS = 5_000;

/** One WebSocket that is opened again whenever it ends, and the answers to what was asked on it. */
export class Socket {
  /** Where it stands. */
  readonly phase: ReadonlySignal<Phase>;
  /** Counts the connections that were opened: what was said on an earlier one counts no more. */
  readonly connection: ReadonlySignal<number>;
  /** How the last connection ended. */
  readonly ended: ReadonlySignal<{ code: number; reason: string } | null>;

  readonly #phase = signal<Phase>('waiting');
  readonly #connection = signal(0);
  readonly #ended = signal<{ code: number; reason: string } | null>(null);
  readonly #waiting = new Map<string, Waiting>();
  #wire: Wire | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #live = false;
  #tries = 0;
  #openedAt = 0;
  #lastId = 0;

  constructor(
    private readonly open: () => Wire,
    private readonly on: {
      /** Before anything else is sent: the place for a hello. */
      opened?(): void;
      /** What came without being asked for. */
      frame?(frame: Frame): void;
      /** A try that never opened: why is for somebody else to find out. */
      unopened?(): void;
    } = {},
    private readonly random: () => number = Math.random,
  ) {
    this.phase = this.#phase;
    this.connection = this.#connection;
    this.ended = this.#ended;
  }

  /** Opens it now, unless it is open or opening. */
  connect(): void {
    if (this.#phase.peek() !== 'waiting') return;
    clearTimeout(this.#timer);
    this.#phase.value = 'connecting';
    const wire = this.open();
    this.#wire = wire;
    let opened = false;
    wire.onopen = () => {
      opened = true;
      this.#live = true;
      this.#openedAt = performance.now();
      this.#connection.value += 1;
      this.on.opened?.();
      this.#phase.value = 'open';
    };
    wire.onmessage = ({ data }) => this.#read(data);
    wire.onclose = ({ code, reason }) => {
      if (this.#wire !== wire) return;
      this.#wire = null;
      this.#live = false;
      this.#ended.value = { code, reason };
      if (opened && performance.now() - this.#openedAt >= SETTLED_MS) this.#tries = 0;
      this.#phase.value = 'waiting';
      for (const waiting of this.#waiting.values()) waiting.fail(new Lost('the connection ended'));
      this.#waiting.clear();
      if (!opened) this.on.unopened?.();
      this.#later();
    };
  }

  /** Asks, and gives the answer's value. Fails with `Refusal`, or with `Lost` when the connection ends first. */
  ask(frame: Frame): Promise<unknown> {
    const wire = this.#wire;
    if (!wire || !this.#live) return Promise.reject(new Lost('not connected'));
    this.#lastId += 1;
    const id = String(this.#lastId);
    return new Promise((settle, fail) => {
      this.#waiting.set(id, { settle, fail });
      wire.send(JSON.stringify({ ...frame, id }));
    });
  }

  /** Ends it for good. */
  close(): void {
    clearTimeout(this.#timer);
    const wire = this.#wire;
    this.#wire = null;
    this.#live = false;
    this.#phase.value = 'closed';
    wire?.close(1000);
  }

  #later(): void {
    const longest = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.#tries);
    this.#tries += 1;
    // Tabs that lost the same server do not come back in one moment.
    this.#timer = setTimeout(() => this.connect(), longest * (0.5 + this.random() / 2));
  }

  #read(data: unknown): void {
    const frame = parsed(data);
    if (!frame) return;
    if (frame.type !== 'ok' && frame.type !== 'error') {
      this.on.frame?.(frame);
      return;
    }
    const answer = frame as Answer;
    if (answer.id === undefined) return;
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (answer.type === 'ok') waiting?.settle(answer.value);
    else waiting?.fail(new Refusal(answer.code, answer.reason, answer.message));
  }
}

function parsed(data: unknown): Frame | null {
  if (typeof data !== 'string') return null;
  try {
    const frame: unknown = JSON.parse(data);
    return typeof frame === 'object' && frame !== null && typeof (frame as Frame).type === 'string'
      ? (frame as Frame)
      : null;
  } catch {
    return null;
  }
}
