import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { settled, stand } from './testing';

beforeEach(() => {
  vi.useFakeTimers();
  sessionStorage.clear();
  localStorage.clear();
});
afterEach(() => vi.useRealTimers());

const places = (shell: Awaited<ReturnType<typeof stand>>['shell']) =>
  shell.page.timeline('main').entries.value.map(({ item }) => item.place);

test('the page comes up with its conversation followed and its session known', async () => {
  const { shell, runtime } = await stand();
  expect(shell.viewed.value).toBe('main');
  expect(runtime.heard.map(({ path, type }) => `${path} ${type}`)).toEqual(['/host hello', '/page follow']);
  expect(shell.nameOf('pomodoro')).toBe('Pomodoro');
});

test('a text is shown at once, and once only when the timeline has it', async () => {
  const { shell, runtime } = await stand();
  runtime.mute.add('act');
  shell.say('hello');
  expect(shell.outbox.echoes.value).toMatchObject([{ text: 'hello', state: 'sending' }]);
  const { action_id } = shell.outbox.echoes.value[0]!;
  runtime.add({ kind: 'user_text', action_id, text: 'hello', html: '<p>hello</p>', delivery: 'sent' });
  expect(shell.outbox.echoes.value).toEqual([]);
  expect(places(shell)).toEqual([1]);
});

test('UIA-1 a text that was refused is failed, and sent again under its own name', async () => {
  const { shell, runtime } = await stand();
  runtime.refuse.set('act', { code: 'rate_limited' });
  shell.say('hello');
  await settled();
  const [failed] = shell.outbox.echoes.value;
  expect(failed).toMatchObject({ state: 'failed', code: 'rate_limited' });
  runtime.refuse.clear();
  shell.outbox.retry(failed!);
  await settled();
  const acts = runtime.heard.filter(({ type }) => type === 'act');
  expect(acts.map(({ action_id }) => action_id)).toEqual([failed?.action_id, failed?.action_id]);
  expect(shell.outbox.echoes.value).toEqual([]);
});

test('UIA-1 a text whose answer was lost is sent again under its own name, and said once', async () => {
  const { shell, runtime } = await stand();
  runtime.mute.add('act');
  shell.say('hello');
  runtime.drop();
  runtime.mute.clear();
  await vi.advanceTimersByTimeAsync(400);
  await vi.advanceTimersByTimeAsync(1000);
  const acts = runtime.heard.filter(({ type }) => type === 'act');
  expect(new Set(acts.map(({ action_id }) => action_id)).size).toBe(1);
  expect(acts).toHaveLength(2);
  expect(runtime.items.filter(({ kind }) => kind === 'user_text')).toHaveLength(1);
});

test('C36 what was said while nobody was there goes out after a reload, too', async () => {
  const first = await stand();
  first.server.up = false;
  first.runtime.drop();
  first.shell.say('later');
  await vi.advanceTimersByTimeAsync(2000);
  expect(first.shell.outbox.echoes.value).toMatchObject([{ text: 'later', state: 'sending' }]);
  expect(first.shell.reach.state.value).toBe('unreachable');
  const { shell, runtime } = await stand();
  await settled();
  expect(runtime.items).toMatchObject([{ kind: 'user_text', text: 'later' }]);
  expect(shell.outbox.echoes.value).toEqual([]);
});

test('C36 a draft is kept for its conversation until it is sent', async () => {
  const { shell } = await stand();
  shell.drafts.write('main', 'half a thou');
  shell.drafts.write('other', 'something else');
  const again = await stand();
  expect(again.shell.drafts.read('main')).toBe('half a thou');
  again.shell.drafts.write('main', '');
  expect(again.shell.drafts.read('main')).toBe('');
  expect(again.shell.drafts.read('other')).toBe('something else');
});

