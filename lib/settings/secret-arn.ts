import { z } from 'zod';

export const secretArn = z
  .string()
  .max(600)
  .regex(
    /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:.+-[A-Za-z0-9]{6}$/,
    "isn't a complete secret ARN: include the six characters at its end",
  );
