export { downloadContract as download } from './contract.ts';
export { lfsCopiesContract as lfsCopies } from './copies-contract.ts';
