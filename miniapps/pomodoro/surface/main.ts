import { connect } from '@lineup/bridge';
import { type Phase, phaseOf, remaining, type Told, text } from './countdown';
import { wordsFor } from './words';

const part = <T extends Element>(id: string) => document.getElementById(id) as unknown as T;
const focus = part<HTMLElement>('focus');
const rest = part<SVGCircleElement>('rest');
const face = part<HTMLElement>('remaining');

let words = wordsFor(navigator.language);
let told: Told | null = null;
let title = '';
let phase: Phase = 'waiting';
let timer: ReturnType<typeof setTimeout> | undefined;

function write(id: string, words: string): void {
  const element = part<HTMLElement>(id);
  if (element.textContent !== words) element.textContent = words;
}

function draw(): void {
  clearTimeout(timer);
  focus.dataset.phase = phase;
  write('title', title || words.title);
  const left = told ? remaining(told, performance.now()) : 0;
  const running = phase === 'running' && told !== null;
  write('remaining', running ? text(left) : '');
  face.classList.toggle('long', left > 3_600_000);
  if (running) face.setAttribute('aria-label', words.left(text(left)));
  write('note', running && told ? words.of(Math.round(told.length_ms / 60_000)) : '');
  write('said', phase === 'running' ? '' : words[phase]);
  // The arc goes ahead to where the next second ends, so that it moves and never jumps.
  const next = Math.max(0, left - 1000);
  const share = phase === 'done' ? 1 : told ? next / told.length_ms : 0;
  rest.style.strokeDashoffset = String(1 - share);
  if (running && left > 0) timer = setTimeout(draw, left % 1000 || 1000);
}

function ticks(): void {
  const group = part<SVGGElement>('ticks');
  for (let minute = 0; minute < 60; minute += 1) {
    const line = document.createElementNS('http://www.w3.org/2000/svg', 'line');
    const long = minute % 5 === 0;
    line.setAttribute('x1', '120');
    line.setAttribute('x2', '120');
    line.setAttribute('y1', long ? '25' : '27');
    line.setAttribute('y2', '31');
    line.setAttribute('transform', `rotate(${minute * 6} 120 120)`);
    if (long) line.setAttribute('class', 'fifth');
    group.append(line);
  }
}

ticks();
const bridge = connect<{ title?: unknown }>({ name: 'pomodoro', version: '1' });
bridge.onContext(({ theme, locale, reducedMotion, styles }) => {
  const root = document.documentElement;
  root.style.colorScheme = theme;
  root.lang = locale;
  root.classList.toggle('still', reducedMotion);
  const font = styles?.variables?.['--font-sans'];
  if (font) root.style.setProperty('--font-sans', font);
  words = wordsFor(locale);
  draw();
});
bridge.onState(({ data, time }) => {
  const now = performance.now();
  const next = time && { ...time, at: now };
  phase = phaseOf({ phase, told }, next, now);
  told = next;
  title = typeof data.title === 'string' ? data.title : '';
  draw();
});
bridge.ready.catch(() => write('said', words.lost));
document.addEventListener('visibilitychange', draw);
