/** Code points; enough for a name, too short for a payload. */
const LABEL_MAX = 64

/** Controls, lone surrogates, line separators, and what turns the direction of text (UAX 9). */
const FORBIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/** A label in NFC, null for an empty one, undefined for one that is not allowed. */
export function parseLabel(text: string): string | null | undefined {
  const label = text.normalize('NFC')
  if (label === '') return null
  if (FORBIDDEN.test(label) || [...label].length > LABEL_MAX) return undefined
  return label
}
