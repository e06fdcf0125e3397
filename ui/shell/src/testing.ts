/** What the tests share: a WebSocket that leads into a world of their own, and a page to stand in. */
import { signal } from '@preact/signals';
import { World as Runtime } from '../../fake/world';
import { type Settings, settings } from './settings';
import { Shell } from './shell';
import type { Wire } from './wire/socket';

export class TestWire implements Wire {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;
  readonly sent: string[] = [];

  send(text: string): void {
    this.sent.push(text);
  }

  close(): void {}

  /** What was sent, read. */
  frames(): ({ type: string; id: string } & Record<string, unknown>)[] {
    return this.sent.map((text) => JSON.parse(text));
  }

  say(frame: object): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
}

/** Leads a path into a world, as soon as the caller has set its listeners. */
export function wired(runtime: Runtime, path: string, up: () => boolean): Wire {
  let link: ReturnType<Runtime['connect']> | null = null;
  const wire: Wire = {
    onopen: null,
    onmessage: null,
    onclose: null,
    send: (text) => link?.receive(text),
    close: () => link?.ended(),
  };
  queueMicrotask(() => {
    if (!up()) {
      wire.onclose?.({ code: 1006, reason: '' });
      return;
    }
    const early: string[] = [];
    let open = false;
    link = runtime.connect(path, {
      send: (text) => (open ? wire.onmessage?.({ data: text }) : early.push(text)),
      close: (code, reason) => wire.onclose?.({ code, reason }),
    });
    wire.onopen?.();
    open = true;
    for (const text of early) wire.onmessage?.({ data: text });
  });
  return wire;
}

export interface Stood {
  shell: Shell;
  runtime: Runtime;
  settings: Settings;
  visible: { value: boolean };
  /** Whether the server is there. */
  server: { up: boolean; status: number };
}

/** A page with a fake Runtime behind it. */
export async function stand(runtime = new Runtime(undefined, undefined, { answer: 0, minute: 60_000 })) {
  const visible = signal(true);
  const server = { up: true, status: 200 };
  const looks = settings(localStorage, document.documentElement);
  const shell = new Shell({
    session: 'page-1',
    storage: sessionStorage,
    settings: looks,
    visible,
    open: (path) => wired(runtime, path, () => server.up && server.status === 200),
    async get(path) {
      if (!server.up) throw new TypeError('failed to fetch');
      const list = JSON.stringify({ surfaces: [{ app_scope: 'pomodoro', surface: 'main' }] });
      return new Response(path === '/surfaces' ? list : '<p>a view</p>', { status: server.status });
    },
  });
  await settled();
  return { shell, runtime, settings: looks, visible, server } satisfies Stood;
}

/** Lets everything that waits on nothing but its turn have it. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}
