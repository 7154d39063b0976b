import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pageNames } from '../../support/doc-blocks.ts';

export const root = path.join(import.meta.dirname, '../../..');

/** Paths from the root, of all files below a folder. */
export function filesBelow(folder: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
    path.posix.join(folder, file.replaceAll('\\', '/')),
  );
}

export function readText(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

/** README.md, CONTRIBUTING.md and all pages of docs/: path from the root → text. */
export function readPages(): ReadonlyMap<string, string> {
  return new Map(pageNames.map((page) => [page, readText(page)]));
}

const codeBlock = /^ *```.*\n(?:.*\n)*?^ *```$/gm;

export function withoutCodeBlocks(text: string): string {
  return text.replaceAll(codeBlock, '');
}

/** The lines of a text's code blocks. */
export function codeBlockLines(text: string): string[] {
  return [...text.matchAll(codeBlock)].flatMap(([block]) => block.split('\n').slice(1, -1));
}

/** The code spans of a text, without its code blocks. */
export function codeSpans(text: string): string[] {
  return [...withoutCodeBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
}
