import type { ComponentChildren } from 'preact';
import { useShell, useSpeech, useWords } from './context';
import { Remaining } from './Items';
import { AppMark, BackIcon, CloseIcon, FoldIcon, UnfoldIcon } from './icons';
import { Dot } from './Rail';

/** The app in front, under a header of the Host's own. Its stage stands for good: CSS alone shows or hides it. */
export function AppPane() {
  const shell = useShell();
  const words = useWords();
  const foreground = shell.foreground.value;
  const name = foreground ? shell.nameOf(foreground.app_scope) : '';
  return (
    <section
      class="pane"
      data-region={foreground ? 'app' : undefined}
      data-shown={foreground !== null}
      data-folded={shell.folded.value}
      data-app={foreground?.app_scope}
      tabIndex={-1}
      aria-label={foreground ? words.app.region(name) : undefined}
      aria-hidden={foreground === null}
    >
      {foreground && <Header name={name} />}
      <div class="stage-frame">
        <div class="stage" ref={shell.stage.place} />
        {foreground && <Cover name={name} />}
      </div>
    </section>
  );
}

function Header({ name }: { name: string }) {
  const shell = useShell();
  const { app, back, states } = useWords();
  const foreground = shell.foreground.value;
  if (!foreground) return null;
  const { instance, app_scope, conversation } = foreground;
  const listed = shell.instances.value.find((each) => each.instance === instance);
  const state = foreground.activation ? 'starting' : (listed?.state ?? 'foreground');
  const time = shell.surface.value?.time ?? null;
  const elsewhere = conversation !== shell.viewed.value;
  const folded = shell.folded.value;
  const closing = time ? app.closeEnds(name) : app.close(name);
  return (
    <header class="pane-head">
      <button
        type="button"
        class="icon-button"
        onClick={() => shell.back()}
        aria-label={time ? app.backEnds : back}
        title={time ? app.backEnds : back}
      >
        <BackIcon />
      </button>
      <AppMark app={app_scope} name={name} />
      <h2 class="pane-name">
        {name}
        {elsewhere && <span class="pane-in">{app.in(shell.titleOf(conversation))}</span>}
      </h2>
      {folded && time ? (
        <Remaining time={time} toldAt={shell.host.toldAt.value} />
      ) : (
        <Dot state={state} label={states[state]} />
      )}
      <button
        type="button"
        class="icon-button fold"
        onClick={() => {
          shell.folded.value = !folded;
        }}
        aria-label={folded ? app.unfold(name) : app.fold}
        title={folded ? app.unfold(name) : app.fold}
        aria-expanded={!folded}
      >
        {folded ? <UnfoldIcon /> : <FoldIcon />}
      </button>
      <button
        type="button"
        class="icon-button"
        onClick={() => shell.close(instance)}
        aria-label={closing}
        title={closing}
      >
        <CloseIcon />
      </button>
    </header>
  );
}

/** What stands in the place of an app that cannot be seen: why, and the one thing to do about it. */
function Cover({ name }: { name: string }) {
  const shell = useShell();
  const { words } = useSpeech();
  const { app } = words;
  const foreground = shell.foreground.value;
  const view = shell.surface.value;
  if (!foreground) return null;
  const { instance } = foreground;
  const close = { label: words.close, run: () => shell.close(instance) };
  if (!view) {
    const starting = foreground.activation !== null;
    return <Card quiet title={starting ? app.starting(name) : app.noView} />;
  }
  if (view.here === false) {
    const use = { label: app.useHere, run: () => shell.host.useHere(instance) };
    return <Card title={app.elsewhereTitle(name)} text={app.elsewhereText} first={use} />;
  }
  if (view.state === 'suspended') {
    const wake = { label: app.wake, run: () => shell.host.intend({ intent: 'switch', to: instance }) };
    return <Card title={app.suspendedTitle(name)} text={app.suspendedText} first={wake} />;
  }
  const reload = { label: words.reload, run: () => shell.stage.reload(instance) };
  switch (shell.stage.statuses.value.get(instance)) {
    case 'ready':
      return null;
    case 'unloadable':
      return (
        <Card alert title={app.unloadableTitle(name)} text={app.brokenText} first={reload} second={close} />
      );
    case 'silent':
    case 'stuck':
      return <Card alert title={app.brokenTitle(name)} text={app.brokenText} first={reload} second={close} />;
    case 'flooded':
      return (
        <Card alert title={app.floodedTitle(name)} text={app.floodedText} first={reload} second={close} />
      );
    default:
      return <Card quiet title={app.starting(name)} />;
  }
}

interface CardProps {
  title: string;
  text?: ComponentChildren;
  first?: { label: string; run(): void };
  second?: { label: string; run(): void };
  alert?: boolean;
  quiet?: boolean;
}

function Card({ title, text, first, second, alert, quiet }: CardProps) {
  return (
    <div class="cover" role={alert ? 'alert' : undefined} data-quiet={quiet}>
      <p class="cover-title">{title}</p>
      {text && <p>{text}</p>}
      <div class="cover-actions">
        {first && (
          <button type="button" class="button main" onClick={first.run}>
            {first.label}
          </button>
        )}
        {second && (
          <button type="button" class="button" onClick={second.run}>
            {second.label}
          </button>
        )}
      </div>
    </div>
  );
}
