/** `#_join/SECRET` is an invitation, `#_open/SECRET` opens the console, `#_device/CODE` logs in a command line. */
export const invitations = { door: '(?:join|open)(?=/)|device(?:/[\\w-]*)?$' };
