// Takes the screenshots that somebody should look at: `npm run look` writes them to `look/`.
// Needs Chromium: `CHROMIUM=/usr/bin/chromium npm run look`.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { serve } from './fake.mjs';

const out = process.argv[2] ?? fileURLToPath(new URL('../look', import.meta.url));
mkdirSync(out, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } };
const problems = [];

async function opened({ size, theme, language }, prepare, visit) {
  const fake = await serve({ dist: true });
  prepare?.(fake.world);
  const context = await browser.newContext({
    viewport: SIZES[size],
    colorScheme: theme,
    locale: language === 'zh' ? 'zh-CN' : 'en-GB',
    deviceScaleFactor: size === 'narrow' ? 2 : 1,
  });
  const page = await context.newPage();
  const name = `${size}-${theme}-${language}`;
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`${name}: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`${name}: ${error.message}`));
  await page.goto(fake.address);
  await page.getByRole('textbox').waitFor();
  const shot = (what) => page.screenshot({ path: path.join(out, `${what}-${name}.png`) });
  await visit({ page, fake, shot });
  await context.close();
  await fake.close();
}

/** A morning with some work in it. */
function morning(chinese) {
  return (world) => {
    const hour = 3_600_000;
    const day = Date.now() - 20 * hour;
    const said = (at, text) =>
      world.add(
        { kind: 'user_text', action_id: `x${at}`, text, html: `<p>${text}</p>`, delivery: 'sent' },
        at,
      );
    const agent = (at, text, html = `<p>${text}</p>`) =>
      world.add({ kind: 'agent_text', agent: 'demo', text, html }, at);
    let count = 0;
    const call = (at, tool, input, result, rest = {}) => {
      count += 1;
      const base = {
        call: `x${count}`,
        call_id: `x${count}`,
        agent: 'demo',
        app_scope: 'pomodoro',
        tool,
        input,
      };
      const end = result && { end: { at: at + 60_000, status: 'completed', result } };
      world.add({ kind: 'call', ...base, ...end, ...rest }, at);
    };
    const title = chinese ? '读第三章' : 'Read chapter three';
    said(day, chinese ? '25 分钟，读第三章' : '25 minutes for chapter three, please');
    call(day + 1, 'pomodoro.start', { minutes: 25, title }, { status: 'completed' });
    world.add({ kind: 'opened', instance: 'x', app_scope: 'pomodoro', session: 'x' }, day + 2);
    world.add(
      { kind: 'ended', app_scope: 'pomodoro', call: 'x', end: { how: 'completed', late_by_ms: 0 } },
      day + 1_500_000,
    );
    world.add({ kind: 'closed', instance: 'x', app_scope: 'pomodoro', session: 'x' }, day + 1_600_000);
    const now = Date.now() - 600_000;
    said(now, chinese ? '你能做什么？' : 'What can you do?');
    agent(
      now + 1000,
      '',
      chinese
        ? '<p>我可以为你：</p><ul><li>开始一段<strong>专注</strong>，例如“20 分钟”</li><li>停止它</li></ul><p>开始后计时由本机保管。</p>'
        : '<p>Two things, so far:</p><ul><li>start a <strong>focus</strong> of any length, as in <code>20 minutes</code></li><li>stop it again</li></ul><p>Once it runs, your own computer keeps the time.</p>',
    );
    said(now + 60_000, chinese ? '再来 10 分钟' : 'Ten more minutes then');
    call(now + 61_000, 'pomodoro.start', { minutes: 10 }, { status: 'interrupted', by: 'left' });
    said(now + 200_000, chinese ? '停止' : 'stop');
    call(now + 201_000, 'pomodoro.interrupt', {}, { status: 'nothing_running' });
    call(
      now + 260_000,
      'pomodoro.start',
      { minutes: 45, title },
      { status: 'not_started', reason: 'host_unavailable' },
    );
    agent(
      now + 262_000,
      chinese
        ? '没有开始，当时没有打开的页面。'
        : 'It did not start: no page was open to show it. Shall I try again?',
    );
  };
}

for (const size of ['wide', 'narrow']) {
  for (const theme of ['light', 'dark']) {
    for (const language of ['en', 'zh']) {
      const how = { size, theme, language };
      await opened(how, null, async ({ page, shot }) => {
        await page.waitForTimeout(300);
        await shot('1-empty');
      });
      await opened(how, morning(language === 'zh'), async ({ page, shot, fake }) => {
        await page.waitForTimeout(400);
        await shot('2-conversation');
        await page.getByRole('button', { name: /may use|可以使用什么/ }).click();
        await page.waitForTimeout(300);
        await shot('5-tools');
        await page.keyboard.press('Escape');
        fake.world.start(20, language === 'zh' ? '写年终总结' : 'Write the yearly summary');
        await page.frameLocator('iframe').locator('[data-phase="running"]').waitFor();
        await page.waitForTimeout(1300);
        await shot('3-focus');
        await fake.close();
        await page.locator('.status[data-kind="offline"]').waitFor();
        await page.waitForTimeout(300);
        await shot('4-offline');
        problems.splice(
          0,
          problems.length,
          ...problems.filter((line) => !line.includes('net::ERR_CONNECTION_')),
        );
      });
    }
  }
}
await browser.close();
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);
