import { effect } from '@preact/signals';
import type { Item } from './protocol';
import type { Shell } from './shell';
import { spoken } from './ui/calls';

/** Says what is new in the conversation in view, to those who listen rather than look. */
export function announce(shell: Shell, region: HTMLElement): void {
  let conversation: string | null = null;
  let said = new Map<number, string>();
  effect(() => {
    const viewed = shell.viewed.value;
    if (!viewed) return;
    const timeline = shell.page.timeline(viewed);
    const entries = timeline.entries.value;
    const { words } = shell.speech.value;
    if (!timeline.known.value) return;
    const say = (item: Item) => spoken(item, words, (app) => shell.nameOf(app));
    const first = viewed !== conversation;
    const newest = Math.max(0, ...said.keys());
    conversation = viewed;
    const now = new Map(entries.slice(-50).map(({ item }) => [item.place, say(item)]));
    const news = [...now].filter(([place, text]) => {
      const before = said.get(place);
      return text && text !== before && (before !== undefined || place > newest);
    });
    said = now;
    if (!first && news.length > 0) region.textContent = news.map(([, text]) => text).join('. ');
  });
}
