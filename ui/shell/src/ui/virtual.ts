import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core';
import { useLayoutEffect, useReducer, useRef } from 'preact/hooks';

type Wanted = Pick<
  VirtualizerOptions<HTMLElement, HTMLElement>,
  'count' | 'getScrollElement' | 'estimateSize' | 'getItemKey' | 'followOnAppend'
>;

/** The rows of a long list that are near what is seen. It stands by its end, and keeps what is read in place. */
export function useVirtual(wanted: Wanted): Virtualizer<HTMLElement, HTMLElement> {
  const [, render] = useReducer((count: number) => count + 1, 0);
  const kept = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null);
  const options = {
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    overscan: 8,
    paddingStart: 8,
    paddingEnd: 16,
    anchorTo: 'end' as const,
    scrollEndThreshold: 48,
    onChange: () => render(undefined as never),
    ...wanted,
  };
  kept.current ??= new Virtualizer(options);
  const virtual = kept.current;
  virtual.setOptions(options);
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  return virtual;
}
