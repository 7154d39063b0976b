import { byteHoursContract } from './byte-hours-contract.ts';
import { historyContract } from './contract.ts';

export const historyContracts = { ...historyContract, ...byteHoursContract };
