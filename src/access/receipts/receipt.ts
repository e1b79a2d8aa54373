import { compileLazily } from '#lib/compile-lazily.ts'
import { Type } from '#lib/type.ts'
import type { KeySetting } from '../keys/authorise.ts'

/** Calls of one caller in a batch. */
export interface CalledReceipt {
  readonly bucket: string
  /** Paid for them; null: the quota did. */
  readonly account: string | null
  readonly calls: number
}

/** What a caller was answered with; `lost` says which batches the accounts did not hold any more. */
export type Receipt =
  | {
      readonly kind: 'calls'
      readonly meter: string
      readonly batch: number
      /** UTC day (Unix seconds). */
      readonly day: number
      readonly calls: readonly CalledReceipt[]
    }
  | {
      readonly kind: 'lost'
      readonly meter: string
      readonly after: number
      readonly through: number
    }
  | {
      readonly kind: 'minted' | 'revoked' | 'rotated'
      readonly publicId: string
      readonly owner: string
      readonly successor?: string
    }
  | KeySetting
  | { readonly kind: 'claimed'; readonly publicId: string; readonly txHash: string }
  | { readonly kind: 'paid'; readonly payer: string; readonly txHash: string }

export type DatedReceipt = Receipt & { readonly atUnix: number }

const [text, whole] = [Type.String(), Type.Integer()]
const textOrNull = Type.Union([text, Type.Null()])
const atUnix = whole
const call = Type.Object({
  bucket: text,
  account: textOrNull,
  calls: whole,
})
const keyKind = Type.Union([
  Type.Literal('minted'),
  Type.Literal('revoked'),
  Type.Literal('rotated'),
])
const schema = compileLazily(
  Type.Union([
    Type.Object({
      kind: Type.Literal('calls'),
      atUnix,
      meter: text,
      batch: whole,
      day: whole,
      calls: Type.Array(call),
    }),
    Type.Object({
      kind: Type.Literal('lost'),
      atUnix,
      meter: text,
      after: whole,
      through: whole,
    }),
    Type.Object({
      kind: keyKind,
      atUnix,
      publicId: text,
      owner: text,
      successor: Type.Optional(text),
    }),
    Type.Object({
      kind: Type.Union([Type.Literal('labeled'), Type.Literal('limited')]),
      atUnix,
      publicId: text,
      value: textOrNull,
    }),
    Type.Object({
      kind: Type.Literal('moved'),
      atUnix,
      publicId: text,
      successor: text,
      message: text,
    }),
    Type.Object({ kind: Type.Literal('claimed'), atUnix, publicId: text, txHash: text }),
    Type.Object({ kind: Type.Literal('paid'), atUnix, payer: text, txHash: text }),
  ]),
)

/** Undefined for a line torn by a kill. */
export function parseReceipt(line: string): DatedReceipt | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return schema().Check(value) ? value : undefined
  } catch {
    return undefined
  }
}
