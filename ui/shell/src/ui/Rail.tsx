import type { Listed } from '../protocol';
import { useShell, useWords } from './context';
import { AppMark, KeysIcon, SearchIcon, SettingsIcon } from './icons';

/** Where one can go: conversations, then apps, each with how it stands. */
export function Rail() {
  const shell = useShell();
  const words = useWords();
  const state = shell.page.state.value;
  const foreground = shell.foreground.value;
  const instances = shell.instances.value;
  const opened = new Set(instances.map(({ app_scope }) => app_scope));
  const others = state?.apps.filter(({ app_scope }) => app_scope !== 'chat' && !opened.has(app_scope)) ?? [];
  return (
    <nav
      class="rail"
      data-region="rail"
      tabIndex={-1}
      aria-label={words.menu}
      data-open={shell.railOpen.value}
    >
      <button
        type="button"
        class="rail-find"
        onClick={() => {
          shell.layer.value = 'switcher';
        }}
      >
        <SearchIcon />
        <span>{words.switcher.title}</span>
        <kbd>{commandKey()} K</kbd>
      </button>
      <h2>{words.conversations}</h2>
      <ul>
        {state?.conversations.map(({ conversation, title }) => {
          const current = conversation === shell.viewed.value;
          return (
            <li key={conversation}>
              <button
                type="button"
                class="rail-item"
                aria-current={current ? 'page' : undefined}
                onClick={() => shell.view(conversation)}
              >
                <AppMark app="chat" name={title} small />
                <span class="rail-name">{title || conversation}</span>
                {current && !foreground && <Dot state="foreground" label={words.states.foreground} />}
              </button>
            </li>
          );
        })}
        {state?.conversations.length === 0 && <li class="rail-none">{words.noConversation}</li>}
      </ul>
      <h2>{words.apps}</h2>
      <ul>
        {instances.map((listed) => (
          <li key={listed.instance}>
            <Instance listed={listed} current={listed.instance === foreground?.instance} />
          </li>
        ))}
        {others.map(({ app_scope, title, enabled }) => (
          <li key={app_scope} class="rail-item idle">
            <AppMark app={app_scope} name={title} small />
            <span class="rail-name">{title}</span>
            <span class="rail-state">{enabled ? words.states.closed : words.states.off}</span>
          </li>
        ))}
      </ul>
      <div class="rail-foot">
        <button
          type="button"
          class="plain-button"
          onClick={() => {
            shell.layer.value = 'settings';
          }}
        >
          <SettingsIcon />
          <span>{words.settings}</span>
        </button>
        <button
          type="button"
          class="plain-button"
          onClick={() => {
            shell.layer.value = 'keys';
          }}
        >
          <KeysIcon />
          <span>{words.keysTitle}</span>
        </button>
      </div>
    </nav>
  );
}

function Instance({ listed, current }: { listed: Listed; current: boolean }) {
  const shell = useShell();
  const { states } = useWords();
  const name = shell.nameOf(listed.app_scope);
  const { state, label } = dotOf(listed, shell);
  return (
    <button
      type="button"
      class="rail-item"
      aria-current={current ? 'true' : undefined}
      onClick={() => shell.go(listed.instance)}
    >
      <AppMark app={listed.app_scope} name={name} small />
      <span class="rail-name">{name}</span>
      <Dot state={state} label={states[label]} />
    </button>
  );
}

type Label = 'starting' | 'foreground' | 'background' | 'suspended' | 'needsYou';

function dotOf(listed: Listed, shell: ReturnType<typeof useShell>): { state: string; label: Label } {
  const wanted = shell.foreground.value;
  const view = shell.host.surfaces.value?.find(({ instance }) => instance === listed.instance);
  // It waits to be seen, and its one document is in another tab.
  if (wanted?.instance === listed.instance && wanted.activation && view?.here === false)
    return { state: 'needs-you', label: 'needsYou' };
  return { state: listed.state, label: listed.state };
}

export function Dot({ state, label }: { state: string; label: string }) {
  return (
    <span class="rail-state">
      <span class="dot" data-state={state} aria-hidden="true" />
      <span class="dot-label">{label}</span>
    </span>
  );
}

export function commandKey(): string {
  return /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';
}
