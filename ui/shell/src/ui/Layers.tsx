import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Session } from '../protocol';
import type { Theme } from '../settings';
import type { Language } from '../words';
import { runOf, titleOf } from './calls';
import { useShell, useSpeech, useWords } from './context';
import { AppMark, CloseIcon } from './icons';
import { commandKey } from './Rail';

/** What lies on top of the page: one at a time. */
export function Layers() {
  const { layer } = useShell();
  switch (layer.value) {
    case null:
      return null;
    case 'switcher':
      return <Switcher />;
    case 'keys':
      return <Keys />;
    case 'settings':
      return <Look />;
    case 'may':
      return <May />;
    default:
      return <History session={layer.value.history} app={layer.value.app} />;
  }
}

interface DialogProps {
  title: string;
  children: ComponentChildren;
  kind?: 'side' | 'top';
}

/** A dialog of the browser's own: the rest is inert, Esc closes it, the focus goes back to its opener. */
function Dialog({ title, children, kind = 'side' }: DialogProps) {
  const { layer } = useShell();
  const words = useWords();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  const close = () => {
    layer.value = null;
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside it; Esc does the same by the browser's own hand
    <dialog
      ref={dialog}
      class={`layer ${kind}`}
      aria-modal="true"
      aria-label={title}
      onClose={close}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <div class="layer-body">
        {kind === 'side' && (
          <header class="layer-head">
            <h2>{title}</h2>
            <button type="button" class="icon-button" onClick={close} aria-label={words.close}>
              <CloseIcon />
            </button>
          </header>
        )}
        {children}
      </div>
    </dialog>
  );
}

/** What each agent of the conversation may use: its list, in the authors' words. */
function May() {
  const shell = useShell();
  const words = useWords();
  const { may } = words;
  const agents =
    shell.page.state.value?.conversations.find((each) => each.conversation === shell.viewed.value)?.agents ??
    [];
  return (
    <Dialog title={may.title}>
      <p class="layer-text">{may.text}</p>
      {agents.length === 0 && <p class="layer-text">{may.nobody}</p>}
      {agents.map(({ agent, connected, tools }) => (
        <section key={agent} class="agent">
          <h3>
            <span class="dot" data-state={connected ? 'foreground' : 'suspended'} aria-hidden="true" />
            {agent} <span class="agent-state">{connected ? may.here : may.away}</span>
          </h3>
          {tools.length === 0 && <p class="layer-text">{may.none}</p>}
          <ul class="tools">
            {tools.map(({ tool, description }) => {
              const app = tool.slice(0, tool.indexOf('.'));
              return (
                <li key={tool}>
                  <AppMark app={app} name={shell.nameOf(app)} />
                  <div>
                    <strong>{titleOf(tool, words)}</strong> <span class="tool-app">{shell.nameOf(app)}</span>
                    <p lang="en">{description}</p>
                  </div>
                </li>
              );
            })}
          </ul>
        </section>
      ))}
    </Dialog>
  );
}

