import { writeFileSync } from 'node:fs';
import { packConsole } from './pack.ts';

// Writes the packed console to the file that is given. A deployment runs it while it bundles the function `console`.
const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Give the file to write.');
writeFileSync(file, JSON.stringify(packConsole()));
