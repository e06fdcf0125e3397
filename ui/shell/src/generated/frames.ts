// Generated from crates/adapters/web by `cargo xtask ui types`. Do not edit: change the frames there.
// Numbers are whole; places and moments fit into a JavaScript number.

// Every socket, down: the answers.

/**
 * The answer to a request; `value` where the request asks for something. An error without `id`
 * answers a frame whose own could not be read.
 */
export type Answer = { "type": "ok", id: string, value?: unknown, } | { "type": "error", id?: string, code: string, reason?: string, message: string, pointer?: string, };

// /page, up.

/**
 * What the page asks on `/page`. Every `id` is the page's own; the answer names it.
 */
export type PageUp = { "type": "follow", id: string, conversation: string, after?: number, open?: Array<number>, } | { "type": "history", id: string, conversation: string, before?: number,
/**
 * 1 to 200, else 50.
 */
limit?: number, } | { "type": "session", id: string, session: string, };

// /page, down.

/**
 * What the Runtime says to the page without being asked.
 */
export type PageDown = { "type": "state" } & State | { "type": "items" } & Items;

/**
 * Everything, never a difference.
 */
export type State = {
/**
 * The conversations, by id.
 */
conversations: Array<Conversation>,
/**
 * The installed MiniApps, by scope.
 */
apps: Array<App>, };

/**
 * A conversation, and who is in it.
 */
export type Conversation = { conversation: string, title: string, agents: Array<Agent>, };

/**
 * An agent of a conversation.
 */
export type Agent = { agent: string,
/**
 * Whether it can be reached now.
 */
connected: boolean,
/**
 * What it is allowed to see here (INV-6).
 */
tools: Array<Tool>, };

/**
 * A tool, for people.
 */
export type Tool = { tool: string,
/**
 * What it does, in its author's words.
 */
description: string, };

/**
 * An installed MiniApp, for people.
 */
export type App = { app_scope: string,
/**
 * Its name, in its author's words.
 */
title: string,
/**
 * Whether the policy lets it run.
 */
enabled: boolean, };

/**
 * Items of one conversation.
 */
export type Items = { conversation: string, items: Array<Item>, };

/**
 * The `value` of the answer to `follow` and to `history`.
 */
export type Page = {
/**
 * Oldest first.
 */
items: Array<Item>,
/**
 * Whether there are older ones; missing where `after` was asked.
 */
older?: boolean, };

/**
 * One thing that people see in a conversation. `place` names it for ever and orders it.
 */
export type Item = { place: number,
/**
 * The wall clock, in milliseconds since 1970 (UTC).
 */
at: number, } & ({ "kind": "agent_text", agent: string, text: string,
/**
 * The text as Markdown, rendered and cleaned: the only markup that the page puts into its document.
 */
html: string, } | { "kind": "user_text", action_id: string, text: string, html: string, delivery: Delivery,
/**
 * Why it failed.
 */
code?: string, } | { "kind": "call" } & Call | { "kind": "opened" } & Life | { "kind": "closed" } & Life | { "kind": "ended", app_scope: string, call: string, end: Ending, } | { "kind": "other" });

/**
 * What it is.
 */
export type What = { "kind": "agent_text", agent: string, text: string,
/**
 * The text as Markdown, rendered and cleaned: the only markup that the page puts into its document.
 */
html: string, } | { "kind": "user_text", action_id: string, text: string, html: string, delivery: Delivery,
/**
 * Why it failed.
 */
code?: string, } | { "kind": "call" } & Call | { "kind": "opened" } & Life | { "kind": "closed" } & Life | { "kind": "ended", app_scope: string, call: string, end: Ending, } | { "kind": "other" };

/**
 * Where a text of the user's stands.
 */
export type Delivery = "sending" | "sent" | "failed";

/**
 * A call of an agent's, as far as it has come.
 */
export type Call = {
/**
 * The Runtime's name for it.
 */
call: string,
/**
 * The agent's name for it.
 */
call_id: string, agent: string, app_scope: string, tool: string, input: Record<string, unknown>,
/**
 * The last receipt, while it is open.
 */
stage?: Stage,
/**
 * Its running operation, when this was written.
 */
time?: Time,
/**
 * How it ended.
 */
end?: End, };

export type Stage = "accepted" | "starting" | "activation_ready" | "started" | "app" | "activation_failed" | "activation_cancelled";

/**
 * The time of a running operation, in milliseconds.
 */
