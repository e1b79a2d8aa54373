import { readFile } from 'node:fs/promises'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { networkOf } from '../offers/offer.ts'
import { SCHEMES } from '../schemes/schemes.ts'
import type { Facilitator } from './facilitator.ts'
import { facilitatorClient } from './facilitator-client.ts'

/** Uses any x402 facilitator, by its HTTP interface. */
export function httpFacilitator(input: {
  readonly url: string
  readonly headersFile: string | undefined
  readonly payment: Payment
  /** Sent with each payment: by it the facilitator lists the service. */
  readonly listing: object
  report(error: unknown): void
}): Facilitator {
  const { url, headersFile, payment, report } = input
  const client = facilitatorClient({
    url,
    listing: input.listing,
    // Read for each request, so that a token can be replaced.
    headers: async () =>
      headersFile === undefined ? {} : parseHeaders(await readFile(headersFile, 'utf8')),
  })
  return {
    client,
    wallet: undefined,
    async isReady() {
      try {
        const kinds = await client.supported()
        const network = networkOf(payment.chain.id)
        const isSupported = SCHEMES.every(({ name }) =>
          kinds.some(
            (kind) => kind.x402Version === 2 && kind.scheme === name && kind.network === network,
          ),
        )
        if (!isSupported)
          throw new Error(`the facilitator does not settle scheme exact on ${network}`)
        return true
      } catch (error) {
        report(error)
        return false
      }
    },
  }
}

/** Lines of `Name: value`. */
export function parseHeaders(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      if (colon < 1) throw new Error('the headers file must have lines of "Name: value"')
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    }),
  )
}
