import { effect, type ReadonlySignal, signal } from '@preact/signals';
import type { SurfaceView, Time } from '../protocol';
import { HostPort } from './port';

/** Where a Surface stands in this tab. The last four can only be left by a reload. */
export type Status = 'loading' | 'ready' | 'unloadable' | 'silent' | 'stuck' | 'flooded';

/** How the Host looks, as a Surface is told. */
export interface Looks {
  theme: 'light' | 'dark';
  locale: string;
  reducedMotion: boolean;
  styles: { variables: Record<string, string> };
}

export interface Surroundings {
  /** The document of a Surface, as its MiniApp's author built it. */
  source(appScope: string, surface: string): Promise<string>;
  looks: ReadonlySignal<Looks>;
  /** The accessible name of the frame. */
  title: ReadonlySignal<string>;
}

const HELLO = 'lineup/hello';
const PORT = 'lineup/port';
const VERSION = '2025-11-21';
/** How long a document may take to its handshake (C25). */
const READY_WITHIN_MS = 10_000;
/** How often a view that is seen is asked whether it is there, and how long it may think. */
const PING_EVERY_MS = 10_000;

/** No network, no eval, no frames: inline script and style are all there is (SUR-1). */
const POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/**
 * One Surface in this tab: an iframe that stands where it was put for as long as it lives, and one port to
 * each document that it shows. The port of an earlier document is dead (C6).
 */
export class SurfaceFrame {
  readonly status: ReadonlySignal<Status>;
  /** Counts the documents. */
  generation = 0;

  readonly #status = signal<Status>('loading');
  readonly #stops: (() => void)[] = [];
  #iframe: HTMLIFrameElement | null = null;
  #port: HostPort | null = null;
  #loads = 0;
  #late: ReturnType<typeof setTimeout> | undefined;
  #pinging: ReturnType<typeof setInterval> | undefined;
  #answered = true;
  #view: SurfaceView;
  #toldAt: number;
  #shown = false;
  /** What the view was told last. */
  #posted: { view: SurfaceView; toldAt: number } | null = null;
  #scheduled = false;

