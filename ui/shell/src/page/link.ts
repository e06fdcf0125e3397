import { effect, type ReadonlySignal, signal } from '@preact/signals';
import type { Items, Page, Session, State } from '../protocol';
import { Socket, type Wire } from '../wire/socket';
import { Timeline } from './timeline';

const PAGE = 60;
/** The server takes no more places at once. */
const MOST_OPEN = 200;

/** The reader: the conversations, the apps, and the timeline of the conversation in view. */
export class PageLink {
  readonly socket: Socket;
  /** The last word stays while the connection is away. */
  readonly state: ReadonlySignal<State | null>;
  /** Whether older items are on their way. */
  readonly loading: ReadonlySignal<boolean>;

  readonly #state = signal<State | null>(null);
  readonly #loading = signal(false);
  readonly #timelines = new Map<string, Timeline>();

  constructor(
    open: () => Wire,
    private readonly viewed: ReadonlySignal<string | null>,
    on: { unopened?(): void } = {},
  ) {
    this.state = this.#state;
    this.loading = this.#loading;
    this.socket = new Socket(open, {
      frame: (frame) => this.#take(frame as { type: string }),
      ...(on.unopened && { unopened: on.unopened }),
    });
    effect(() => {
      const conversation = this.viewed.value;
      if (this.socket.phase.value === 'open' && conversation) void this.#follow(conversation);
    });
  }

  timeline(conversation: string): Timeline {
    let timeline = this.#timelines.get(conversation);
    if (!timeline) {
      timeline = new Timeline();
      this.#timelines.set(conversation, timeline);
    }
    return timeline;
  }

  /** Loads the page before what is here. */
  async older(conversation: string): Promise<void> {
    const timeline = this.timeline(conversation);
    const before = timeline.first;
    if (this.#loading.peek() || !timeline.older.peek() || before === undefined) return;
    this.#loading.value = true;
    try {
      const page = await this.socket.ask({ type: 'history', conversation, before, limit: PAGE });
      timeline.before(page as Page);
    } catch {
      // It is asked again when somebody scrolls there again.
    } finally {
      this.#loading.value = false;
    }
  }

  /** One run of a MiniApp, or null when there is none of that name. */
  async session(session: string): Promise<Session | null> {
    return ((await this.socket.ask({ type: 'session', session })) ?? null) as Session | null;
  }

  async #follow(conversation: string): Promise<void> {
    const timeline = this.timeline(conversation);
    const known = timeline.known.peek() && timeline.last !== undefined;
    const frame = known
      ? { type: 'follow', conversation, after: timeline.last, open: timeline.open().slice(-MOST_OPEN) }
      : { type: 'follow', conversation };
    try {
      timeline.newest((await this.socket.ask(frame)) as Page);
    } catch {
      // The connection ended, and the next one follows again; a refusal leaves what was known.
    }
  }

  #take(frame: { type: string }): void {
    if (frame.type === 'state') {
      const { conversations, apps } = frame as unknown as State;
      this.#state.value = { conversations, apps };
    }
    if (frame.type === 'items') {
      const { conversation, items } = frame as unknown as Items;
      this.timeline(conversation).take(items);
    }
  }
}
