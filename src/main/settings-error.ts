/** One line: the variable and what to write. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}
