import * as z from 'zod';

export const setWebhookBody = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .max(2048)
      .meta({
        description:
          'https on port 443, with a domain name whose addresses are all public. Its path and query are sent as they are.',
        examples: ['https://hooks.acme.example/lfs-quota'],
      }),
    newSecret: z.boolean().optional().meta({
      default: false,
      description: 'Replace the secret. The old one signs too for 24 hours. A new webhook always gets one.',
    }),
  })
  .meta({ id: 'SetWebhook' });
