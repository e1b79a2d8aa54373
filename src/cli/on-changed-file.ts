export const ON_CHANGED_FILE = [
  '--on-changed-file <reread|refuse>',
  'after the ecosystem file changed: re-read the changed parts, or refuse to start (SEXTON_ON_CHANGED_FILE, default reread)',
] as const
