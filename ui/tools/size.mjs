// What a first visit loads, compressed: fails above the promise.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const MOST = 200 * 1024;
const dist = fileURLToPath(new URL('../shell/dist', import.meta.url));
let whole = 0;
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  if (entry.isFile()) whole += gzipSync(readFileSync(`${entry.parentPath}/${entry.name}`)).length;
}
console.log(`first load: ${(whole / 1024).toFixed(1)} KiB compressed, of ${MOST / 1024} KiB`);
process.exitCode = whole > MOST ? 1 : 0;
