import { signal } from '@preact/signals';
import { render } from 'preact';
import { announce } from './announce';
import { followBack } from './back';
import { listen } from './keys';
import { settings } from './settings';
import { Shell, type World } from './shell';
import { App } from './ui/App';
import { hostSession } from './wire/session';

const visible = signal(document.visibilityState === 'visible');
document.addEventListener('visibilitychange', () => {
  visible.value = document.visibilityState === 'visible';
});

const world: World = {
  session: await hostSession(sessionStorage, navigator.locks),
  storage: sessionStorage,
  settings: settings(localStorage, document.documentElement),
  open: (path) => new WebSocket(`${location.origin.replace(/^http/, 'ws')}${path}`) as never,
  get: (path) => fetch(path, { credentials: 'same-origin', cache: 'no-cache' }),
  visible,
};
const shell = new Shell(world);

listen(shell);
followBack(shell);
render(<App shell={shell} />, document.getElementById('page') as HTMLElement);
announce(shell, document.getElementById('said') as HTMLElement);
