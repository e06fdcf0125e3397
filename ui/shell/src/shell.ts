import {
  batch,
  computed,
  effect,
  type ReadonlySignal,
  type Signal,
  signal,
  untracked,
} from '@preact/signals';
import { HostLink } from './host/link';
import { Drafts } from './page/drafts';
import { PageLink } from './page/link';
import { Outbox } from './page/outbox';
import type { Foreground, Intent, Listed, SurfaceView } from './protocol';
import type { Settings } from './settings';
import { Stage } from './surface/stage';
import { Reach } from './wire/reach';
import type { Refusal, Wire } from './wire/socket';
import { type Speech, speech } from './words';

export type Layer = 'switcher' | 'keys' | 'settings' | 'may' | { history: string; app: string };

const VIEWED = 'lineup.viewed';

/** What the page needs of the browser around it; tests bring their own. */
export interface World {
  session: string;
  storage: Storage;
  settings: Settings;
  open(path: string): Wire;
  get(path: string): Promise<Response>;
  visible: ReadonlySignal<boolean>;
}

/** Everything that the page knows, and everything that can be done in it. */
export class Shell {
  readonly settings: Settings;
  readonly speech: ReadonlySignal<Speech>;
  readonly reach: Reach;
  readonly host: HostLink;
  readonly page: PageLink;
  readonly outbox: Outbox;
  readonly drafts: Drafts;
  readonly stage: Stage;

  /** The conversation whose timeline is shown. */
  readonly viewed: ReadonlySignal<string | null>;
  /** The instance in front, for all tabs. */
  readonly foreground: ReadonlySignal<Foreground | null>;
  /** Its Surface, when it has one. */
  readonly surface: ReadonlySignal<SurfaceView | null>;
  readonly instances: ReadonlySignal<readonly Listed[]>;
  /** Whether the app, on a narrow page, is folded away below the conversation. */
  readonly folded = signal(false);
  /** What lies on top of the page. */
  readonly layer: Signal<Layer | null> = signal<Layer | null>(null);
  /** A short word about something that was not done. */
  readonly notice = signal<string | null>(null);
  /** Conversations on a narrow page. */
  readonly railOpen = signal(false);

  readonly #chosen: Signal<string | null>;
  readonly #surfaceApps = signal<ReadonlySet<string> | null>(null);

