import { type ReadonlySignal, signal } from '@preact/signals';

/** What is known of the server: a WebSocket that does not open never says why. */
export type Reached = 'unknown' | 'ok' | 'unreachable' | 'starting' | 'expired' | 'denied';

/** Finds out why no socket opens, with one plain request at a time. */
export class Reach {
  readonly state: ReadonlySignal<Reached>;
  readonly #state = signal<Reached>('unknown');
  #asking = false;

  constructor(private readonly fetching: () => Promise<{ status: number }>) {
    this.state = this.#state;
  }

  /** A socket is open: nothing is in the way. */
  fine(): void {
    this.#state.value = 'ok';
  }

  async check(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    try {
      this.#state.value = reached((await this.fetching()).status);
    } catch {
      this.#state.value = 'unreachable';
    } finally {
      this.#asking = false;
    }
  }
}

function reached(status: number): Reached {
  if (status === 401) return 'expired';
  if (status === 403) return 'denied';
  if (status === 503) return 'starting';
  return status < 400 ? 'ok' : 'unreachable';
}
