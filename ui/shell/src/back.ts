import { effect } from '@preact/signals';
import type { Shell } from './shell';

type Mark = { front?: 'app' } | null;

/** The browser's Back leaves the app in front, as the header's does: an app stands one step above the page. */
export function followBack(shell: Shell, around: Window = window): void {
  const { history } = around;
  const marked = () => (history.state as Mark)?.front === 'app';
  let own = false;
  around.addEventListener('popstate', () => {
    if (own) own = false;
    else if (!marked() && shell.foreground.peek()) shell.back();
  });
  effect(() => {
    const front = shell.foreground.value !== null;
    const known = shell.host.host.value !== null;
    // While an intent is on its way, what is in front is about to change.
    const waiting = shell.host.pending.value.length > 0;
    if (!known || waiting || front === marked()) return;
    if (front) history.pushState({ front: 'app' } satisfies Mark, '');
    else {
      own = true;
      history.back();
    }
  });
}
