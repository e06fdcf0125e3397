import { expect, test } from 'vitest';
import { tables } from '.';

/** Every text of a table, with the path to it. */
function texts(table: object, path = ''): [string, string][] {
  return Object.entries(table).flatMap(([key, value]): [string, string][] => {
    const at = `${path}.${key}`;
    if (typeof value === 'string') return [[at, value]];
    if (typeof value === 'function') return [[at, String(value('Name'))]];
    return texts(value, at);
  });
}

test('both languages have the same words, and none is empty', () => {
  const [en, zh] = [texts(tables.en), texts(tables.zh)];
  expect(zh.map(([path]) => path)).toEqual(en.map(([path]) => path));
  for (const [path, text] of [...en, ...zh]) expect(text, path).not.toBe('');
});

test('what people read has none of our own terms in it', () => {
  const ours =
    /\b(outcome|activation|instance|receipt|surface|host|runtime|inventory|miniapp|session|bridge)\b/i;
  for (const [path, text] of [...texts(tables.en), ...texts(tables.zh)]) expect(text, path).not.toMatch(ours);
});
