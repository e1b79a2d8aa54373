import { keep, kept } from '../parts/kept.ts'

const NAME = 'sexton-payment'

/** A transfer that was sent; its hash is public, so that a reload may remember it. */
export interface SentPayment {
  readonly txHash: string
  readonly publicId: string
  readonly payer: string
  readonly usd: number
}

export function remember(payment: SentPayment | undefined): void {
  keep(NAME, payment && JSON.stringify(payment))
}

export function remembered(): SentPayment | undefined {
  try {
    return JSON.parse(kept(NAME) ?? '') ?? undefined
  } catch {
    return undefined
  }
}
