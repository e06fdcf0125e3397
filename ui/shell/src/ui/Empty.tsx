import { fill } from './Composer';
import { useShell, useWords } from './context';

/** The first screen: what this is for, and words to begin with. */
export function Empty() {
  const shell = useShell();
  const { empty } = useWords();
  return (
    <div class="empty" data-region="timeline" tabIndex={-1}>
      <h2>{empty.title}</h2>
      <p>{empty.text}</p>
      <p class="empty-try">{empty.try}</p>
      <ul class="examples">
        {empty.examples.map((example) => (
          <li key={example}>
            <button type="button" onClick={() => fill(shell, example)}>
              {example}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
