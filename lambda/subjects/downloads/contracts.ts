import { downloadContract } from './contract.ts';
import { lfsCopiesContract } from './copies-contract.ts';

export const downloadContracts = { ...downloadContract, ...lfsCopiesContract };
