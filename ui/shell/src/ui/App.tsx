import { useEffect } from 'preact/hooks';
import type { Shell } from '../shell';
import { AppPane } from './AppPane';
import { Composer } from './Composer';
import { Page, useShell, useWords } from './context';
import { MenuIcon, ShieldIcon } from './icons';
import { Layers } from './Layers';
import { Rail } from './Rail';
import { Status } from './Status';
import { Timeline } from './Timeline';

/** The page. Its parts stand in one order for good; where they are seen is a matter of CSS. */
export function App({ shell }: { shell: Shell }) {
  const foreground = shell.foreground.value;
  const focus = foreground !== null && shell.surface.value?.time != null;
  return (
    <Page.Provider value={shell}>
      <div
        class="page"
        data-front={foreground ? 'app' : 'chat'}
        data-focus={focus}
        data-folded={shell.folded.value}
      >
        <Rail />
        <Veil />
        <main class="middle">
          <Head />
          <Status />
          <Middle />
        </main>
        <AppPane />
      </div>
      <Notice />
      <Layers />
    </Page.Provider>
  );
}

function Middle() {
  const shell = useShell();
  const viewed = shell.viewed.value;
  if (!viewed) return <div class="log" />;
  return (
    <>
      <Timeline key={viewed} conversation={viewed} />
      <Composer conversation={viewed} />
    </>
  );
}

function Head() {
  const shell = useShell();
  const words = useWords();
  const viewed = shell.viewed.value;
  const agents =
    shell.page.state.value?.conversations.find((each) => each.conversation === viewed)?.agents ?? [];
  return (
    <header class="head">
      <button
        type="button"
        class="icon-button menu"
        aria-label={words.menu}
        aria-expanded={shell.railOpen.value}
        onClick={() => {
          shell.railOpen.value = !shell.railOpen.value;
        }}
      >
        <MenuIcon />
      </button>
      <div class="head-text">
        <h1>{viewed ? shell.titleOf(viewed) : 'LineUp'}</h1>
        <p class="head-agents">
          {agents.map(({ agent, connected }) => (
            <span key={agent}>
              <span class="dot" data-state={connected ? 'foreground' : 'suspended'} aria-hidden="true" />
              {agent}
              <span class="unseen"> {connected ? words.may.here : words.may.away}</span>
            </span>
          ))}
        </p>
      </div>
      {viewed && (
        <button
          type="button"
          class="button may"
          aria-label={words.may.open}
          onClick={() => {
            shell.layer.value = 'may';
          }}
        >
          <ShieldIcon />
          <span>{words.may.open}</span>
        </button>
      )}
    </header>
  );
}

/** Behind the opened rail of a narrow page. */
function Veil() {
  const { railOpen } = useShell();
  const words = useWords();
  if (!railOpen.value) return null;
  return (
    <button
      type="button"
      class="veil"
      tabIndex={-1}
      aria-label={words.close}
      onClick={() => {
        railOpen.value = false;
      }}
    />
  );
}

const NOTICE_MS = 6000;

function Notice() {
  const { notice } = useShell();
  const text = notice.value;
  useEffect(() => {
    if (!text) return;
    const timer = setTimeout(() => {
      notice.value = null;
    }, NOTICE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class="notice-place" role="status" aria-live="polite">
      {text && <p class="notice">{text}</p>}
    </div>
  );
}
