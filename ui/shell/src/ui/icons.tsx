import type { ComponentChildren } from 'preact';

/** Drawn with the text's own colour, said by the text beside them. */
function Icon({ children, size = 20 }: { children: ComponentChildren; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      {children}
    </svg>
  );
}

export const SendIcon = () => (
  <Icon>
    <path d="M10 16V4.5M5 9.2l5-5 5 5" />
  </Icon>
);
export const CloseIcon = () => (
  <Icon>
    <path d="M5 5l10 10M15 5L5 15" />
  </Icon>
);
export const BackIcon = () => (
  <Icon>
    <path d="M12 4.5L6.5 10l5.5 5.5" />
  </Icon>
);
export const FoldIcon = () => (
  <Icon>
    <path d="M4.5 7.5L10 13l5.5-5.5" />
  </Icon>
);
export const UnfoldIcon = () => (
  <Icon>
    <path d="M4.5 12.5L10 7l5.5 5.5" />
  </Icon>
);
export const MenuIcon = () => (
  <Icon>
    <path d="M3.5 6h13M3.5 10h13M3.5 14h9" />
  </Icon>
);
export const SettingsIcon = () => (
  <Icon>
    <path d="M3.5 6.5h7M14.5 6.5h2M3.5 13.5h2M9.5 13.5h7" />
    <circle cx="12.5" cy="6.5" r="2" />
    <circle cx="7.5" cy="13.5" r="2" />
  </Icon>
);
export const KeysIcon = () => (
  <Icon>
    <circle cx="10" cy="10" r="7" />
    <path d="M8 8a2 2 0 1 1 2.8 1.9c-.6.3-.8.6-.8 1.3M10 13.6v.1" />
  </Icon>
);
export const SearchIcon = () => (
  <Icon>
    <circle cx="9" cy="9" r="5" />
    <path d="M12.8 12.8L16.5 16.5" />
  </Icon>
);
export const ShieldIcon = () => (
  <Icon>
    <path d="M10 3l6 2v4.6c0 3.6-2.4 6-6 7.4-3.6-1.4-6-3.8-6-7.400V5z" />
    <path d="M7.5 10l1.8 1.8 3.4-3.6" />
  </Icon>
);
export const DownIcon = () => (
  <Icon size={16}>
    <path d="M10 4v11.500M5 10.800l5 5 5-5" />
  </Icon>
);

const GLYPHS: Record<string, ComponentChildren> = {
  chat: <path d="M4 5.500h12v8H9l-3.5 3v-3H4z" />,
  pomodoro: (
    <>
      <circle cx="10" cy="11" r="6" />
      <path d="M10 11V7.500M8 2.800h4" />
    </>
  ),
  'task-dashboard': <path d="M4 6l1.5 1.500L8 5M10.5 6.500H16M4 13l1.5 1.500L8 12M10.5 13.500H16" />,
  whiteboard: <path d="M4 15.500l1-4L13.5 3l3 3L8 14.500zM11.5 5l3 3" />,
};

/** The mark of an app: its own glyph, or the first letter of its name, on its accent colour. */
export function AppMark({ app, name, small }: { app: string; name: string; small?: boolean }) {
  const glyph = GLYPHS[app];
  return (
    <span class={small ? 'mark small' : 'mark'} data-accent={accent(app)} aria-hidden="true">
      {glyph ? <Icon size={small ? 14 : 18}>{glyph}</Icon> : (Array.from(name)[0] ?? '?').toUpperCase()}
    </span>
  );
}

const ACCENTS: Record<string, string> = { chat: 'ink', pomodoro: 'tomato' };
const OTHERS = ['moss', 'plum', 'ochre', 'teal'];

/** One accent per app, the same in every place. */
export function accent(app: string): string {
  let sum = 0;
  for (const character of app) sum = (sum * 31 + character.charCodeAt(0)) % 9973;
  return ACCENTS[app] ?? OTHERS[sum % OTHERS.length] ?? 'ink';
}
