import { keep, kept } from '../parts/kept.ts'

const NAME = 'sexton-payments'

/** A transfer that was sent; its hash is public, so that a reload may remember it. */
export interface SentPayment {
  readonly txHash: string
  readonly publicId: string
  readonly payer: string
  /** Base units of USDC, decimal. */
  readonly micro: string
}

/** Read anew each time: another tab may have added one. */
export function keptPayments(): readonly SentPayment[] {
  try {
    const known: unknown = JSON.parse(kept(NAME) ?? '[]')
    return Array.isArray(known) ? known.filter(isPayment) : []
  } catch {
    return []
  }
}

export function keepPayment(payment: SentPayment): void {
  write([payment, ...without(payment.txHash)])
}

export function forgetPayment(txHash: string): void {
  write(without(txHash))
}

function without(txHash: string): readonly SentPayment[] {
  return keptPayments().filter((each) => each.txHash !== txHash)
}

function write(payments: readonly SentPayment[]): void {
  keep(NAME, payments.length === 0 ? undefined : JSON.stringify(payments))
}

function isPayment(value: unknown): value is SentPayment {
  const { txHash, publicId, payer, micro } = (value ?? {}) as Partial<SentPayment>
  return (
    /^0x[0-9a-f]{64}$/.test(String(txHash)) &&
    /^[0-9]{1,20}$/.test(String(micro)) &&
    typeof publicId === 'string' &&
    typeof payer === 'string'
  )
}
