import { lockContract } from './contract.ts';
import { lfsLockContract } from './lfs-contract.ts';

export const lockContracts = { ...lfsLockContract, ...lockContract };