/** What ran in one run of an app. */
function History({ session, app }: { session: string; app: string }) {
  const shell = useShell();
  const { words, clock, day, length } = useSpeech();
  const { life } = words;
  const name = shell.nameOf(app);
  const [found, find] = useState<Session | null | undefined>();
  const connected = shell.page.socket.phase.value === 'open';
  const latest = shell.page.timeline(shell.viewed.value ?? '').entries.value;
  useEffect(() => {
    if (!connected) return;
    shell.page.session(session).then(find, () => {});
  }, [session, connected, latest]);
  const whole = (run: Session['runs'][number]) => {
    const told = latest.findLast(
      ({ item }) => item.kind === 'ended' && item.app_scope === app && item.at >= run.started,
    );
    return run.end && told && found?.runs.at(-1) === run ? length(told.item.at - run.started) : '';
  };
  return (
    <Dialog title={life.historyOf(name)}>
      {found === null && <p class="layer-text">{life.missing}</p>}
      {found && (
        <>
          <p class="layer-text">
            {day(found.opened)}. {life.openedAt(clock(found.opened))},{' '}
            {found.closed === undefined ? life.stillOpen : life.closedAt(clock(found.closed))}
          </p>
          {found.runs.length === 0 && <p class="layer-text">{life.none}</p>}
          <ol class="runs">
            {found.runs.map((run) => (
              <li key={run.operation}>
                <time>{clock(run.started)}</time>
                <span>{runOf(run.end, words)}</span>
                <span class="run-length">{whole(run)}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </Dialog>
  );
}

function Look() {
  const { settings } = useShell();
  const { look, settings: title } = useWords();
  const languages: [Language, string][] = [
    ['en', 'English'],
    ['zh', '中文'],
  ];
  const themes: [Theme, string][] = [
    ['system', look.system],
    ['light', look.light],
    ['dark', look.dark],
  ];
  return (
    <Dialog title={title}>
      <Choice
        legend={look.language}
        options={languages}
        value={settings.language.value}
        choose={(language) => {
          settings.language.value = language;
        }}
      />
      <Choice
        legend={look.theme}
        options={themes}
        value={settings.theme.value}
        choose={(theme) => {
          settings.theme.value = theme;
        }}
      />
    </Dialog>
  );
}

interface ChoiceProps<T extends string> {
  legend: string;
  options: [T, string][];
  value: T;
  choose(value: T): void;
}

function Choice<T extends string>({ legend, options, value, choose }: ChoiceProps<T>) {
  return (
    <fieldset class="choice">
      <legend>{legend}</legend>
      {options.map(([option, label]) => (
        <label key={option}>
          <input type="radio" name={legend} checked={option === value} onChange={() => choose(option)} />
          <span lang={option === 'zh' ? 'zh-CN' : undefined}>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}

function Keys() {
  const { keys, keysTitle } = useWords();
  const list: [string, string][] = [
    [`${commandKey()} K`, keys.switcher],
    ['F6', keys.regions],
    ['Alt 1 … 9', keys.apps],
    ['Alt 0', keys.home],
    ['Alt ←', keys.back],
    ['Esc', keys.escape],
    ['?', keys.help],
    ['Enter', keys.send],
    ['Shift Enter', keys.line],
  ];
  return (
    <Dialog title={keysTitle}>
      <dl class="keys">
        {list.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

interface Place {
  key: string;
  app: string;
  name: string;
  note: string;
  go(): void;
}

/** Goes anywhere by a few letters. */
function Switcher() {
  const shell = useShell();
  const words = useWords();
  const [sought, seek] = useState('');
  const [at, move] = useState(0);
  const open = (layer: 'may' | 'settings' | 'keys') => () => {
    shell.layer.value = layer;
  };
  const places: Place[] = [
    ...(shell.page.state.value?.conversations ?? []).map(({ conversation, title }) => ({
      key: conversation,
      app: 'chat',
      name: title || conversation,
      note: words.conversation,
      go: () => shell.view(conversation),
    })),
    ...shell.instances.value.map(({ instance, app_scope, state }) => ({
      key: instance,
      app: app_scope,
      name: shell.nameOf(app_scope),
      note: words.states[state],
      go: () => shell.go(instance),
    })),
    { key: 'may', app: 'page', name: words.may.title, note: '', go: open('may') },
    { key: 'settings', app: 'page', name: words.settings, note: '', go: open('settings') },
    { key: 'keys', app: 'page', name: words.keysTitle, note: '', go: open('keys') },
  ];
  const found = places.filter(({ name }) => name.toLowerCase().includes(sought.trim().toLowerCase()));
  const chosen = Math.min(at, found.length - 1);
  const take = (place: Place | undefined) => {
    if (!place) return;
    shell.layer.value = null;
    place.go();
  };
  const key = (event: KeyboardEvent) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === 'ArrowDown') move((chosen + 1) % Math.max(1, found.length));
    else if (event.key === 'ArrowUp') move((chosen + found.length - 1) % Math.max(1, found.length));
    else if (event.key === 'Enter') take(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={words.switcher.title} kind="top">
      <input
        class="seek"
        type="text"
        role="combobox"
        aria-label={words.switcher.title}
        aria-expanded="true"
        aria-controls="places"
        aria-activedescendant={found[chosen] ? `place-${chosen}` : undefined}
        placeholder={words.switcher.placeholder}
        autocomplete="off"
        value={sought}
        onInput={(event) => {
          seek(event.currentTarget.value);
          move(0);
        }}
        onKeyDown={key}
      />
      <div id="places" class="places" role="listbox" aria-label={words.switcher.title}>
        {found.map((place, index) => (
          <div
            key={place.key}
            id={`place-${index}`}
            class="place"
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onPointerMove={() => move(index)}
            onClick={() => take(place)}
            onKeyDown={key}
          >
            <AppMark app={place.app} name={place.name} small />
            <span>{place.name}</span>
            <span class="place-note">{place.note}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="layer-text">{words.switcher.none}</p>}
    </Dialog>
  );
}
