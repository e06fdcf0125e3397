/**
 * A small stand-in for the Runtime behind the page's three sockets: enough to look at the page and to test it.
 * It keeps no promise of the contract but the shape of the frames.
 */
import type {
  Answer,
  Call,
  Ending,
  HostUp,
  HostView,
  Item,
  Listed,
  Page,
  PageUp,
  Session,
  State,
  SurfaceView,
  UserUp,
  What,
} from '../shell/src/protocol';

/** One connection, as the world sees it. */
export interface Peer {
  send(text: string): void;
  close(code: number, reason: string): void;
}

type Connection = { path: string; peer: Peer; session?: string; visible?: boolean; conversation?: string };
type Focus = {
  call: number;
  instance: string;
  session: string;
  title: string;
  length: number;
  activation: string | null;
  endsAt: number | null;
};

const AGENT = 'demo';
const TOOLS = [
  {
    tool: 'pomodoro.interrupt',
    description: "Stop this conversation's focus period, or a start that is under way.",
  },
  {
    tool: 'pomodoro.start',
    description:
      'Start a focus period and keep the time. The person sees it in the foreground; leaving it ends it.',
  },
];

export class World {
  /** Every frame that came up, with the path that it came on. */
  readonly heard: ({ path: string } & Record<string, unknown>)[] = [];
  /** What the agent says of itself. */
  agentHere = true;
  /** Answers that are wanted instead of the usual ones: by the type of the request. */
  readonly refuse = new Map<string, { code: string; reason?: string }>();
  /** Requests of these types get no answer. */
  readonly mute = new Set<string>();
  readonly items: Item[] = [];
  readonly sessions = new Map<string, Session>();

  readonly #connections = new Set<Connection>();
  #focus: Focus | null = null;
  #owner: string | null = null;
  #acted = new Map<string, number>();
  #place = 0;
  #count = 0;
  #seq = 0;

  constructor(
    private readonly now: () => number = () => Date.now(),
    private readonly later: (run: () => void, ms: number) => unknown = setTimeout,
    /** How quickly the agent and the focus go. */
    private readonly pace = { answer: 500, minute: 60_000 },
  ) {}

  /** Takes in a connection; what is returned takes its frames and its end. */
  connect(path: string, peer: Peer): { receive(text: string): void; ended(): void } {
    const connection: Connection = { path, peer };
    this.#connections.add(connection);
    if (path === '/page') this.#down(connection, { type: 'state', ...this.#state() });
    return {
      receive: (text) => this.#receive(connection, JSON.parse(text)),
      ended: () => {
        this.#connections.delete(connection);
        if (path === '/host') this.#show();
      },
    };
  }

