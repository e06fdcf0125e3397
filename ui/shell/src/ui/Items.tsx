import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Entry } from '../page/timeline';
import type { Call, Ending, Life } from '../protocol';
import { now } from '../surface/frame';
import { endingOf, tell } from './calls';
import { useShell, useSpeech, useWords } from './context';
import { AppMark } from './icons';
import type { Row } from './rows';

/** One line of the timeline. */
export function Line({ row }: { row: Row }) {
  const { day } = useSpeech();
  if (row.kind === 'day') return <h3 class="day">{day(row.at)}</h3>;
  if (row.kind === 'echo') {
    const { echo } = row;
    return <Mine text={echo.text} at={echo.at} delivery={echo.state} action={echo.action_id} echoed newest />;
  }
  return <Shown entry={row.entry} first={row.first} newest={row.newest} />;
}

function Shown({ entry, first, newest }: { entry: Entry; first: boolean; newest: boolean }) {
  const words = useWords();
  const { item, toldAt } = entry;
  switch (item.kind) {
    case 'agent_text':
      return <Theirs agent={item.agent} html={item.html} at={item.at} first={first} />;
    case 'user_text':
      return (
        <Mine
          text={item.text}
          html={item.html}
          at={item.at}
          delivery={item.delivery}
          action={item.action_id}
          newest={newest}
        />
      );
    case 'call':
      return <CallCard call={item} at={item.at} toldAt={toldAt} />;
    case 'opened':
      return <SessionCard life={item} at={item.at} />;
    case 'closed':
      return <Quiet at={item.at} text={<Closed app={item.app_scope} />} />;
    case 'ended':
      return <Ended app={item.app_scope} end={item.end} at={item.at} />;
    default:
      return <Quiet at={item.at} text={words.unknown} />;
  }
}

function Theirs({ agent, html, at, first }: { agent: string; html: string; at: number; first: boolean }) {
  return (
    <article class="theirs">
      {first && (
        <header class="who">
          {agent} <Clock at={at} />
        </header>
      )}
      <Prose html={html} />
    </article>
  );
}

interface MineProps {
  text: string;
  html?: string;
  at: number;
  delivery: 'sending' | 'sent' | 'failed';
  action: string;
  /** Not in the timeline yet. */
  echoed?: boolean;
  /** The last one of the user's: only there it is worth a word that it was sent. */
  newest: boolean;
}

function Mine({ text, html, at, delivery, action, echoed, newest }: MineProps) {
  const { outbox, viewed } = useShell();
  const words = useWords();
  const retry = () => {
    const conversation = viewed.peek();
    if (!conversation) return;
    // A text that never arrived is sent under its own name. One that the Runtime has ended keeps its end.
    if (echoed) outbox.retry({ action_id: action, conversation, text, at });
    else outbox.say(conversation, text);
  };
  const waits = delivery === 'sending' && outbox.socket.phase.value !== 'open';
  return (
    <article class="mine" data-delivery={delivery}>
      <span class="unseen">{words.you}</span>
      {html ? <Prose html={html} /> : <div class="prose plain">{text}</div>}
      <footer class="delivery">
        <span class={delivery === 'sent' && !newest ? 'unseen' : undefined}>
          {waits ? words.delivery.waiting : words.delivery[delivery]}
        </span>
        <Clock at={at} />
        {delivery === 'failed' && (
          <button type="button" class="link" onClick={retry}>
            {words.retry}
          </button>
        )}
      </footer>
    </article>
  );
}

/** Text as the server has rendered and cleaned it. Its links open beside this page. */
function Prose({ html }: { html: string }) {
  const open = (event: MouseEvent) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link) return;
    event.preventDefault();
    if (/^https?:$/.test(link.protocol)) window.open(link.href, '_blank', 'noopener,noreferrer');
  };
  // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: the click is that of a link inside, which answers to the keyboard by itself
  return <div class="prose" onClick={open} dangerouslySetInnerHTML={{ __html: html }} />;
}

function CallCard({ call, at, toldAt }: { call: Call; at: number; toldAt: number }) {
  const shell = useShell();
  const words = useWords();
  const { title, about, state, why, tone } = tell(call, words);
  const name = shell.nameOf(call.app_scope);
  return (
    <article class="card" data-tone={tone} aria-label={`${name}: ${title}`}>
      <AppMark app={call.app_scope} name={name} />
      <div class="card-text">
        <div class="card-title">
          <strong>{title}</strong>
          {about && <span class="card-about">{about}</span>}
          <Clock at={call.end?.at ?? at} />
        </div>
        <div class="card-state">
          <span class="tone">{state}</span>
          {why && <span>{why}</span>}
          {call.time && tone === 'running' && <Remaining time={call.time} toldAt={toldAt} />}
          <span class="card-by">{name}</span>
        </div>
      </div>
    </article>
  );
}

/** Counts down from what was told, and writes only when the text changes. */
export function Remaining({ time, toldAt }: { time: NonNullable<Call['time']>; toldAt: number }) {
  const { length, words } = useSpeech();
  const read = () => length(now(time, toldAt)?.remaining_ms ?? 0);
  const [text, set] = useState(read);
  useEffect(() => {
    set(read());
    const timer = setInterval(() => set(read()), 250);
    return () => clearInterval(timer);
  }, [time, toldAt]);
  return <span class="remaining">{words.call.left(text)}</span>;
}

function SessionCard({ life, at }: { life: Life; at: number }) {
  const shell = useShell();
  const words = useWords();
  const name = shell.nameOf(life.app_scope);
  const open = () => {
    shell.layer.value = { history: life.session, app: life.app_scope };
  };
  return (
    <div class="quiet">
      <AppMark app={life.app_scope} name={name} small />
      <span>{words.life.opened(name)}</span>
      <button type="button" class="link" onClick={open} aria-label={words.life.historyOf(name)}>
        {words.life.history}
      </button>
      <Clock at={at} />
    </div>
  );
}

function Closed({ app }: { app: string }) {
  const shell = useShell();
  return <>{useWords().life.closed(shell.nameOf(app))}</>;
}

function Ended({ app, end, at }: { app: string; end: Ending; at: number }) {
  const shell = useShell();
  const { words, length } = useSpeech();
  const late =
    end.how === 'completed' && end.late_by_ms >= 60_000 ? words.ended.late(length(end.late_by_ms)) : '';
  const text = endingOf(end, app, shell.nameOf(app), words);
  return <Quiet at={at} text={late ? `${text} (${late})` : text} />;
}

function Quiet({ text, at }: { text: ComponentChildren; at: number }) {
  return (
    <div class="quiet">
      <span>{text}</span>
      <Clock at={at} />
    </div>
  );
}

function Clock({ at }: { at: number }) {
  const { clock } = useSpeech();
  return (
    <time class="clock" dateTime={new Date(at).toISOString()}>
      {clock(at)}
    </time>
  );
}
