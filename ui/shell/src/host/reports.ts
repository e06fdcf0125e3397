import type { HostView, SurfaceView } from '../protocol';

/** How a Surface of this tab stands. */
export type Standing = 'loading' | 'ready' | 'broken';

/** What is true in this tab, as far as the Runtime wants to know it. */
export interface Facts {
  host: HostView | null;
  surfaces: SurfaceView[] | null;
  /** Whether the user can see this tab. */
  visible: boolean;
  /** The instance that the app pane shows, unless it is folded away. */
  shown: string | null;
  /** The Surfaces that are mounted here, by instance. */
  standing: ReadonlyMap<string, Standing>;
  /** Whether the app has a Surface at all; unknown until the list has come. */
  hasSurface: (appScope: string) => boolean | undefined;
}

export type Report =
  | { type: 'visible'; visible: boolean }
  | { type: 'surface_ready'; instance: string }
  | { type: 'surface_gone'; instance: string }
  | { type: 'foreground'; activation: string }
  | { type: 'failed'; activation: string };

/** What was said on this connection. A new connection begins with nothing said. */
export interface Said {
  visible: boolean;
  ready: Set<string>;
  /** Attempts that were confirmed or given up. */
  attempts: Set<string>;
}

/** The reports that are missing on this connection; they count as said. */
export function missing(facts: Facts, said: Said): Report[] {
  const reports: Report[] = [];
  if (facts.visible !== said.visible) {
    said.visible = facts.visible;
    reports.push({ type: 'visible', visible: facts.visible });
  }
  const wanted = new Set(facts.surfaces?.filter((view) => view.here !== false).map((view) => view.instance));
  for (const instance of wanted) {
    if (facts.standing.get(instance) === 'ready' && !said.ready.has(instance)) {
      said.ready.add(instance);
      reports.push({ type: 'surface_ready', instance });
    }
  }
  for (const instance of said.ready) {
    if (wanted.has(instance) && facts.standing.get(instance) !== 'ready') {
      said.ready.delete(instance);
      reports.push({ type: 'surface_gone', instance });
    } else if (facts.surfaces && !wanted.has(instance)) {
      // It was taken away by the Runtime itself, which needs no report of that.
      said.ready.delete(instance);
    }
  }
  const attempt = foreground(facts);
  if (attempt && !said.attempts.has(attempt.activation)) {
    said.attempts.add(attempt.activation);
    reports.push(attempt);
  }
  return reports;
}

/** Whether the wanted instance really is in front of somebody here, or cannot be (HST-3). */
function foreground(facts: Facts): Extract<Report, { activation: string }> | null {
  const wanted = facts.host?.foreground;
  if (!wanted?.activation || !facts.visible || facts.shown !== wanted.instance) return null;
  const activation = wanted.activation;
  const view = facts.surfaces?.find((surface) => surface.instance === wanted.instance);
  if (view) {
    if (view.here === false) return null;
    const standing = facts.standing.get(wanted.instance);
    if (standing === 'ready') return { type: 'foreground', activation };
    return standing === 'broken' ? { type: 'failed', activation } : null;
  }
  // Without a Surface the Host's own header is all there is; but it may only not have been told yet.
  return facts.surfaces && facts.hasSurface(wanted.app_scope) === false
    ? { type: 'foreground', activation }
    : null;
}
