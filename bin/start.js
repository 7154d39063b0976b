// What `npm start` runs: local/main.ts, unless this Node cannot. Plain JavaScript that an old Node can read too.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { engines, version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const [[major, minor], [majorMin, minorMin]] = [process.versions.node, engines.node].map((version) =>
  version.match(/\d+/g).map(Number),
);

if (major < majorMin || (major === majorMin && minor < minorMin)) {
  fail(`Node ${process.versions.node} is too old: lfs-quota needs ${engines.node}. Install a newer Node.`);
} else {
  await start();
}

async function start() {
  try {
    await import('tsx');
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    fail(`The packages of this checkout are not complete. Run \`npm ci\` in ${root}`);
    return;
  }
  globalThis.builtFrom = { version, commit: null };
  await import('../local/main.ts');
}

function fail(message) {
  process.stderr.write(`lfs-quota: ${message}\n`);
  process.exitCode = 1;
}
