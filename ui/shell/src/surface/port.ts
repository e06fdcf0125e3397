import { Allowance, fits, QUEUE } from './limits';

type Id = string | number;
type Incoming = { id?: Id; method?: string; params?: unknown; result?: unknown; error?: unknown };

/** What the view behind a port may make happen. */
export interface Duties {
  /** The answer to `ui/initialize`. */
  initialize(): unknown;
  /** The view has done its handshake. */
  initialized(): void;
  /** The view answered a ping. */
  alive(): void;
  /** It sent more than anybody reads; the port is closed. */
  flooded(): void;
}

/** What a view may never do: only the Runtime makes anything that an agent sees (ENT-4). */
const REFUSED = new Set(['ui/message', 'ui/update-model-context']);

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const UNKNOWN_METHOD = -32601;
const DENIED = -32000;

/**
 * The Host's end of a Bridge: bound to one document of one Surface, whatever its messages say. Reads at most
 * once a frame, so that a busy view costs the page no more than that.
 */
export class HostPort {
  /** Messages that were not fit to be read, or asked for what is not given. */
  refused = 0;

  readonly #queue: string[] = [];
  readonly #allowance = new Allowance(performance.now());
  #scheduled = false;
  #closed = false;
  #begun = false;

  constructor(
    private readonly port: MessagePort,
    private readonly duties: Duties,
    private readonly nextFrame: (run: () => void) => void = onNextFrame,
  ) {
    port.onmessage = ({ data }) => this.#receive(data);
  }

  notify(method: string, params: unknown): void {
    this.#post({ method, params });
  }

  /** Asks whether anybody is there; the answer is `alive`. */
  ping(): void {
    this.#post({ id: 'ping', method: 'ping' });
  }

  close(): void {
    this.#closed = true;
    this.#queue.length = 0;
    this.port.onmessage = null;
    this.port.close();
  }

  #receive(data: unknown): void {
    if (this.#closed) return;
    if (!this.#allowance.take(performance.now())) {
      this.close();
      this.duties.flooded();
      return;
    }
    if (typeof data !== 'string' || !fits(data) || this.#queue.length >= QUEUE) {
      this.#refuse();
      return;
    }
    this.#queue.push(data);
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.nextFrame(() => {
      this.#scheduled = false;
      for (const text of this.#queue.splice(0)) if (!this.#closed) this.#read(text);
    });
  }

  #read(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      this.#fail(null, PARSE_ERROR, 'not JSON');
      return;
    }
    if (!isMessage(message)) {
      this.#fail(null, INVALID_REQUEST, 'not a JSON-RPC 2.0 message');
      return;
    }
    const { id, method } = message;
    if (method === undefined) {
      if (id === 'ping') this.duties.alive();
    } else if (id === undefined) {
      if (method === 'ui/notifications/initialized' && this.#begun) this.duties.initialized();
    } else if (method === 'ui/initialize') {
      this.#begun = true;
      this.#post({ id, result: this.duties.initialize() });
    } else if (method === 'ping') {
      this.#post({ id, result: {} });
    } else if (REFUSED.has(method)) {
      this.#fail(id, DENIED, 'a view does not speak to agents', { code: 'capability_denied' });
    } else {
      this.#fail(id, UNKNOWN_METHOD, 'unknown method');
    }
  }

  #fail(id: Id | null, code: number, message: string, data?: { code: string }): void {
    this.#refuse();
    this.#post({ id, error: { code, message, ...(data && { data }) } });
  }

  #refuse(): void {
    this.refused += 1;
    this.#allowance.refused();
  }

  #post(message: object): void {
    if (!this.#closed) this.port.postMessage(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }
}

function isMessage(message: unknown): message is Incoming {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return false;
  const { jsonrpc, id, method } = message as Record<string, unknown>;
  const named = typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id));
  if (jsonrpc !== '2.0' || (id !== undefined && !named)) return false;
  return typeof method === 'string' || (method === undefined && id !== undefined);
}

/** The next frame; a page that nobody sees has none, and reads a little later. */
function onNextFrame(run: () => void): void {
  if (document.visibilityState === 'visible') requestAnimationFrame(run);
  else setTimeout(run, 50);
}
