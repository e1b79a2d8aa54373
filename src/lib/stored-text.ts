/** PostgreSQL rejects NUL in texts, and no store keeps half a surrogate pair. */
export function toStoredText(text: string): string {
  return text.replaceAll('\u0000', '\uFFFD').toWellFormed()
}
