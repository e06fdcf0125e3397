import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type { Standing } from '../host/reports';
import type { SurfaceView } from '../protocol';
import { type Looks, type Status, SurfaceFrame } from './frame';

/** All Surfaces of this tab. Each gets one frame, which is never moved: CSS says where it is seen. */
export class Stage {
  /** By instance. */
  readonly statuses: ReadonlySignal<ReadonlyMap<string, Status>>;
  readonly standing: ReadonlySignal<ReadonlyMap<string, Standing>>;

  readonly #frames = signal<ReadonlyMap<string, SurfaceFrame>>(new Map());
  readonly #element = signal<HTMLElement | null>(null);

  constructor(
    private readonly source: (appScope: string, surface: string) => Promise<string>,
    private readonly looks: ReadonlySignal<Looks>,
    private readonly titleOf: (appScope: string) => string,
    surfaces: ReadonlySignal<SurfaceView[] | null>,
    toldAt: ReadonlySignal<number>,
    shown: ReadonlySignal<string | null>,
  ) {
    this.statuses = computed(
      () => new Map([...this.#frames.value].map(([instance, frame]) => [instance, frame.status.value])),
    );
    this.standing = computed(
      () => new Map([...this.statuses.value].map(([instance, status]) => [instance, standing(status)])),
    );
    effect(() => {
      const element = this.#element.value;
      if (element && surfaces.value) this.#mount(element, surfaces.value, toldAt.value);
    });
    effect(() => {
      for (const [instance, frame] of this.#frames.value) frame.show(instance === shown.value);
    });
  }

  /** The place of all frames, for good. */
  readonly place = (element: HTMLElement | null): void => {
    if (element) this.#element.value = element;
  };

  reload(instance: string): void {
    this.#frames.peek().get(instance)?.reload();
  }

  /** Mounts what should be mounted, and nothing else. */
  #mount(element: HTMLElement, views: SurfaceView[], toldAt: number): void {
    const here = new Map(views.filter((view) => view.here !== false).map((view) => [view.instance, view]));
    const frames = new Map(this.#frames.peek());
    let changed = false;
    for (const [instance, frame] of frames) {
      if (here.has(instance)) continue;
      frame.dispose();
      frames.delete(instance);
      changed = true;
    }
    for (const [instance, view] of here) {
      const frame = frames.get(instance);
      if (frame) {
        frame.tell(view, toldAt);
        continue;
      }
      const title = computed(() => this.titleOf(view.app_scope));
      const around = { source: this.source, looks: this.looks, title };
      frames.set(instance, new SurfaceFrame(element, view, toldAt, around));
      changed = true;
    }
    if (changed) this.#frames.value = frames;
  }
}

function standing(status: Status): Standing {
  if (status === 'ready' || status === 'loading') return status;
  return 'broken';
}
