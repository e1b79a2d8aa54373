/** A text from outside as every engine can store it: PostgreSQL has no NUL in texts. */
export function toStoredText(text: string): string {
  return text.replaceAll('\u0000', '\uFFFD')
}