test('C18 after a lost connection the timeline has what came meanwhile, and what changed', async () => {
  const { shell, runtime } = await stand();
  const base = { call: 'c', call_id: 'c', agent: 'demo', app_scope: 'pomodoro', tool: 'pomodoro.start' };
  const call = runtime.add({ kind: 'call', ...base, input: {}, stage: 'starting' });
  runtime.agentSays('one');
  runtime.drop();
  runtime.agentSays('two');
  runtime.change(call, { end: { at: 1, status: 'completed' } });
  await vi.advanceTimersByTimeAsync(400);
  expect(places(shell)).toEqual([1, 2, 3]);
  expect(shell.page.timeline('main').entries.value[0]?.item).toMatchObject({ end: { status: 'completed' } });
});

test('older items come page by page, and none twice', async () => {
  const stood = await stand();
  const { shell } = stood;
  for (let n = 0; n < 130; n += 1) stood.runtime.agentSays(`text ${n}`);
  const again = await stand(stood.runtime);
  expect(places(again.shell)).toHaveLength(50);
  await again.shell.page.older('main');
  await again.shell.page.older('main');
  await again.shell.page.older('main');
  expect(places(again.shell)).toEqual(places(shell));
  expect(again.shell.page.timeline('main').older.value).toBe(false);
});

test('HST-1 an intent without an answer is said again, with its own id', async () => {
  const { shell, runtime } = await stand();
  runtime.mute.add('intent');
  shell.close('i9');
  expect(shell.host.pending.value).toEqual([{ intent: 'close', instance: 'i9' }]);
  runtime.drop();
  runtime.mute.clear();
  await vi.advanceTimersByTimeAsync(400);
  const intents = runtime.heard.filter(({ type }) => type === 'intent');
  expect(intents).toHaveLength(2);
  expect(new Set(intents.map(({ intent_id }) => intent_id)).size).toBe(1);
  expect(shell.host.pending.value).toEqual([]);
});

test('HST-1 an intent that was refused is over, and the user is told in plain words', async () => {
  const { shell, runtime } = await stand();
  runtime.refuse.set('intent', { code: 'lifecycle_denied' });
  shell.close('i9');
  await settled();
  expect(shell.host.pending.value).toEqual([]);
  expect(shell.notice.value).toBe('That is not possible at the moment.');
});

test('HST-2 going to a conversation leaves the app in front; looking at what is in front does not', async () => {
  const { shell, runtime } = await stand();
  runtime.start(20);
  await settled();
  shell.go('i1');
  expect(runtime.heard.filter(({ type }) => type === 'intent')).toEqual([]);
  shell.view('main');
  expect(runtime.heard.filter(({ type }) => type === 'intent')).toMatchObject([{ intent: 'switch' }]);
});

test('what is new in front is shown, also when the one before was folded away', async () => {
  const { shell, runtime } = await stand();
  runtime.start(20);
  shell.folded.value = true;
  runtime.end({ how: 'interrupted', by: 'agent' }, true);
  runtime.start(10);
  await settled();
  expect(shell.folded.value).toBe(false);
});

test('the tab says when it comes into view and goes out of it', async () => {
  const { runtime, visible } = await stand();
  visible.value = false;
  visible.value = true;
  const told = runtime.heard.filter(({ type }) => type === 'visible');
  expect(told.map((frame) => frame.visible)).toEqual([false, true]);
});

test('a server that is away is tried a few times, not all the time', async () => {
  const { shell, server, runtime } = await stand();
  let tries = 0;
  const check = vi.spyOn(shell.reach, 'check').mockImplementation(async () => {
    tries += 1;
  });
  server.up = false;
  runtime.drop();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(check).toHaveBeenCalled();
  expect(tries).toBeLessThanOrEqual(3 * 6);
});

test('why no socket opens is found out: expired, denied, starting', async () => {
  const { shell, server, runtime } = await stand();
  for (const [status, reached] of [
    [401, 'expired'],
    [403, 'denied'],
    [503, 'starting'],
  ] as const) {
    server.status = status;
    runtime.drop();
    await vi.advanceTimersByTimeAsync(12_000);
    expect(shell.reach.state.value).toBe(reached);
  }
  server.status = 200;
  await vi.advanceTimersByTimeAsync(12_000);
  expect(shell.reach.state.value).toBe('ok');
});
