import { computed, type ReadonlySignal } from '@preact/signals';
import { en, type Words } from './en';
import { zh } from './zh';

export type { Words } from './en';
export type Language = 'en' | 'zh';

/** The words of a language: one table each, of one type, so that none can lack a word. */
export const tables: Record<Language, Words> = { en, zh };

/** The page's words, and its ways to write moments and lengths. */
export interface Speech {
  words: Words;
  /** As in 14:02. */
  clock(at: number): string;
  /** As in Today, or Monday, 30 November. */
  day(at: number): string;
  /** As in 18:04, or 1:18:04. */
  length(ms: number): string;
}

export function speech(language: ReadonlySignal<Language>): ReadonlySignal<Speech> {
  return computed(() => {
    const locale = language.value === 'zh' ? 'zh-CN' : 'en-GB';
    const words = tables[language.value];
    const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
    const day = new Intl.DateTimeFormat(locale, { weekday: 'long', day: 'numeric', month: 'long' });
    const year = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', year: 'numeric' });
    return {
      words,
      clock: (at) => clock.format(at),
      day(at) {
        const today = new Date();
        const then = new Date(at);
        if (dayOf(then) === dayOf(today)) return words.today;
        today.setDate(today.getDate() - 1);
        if (dayOf(then) === dayOf(today)) return words.yesterday;
        return (then.getFullYear() === new Date().getFullYear() ? day : year).format(then);
      },
      length,
    };
  });
}

/** Names a local day. */
export function dayOf(at: Date | number): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()}`;
}

function length(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  const two = (n: number) => String(n).padStart(2, '0');
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}