  /** Ends all connections, as a server that is killed. */
  drop(code = 1006, reason = ''): void {
    for (const connection of [...this.#connections]) {
      this.#connections.delete(connection);
      connection.peer.close(code, reason);
    }
  }

  /** Something new in the conversation. */
  add(what: What, at = this.now()): number {
    this.#place += 1;
    this.items.push({ place: this.#place, at, ...what });
    this.#tell([this.#place]);
    return this.#place;
  }

  change(place: number, change: Partial<Call>): void {
    const item = this.items.find((each) => each.place === place);
    if (item) Object.assign(item, change);
    this.#tell([place]);
  }

  agentSays(text: string, html = `<p>${text}</p>`): void {
    this.add({ kind: 'agent_text', agent: AGENT, text, html });
  }

  /** The agent asks for a focus period. */
  start(minutes: number, title?: string): void {
    this.#count += 1;
    const [instance, session, call_id] = [`i${this.#count}`, `s${this.#count}`, `focus-${this.#count}`];
    const input = title ? { minutes, title } : { minutes };
    const base = { call: `c${this.#count}`, call_id, agent: AGENT, app_scope: 'pomodoro' };
    const call = this.add({ kind: 'call', ...base, tool: 'pomodoro.start', input, stage: 'starting' });
    const opened = this.now();
    this.sessions.set(session, {
      session,
      conversation: 'main',
      app_scope: 'pomodoro',
      instance,
      opened,
      runs: [],
    });
    this.add({ kind: 'opened', instance, app_scope: 'pomodoro', session });
    const length = minutes * this.pace.minute;
    const activation = `a${this.#count}`;
    this.#focus = { call, instance, session, title: title ?? '', length, activation, endsAt: null };
    this.#owner = this.#visible()[0] ?? null;
    this.#show();
  }

  /** Ends what is running. */
  end(end: Ending, closes: boolean): void {
    const focus = this.#focus;
    if (!focus) return;
    const session = this.sessions.get(focus.session);
    const run = session?.runs.at(-1);
    if (run && !run.end) run.end = end;
    if (focus.endsAt !== null) {
      this.add({ kind: 'ended', app_scope: 'pomodoro', call: `c${this.#count}`, end });
      const result = end.how === 'interrupted' ? { status: end.how, by: end.by } : { status: end.how };
      this.#finish(focus.call, result);
    } else if (focus.activation !== null) {
      this.#finish(focus.call, { status: 'not_started', reason: 'app_activation_cancelled' });
    }
    focus.endsAt = null;
    focus.activation = null;
    if (closes) {
      this.add({ kind: 'closed', instance: focus.instance, app_scope: 'pomodoro', session: focus.session });
      if (session) session.closed = this.now();
      this.#focus = null;
    }
    this.#show();
  }

  /** Says again what everybody should see. */
  #show(): void {
    const sessions = this.#visible();
    if (this.#owner === null || !sessions.includes(this.#owner)) this.#owner = sessions[0] ?? null;
    for (const connection of this.#connections) if (connection.session) this.#view(connection);
  }

  #view(connection: Connection): void {
    const focus = this.#focus;
    const listed: Listed[] = [];
    const surfaces: SurfaceView[] = [];
    let foreground: HostView['foreground'] = null;
    if (focus) {
      const { instance, activation } = focus;
      const state = activation ? 'starting' : 'foreground';
      const app = { instance, app_scope: 'pomodoro' };
      listed.push({ ...app, conversation: 'main', state });
      foreground = { ...app, conversation: 'main', activation };
      surfaces.push({
        ...app,
        surface: 'main',
        state,
        here: connection.session === this.#owner,
        document: { revision: 1, data: focus.title ? { title: focus.title } : {} },
        time: this.#time(),
      });
    }
    this.#seq += 1;
    this.#down(connection, {
      type: 'view',
      seq: this.#seq,
      host: { foreground, instances: listed },
      surfaces,
    });
  }

  #time() {
    const focus = this.#focus;
    if (focus?.endsAt == null) return null;
    return { length_ms: focus.length, remaining_ms: Math.max(0, focus.endsAt - this.now()) };
  }

  #visible(): string[] {
    return [...this.#connections].flatMap(({ session, visible }) => (session && visible ? [session] : []));
  }

