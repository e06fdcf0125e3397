import { expect, test } from 'vitest';
import type { HostView, SurfaceView } from '../protocol';
import { type Facts, missing, type Said, type Standing } from './reports';

const surface: SurfaceView = {
  instance: 'i1',
  app_scope: 'pomodoro',
  surface: 'main',
  state: 'starting',
  here: true,
  document: null,
  time: null,
};
const host = (activation: string | null): HostView => ({
  foreground: { instance: 'i1', app_scope: 'pomodoro', conversation: 'main', activation },
  instances: [],
});
const nothing = (): Said => ({ visible: true, ready: new Set(), attempts: new Set() });
const facts = (changes: Partial<Facts> = {}, standing: Standing = 'ready'): Facts => ({
  host: host('a1'),
  surfaces: [surface],
  visible: true,
  shown: 'i1',
  standing: new Map([['i1', standing]]),
  hasSurface: (app) => app === 'pomodoro',
  ...changes,
});

test('HST-3 the foreground is confirmed once, by its attempt, when it really is seen', () => {
  const said = nothing();
  expect(missing(facts(), said)).toEqual([
    { type: 'surface_ready', instance: 'i1' },
    { type: 'foreground', activation: 'a1' },
  ]);
  expect(missing(facts(), said)).toEqual([]);
  expect(missing(facts({ host: host('a2') }), said)).toEqual([{ type: 'foreground', activation: 'a2' }]);
});

test('HST-3 it is not confirmed by a hidden tab, a folded pane, a loading view or a tab that only has the placeholder', () => {
  for (const [changes, standing] of [
    [{ visible: false }, 'ready'],
    [{ shown: null }, 'ready'],
    [{ shown: 'i2' }, 'ready'],
    [{}, 'loading'],
    [{ surfaces: [{ ...surface, here: false }] }, 'ready'],
    [{ surfaces: null }, 'ready'],
    [{ host: null }, 'ready'],
    [{ host: host(null) }, 'ready'],
    [{ surfaces: [] }, 'ready'],
  ] as [Partial<Facts>, Standing][]) {
    const told = missing(facts(changes, standing), nothing());
    expect(told.filter(({ type }) => type === 'foreground')).toEqual([]);
  }
});

test('C25 an instance whose view is broken is given up, by its attempt', () => {
  expect(missing(facts({}, 'broken'), nothing())).toEqual([{ type: 'failed', activation: 'a1' }]);
});

test('an app without a view is in front as soon as its pane is', () => {
  const without = { surfaces: [], hasSurface: () => false };
  expect(missing(facts(without), nothing())).toEqual([{ type: 'foreground', activation: 'a1' }]);
  expect(missing(facts({ ...without, hasSurface: () => undefined }), nothing())).toEqual([]);
});

test('C6 a view that is a new document is gone, and ready again after its handshake', () => {
  const said = nothing();
  missing(facts(), said);
  expect(missing(facts({}, 'loading'), said)).toEqual([{ type: 'surface_gone', instance: 'i1' }]);
  expect(missing(facts(), said)).toEqual([{ type: 'surface_ready', instance: 'i1' }]);
});

test('a view that the Runtime took away is not reported, and is new when it comes again', () => {
  const said = nothing();
  missing(facts(), said);
  expect(missing(facts({ surfaces: [], standing: new Map() }), said)).toEqual([]);
  expect(missing(facts(), said)).toEqual([{ type: 'surface_ready', instance: 'i1' }]);
});

test('coming into view and going out of it is told', () => {
  const said = nothing();
  missing(facts(), said);
  expect(missing(facts({ visible: false }), said)).toEqual([{ type: 'visible', visible: false }]);
  expect(missing(facts(), said)).toEqual([{ type: 'visible', visible: true }]);
});
