import { readFile } from 'node:fs/promises'
import { isObject, type JsonObject } from '#base/json.ts'
import type { Context } from '#context.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { toCaip2, toListing } from './offer.ts'

/** Settles with any x402 facilitator over its HTTP interface. */
export function httpFacilitator(
  ctx: Context,
  { url, headersFile }: { readonly url: string; readonly headersFile: string | undefined },
  payment: Payment,
) {
  const { accepts: _, ...listing } = toListing(ctx)
  const client = facilitatorClient({
    url,
    listing,
    // Read for each request, so that a token can be replaced.
    headers: async () =>
      headersFile === undefined ? {} : parseHeaders(await readFile(headersFile, 'utf8')),
  })
  const network = toCaip2(payment.chain.id)
  return {
    client,
    wallet: undefined,
    async isReady() {
      const kinds = await client.supported()
      const isSupported = kinds.some(
        (kind) => kind.x402Version === 2 && kind.scheme === 'exact' && kind.network === network,
      )
      if (isSupported) return true
      throw new Error(`the facilitator does not settle scheme exact on ${network}`)
    },
  }
}

/** Parses lines of `Name: value`. */
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

/** Settling includes the wait for a block. If the answer comes later, the chain shows the result. */
const TIMEOUT_MS = 15_000

const BODY_BYTES_MAX = 65_536

const EXCERPT_LENGTH = 200

interface Input {
  readonly url: string
  /** `resource` and `extensions` of a payment. */
  readonly listing: object
  headers(): Promise<Readonly<Record<string, string>>>
}

/**
 * Calls a facilitator (x402 v2, section 7). Unlike the library's client it follows no redirect with a key and a
 * signed payment, bounds answers, and shows no key in errors.
 */
export function facilitatorClient(input: Input) {
  const ofPayment = (payload: object, paymentRequirements: { readonly network: Network }) => ({
    paymentPayload: { ...payload, ...input.listing },
    paymentRequirements,
  })
  return {
    async verify(payload: object, requirements: { readonly network: Network }) {
      const { isValid } = await ask(input, 'verify', ofPayment(payload, requirements))
      if (typeof isValid !== 'boolean') throw new Error('/verify: no isValid in the answer')
      return { isValid }
    },
    async settle(payload: object, requirements: { readonly network: Network }) {
      const answer = await ask(input, 'settle', ofPayment(payload, requirements))
      const { success, transaction, errorReason } = answer
      if (typeof success !== 'boolean') throw new Error('/settle: no success in the answer')
      return {
        success,
        transaction: typeof transaction === 'string' ? transaction : '',
        network: requirements.network,
        errorReason: String(errorReason).slice(0, EXCERPT_LENGTH),
      }
    },
    /** Returns the kinds of payments that it settles. */
    async supported(): Promise<readonly JsonObject[]> {
      const { kinds } = await ask(input, 'supported')
      return Array.isArray(kinds) ? kinds.filter(isObject) : []
    },
  }
}

type Network = `${string}:${string}`

async function ask(
  { url, headers }: Input,
  path: 'verify' | 'settle' | 'supported',
  body?: object,
): Promise<JsonObject> {
  const keys = await headers()
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...keys, 'Content-Type': 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body !== undefined && { body: JSON.stringify({ x402Version: 2, ...body }) }),
    })
    const text = masked(await readText(response), keys)
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${text.slice(0, EXCERPT_LENGTH)}`)
    const answer: unknown = JSON.parse(text)
    if (!isObject(answer)) throw new Error('the answer is not a JSON object')
    return answer
  } catch (error) {
    // Has no cause, which could show the headers.
    throw new Error(`the facilitator's /${path} failed: ${masked(describeError(error), keys)}`)
  }
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw new Error(`the answer exceeds ${BODY_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

/** Masking shorter words would hide ordinary text. */
const SECRET_LENGTH_MIN = 8

/** Also masks parts of a header, because services repeat a token without its `Bearer`. */
function masked(text: string, keys: Readonly<Record<string, string>>): string {
  const secrets = Object.values(keys)
    .flatMap((value) => [value, ...value.split(/\s+/)])
    .filter((secret) => secret.length >= SECRET_LENGTH_MIN)
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
}