  #state(): State {
    const agents = [{ agent: AGENT, connected: this.agentHere, tools: TOOLS }];
    return {
      conversations: [{ conversation: 'main', title: 'Main', agents }],
      apps: [
        { app_scope: 'chat', title: 'Interact', enabled: true },
        { app_scope: 'pomodoro', title: 'Pomodoro', enabled: true },
      ],
    };
  }

  #receive(connection: Connection, frame: { type: string; id: string }): void {
    this.heard.push({ path: connection.path, ...frame });
    if (this.mute.has(frame.type)) return;
    const refusal = this.refuse.get(frame.type);
    if (refusal) {
      this.#down(connection, { type: 'error', id: frame.id, message: 'not now', ...refusal });
      return;
    }
    const value = this.#answer(connection, frame as HostUp | PageUp | UserUp);
    this.#down(connection, { type: 'ok', id: frame.id, ...(value !== undefined && { value }) } as Answer);
  }

  #answer(connection: Connection, frame: HostUp | PageUp | UserUp): unknown {
    switch (frame.type) {
      case 'hello':
        connection.session = frame.session;
        connection.visible = frame.visible;
        this.#show();
        return undefined;
      case 'visible':
        connection.visible = frame.visible;
        this.#show();
        return undefined;
      case 'foreground':
        if (this.#focus?.activation === frame.activation) this.#begin(this.#focus);
        return undefined;
      case 'failed':
        if (this.#focus?.activation === frame.activation) this.end({ how: 'failed' }, true);
        return undefined;
      case 'use_here':
        this.#owner = connection.session ?? null;
        this.#show();
        return undefined;
      case 'intent':
        if (this.#focus && (frame.intent === 'switch' || frame.intent === 'back' || frame.intent === 'close'))
          this.end({ how: 'interrupted', by: 'left' }, true);
        return undefined;
      case 'follow':
        connection.conversation = frame.conversation;
        return this.#page(frame.after, frame.open);
      case 'history':
        return this.#before(frame.before, frame.limit ?? 50);
      case 'session':
        return this.sessions.get(frame.session) ?? null;
      case 'act':
        this.#act(frame);
        return undefined;
      default:
        return undefined;
    }
  }

  #page(after: number | undefined, open: number[] = []): Page {
    if (after === undefined) return this.#before(undefined, 50);
    return { items: this.#timed(this.items.filter(({ place }) => place > after || open.includes(place))) };
  }

  #before(before = Number.POSITIVE_INFINITY, limit = 50): Page {
    const earlier = this.items.filter(({ place }) => place < before);
    return { items: this.#timed(earlier.slice(-limit)), older: earlier.length > limit };
  }

  #act({ action_id, input, conversation }: UserUp): void {
    if (this.#acted.has(action_id)) return;
    const text = String(input.text);
    const html = `<p>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</p>`;
    this.#acted.set(
      action_id,
      this.add({ kind: 'user_text', action_id, text, html, delivery: 'sent' }, this.now()),
    );
    if (this.agentHere && conversation === 'main') this.later(() => this.#reply(text), this.pace.answer);
  }

  #reply(text: string): void {
    const chinese = /[一-鿿]/.test(text);
    const minutes = Number(/\d+/.exec(text)?.[0] ?? 20);
    if (/stop|停止/i.test(text)) this.stop();
    else if (/focus|minute|专注|冥想|分钟/i.test(text)) {
      this.agentSays(
        chinese ? `好的，正在准备 ${minutes} 分钟。` : `Getting ${minutes} minutes ready for you.`,
      );
      this.start(minutes, chinese ? '冥想' : undefined);
    } else
      this.agentSays(
        chinese ? '我可以为你开始或停止一段专注。' : 'I can start a focus for you, and stop it.',
      );
  }

  /** The agent stops what is running. */
  stop(): void {
    this.#count += 1;
    const base = {
      call: `c${this.#count}`,
      call_id: `stop-${this.#count}`,
      agent: AGENT,
      app_scope: 'pomodoro',
    };
    const place = this.add({
      kind: 'call',
      ...base,
      tool: 'pomodoro.interrupt',
      input: {},
      stage: 'accepted',
    });
    const running = this.#focus !== null && this.#focus.endsAt !== null;
    this.end({ how: 'interrupted', by: 'agent' }, true);
    this.#finish(place, { status: running ? 'interrupted' : 'nothing_running' });
  }

  #begin(focus: Focus): void {
    focus.activation = null;
    focus.endsAt = this.now() + focus.length;
    this.sessions.get(focus.session)?.runs.push({ operation: `o${this.#count}`, started: this.now() });
    this.change(focus.call, { stage: 'started' });
    this.agentSays('The time runs. I stay quiet until you are done.');
    this.#show();
    this.later(() => {
      if (this.#focus === focus && focus.endsAt !== null)
        this.end({ how: 'completed', late_by_ms: 0 }, false);
    }, focus.length);
  }

  #finish(place: number, result: Record<string, unknown>): void {
    const item = this.items.find((each) => each.place === place);
    if (item?.kind !== 'call') return;
    delete item.stage;
    this.change(place, { end: { at: this.now(), status: 'completed', result } });
  }

  #timed(items: Item[]): Item[] {
    const [focus, time] = [this.#focus, this.#time()];
    return items.map((item) =>
      item.kind === 'call' && item.place === focus?.call && time ? { ...item, time } : item,
    );
  }

  #tell(places: number[]): void {
    const items = this.#timed(this.items.filter(({ place }) => places.includes(place)));
    for (const connection of this.#connections) {
      if (connection.conversation)
        this.#down(connection, { type: 'items', conversation: connection.conversation, items });
    }
  }

  /** Says again who is here. */
  tellState(): void {
    for (const connection of this.#connections) {
      if (connection.path === '/page') this.#down(connection, { type: 'state', ...this.#state() });
    }
  }

  #down(connection: Connection, frame: object): void {
    if (this.#connections.has(connection)) connection.peer.send(JSON.stringify(frame));
  }
}
