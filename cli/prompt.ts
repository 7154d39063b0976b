import { createInterface } from 'node:readline/promises';

/** Asks on standard error, so that what is piped from standard output stays clean. Ctrl-C and Ctrl-D are an empty answer. */
export async function askAtTerminal(question: string): Promise<string> {
  const dialog = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const ended = new Promise<string>((resolve) => dialog.once('close', () => resolve('')));
    // Some versions of Node reject the question when the dialog is closed, others leave it open.
    return await Promise.race([dialog.question(question).catch(() => ''), ended]);
  } finally {
    dialog.close();
  }
}
