import { createInterface } from 'node:readline/promises';

/** Asks on standard error, so that the question never gets into piped output. Ctrl-C and Ctrl-D answer ''. */
export async function askAtTerminal(question: string): Promise<string> {
  const dialog = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const ended = new Promise<string>((resolve) => dialog.once('close', () => resolve('')));
    // When the dialog is closed, some versions of Node reject the question and others never settle it.
    return await Promise.race([dialog.question(question).catch(() => ''), ended]);
  } finally {
    dialog.close();
  }
}
