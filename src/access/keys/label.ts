/** Code points; enough for a name, too short for a payload. */
const LABEL_MAX = 64

/** Controls, lone surrogates, line separators, and what turns the direction of text (UAX 9). */
const FORBIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/** What has the shape of a secret: a label is shown and logged, a secret never is. */
const SECRET = /_[0-9a-f]{8}_[0-9a-f]{32}/

/** A label in NFC, null for an empty one, undefined for one that is not allowed. */
export function parseLabel(text: string): string | null | undefined {
  const label = text.normalize('NFC')
  if (label === '') return null
  if (FORBIDDEN.test(label) || SECRET.test(label) || [...label].length > LABEL_MAX) return undefined
  return label
}
