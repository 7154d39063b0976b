import type { AuditLog } from './audit-store.ts';
import type { RequestKeys } from './request-key-store.ts';
import type { AdminCredential } from './rules/tokens.ts';
import type { TokenStore } from './token-store.ts';

/** Who asks, and what they may. */
export interface AccessPorts {
  readonly tokens: TokenStore;
  readonly requestKeys: RequestKeys;
  readonly audit: AuditLog;
  readonly admin: AdminCredential;
}
