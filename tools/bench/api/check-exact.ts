import { Agent, request } from 'node:http'
import { type AccountsPlace, readCounted, seedCallers } from './accounts.ts'

export interface ExactInput {
  readonly place: AccountsPlace
  /** Services on these accounts; each has the quota below for a free key. */
  readonly urls: readonly string[]
  readonly path: string
  readonly quota: number
  readonly pricePerCall: bigint
}

/** What the callers saw and what the accounts say; all differences are zero where all is exact. */
export interface ExactResult {
  readonly answered: number
  readonly refused: number
  /** Calls over the quota and the money. */
  readonly overAdmitted: number
  /** Answers that were not counted, or counted calls that nobody had an answer to. */
  readonly miscounted: number
  /** Paid calls whose price is not what left the balances, in calls. */
  readonly misdebited: number
}

const WALLETS = 10
const KEYS_PER_WALLET = 2
/** Calls that each key's balance pays for. */
const PAID_PER_KEY = 50
/** So many times more calls than are allowed. */
const EXCESS = 2
const CONNECTIONS = 32

/**
 * Every key calls at once on every replica, twice as often as its wallet's quota and its balance
 * allow. Every answer is waited for, so that what was answered and what was counted must agree.
 */
export async function checkExact(input: ExactInput): Promise<ExactResult> {
  const { place, quota, pricePerCall } = input
  const balance = BigInt(PAID_PER_KEY) * pricePerCall
  const before = await readCounted(place)
  const { secrets } = await seedCallers(place, {
    wallets: WALLETS,
    keysPerWallet: KEYS_PER_WALLET,
    balance,
  })
  const allowed = WALLETS * (quota + KEYS_PER_WALLET * PAID_PER_KEY)
  const statuses = await askAll(input, secrets, Math.ceil((allowed * EXCESS) / secrets.length))
  const after = await readCounted(place)
  const answered = statuses.get(200) ?? 0
  const refused = statuses.get(402) ?? 0
  const counted = after.free + after.paid - before.free - before.paid
  const given = BigInt(secrets.length) * balance
  const debited = before.balance + given - after.balance
  const priceOfPaid = BigInt(after.paid - before.paid) * pricePerCall
  for (const [status, count] of statuses)
    if (status !== 200 && status !== 402) throw new Error(`${count} answers ${status}`)
  return {
    answered,
    refused,
    overAdmitted: answered - allowed,
    miscounted: counted - answered,
    misdebited: Number((debited - priceOfPaid) / pricePerCall),
  }
}

/** Answers by status. */
async function askAll(
  { urls, path }: ExactInput,
  secrets: readonly string[],
  callsPerKey: number,
): Promise<Map<number, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const statuses = new Map<number, number>()
  const calls = Array.from({ length: callsPerKey }, (_, call) =>
    secrets.map((secret, key) => ({ secret, url: urls[(call + key) % urls.length] ?? '' })),
  ).flat()
  const workers = Array.from({ length: CONNECTIONS * urls.length }, async () => {
    for (let next = calls.pop(); next !== undefined; next = calls.pop()) {
      const status = await ask(agent, next.url + path, next.secret)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  })
  await Promise.all(workers)
  agent.destroy()
  return statuses
}

function ask(agent: Agent, url: string, secret: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${secret}` }
    const call = request(url, { agent, headers }, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0))
    })
    call.once('error', reject)
    call.end()
  })
}
