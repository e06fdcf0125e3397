import { effect, type ReadonlySignal, signal } from '@preact/signals';
import { newId } from '../ids';
import type { HostDown, HostView, Intent, SurfaceView } from '../protocol';
import { Lost, Refusal, Socket, type Wire } from '../wire/socket';
import { type Facts, missing, type Said } from './reports';

/** What the tab knows beside what it is told. */
export type Local = ReadonlySignal<Omit<Facts, 'host' | 'surfaces'>>;

type Pending = { id: string; intent: Intent; sent: number };

/** The Host's entry: shows what it is told, reports what is so, hands on what the user did in the shell. */
export class HostLink {
  readonly socket: Socket;
  /** What should be seen; the last word stays while the connection is away. */
  readonly host: ReadonlySignal<HostView | null>;
  readonly surfaces: ReadonlySignal<SurfaceView[] | null>;
  /** When the surfaces were told, by `performance.now()`: their times count from there. */
  readonly toldAt: ReadonlySignal<number>;
  /** Intents that have no answer yet. */
  readonly pending: ReadonlySignal<readonly Intent[]>;

  readonly #host = signal<HostView | null>(null);
  readonly #surfaces = signal<SurfaceView[] | null>(null);
  readonly #toldAt = signal(0);
  readonly #pending = signal<readonly Pending[]>([]);
  readonly #pendingIntents = signal<readonly Intent[]>([]);
  /** Whether this connection has been told; until then nothing of the one before is reported on. */
  readonly #told = signal({ host: false, surfaces: false });
  #said: Said = { visible: false, ready: new Set(), attempts: new Set() };

  constructor(
    open: () => Wire,
    private readonly session: string,
    private readonly local: Local,
    private readonly on: { refused?(intent: Intent, refusal: Refusal): void; unopened?(): void } = {},
  ) {
    this.host = this.#host;
    this.surfaces = this.#surfaces;
    this.toldAt = this.#toldAt;
    this.pending = this.#pendingIntents;
    this.socket = new Socket(open, {
      opened: () => this.#hello(),
      frame: (frame) => this.#take(frame as unknown as HostDown),
      ...(on.unopened && { unopened: on.unopened }),
    });
    effect(() => this.#report());
    effect(() => {
      this.#pendingIntents.value = this.#pending.value.map(({ intent }) => intent);
    });
    effect(() => {
      if (this.socket.phase.value === 'open') for (const pending of this.#pending.peek()) this.#send(pending);
    });
  }

  /** The user did this. It is said again with the same id until there is an answer. */
  intend(intent: Intent): void {
    const pending = { id: newId('intent-'), intent, sent: 0 };
    this.#pending.value = [...this.#pending.value, pending];
    this.#send(pending);
  }

  /** The live document of this Surface is wanted in this tab. */
  useHere(instance: string): void {
    this.socket.ask({ type: 'use_here', instance }).catch(ignored);
  }

  #hello(): void {
    const visible = this.local.peek().visible;
    this.#said = { visible, ready: new Set(), attempts: new Set() };
    this.#told.value = { host: false, surfaces: false };
    this.socket.ask({ type: 'hello', session: this.session, visible }).catch(ignored);
  }

  #take(view: HostDown): void {
    if (view.type !== 'view') return;
    if (view.host) this.#host.value = view.host;
    if (view.surfaces) {
      this.#surfaces.value = view.surfaces;
      this.#toldAt.value = performance.now();
    }
    const told = this.#told.peek();
    this.#told.value = {
      host: told.host || view.host !== undefined,
      surfaces: told.surfaces || view.surfaces !== undefined,
    };
  }

  #report(): void {
    const local = this.local.value;
    const told = this.#told.value;
    const facts: Facts = {
      ...local,
      host: told.host ? this.#host.value : null,
      surfaces: told.surfaces ? this.#surfaces.value : null,
    };
    if (this.socket.phase.value !== 'open') return;
    for (const report of missing(facts, this.#said)) {
      // A report that is not taken is no use again: the next view says what is wanted then.
      this.socket.ask(report).catch(ignored);
    }
  }

  #send(pending: Pending): void {
    const connection = this.socket.connection.peek();
    if (this.socket.phase.peek() !== 'open' || pending.sent === connection) return;
    pending.sent = connection;
    const done = () => {
      this.#pending.value = this.#pending.value.filter((other) => other !== pending);
    };
    this.socket.ask({ type: 'intent', intent_id: pending.id, ...pending.intent }).then(done, (error) => {
      if (error instanceof Lost) return;
      done();
      if (error instanceof Refusal) this.on.refused?.(pending.intent, error);
    });
  }
}

function ignored(): void {}
