import { computed, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Looks } from './surface/frame';
import type { Language } from './words';

export type Theme = 'system' | 'light' | 'dark';

const LANGUAGE = 'lineup.language';
const THEME = 'lineup.theme';

/** How the page looks and speaks: what the user chose, else what their system says. */
export interface Settings {
  language: Signal<Language>;
  theme: Signal<Theme>;
  looks: ReadonlySignal<Looks>;
}

export function settings(storage: Storage, root: HTMLElement): Settings {
  const language = signal<Language>(languageOf(storage.getItem(LANGUAGE) ?? navigator.language));
  const theme = signal<Theme>(themeOf(storage.getItem(THEME)));
  const dark = media('(prefers-color-scheme: dark)');
  const reducedMotion = media('(prefers-reduced-motion: reduce)');
  effect(() => {
    root.lang = language.value === 'zh' ? 'zh-CN' : 'en';
    storage.setItem(LANGUAGE, language.value);
  });
  effect(() => {
    if (theme.value === 'system') delete root.dataset.theme;
    else root.dataset.theme = theme.value;
    storage.setItem(THEME, theme.value);
  });
  const looks = computed<Looks>(() => {
    const shown = theme.value === 'system' ? (dark.value ? 'dark' : 'light') : theme.value;
    const locale = language.value === 'zh' ? 'zh-CN' : 'en';
    return {
      theme: shown,
      locale,
      reducedMotion: reducedMotion.value,
      styles: { variables: variables(root) },
    };
  });
  return { language, theme, looks };
}

function languageOf(tag: string): Language {
  return tag.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

function themeOf(kept: string | null): Theme {
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

function media(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', () => {
    matches.value = list.matches;
  });
  return matches;
}

/** The Host's tokens under the names that views know. Both themes are in each of them. */
const TOKENS = {
  '--color-background-primary': '--panel',
  '--color-text-primary': '--ink',
  '--color-text-secondary': '--ink-2',
  '--color-border-primary': '--line',
  '--font-sans': '--sans',
};

function variables(root: HTMLElement): Record<string, string> {
  const style = getComputedStyle(root);
  return Object.fromEntries(
    Object.entries(TOKENS).map(([name, token]) => [name, style.getPropertyValue(token).trim()]),
  );
}
