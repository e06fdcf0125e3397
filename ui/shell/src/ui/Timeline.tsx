import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useShell, useWords } from './context';
import { Empty } from './Empty';
import { Line } from './Items';
import { DownIcon } from './icons';
import { rows } from './rows';
import { useVirtual } from './virtual';

/** How near to the oldest row the next page is fetched. */
const NEAR = 12;

/** What happened in the conversation in view. What comes late never moves what somebody is about to click. */
export function Timeline({ conversation }: { conversation: string }) {
  const shell = useShell();
  const words = useWords();
  const timeline = shell.page.timeline(conversation);
  const entries = timeline.entries.value;
  const echoes = shell.outbox.echoes.value;
  const list = useMemo(
    () =>
      rows(
        entries,
        echoes.filter((echo) => echo.conversation === conversation),
      ),
    [entries, echoes, conversation],
  );
  const log = useRef<HTMLDivElement>(null);
  const [held, hold] = useState(false);
  const virtual = useVirtual({
    count: list.length,
    getScrollElement: () => log.current,
    estimateSize: () => 72,
    getItemKey: (index) => list[index]?.key ?? index,
    followOnAppend: !held,
  });

  const settled = useRef(false);
  useLayoutEffect(() => {
    if (settled.current || list.length === 0) return;
    settled.current = true;
    virtual.scrollToEnd();
  });

  // The place for it grows and shrinks; whoever stands by the end stays there.
  const stuck = useRef(true);
  const some = list.length > 0;
  useEffect(() => {
    if (!log.current || typeof ResizeObserver === 'undefined') return;
    const observer = new ResizeObserver(() => {
      if (stuck.current) virtual.scrollToEnd();
    });
    observer.observe(log.current);
    return () => observer.disconnect();
  }, [some]);

  const atEnd = list.length === 0 || virtual.isAtEnd();
  const newest = entries.at(-1)?.item.place ?? 0;
  const seen = useRef(0);
  if (atEnd) seen.current = newest;
  const unseen = entries.filter(({ item }) => item.place > seen.current && item.kind !== 'user_text').length;

  // What the user says is something they want to see.
  const mine = echoes.at(-1)?.action_id;
  useEffect(() => {
    if (mine) virtual.scrollToEnd();
  }, [mine]);

  const shown = virtual.getVirtualItems();
  const nearOldest = shown.length > 0 && (shown[0]?.index ?? 0) < NEAR;
  const loading = shell.page.loading.value;
  useEffect(() => {
    if (nearOldest && settled.current && timeline.older.value && !loading)
      void shell.page.older(conversation);
  }, [nearOldest, loading, entries]);

  const aim = (event: PointerEvent) => {
    hold(event.target instanceof Element && event.target.closest('button, a') !== null);
  };

  if (list.length === 0) return timeline.known.value ? <Empty /> : <div class="log" />;
  return (
    <div class="log-frame">
      {loading && <div class="older">{words.loadingOlder}</div>}
      {/* Rows come and go by scrolling; what is new is said by the page's own live region. */}
      <div
        class="log"
        ref={log}
        role="log"
        aria-live="off"
        aria-label={words.messages}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
        tabIndex={0}
        data-region="timeline"
        onScroll={() => {
          stuck.current = virtual.isAtEnd();
        }}
        onPointerOver={aim}
        onPointerLeave={() => hold(false)}
      >
        <div class="log-rows" style={{ height: `${virtual.getTotalSize()}px` }}>
          {shown.map(({ key, index, start }) => {
            const row = list[index];
            return (
              row && (
                <div
                  class="row"
                  key={key}
                  data-index={index}
                  ref={virtual.measureElement}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <Line row={row} />
                </div>
              )
            );
          })}
        </div>
      </div>
      {!atEnd && (
        <button
          type="button"
          class="chip"
          onClick={() => virtual.scrollToEnd()}
          aria-label={unseen > 0 ? undefined : words.toNewest}
        >
          <DownIcon />
          {unseen > 0 && words.newMessages(unseen)}
        </button>
      )}
    </div>
  );
}
