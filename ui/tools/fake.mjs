// The page with a small fake of the Runtime behind it: `npm run dev:fake`, then open what it prints.
// `--dist` serves what was built, under the same CSP as the real server.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createServer, runnerImport } from 'vite';
import { WebSocketServer } from 'ws';

const ui = fileURLToPath(new URL('..', import.meta.url));
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

/** Serves the page and a fake world; for `look.mjs` and the browser tests as well. */
export async function serve({ port = 0, dist = false, pace } = {}) {
  const { module } = await runnerImport(path.join(ui, 'fake/world.ts'));
  const world = new module.World(undefined, undefined, pace);
  const html = () => readFileSync(path.join(ui, '../miniapps/pomodoro/surface/main.html'), 'utf8');
  const server = http.createServer();
  const vite = dist
    ? null
    : await createServer({
        root: path.join(ui, 'shell'),
        configFile: path.join(ui, 'shell/vite.config.ts'),
        server: { middlewareMode: { server }, hmr: { server } },
        appType: 'spa',
      });
  const state = { status: 200 };

  server.on('request', (request, response) => {
    const { pathname } = new URL(request.url, 'http://fake');
    if (pathname === '/surfaces' || pathname.startsWith('/surface/')) {
      const list = { surfaces: [{ app_scope: 'pomodoro', surface: 'main' }] };
      response.writeHead(state.status, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(pathname === '/surfaces' ? JSON.stringify(list) : html());
      return;
    }
    if (vite) {
      vite.middlewares(request, response);
      return;
    }
    try {
      const file = path.join(ui, 'shell/dist', pathname === '/' ? 'index.html' : path.normalize(pathname));
      const body = readFileSync(file);
      const type = TYPES[path.extname(file)] ?? 'application/octet-stream';
      response.writeHead(200, { 'content-type': type, 'content-security-policy': policy(html()) });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });

  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    const { pathname } = new URL(request.url, 'http://fake');
    if (!['/host', '/user', '/page'].includes(pathname)) return;
    if (state.status !== 200) {
      socket.end(`HTTP/1.1 ${state.status} No\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (peer) => {
      const end = world.connect(pathname, {
        send: (text) => peer.send(text),
        close: (code, reason) => (code === 1006 ? peer.terminate() : peer.close(code, reason)),
      });
      peer.on('message', (data) => end.receive(String(data)));
      peer.on('close', () => end.ended());
    });
  });
  await new Promise((listening) => server.listen(port, '127.0.0.1', listening));
  return {
    world,
    state,
    address: `http://127.0.0.1:${server.address().port}/`,
    async close() {
      world.drop();
      await vite?.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** As the real server's: own files only, and the inline script and style of the bundled Surfaces. */
function policy(surface) {
  const hash = (tag) => {
    const text = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(surface)?.[1] ?? '';
    return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  };
  return [
    "default-src 'none'",
    `script-src 'self' ${hash('script')}`,
    `style-src 'self' ${hash('style')}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { address } = await serve({ port: 5199, dist: process.argv.includes('--dist') });
  console.log(`the page with a fake Runtime: ${address}`);
  console.log('say “Start a 20 minute focus”, then “stop”; Ctrl-C ends it');
}
