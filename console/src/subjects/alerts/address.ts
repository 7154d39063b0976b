/** `#_email/confirm/KEY` and `#_email/end/KEY` are links in e-mails. */
export const alerts = { door: 'email(?=/(?:confirm|end)/[\\w.-]+$)' };
