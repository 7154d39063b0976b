import { createConsoleFiles } from '../frame/aws/function-environment.ts';

export function consoleDeps() {
  return { files: createConsoleFiles() };
}
