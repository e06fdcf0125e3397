import { effect, type ReadonlySignal, signal } from '@preact/signals';
import { newId } from '../ids';
import { Lost, Refusal, Socket, type Wire } from '../wire/socket';

/** A text of the user's that the timeline does not show yet. */
export interface Echo {
  action_id: string;
  conversation: string;
  text: string;
  at: number;
  state: 'sending' | 'sent' | 'failed';
  code?: string;
}

const KEY = 'lineup.outbox';

/**
 * What the user said, until the timeline says it. Kept across a reload; sent again under the same name
 * after a lost connection and on a retry, so that it is said once.
 */
export class Outbox {
  readonly socket: Socket;
  readonly echoes: ReadonlySignal<readonly Echo[]>;

  readonly #echoes = signal<readonly Echo[]>([]);
  readonly #sentOn = new Map<string, number>();

  constructor(
    open: () => Wire,
    private readonly session: string,
    storage: Storage,
    /** Whether the Host session of this tab is known to the Runtime: nobody acts before. */
    private readonly known: ReadonlySignal<boolean>,
    on: { unopened?(): void } = {},
  ) {
    this.echoes = this.#echoes;
    this.#echoes.value = kept(storage);
    this.socket = new Socket(open, on);
    effect(() => {
      storage.setItem(KEY, JSON.stringify(this.#echoes.value));
    });
    effect(() => {
      if (this.socket.phase.value !== 'open' || !this.known.value) return;
      for (const echo of this.#echoes.peek()) if (echo.state === 'sending') this.#send(echo);
    });
  }

  say(conversation: string, text: string): void {
    const echo: Echo = { action_id: newId('say-'), conversation, text, at: Date.now(), state: 'sending' };
    this.#echoes.value = [...this.#echoes.value, echo];
    this.#send(echo);
  }

  retry(echo: Pick<Echo, 'action_id' | 'conversation' | 'text' | 'at'>): void {
    const again: Echo = { ...echo, state: 'sending' };
    this.#sentOn.delete(echo.action_id);
    const others = this.#echoes.value.filter((other) => other.action_id !== echo.action_id);
    this.#echoes.value = [...others, again];
    this.#send(again);
  }

  /** The timeline shows these now. */
  shown(actions: ReadonlySet<string>): void {
    const left = this.#echoes.peek().filter((echo) => !actions.has(echo.action_id));
    if (left.length !== this.#echoes.peek().length) this.#echoes.value = left;
  }

  #send(echo: Echo): void {
    const connection = this.socket.connection.peek();
    if (this.socket.phase.peek() !== 'open' || !this.known.peek()) return;
    if (this.#sentOn.get(echo.action_id) === connection) return;
    this.#sentOn.set(echo.action_id, connection);
    const { action_id, conversation, text } = echo;
    this.socket
      .ask({
        type: 'act',
        session: this.session,
        conversation,
        action_id,
        method: 'send-text',
        input: { text, echo_id: action_id },
      })
      .then(
        () => this.#settle(action_id, { state: 'sent' }),
        (error) => {
          // After a lost connection the next one says it again, under the same name.
          if (error instanceof Lost) return;
          this.#settle(action_id, {
            state: 'failed',
            code: error instanceof Refusal ? error.code : 'internal',
          });
        },
      );
  }

  #settle(action_id: string, change: Pick<Echo, 'state'> & { code?: string }): void {
    this.#echoes.value = this.#echoes.value.map((echo) =>
      echo.action_id === action_id ? { ...echo, ...change } : echo,
    );
  }
}

function kept(storage: Storage): Echo[] {
  try {
    const echoes: unknown = JSON.parse(storage.getItem(KEY) ?? '[]');
    return Array.isArray(echoes) ? (echoes as Echo[]) : [];
  } catch {
    return [];
  }
}
