/** PostgreSQL rejects NUL in texts. */
export function toStoredText(text: string): string {
  return text.replaceAll('\u0000', '\uFFFD')
}
