const NAME = 'sexton-payment'

/** A transfer that was sent; its hash is public, so that a reload may remember it. */
export interface SentPayment {
  readonly txHash: string
  readonly publicId: string
  readonly payer: string
  readonly usd: number
}

export function remember(payment: SentPayment | undefined): void {
  if (payment === undefined) localStorage.removeItem(NAME)
  else localStorage.setItem(NAME, JSON.stringify(payment))
}

export function remembered(): SentPayment | undefined {
  const text = localStorage.getItem(NAME)
  return text === null ? undefined : JSON.parse(text)
}
