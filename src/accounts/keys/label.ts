import { Type } from 'typebox'
import { type Refusal, refuse } from '#domain/refusal.ts'

export const Label = Type.Union([Type.String({ maxLength: 512 }), Type.Null()], {
  description: 'Free text of at most 64 characters; null for none.',
})

/** Code points. */
const LABEL_MAX = 64

/** Controls, lone surrogates, line separators and bidi controls (UAX 9). */
const FORBIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/** Nothing that is seen: spaces, format characters and others that leave no mark. */
const INVISIBLE = /^[\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u

/** Labels are logged, so they must not hold a secret. */
const SECRET = /_[0-9a-f]{8}_[0-9a-f]{32}/

/** Normalizes to NFC; null if empty, undefined if not allowed. */
export function parseLabel(text: string | null | undefined): string | null | undefined {
  const label = (text ?? '').normalize('NFC')
  if (label === '') return null
  if ([FORBIDDEN, INVISIBLE, SECRET].some((each) => each.test(label))) return undefined
  if ([...label].length > LABEL_MAX) return undefined
  return label
}

export function refuseLabel(): Refusal {
  const reason =
    'must be at most 64 characters, without controls, characters that turn text around, or a secret'
  return refuse('invalid_body', `label ${reason}`, {
    errors: [{ in: 'body', name: 'label', reason }],
  })
}
