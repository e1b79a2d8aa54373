/** Nothing was changed; says what would be right. */
export class UpkeepError extends Error {
  override readonly name = 'UpkeepError'
}
