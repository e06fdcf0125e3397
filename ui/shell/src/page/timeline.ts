import { type ReadonlySignal, signal } from '@preact/signals';
import type { Item, Page } from '../protocol';

/** An item, and when it was told by `performance.now()`: its time counts from there. */
export type Entry = { item: Item; toldAt: number };

/** What this tab holds of one conversation: a stretch without gaps that ends with the newest item. */
export class Timeline {
  /** By place. */
  readonly entries: ReadonlySignal<readonly Entry[]>;
  /** Whether there are older ones. */
  readonly older: ReadonlySignal<boolean>;
  /** Whether it was told at all. */
  readonly known: ReadonlySignal<boolean>;

  readonly #entries = signal<readonly Entry[]>([]);
  readonly #older = signal(false);
  readonly #known = signal(false);

  constructor() {
    this.entries = this.#entries;
    this.older = this.#older;
    this.known = this.#known;
  }

  /** New and changed items: each takes its place, once. */
  take(items: readonly Item[]): void {
    if (items.length === 0) return;
    const toldAt = performance.now();
    const merged = new Map(this.#entries.peek().map((entry) => [entry.item.place, entry]));
    for (const item of items) merged.set(item.place, { item, toldAt });
    this.#entries.value = [...merged.values()].sort((a, b) => a.item.place - b.item.place);
  }

  /** The newest page, or the one that follows what is here. */
  newest(page: Page): void {
    this.take(page.items);
    if (page.older !== undefined) this.#older.value = page.older;
    this.#known.value = true;
  }

  /** The page before what is here. */
  before(page: Page): void {
    this.#older.value = page.older ?? false;
    this.take(page.items);
  }

  get first(): number | undefined {
    return this.#entries.peek()[0]?.item.place;
  }

  get last(): number | undefined {
    return this.#entries.peek().at(-1)?.item.place;
  }

  /** The places that may still change. */
  open(): number[] {
    return this.#entries
      .peek()
      .filter(({ item }) => changeable(item))
      .map(({ item }) => item.place);
  }
}

function changeable(item: Item): boolean {
  if (item.kind === 'call') return !item.end;
  return item.kind === 'user_text' && item.delivery === 'sending';
}
