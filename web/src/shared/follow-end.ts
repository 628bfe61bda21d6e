/** Keeps a list that grows at its end in sight: its end, or what the person scrolled to. */

import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

/** So near to the end, a person is taken to be at it. */
const NEAR_PX = 48;

/** So near to the beginning, what was before is asked for. */
const OLDER_PX = 600;

export type Following<Content extends HTMLElement> = {
  scroller: RefObject<HTMLDivElement | null>;
  content: RefObject<Content | null>;
  isFollowing: boolean;
  toEnd: () => void;
  onScroll: () => void;
};

/** Returns what a list that follows its end needs. `first` is its first item, which is another one after older ones came. */
export function useFollowEnd<Content extends HTMLElement>(
  first: string | undefined,
  onOlder: () => void,
): Following<Content> {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<Content>(null);
  const [isFollowing, setFollowing] = useState(true);
  const latest = useRef(isFollowing);
  latest.current = isFollowing;
  /** How far what is shown was from the end, when it was last scrolled or drawn. */
  const fromEnd = useRef(0);

  const toEnd = useCallback(() => {
    const box = scroller.current;
    if (box === null) return;
    box.scrollTop = box.scrollHeight;
    setFollowing(true);
  }, []);

  const onScroll = () => {
    const box = scroller.current;
    if (box === null) return;
    fromEnd.current = box.scrollHeight - box.scrollTop;
    setFollowing(fromEnd.current - box.clientHeight < NEAR_PX);
    if (box.scrollTop < OLDER_PX) onOlder();
  };

  // What is put before the first item must not move what is read.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is about the first item being another.
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box === null || latest.current) return;
    box.scrollTop = box.scrollHeight - fromEnd.current;
  }, [first]);

  useEffect(() => {
    const [box, inner] = [scroller.current, content.current];
    if (box === null || inner === null) return;
    const watcher = new ResizeObserver(() => {
      if (latest.current) box.scrollTop = box.scrollHeight;
      fromEnd.current = box.scrollHeight - box.scrollTop;
    });
    watcher.observe(inner);
    watcher.observe(box);
    return () => watcher.disconnect();
  }, []);

  return { scroller, content, isFollowing, toEnd, onScroll };
}
