#!/usr/bin/env node
// Starts the command line: its TypeScript source in a checkout, the bundle of `npm pack` in an installed package.
// Plain JavaScript that an old Node can read too, so that it can say which version is needed.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { engines, version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

if (isNodeTooOld()) {
  fail(`Node ${process.versions.node} is too old: lfs-quota needs ${engines.node}. Install a newer Node.`);
} else if (existsSync(`${root}cli/main.ts`)) {
  await startSource();
} else {
  await startBundle();
}

function isNodeTooOld() {
  const [major, minor] = numbersOf(process.versions.node);
  const [majorMin, minorMin] = numbersOf(engines.node);
  return major < majorMin || (major === majorMin && minor < minorMin);
}

function numbersOf(version) {
  return version.match(/\d+/g).map(Number);
}

async function startSource() {
  try {
    const { register } = await import('tsx/esm/api');
    register();
    globalThis.builtFrom = { version, commit: null };
    await import('../cli/main.ts');
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    fail(`${firstLine(error)}\nThe packages of this checkout are not complete. Run \`npm ci\` in ${root}`);
  }
}

async function startBundle() {
  try {
    // `npm pack` builds it; a checkout has none.
    await import(new URL('../dist/lfs-quota.js', import.meta.url).href);
  } catch (error) {
    fail(`${firstLine(error)}\nThe package in ${root} is damaged. Install lfs-quota again.`);
  }
}

function firstLine(error) {
  return String(error.message).split('\n')[0];
}

function fail(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exitCode = 1;
}
