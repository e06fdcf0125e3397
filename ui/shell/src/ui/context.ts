import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Shell } from '../shell';
import type { Speech, Words } from '../words';

export const Page = createContext<Shell | null>(null);

export function useShell(): Shell {
  const shell = useContext(Page);
  if (!shell) throw new Error('a part of the page outside of it');
  return shell;
}

export function useSpeech(): Speech {
  return useShell().speech.value;
}

export function useWords(): Words {
  return useSpeech().words;
}
