import { useEffect, useState } from 'preact/hooks';
import { useShell, useWords } from './context';
import { trouble } from './status';

/** A moment of trouble that mends itself is not worth a word. */
const WORTH_MS = 700;

/** The line above the timeline that says what is wrong. */
export function Status() {
  const shell = useShell();
  const words = useWords();
  const now = trouble(shell, words);
  const kind = now?.kind;
  const [told, tell] = useState<string | undefined>();
  useEffect(() => {
    const timer = setTimeout(() => tell(kind), kind ? WORTH_MS : 0);
    return () => clearTimeout(timer);
  }, [kind]);
  const shown = now && told === kind ? now : null;
  const act = () => {
    if (shown?.act?.run === 'try') shell.tryNow();
    if (shown?.act?.run === 'reload') location.reload();
    if (shown?.act?.run === 'write') document.getElementById('message')?.focus();
  };
  return (
    <div class="status-place" role="status" aria-live="polite">
      {shown && (
        <div class="status" data-kind={shown.kind}>
          <span class="status-mark" aria-hidden="true" />
          <p>
            {shown.text} {shown.next && <span class="status-next">{shown.next}</span>}
          </p>
          {shown.act && (
            <button type="button" class="link" onClick={act}>
              {shown.act.label}
            </button>
          )}
        </div>
      )}
    </div>
  );
}
