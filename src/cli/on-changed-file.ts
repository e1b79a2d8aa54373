/** The option of every command that indexes. */
export const ON_CHANGED_FILE = [
  '--on-changed-file <reread|refuse>',
  'when the ecosystem file changed: read those parts again, or refuse (SEXTON_ON_CHANGED_FILE, default reread)',
] as const