  constructor(world: World) {
    const { session, storage } = world;
    this.settings = world.settings;
    this.speech = speech(world.settings.language);
    this.drafts = new Drafts(storage);
    this.#chosen = signal(storage.getItem(VIEWED));
    this.reach = new Reach(() => world.get('/surfaces'));
    const on = { unopened: () => void this.reach.check() };

    // Host and stage know each other through what the Host is told of this tab.
    const shown = signal<string | null>(null);
    const standing = signal<Stage['standing']['value']>(new Map());
    const local = computed(() => ({
      visible: world.visible.value,
      shown: shown.value,
      standing: standing.value,
      hasSurface: (app: string) => this.#surfaceApps.value?.has(app),
    }));
    this.host = new HostLink(() => world.open('/host'), session, local, {
      ...on,
      refused: (intent, refusal) => this.#refused(intent, refusal),
    });
    this.foreground = computed(() => this.host.host.value?.foreground ?? null);
    this.instances = computed(() => this.host.host.value?.instances ?? []);
    this.surface = computed(() => {
      const instance = this.foreground.value?.instance;
      return this.host.surfaces.value?.find((view) => view.instance === instance) ?? null;
    });
    // What is viewed depends on what the page is told, and the page is told of what is viewed.
    const viewed = signal<string | null>(null);
    this.viewed = viewed;
    this.page = new PageLink(() => world.open('/page'), viewed, on);
    effect(() => {
      viewed.value = this.#viewed();
    });
    const known = computed(() => this.host.socket.phase.value === 'open');
    this.outbox = new Outbox(() => world.open('/user'), session, storage, known, on);
    const source = async (app: string, surface: string) => {
      const response = await world.get(`/surface/${app}/${surface}`);
      if (!response.ok) throw new Error(`the server answered ${response.status}`);
      return response.text();
    };
    this.stage = new Stage(
      source,
      world.settings.looks,
      (app) => this.speech.value.words.app.frame(this.nameOf(app)),
      this.host.surfaces,
      this.host.toldAt,
      computed(() => this.foreground.value?.instance ?? null),
    );

    effect(() => {
      const foreground = this.foreground.value;
      shown.value = this.folded.value ? null : (foreground?.instance ?? null);
    });
    effect(() => {
      standing.value = this.stage.standing.value;
    });
    // Something new in front is shown, also when the one before was folded away.
    const front = computed(() => `${this.foreground.value?.instance} ${this.foreground.value?.activation}`);
    effect(() => {
      front.value;
      this.folded.value = false;
    });
    effect(() => {
      const sockets = [this.host.socket, this.page.socket, this.outbox.socket];
      if (sockets.some((socket) => socket.phase.value === 'open')) this.reach.fine();
    });
    effect(() => {
      if (this.reach.state.value === 'ok' && this.#surfaceApps.peek() === null) void this.#list(world);
    });
    effect(() => {
      // What it finds is not followed: a socket that waits for its next try is left to wait.
      if (world.visible.value) untracked(() => this.tryNow());
    });
    effect(() => {
      const viewed = this.viewed.value;
      if (viewed) storage.setItem(VIEWED, viewed);
    });
    effect(() => {
      const viewed = this.viewed.value;
      if (!viewed) return;
      const shownActions = this.page
        .timeline(viewed)
        .entries.value.flatMap(({ item }) => (item.kind === 'user_text' ? [item.action_id] : []));
      this.outbox.shown(new Set(shownActions));
    });
  }

  /** Opens what is not open, without waiting for its turn. */
  tryNow(): void {
    for (const { socket } of [this.host, this.page, this.outbox]) socket.connect();
  }

  /** Shows a conversation. To go there from an app is to leave the app (HST-2). */
  view(conversation: string): void {
    batch(() => {
      this.#chosen.value = conversation;
      this.railOpen.value = false;
      this.layer.value = null;
    });
    if (this.foreground.peek()) this.host.intend({ intent: 'switch' });
  }

  /** Brings an instance to the front. */
  go(instance: string): void {
    this.railOpen.value = false;
    this.layer.value = null;
    if (this.foreground.peek()?.instance === instance) this.folded.value = false;
    else this.host.intend({ intent: 'switch', to: instance });
  }

  back(): void {
    if (this.foreground.peek()) this.host.intend({ intent: 'back' });
  }

  close(instance: string): void {
    this.host.intend({ intent: 'close', instance });
  }

  say(text: string): void {
    const conversation = this.viewed.peek();
    if (conversation) this.outbox.say(conversation, text);
  }

  /** What people call an app. */
  nameOf(app: string): string {
    return this.page.state.value?.apps.find(({ app_scope }) => app_scope === app)?.title ?? app;
  }

  /** What people call a conversation. */
  titleOf(conversation: string): string {
    const known = this.page.state.value?.conversations.find((each) => each.conversation === conversation);
    return known?.title || conversation;
  }

  #viewed(): string | null {
    const conversations = this.page.state.value?.conversations.map(({ conversation }) => conversation);
    const chosen = this.#chosen.value;
    if (!conversations) return chosen;
    if (chosen && conversations.includes(chosen)) return chosen;
    const foreground = this.foreground.value?.conversation;
    return foreground && conversations.includes(foreground) ? foreground : (conversations[0] ?? null);
  }

  async #list(world: World): Promise<void> {
    try {
      const response = await world.get('/surfaces');
      if (!response.ok) return;
      const { surfaces } = (await response.json()) as { surfaces: { app_scope: string }[] };
      this.#surfaceApps.value = new Set(surfaces.map(({ app_scope }) => app_scope));
    } catch {
      // It is asked again with the next connection.
    }
  }

  #refused(_intent: Intent, refusal: Refusal): void {
    const { refused, notDone } = this.speech.peek().words;
    this.notice.value = refused[refusal.code] ?? notDone(refusal.message);
  }
}
