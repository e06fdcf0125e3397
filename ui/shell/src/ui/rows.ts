import type { Echo } from '../page/outbox';
import type { Entry } from '../page/timeline';
import { dayOf } from '../words';

/** A line of the timeline. Its key stays, whatever happens to what it shows. */
export type Row =
  | { key: string; kind: 'day'; at: number }
  | { key: string; kind: 'entry'; entry: Entry; first: boolean; newest: boolean }
  | { key: string; kind: 'echo'; echo: Echo };

/** The items by place with a line before each new day, then what the user said and the Runtime has not. */
export function rows(entries: readonly Entry[], echoes: readonly Echo[]): Row[] {
  const rows: Row[] = [];
  let day = '';
  let speaker = '';
  const turn = (at: number) => {
    if (dayOf(at) === day) return;
    day = dayOf(at);
    speaker = '';
    rows.push({ key: `day ${day}`, kind: 'day', at });
  };
  const said = new Set<string>();
  const mine = entries.findLast(({ item }) => item.kind === 'user_text');
  for (const entry of entries) {
    const { item } = entry;
    turn(item.at);
    const says = item.kind === 'agent_text' ? item.agent : item.kind;
    // A text keeps the row that its echo had.
    const key = item.kind === 'user_text' ? `said ${item.action_id}` : `place ${item.place}`;
    if (item.kind === 'user_text') said.add(item.action_id);
    rows.push({ key, kind: 'entry', entry, first: says !== speaker, newest: entry === mine });
    speaker = says;
  }
  for (const echo of echoes) {
    if (said.has(echo.action_id)) continue;
    turn(echo.at);
    rows.push({ key: `said ${echo.action_id}`, kind: 'echo', echo });
  }
  return rows;
}
