import type { Shell } from './shell';

/** The parts of the page that F6 goes through, in this order. */
const REGIONS = ['rail', 'timeline', 'composer', 'app'];

/** The keys of the whole page. */
export function listen(shell: Shell, target: Document = document): () => void {
  const down = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing || event.keyCode === 229) return;
    if (handled(shell, event, target)) event.preventDefault();
  };
  target.addEventListener('keydown', down);
  return () => target.removeEventListener('keydown', down);
}

function handled(shell: Shell, event: KeyboardEvent, target: Document): boolean {
  const { key } = event;
  if ((event.ctrlKey || event.metaKey) && !event.altKey && key.toLowerCase() === 'k') {
    shell.layer.value = shell.layer.value === 'switcher' ? null : 'switcher';
    return true;
  }
  // A dialog has its own keys, Esc among them.
  if (shell.layer.value !== null) return false;
  if (key === 'F6') {
    cycle(target, event.shiftKey ? -1 : 1);
    return true;
  }
  if (key === 'Escape') return closeTop(shell);
  const digit = /^Digit([0-9])$/.exec(event.code)?.[1];
  if (event.altKey && !event.ctrlKey && !event.metaKey && digit) return goTo(shell, Number(digit));
  if (key === '?' && !typing(event.target)) {
    shell.layer.value = 'keys';
    return true;
  }
  return false;
}

function goTo(shell: Shell, digit: number): boolean {
  const viewed = shell.viewed.value;
  if (digit === 0) {
    if (viewed) shell.view(viewed);
    return true;
  }
  const instance = shell.instances.value[digit - 1];
  if (instance) shell.go(instance.instance);
  return true;
}

/** Closes the top layer; a draft is never one. */
function closeTop(shell: Shell): boolean {
  if (shell.railOpen.value) shell.railOpen.value = false;
  else if (shell.notice.value) shell.notice.value = null;
  else return false;
  return true;
}

function cycle(target: Document, step: number): void {
  const parts = REGIONS.map((name) => target.querySelector<HTMLElement>(`[data-region="${name}"]`)).filter(
    (part) => part !== null,
  );
  const at = parts.findIndex((part) => part.contains(target.activeElement));
  const next = parts[(at + step + parts.length) % parts.length];
  if (!next) return;
  const inside = next.dataset.region === 'composer' ? next.querySelector('textarea') : null;
  (inside ?? next).focus();
}

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA)$/.test(target.tagName))
  );
}
