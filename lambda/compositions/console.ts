import { createConsoleFiles } from '../aws/function-environment.ts';

export function consoleDeps() {
  return { files: createConsoleFiles() };
}