  constructor(
    private readonly stage: HTMLElement,
    view: SurfaceView,
    toldAt: number,
    private readonly around: Surroundings,
  ) {
    this.status = this.#status;
    this.#view = view;
    this.#toldAt = toldAt;
    addEventListener('message', this.#hear);
    this.#stops.push(
      () => removeEventListener('message', this.#hear),
      effect(() => {
        const looks = around.looks.value;
        if (this.#status.peek() === 'ready')
          this.#port?.notify('ui/notifications/host-context-changed', looks);
        if (this.#iframe) this.#iframe.style.colorScheme = looks.theme;
      }),
      effect(() => {
        const title = around.title.value;
        if (this.#iframe) this.#iframe.title = title;
      }),
    );
    void this.#load();
  }

  /** What the Runtime says of it now. */
  tell(view: SurfaceView, toldAt: number): void {
    this.#view = view;
    this.#toldAt = toldAt;
    this.#later();
  }

  /** Brings it before the user, or keeps it behind: it stays what and where it is. */
  show(shown: boolean): void {
    if (shown === this.#shown) return;
    this.#shown = shown;
    if (this.#iframe) present(this.#iframe, shown);
    clearInterval(this.#pinging);
    if (!shown) return;
    this.#later();
    this.#answered = true;
    this.#pinging = setInterval(() => this.#ping(), PING_EVERY_MS);
  }

  /** A new document, from its source. */
  reload(): void {
    this.#unload('loading');
    void this.#load();
  }

  dispose(): void {
    for (const stop of this.#stops) stop();
    this.#unload('loading');
    clearInterval(this.#pinging);
  }

  async #load(): Promise<void> {
    const generation = this.#next();
    this.#late = setTimeout(() => this.#unload('silent'), READY_WITHIN_MS);
    let source: string;
    try {
      source = await this.around.source(this.#view.app_scope, this.#view.surface);
    } catch {
      if (generation === this.generation) this.#unload('unloadable');
      return;
    }
    if (generation !== this.generation || this.#status.peek() !== 'loading') return;
    const looks = this.around.looks.peek();
    const iframe = document.createElement('iframe');
    iframe.setAttribute('sandbox', 'allow-scripts');
    iframe.title = this.around.title.peek();
    iframe.style.colorScheme = looks.theme;
    // What stands before a document's own first byte holds for all of it.
    iframe.srcdoc = `<meta http-equiv="Content-Security-Policy" content="${POLICY}"><meta name="color-scheme" content="${looks.theme}">${source}`;
    present(iframe, this.#shown);
    this.#loads = 0;
    iframe.addEventListener('load', () => this.#loaded());
    this.#iframe = iframe;
    this.stage.append(iframe);
  }

  /** The first document is the one that was put there; any later one is somebody else's doing. */
  #loaded(): void {
    this.#loads += 1;
    if (this.#loads === 1) return;
    this.#next();
    this.#status.value = 'loading';
    this.#late = setTimeout(() => this.#unload('silent'), READY_WITHIN_MS);
  }

  /** Kills what belonged to the document before. */
  #next(): number {
    clearTimeout(this.#late);
    this.#port?.close();
    this.#port = null;
    this.#posted = null;
    this.generation += 1;
    return this.generation;
  }

  #unload(status: Status): void {
    this.#next();
    clearTimeout(this.#late);
    this.#iframe?.remove();
    this.#iframe = null;
    this.#status.value = status;
  }

  /** Bound by the window that speaks, never by an origin or by what it says (C3, C4). */
  readonly #hear = (event: MessageEvent): void => {
    const iframe = this.#iframe;
    if (!iframe || event.source !== iframe.contentWindow || event.data !== HELLO || this.#port) return;
    const { port1, port2 } = new MessageChannel();
    const generation = this.generation;
    this.#port = new HostPort(port1, {
      initialize: () => ({
        protocolVersion: VERSION,
        hostInfo: { name: 'LineUp', version: '1' },
        hostCapabilities: {},
        hostContext: this.around.looks.peek(),
      }),
      initialized: () => {
        if (generation === this.generation) this.#ready();
      },
      alive: () => {
        this.#answered = true;
      },
      flooded: () => this.#unload('flooded'),
    });
    // An opaque origin has no name to send to; the window is the address.
    iframe.contentWindow?.postMessage(PORT, '*', [port2]);
  };

  #ready(): void {
    clearTimeout(this.#late);
    this.#answered = true;
    this.#status.value = 'ready';
    this.#post();
  }

  /** A view that nobody sees is told once, when somebody does (C10); one that is seen, once a frame. */
  #later(): void {
    if (!this.#shown || this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      if (this.#shown) this.#post();
    });
  }

  #post(): void {
    if (!this.#port || this.#status.peek() !== 'ready') return;
    const { document, time } = this.#view;
    if (this.#posted?.view === this.#view && this.#posted.toldAt === this.#toldAt) return;
    this.#posted = { view: this.#view, toldAt: this.#toldAt };
    this.#port.notify('lineup/notifications/state', {
      revision: document?.revision ?? 0,
      data: document?.data ?? {},
      time: now(time, this.#toldAt),
    });
  }

  #ping(): void {
    if (this.#status.peek() !== 'ready' || document.visibilityState !== 'visible') {
      this.#answered = true;
      return;
    }
    if (!this.#answered) {
      this.#unload('stuck');
      return;
    }
    this.#answered = false;
    this.#port?.ping();
  }
}

/** A time that was told a while ago. */
export function now(time: Time | null | undefined, toldAt: number): Time | null {
  if (!time) return null;
  const remaining_ms = Math.max(0, time.remaining_ms - (performance.now() - toldAt));
  return { length_ms: time.length_ms, remaining_ms };
}

function present(iframe: HTMLIFrameElement, shown: boolean): void {
  iframe.dataset.shown = String(shown);
  iframe.inert = !shown;
}
