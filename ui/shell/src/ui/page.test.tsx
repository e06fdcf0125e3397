import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { announce } from '../announce';
import { followBack } from '../back';
import { listen } from '../keys';
import { type Stood, settled, stand } from '../testing';
import { App } from './App';

let root: HTMLElement;
let stops: (() => void)[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval', 'performance'] });
  sessionStorage.clear();
  localStorage.clear();
  localStorage.setItem('lineup.language', 'en');
  history.replaceState(null, '');
  root = document.body.appendChild(document.createElement('div'));
  // A DOM without a layout: each row is as high as it was thought to be, each list as a page.
  vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockImplementation(function (this: HTMLElement) {
    return this.classList.contains('row') ? 72 : 800;
  });
  vi.spyOn(HTMLElement.prototype, 'offsetWidth', 'get').mockReturnValue(600);
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(800);
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(600);
});
afterEach(() => {
  render(null, root);
  root.remove();
  for (const stop of stops) stop();
  stops = [];
  vi.useRealTimers();
});

async function shown(prepare?: (stood: Stood) => void) {
  const stood = await stand();
  prepare?.(stood);
  await act(async () => {
    render(<App shell={stood.shell} />, root);
    await settled();
  });
  return stood;
}

const find = <T extends Element = HTMLElement>(selector: string) => root.querySelector<T>(selector);
const texts = (selector: string) => [...root.querySelectorAll(selector)].map((each) => each.textContent);
const press = (target: EventTarget, key: string, more: KeyboardEventInit = {}) =>
  act(() => {
    target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }));
  });
const field = () => find<HTMLTextAreaElement>('textarea')!;
async function type(text: string) {
  await act(() => {
    field().value = text;
    field().dispatchEvent(new Event('input', { bubbles: true }));
  });
}

test('the first screen says what to do, and an example goes into the composer for the user to send', async () => {
  const { runtime } = await shown();
  expect(find('.empty h2')?.textContent).toBe('What would you like to do?');
  await act(() => find('.examples button')?.click());
  expect(field().value).toBe('Start a 20 minute focus');
  expect(document.activeElement).toBe(field());
  expect(runtime.heard.filter(({ type }) => type === 'act')).toEqual([]);
});

test('Enter sends; not with Shift, and not while an input method composes', async () => {
  const { runtime } = await shown();
  await type('ni hao');
  await press(field(), 'Enter', { shiftKey: true });
  await press(field(), 'Enter', { isComposing: true });
  await press(field(), 'Enter', { keyCode: 229 });
  expect(runtime.heard.filter(({ type }) => type === 'act')).toEqual([]);
  await press(field(), 'Enter');
  expect(runtime.heard.filter(({ type }) => type === 'act')).toMatchObject([{ input: { text: 'ni hao' } }]);
  expect(field().value).toBe('');
});

test('C36 Esc, switching and a reload leave a draft where it is', async () => {
  const { shell } = await shown();
  stops.push(listen(shell));
  await type('half a thou');
  await press(field(), 'Escape');
  await press(field(), 'k', { ctrlKey: true });
  expect(document.querySelector('dialog')).not.toBeNull();
  await act(() => {
    shell.layer.value = null;
  });
  expect(field().value).toBe('half a thou');
  render(null, root);
  await shown();
  expect(field().value).toBe('half a thou');
});

test('C37 an app that comes to the front takes neither the focus nor the caret', async () => {
  const { runtime } = await shown();
  field().focus();
  await type('I am writ');
  await act(async () => {
    runtime.start(20);
    await settled();
  });
  expect(document.activeElement).toBe(field());
  expect(field().value).toBe('I am writ');
});

test('C16 C17 the stage is one element for good: in front, folded, behind and in front again', async () => {
  const { shell, runtime } = await shown();
  const stage = find('.stage');
  const steps = [
    () => runtime.start(20),
    () => {
      shell.folded.value = true;
    },
    () => {
      shell.folded.value = false;
    },
    () => runtime.end({ how: 'interrupted', by: 'agent' }, true),
    () => runtime.start(10),
  ];
  for (const step of steps) {
    await act(async () => {
      step();
      await settled();
    });
    expect(find('.stage')).toBe(stage);
  }
});

test('a card says in plain words how a call stands, and changes in its place', async () => {
  const { runtime } = await shown();
  const base = { call: 'c', call_id: 'c', agent: 'demo', app_scope: 'pomodoro', tool: 'pomodoro.start' };
  let place = 0;
  await act(() => {
    place = runtime.add({ kind: 'call', ...base, input: { minutes: 20, title: 'Write' }, stage: 'starting' });
  });
  const card = find('.card');
  expect(texts('.card-title strong, .card-about, .tone')).toEqual([
    'Focus',
    'Write · 20 minutes',
    'Getting ready',
  ]);
  const said = async (change: object) => {
    await act(() => runtime.change(place, change));
    expect(find('.card')).toBe(card);
    return find('.card-state')?.textContent;
  };
  const time = { length_ms: 1_200_000, remaining_ms: 1_112_000 };
  expect(await said({ stage: 'started', time })).toBe('Under way18:32 leftPomodoro');
  const end = (result: object) => ({ end: { at: 1, status: 'completed', result } });
  for (const [result, words] of [
    [{ status: 'completed' }, 'DonePomodoro'],
    [{ status: 'interrupted', by: 'left' }, 'Stopped by youPomodoro'],
    [{ status: 'interrupted', by: 'agent' }, 'Stopped by the agentPomodoro'],
    [{ status: 'not_started', reason: 'already_focusing' }, 'Not startedanother focus is under wayPomodoro'],
    [{ status: 'not_started', reason: 'a_reason_of_tomorrow' }, 'Not startedPomodoro'],
    ['anything', 'DonePomodoro'],
  ] as [object, string][])
    expect(await said(end(result))).toBe(words);
});

