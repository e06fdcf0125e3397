import type { Shell } from '../shell';
import type { Words } from '../words';

/** Something that is not as it should be: what, and the one thing to do about it. */
export interface Trouble {
  kind: string;
  text: string;
  next?: string;
  act?: { label: string; run: 'try' | 'write' | 'reload' };
}

/** The trouble that matters most now. */
export function trouble(shell: Shell, words: Words): Trouble | null {
  const { status } = words;
  const { page, host, outbox, reach } = shell;
  const again = { label: words.tryNow, run: 'try' } as const;
  const reached = reach.state.value;
  const isOpen = (link: typeof page | typeof host | typeof outbox) => link.socket.phase.value === 'open';
  if (!isOpen(page)) {
    if (reached === 'expired') return { kind: 'expired', text: status.expired, next: status.expiredNext };
    if (reached === 'denied') return { kind: 'denied', text: status.denied, next: status.deniedNext };
    if (reached === 'starting') return { kind: 'starting', text: status.starting, act: again };
    if (reached === 'unknown') return { kind: 'connecting', text: status.connecting };
    return { kind: 'offline', text: status.offline, next: status.offlineNext, act: again };
  }
  if (!isOpen(host)) {
    const ended = host.socket.ended.value;
    if (ended?.code === 1013) return { kind: 'no-host', text: status.tooMany, act: again };
    const replaced = ended?.code === 1008 && ended.reason.startsWith('replaced');
    if (replaced) return { kind: 'other-tab', text: status.otherTab, act: again };
    // The three come one after the other; only what stays away is worth a word.
    return ended ? { kind: 'no-host', text: status.noHost, act: again } : null;
  }
  if (!isOpen(outbox)) {
    return outbox.socket.ended.value ? { kind: 'no-actions', text: status.noActions, act: again } : null;
  }
  const state = page.state.value;
  if (!state) return null;
  if (state.conversations.length === 0)
    return { kind: 'empty', text: status.noConversations, next: status.noConversationsNext };
  const agents = state.conversations.find((each) => each.conversation === shell.viewed.value)?.agents ?? [];
  if (agents.length === 0) return { kind: 'no-agent', text: status.noAgent, next: status.noAgentNext };
  if (agents.every((agent) => !agent.connected)) {
    const [only] = agents;
    const text = agents.length === 1 && only ? status.agentAway(only.agent) : status.agentsAway;
    return { kind: 'agent-away', text, act: { label: status.agentAwayNext, run: 'write' } };
  }
  return null;
}