export type Time = {
/**
 * Its whole length.
 */
length_ms: number,
/**
 * What is left of it.
 */
remaining_ms: number, };

/**
 * How a call ended.
 */
export type End = { at: number, status: Status,
/**
 * Of a completed one.
 */
result?: unknown,
/**
 * Of any other.
 */
code?: string, reason?: string, message?: string, };

export type Status = "completed" | "failed" | "cancelled" | "expired" | "rejected";

/**
 * A run of a MiniApp that begins or is over.
 */
export type Life = { instance: string, app_scope: string,
/**
 * The App session, which `session` asks for.
 */
session: string, };

/**
 * How an operation ended.
 */
export type Ending = { "how": "completed", late_by_ms: number, } | { "how": "interrupted", by: By, } | { "how": "failed" };

export type By = "agent" | "left";

/**
 * The `value` of the answer to `session`: what people may see of one run of a MiniApp (SES-2).
 */
export type Session = { session: string, conversation: string, app_scope: string, instance: string,
/**
 * The wall clock, in milliseconds since 1970 (UTC), as of every moment here.
 */
opened: number, closed?: number,
/**
 * Its last operations, oldest first.
 */
runs: Array<SessionRun>, };

/**
 * One operation of a session.
 */
export type SessionRun = { operation: string, started: number,
/**
 * Missing while it runs.
 */
end?: Ending, };

// /host, up.

/**
 * What a Host session says on `/host`. `hello` comes first.
 */
export type HostUp = { "type": "hello", id: string, session: string, visible: boolean, } | { "type": "visible", id: string, visible: boolean, } | { "type": "foreground", id: string, activation: string, } | { "type": "failed", id: string, activation: string, } | { "type": "surface_ready", id: string, instance: string, } | { "type": "surface_gone", id: string, instance: string, } | { "type": "use_here", id: string, instance: string, } | { "type": "intent" } & Named;

/**
 * An intent and its names.
 */
export type Named = { id: string, intent_id: string, } & ({ "intent": "switch", to?: string, } | { "intent": "back" } | { "intent": "close", instance: string, } | { "intent": "hide" } | { "intent": "lock" } | { "intent": "sleep" } | { "intent": "resume" });

/**
 * What the user did in the shell.
 */
export type Intent = { "intent": "switch", to?: string, } | { "intent": "back" } | { "intent": "close", instance: string, } | { "intent": "hide" } | { "intent": "lock" } | { "intent": "sleep" } | { "intent": "resume" };

// /host, down.

/**
 * What a Host session is told without asking. A view is all that should be seen, never a difference.
 */
export type HostDown = { "type": "view", seq: number, host?: HostView, surfaces?: Array<SurfaceView>, };

/**
 * What every Host session should show.
 */
export type HostView = {
/**
 * `null` is Interact.
 */
foreground: Foreground | null,
/**
 * The live instances, for the switcher.
 */
instances: Array<Listed>, };

/**
 * The instance that should be in the foreground.
 */
export type Foreground = { instance: string, app_scope: string, conversation: string,
/**
 * The attempt to confirm; `null` when there is nothing to confirm.
 */
activation: string | null, };

/**
 * A live instance.
 */
export type Listed = { instance: string, app_scope: string, conversation: string, state: InstanceState, };

/**
 * Where a live instance stands (ACT-6).
 */
export type InstanceState = "starting" | "foreground" | "background" | "suspended";

/**
 * A Surface that should be mounted, and what it is told.
 */
export type SurfaceView = { instance: string, app_scope: string, surface: string, state: InstanceState,
/**
 * Whether its one live document belongs to this session (HST-3).
 */
here: boolean,
/**
 * What its MiniApp has written for it (SUR-3).
 */
document: SurfaceDocument | null,
/**
 * Its running operation, when this was written.
 */
time: Time | null, };

/**
 * The session data of a Surface.
 */
export type SurfaceDocument = { revision: number, data: unknown, };

// /user, up.

/**
 * What the user does, on `/user`.
 */
export type UserUp = { "type": "act", id: string, session: string, conversation: string, action_id: string, method: string, input: Record<string, unknown>, };

// GET /surfaces.

/**
 * The body of `GET /surfaces`.
 */
export type Surfaces = { surfaces: Array<Surface>, };

/**
 * One entry of `GET /surfaces`; its document is at `/surface/{app_scope}/{surface}`.
 */
export type Surface = { app_scope: string, surface: string, };
