import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Shell } from '../shell';
import { useShell, useWords } from './context';
import { SendIcon } from './icons';

/** The longest text that Interact takes. */
const LONGEST = 4000;

/** Counts the texts that were put into the composer from outside. */
const filled = signal(0);

/** Puts words into the composer, for the user to send. What they had typed stays before them. */
export function fill(shell: Shell, text: string): void {
  const conversation = shell.viewed.peek();
  if (!conversation) return;
  const draft = shell.drafts.read(conversation).trimEnd();
  shell.drafts.write(conversation, draft ? `${draft}\n${text}` : text);
  filled.value += 1;
}

/** Where the user writes. Every change is kept, so that nothing but sending takes a text away (C36). */
export function Composer({ conversation }: { conversation: string }) {
  const shell = useShell();
  const { composer } = useWords();
  const field = useRef<HTMLTextAreaElement>(null);
  const over = useRef<HTMLSpanElement>(null);
  const times = filled.value;
  const known = useRef(times);

  const measure = () => {
    const area = field.current;
    if (!area) return;
    if (!CSS.supports('field-sizing', 'content')) {
      area.style.height = 'auto';
      area.style.height = `${area.scrollHeight}px`;
    }
    const excess = Array.from(area.value).length - LONGEST;
    area.setCustomValidity(excess > 0 ? composer.tooLong(excess) : '');
    if (over.current) over.current.textContent = excess > 0 ? composer.tooLong(excess) : '';
  };

  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    area.value = shell.drafts.read(conversation);
    measure();
    // Only words that were just put there bring the caret along.
    if (times !== known.current) {
      known.current = times;
      area.focus();
      area.setSelectionRange(area.value.length, area.value.length);
    }
  }, [conversation, times]);

  const send = () => {
    const area = field.current;
    const text = area?.value.trim();
    if (!area || !text || !area.validity.valid) return;
    shell.say(text);
    area.value = '';
    shell.drafts.write(conversation, '');
    measure();
  };
  const typed = () => {
    shell.drafts.write(conversation, field.current?.value ?? '');
    measure();
  };
  const key = (event: KeyboardEvent) => {
    // Enter belongs to the input method while it composes; some browsers only say so by the old code.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    send();
  };

  return (
    <form
      class="composer"
      data-region="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <div class="composer-box">
        <textarea
          ref={field}
          id="message"
          rows={1}
          aria-label={composer.label}
          placeholder={composer.placeholder}
          autocomplete="off"
          onInput={typed}
          onKeyDown={key}
        />
        <button type="submit" class="send" aria-label={composer.send}>
          <SendIcon />
        </button>
      </div>
      <p class="hint">
        <span>{composer.hint}</span>
        <span class="over" ref={over} aria-live="polite" />
      </p>
    </form>
  );
}
