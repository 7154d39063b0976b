import { emailContract } from './email-contract.ts';
import { webhookContract } from './webhook-contract.ts';

export const alertContracts = { ...emailContract, ...webhookContract };
