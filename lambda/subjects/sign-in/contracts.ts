import { signInContract } from './contract.ts';
import { userContract } from './user-contract.ts';

export const signInContracts = { ...signInContract, ...userContract };
