/** `#_join/SECRET` is an invitation, `#_device/CODE` logs in a command line. */
export const invitations = { door: 'join(?=/)|device(?:/[\\w-]*)?$' };
