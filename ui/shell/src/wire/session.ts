import { newId } from '../ids';

const KEY = 'lineup.session';
const FREE_AFTER_MS = 400;

/**
 * The id of this tab's Host session. It survives a reload; a tab that was duplicated took the id along
 * with its storage, and gets one of its own: only one tab holds the lock of an id.
 */
export async function hostSession(storage: Storage, locks: LockManager | undefined): Promise<string> {
  const kept = storage.getItem(KEY);
  if (kept && (await held(kept, locks))) return kept;
  const id = newId('page-');
  storage.setItem(KEY, id);
  await held(id, locks);
  return id;
}

/** Whether the lock is ours now, until the tab ends. The page before a reload may need a moment to let go. */
function held(id: string, locks: LockManager | undefined): Promise<boolean> {
  if (!locks) return Promise.resolve(true);
  return new Promise((settle) => {
    const signal = AbortSignal.timeout(FREE_AFTER_MS);
    locks
      .request(`lineup.session.${id}`, { signal }, () => {
        settle(true);
        return new Promise<void>(() => {});
      })
      .catch(() => settle(false));
  });
}
