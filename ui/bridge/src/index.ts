/**
 * What a Surface imports to be shown what is so.
 *
 * A Surface cannot reach the network, storage or the page around it. All it has is one port to its Host, on
 * which both speak JSON-RPC 2.0 as text.
 */

/** What the MiniApp has written for its view, and the time of its running operation. */
export interface State<Data = unknown> {
  /** Counts the writes of `data`; 0 before the first. */
  revision: number;
  data: Data;
  /** Null while nothing runs. */
  time: { length_ms: number; remaining_ms: number } | null;
}

/** How the Host looks. */
export interface Context {
  theme: 'light' | 'dark';
  /** As in `en` or `zh-CN`. */
  locale: string;
  reducedMotion: boolean;
  /** Colours and fonts of the Host, as custom properties. */
  styles?: { variables?: Record<string, string> };
}

export interface Bridge<Data = unknown> {
  /** Settled once the Host has answered; fails with `surface_timeout`. */
  readonly ready: Promise<Context>;
  /** Calls at every state, beginning with the newest that is known. */
  onState(listener: (state: State<Data>) => void): void;
  /** Calls at every change of the Host's looks, beginning with what is known. */
  onContext(listener: (context: Context) => void): void;
  /** Asks the Host. What is asked before it is ready waits, in order. */
  request(method: string, params?: unknown): Promise<unknown>;
  /** Tells the Host. What is told before it is ready waits, in order. */
  notify(method: string, params?: unknown): Promise<void>;
}

/** Why something was not done: `surface_timeout`, `not_json`, or the Host's own word. */
export class BridgeError extends Error {
  constructor(
    readonly code: string | number,
    message: string,
  ) {
    super(message);
  }
}

const HELLO = 'lineup/hello';
const PORT = 'lineup/port';
const VERSION = '2025-11-21';
const HELLO_AGAIN_MS = 100;

type Message = { id?: string | number; method?: string; params?: unknown; result?: unknown; error?: Fault };
type Fault = { code: number; message: string; data?: { code?: string } };
type Waiting = { settle(value: unknown): void; fail(error: Error): void };

/** Connects this document with its Host. */
export function connect<Data = unknown>(
  app: { name: string; version?: string },
  { timeoutMs = 10_000 }: { timeoutMs?: number } = {},
): Bridge<Data> {
  const waiting = new Map<string, Waiting>();
  const states: ((state: State<Data>) => void)[] = [];
  const contexts: ((context: Context) => void)[] = [];
  let state: State<Data> | undefined;
  let context: Context | undefined;
  let port: MessagePort | undefined;
  let lastId = 0;

  const post = (message: Message) => port?.postMessage(JSON.stringify({ jsonrpc: '2.0', ...message }));
  const ask = (method: string, params: unknown): Promise<unknown> =>
    new Promise((settle, fail) => {
      lastId += 1;
      waiting.set(`${lastId}`, { settle, fail });
      post({ id: `${lastId}`, method, params });
    });

  const look = (changes: Partial<Context>) => {
    context = { ...(context as Context), ...changes };
    for (const listener of contexts) listener(context);
  };

  const read = (text: unknown) => {
    if (typeof text !== 'string') return;
    const { id, method, params, result, error } = JSON.parse(text) as Message;
    if (method === 'ping' && id !== undefined) post({ id, result: {} });
    else if (method === 'lineup/notifications/state') {
      state = params as State<Data>;
      for (const listener of states) listener(state);
    } else if (method === 'ui/notifications/host-context-changed') look(params as Partial<Context>);
    else if (method !== undefined) {
      if (id !== undefined) post({ id, error: { code: -32601, message: 'unknown method' } });
    } else if (id !== undefined) {
      const asked = waiting.get(`${id}`);
      waiting.delete(`${id}`);
      if (error) asked?.fail(new BridgeError(error.data?.code ?? error.code, error.message));
      else asked?.settle(result);
    }
  };

  const ready = new Promise<Context>((settle, fail) => {
    const hello = () => parent.postMessage(HELLO, '*');
    // The Host hears it once its own frame stands, so it is said until there is an answer.
    const again = setInterval(hello, HELLO_AGAIN_MS);
    const late = setTimeout(() => {
      clearInterval(again);
      removeEventListener('message', given);
      fail(new BridgeError('surface_timeout', 'the Host did not answer'));
    }, timeoutMs);
    const given = (event: MessageEvent) => {
      if (event.source !== parent || event.data !== PORT || !event.ports[0]) return;
      clearInterval(again);
      removeEventListener('message', given);
      port = event.ports[0];
      port.onmessage = ({ data }) => read(data);
      const appInfo = { version: '0', ...app };
      ask('ui/initialize', { protocolVersion: VERSION, appInfo, appCapabilities: {} }).then((answer) => {
        clearTimeout(late);
        look((answer as { hostContext: Context }).hostContext);
        post({ method: 'ui/notifications/initialized' });
        settle(context as Context);
      }, fail);
    };
    addEventListener('message', given);
    hello();
  });
  ready.catch(() => {});

  return {
    ready,
    onState(listener) {
      states.push(listener);
      if (state) listener(state);
    },
    onContext(listener) {
      contexts.push(listener);
      if (context) listener(context);
    },
    async request(method, params) {
      json(params, 'params');
      await ready;
      return ask(method, params);
    },
    async notify(method, params) {
      json(params, 'params');
      await ready;
      post({ method, params });
    },
  };
}

/** Refuses what JSON would drop or change, and names it (C13). */
function json(value: unknown, path: string): void {
  const kind = typeof value;
  if (value === undefined || value === null || kind === 'string' || kind === 'boolean') return;
  if (kind === 'number' && Number.isFinite(value)) return;
  const plain =
    kind === 'object' && (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype);
  if (!plain) throw new BridgeError('not_json', `${path} is not JSON`);
  for (const [key, inner] of Object.entries(value as object)) json(inner, `${path}.${key}`);
}
