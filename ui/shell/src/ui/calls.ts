import type { Call, Ending, Item } from '../protocol';
import type { Words } from '../words';

/** What a card says of a call, in plain words. */
export interface Told {
  /** What was asked for. */
  title: string;
  /** What of: the title that the agent gave it, a length. */
  about: string;
  /** Where it stands. */
  state: string;
  why: string;
  tone: 'open' | 'running' | 'done' | 'stopped' | 'failed';
}

export function tell(call: Call, words: Words): Told {
  return { title: titleOf(call.tool, words), about: about(call, words), why: '', ...standing(call, words) };
}

/** What people call a tool: our own word for it, else its author's, made readable. */
export function titleOf(tool: string, words: Words): string {
  const method = tool.slice(tool.indexOf('.') + 1).replace(/[-_]+/g, ' ');
  return words.tools[tool] ?? method.charAt(0).toUpperCase() + method.slice(1);
}

function about({ input, tool }: Call, words: Words): string {
  const parts: string[] = [];
  if (typeof input.title === 'string') parts.push(input.title);
  if (tool === 'pomodoro.start' && typeof input.minutes === 'number')
    parts.push(words.call.minutes(input.minutes));
  return parts.join(' · ');
}

function standing({ end, stage, time }: Call, words: Words): Pick<Told, 'state' | 'tone'> & { why?: string } {
  const { call } = words;
  if (!end) {
    if (time || stage === 'started' || stage === 'app') return { state: call.started, tone: 'running' };
    if (stage === 'starting' || stage === 'activation_ready') return { state: call.starting, tone: 'open' };
    return { state: call.accepted, tone: 'open' };
  }
  if (end.status !== 'completed') {
    const tone = end.status === 'cancelled' ? 'stopped' : 'failed';
    return { state: call[end.status], tone, why: whyOf(end.reason ?? end.code, words) };
  }
  const { status, by, reason } = resultOf(end.result);
  if (status === 'not_started') return { state: call.notStarted, tone: 'failed', why: whyOf(reason, words) };
  if (status === 'interrupted' && by === 'left') return { state: call.stoppedByYou, tone: 'stopped' };
  if (status === 'interrupted' && by === 'agent') return { state: call.stoppedByAgent, tone: 'stopped' };
  if (status === 'interrupted') return { state: call.stopped, tone: 'done' };
  if (status === 'start_cancelled') return { state: call.startCalledOff, tone: 'done' };
  if (status === 'nothing_running') return { state: call.nothingRunning, tone: 'done' };
  if (status === 'cancelled') return { state: call.cancelled, tone: 'stopped' };
  if (status === 'failed') return { state: call.failed, tone: 'failed', why: whyOf(reason, words) };
  return { state: call.completed, tone: 'done' };
}

function resultOf(result: unknown): { status?: string; by?: string; reason?: string } {
  return typeof result === 'object' && result !== null ? result : {};
}

/** Why, in a few words; a reason that we have no words for is not shown as it is. */
function whyOf(reason: string | undefined, words: Words): string {
  return (reason && words.why[reason]) || '';
}

/** How something that ran ended, as a sentence. */
export function endingOf(end: Ending, app: string, name: string, words: Words): string {
  const { ended, runs, runsFirst } = words;
  if (end.how === 'completed') return ended.completed(runsFirst[app] ?? name);
  if (end.how === 'failed') return ended.failed(runsFirst[app] ?? name);
  const what = runs[app] ?? name;
  return end.by === 'left' ? ended.left(what) : ended.agent(what);
}

/** How a run ended, in a word or two. */
export function runOf(end: Ending | undefined, words: Words): string {
  if (!end) return words.life.running;
  if (end.how === 'completed') return words.life.completed;
  if (end.how === 'failed') return words.call.failed;
  return end.by === 'left' ? words.call.stoppedByYou : words.call.stoppedByAgent;
}

/** An item for those who listen. Empty when it is nothing to interrupt them for. */
export function spoken(item: Item, words: Words, nameOf: (app: string) => string): string {
  if (item.kind === 'agent_text') return `${item.agent}: ${item.text.slice(0, 500)}`;
  if (item.kind === 'call') {
    const { title, state, why } = tell(item, words);
    return [title, state, why].filter(Boolean).join(', ');
  }
  return item.kind === 'ended' ? endingOf(item.end, item.app_scope, nameOf(item.app_scope), words) : '';
}