test('content that this page does not know is said to be so, and the rest goes on', async () => {
  const { runtime } = await shown();
  await act(() => {
    runtime.add({ kind: 'hologram', beam: '<b>x</b>' } as never);
    runtime.agentSays('still here');
  });
  expect(texts('.quiet span')).toEqual(['Something that this page has no words for']);
  expect(find('.prose')?.textContent).toBe('still here');
});

test('a text of the user’s own is text, whatever it looks like', async () => {
  const { shell, runtime } = await shown();
  runtime.mute.add('act');
  await act(() => shell.say('<img src=x onerror=alert(1)>'));
  expect(find('.mine .prose')?.textContent).toBe('<img src=x onerror=alert(1)>');
  expect(find('.mine img')).toBeNull();
});

test('five thousand items are at most three hundred rows', async () => {
  await shown(({ shell, runtime }) => {
    for (let n = 0; n < 5000; n += 1) {
      const text = `text ${n}`;
      runtime.items.push({
        place: n + 1,
        at: 1_700_000_000_000 + n,
        kind: 'agent_text',
        agent: 'demo',
        text,
        html: text,
      });
    }
    shell.page.timeline('main').newest({ items: runtime.items, older: false });
  });
  const count = root.querySelectorAll('.row').length;
  expect(count).toBeGreaterThan(5);
  expect(count).toBeLessThanOrEqual(300);
});

test('HST-3 an app that is in another tab is a placeholder, which brings it here', async () => {
  const { runtime } = await shown();
  const other = runtime.connect('/host', { send: () => {}, close: () => {} });
  other.receive(JSON.stringify({ type: 'hello', id: '1', session: 'page-2', visible: true }));
  await act(async () => {
    runtime.start(20);
    other.receive(JSON.stringify({ type: 'use_here', id: '2', instance: 'i1' }));
    await settled();
  });
  expect(find('.cover-title')?.textContent).toBe('Pomodoro is open in another tab');
  expect(find('iframe')).toBeNull();
  await act(() => find('.cover button')?.click());
  expect(runtime.heard.at(-1)).toMatchObject({ path: '/host', type: 'use_here', instance: 'i1' });
});

test('each trouble is said with one next step', async () => {
  const { runtime, server } = await shown();
  // The page is drawn at the end of each step.
  const wait = async (ms: number) => {
    for (let waited = 0; waited < ms; waited += 400)
      await act(async () => void (await vi.advanceTimersByTimeAsync(400)));
  };
  expect(find('.status')).toBeNull();
  await act(() => {
    runtime.agentHere = false;
    runtime.tellState();
  });
  await wait(800);
  expect(find('.status')?.textContent).toContain('demo is away');
  for (const [status, words] of [
    [401, 'lineup link'],
    [403, 'lineup link'],
    [503, 'Try now'],
  ] as const) {
    server.status = status;
    runtime.drop();
    await wait(12_000);
    expect(find('.status')?.textContent).toContain(words);
  }
  server.up = false;
  await wait(12_000);
  expect(find('.status')?.textContent).toContain('lineup serve');
  server.up = true;
  server.status = 200;
  runtime.agentHere = true;
  await wait(12_000);
  expect(find('.status')).toBeNull();
});

test('F6 goes through the regions, ? shows the keys, Alt and a digit go to an app', async () => {
  const { shell, runtime } = await shown();
  stops.push(listen(shell));
  await act(async () => {
    runtime.start(20);
    await settled();
  });
  const where = () => document.activeElement?.closest<HTMLElement>('[data-region]')?.dataset.region;
  const seen: (string | undefined)[] = [];
  for (let n = 0; n < 5; n += 1) {
    await press(document.activeElement ?? document.body, 'F6');
    seen.push(where());
  }
  expect(seen).toEqual(['rail', 'timeline', 'composer', 'app', 'rail']);
  await press(document.body, '0', { altKey: true, code: 'Digit0' });
  expect(runtime.heard.at(-1)).toMatchObject({ type: 'intent', intent: 'switch' });
  await press(field(), '?');
  expect(shell.layer.value).toBeNull();
  await press(document.body, '?');
  expect(shell.layer.value).toBe('keys');
});

test('HST-2 the browser’s Back leaves the app in front', async () => {
  const { shell, runtime } = await shown();
  followBack(shell);
  await act(async () => {
    runtime.start(20);
    await settled();
  });
  expect(history.state).toEqual({ front: 'app' });
  history.replaceState(null, '');
  window.dispatchEvent(new PopStateEvent('popstate'));
  expect(runtime.heard.at(-1)).toMatchObject({ type: 'intent', intent: 'back' });
});

test('what is new is said to those who listen, and what was there before is not', async () => {
  const region = document.createElement('div');
  const { shell, runtime } = await shown(({ runtime }) => runtime.agentSays('from before'));
  announce(shell, region);
  expect(region.textContent).toBe('');
  await act(() => runtime.agentSays('something new'));
  expect(region.textContent).toBe('demo: something new');
});

test('everything is in the other language at once', async () => {
  const { settings } = await shown();
  await act(() => {
    settings.language.value = 'zh';
  });
  expect(document.documentElement.lang).toBe('zh-CN');
  expect(find('.empty h2')?.textContent).toBe('想做点什么？');
  expect(field().placeholder).toBe('写点什么');
});
