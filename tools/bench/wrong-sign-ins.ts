import { writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createSIWxPayload, encodeSIWxHeader } from '@x402/extensions/sign-in-with-x'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { developmentWallets } from '#devnet/wallets.ts'
import { startAccountsWorld } from '#test/accounts/world/accounts-world.ts'

/**
 * Sends 6,000 wrong sign-ins from one address over many sockets, while other addresses make one honest
 * call each. Prints the latency of the honest calls; exits with 1 if p99 is too high.
 */
const WRONG = 6_000
const SOCKETS = 50
const P99_MAX_MS = 100
const HOSTILE = '127.0.0.2'
const HONEST_AT_ONCE = 4

const quotas = { anonymous: 1, free: 1, premium: 1 }
const world = await startAccountsWorld({ quotas })
const keyFile = join(world.folder, 'settling-key')
writeFileSync(keyFile, developmentWallets().settler.privateKey)
// Default limits, and callers identified by their socket address.
const environment = {
  SEXTON_SETTLING_KEY_FILE: keyFile,
  SEXTON_TRUSTED_PROXIES: '10.0.0.0/8',
  SEXTON_GUARD_MINT_BURST: '30',
  SEXTON_GUARD_MINT_PER_MINUTE: '10',
}
const service = await world.start('start', { environment })
await service.ready()
const origin = service.url
try {
  const header = await wrongSignIn()
  const hostile = new Agent({ keepAlive: true, maxSockets: SOCKETS })
  // Signed in advance, so that signing does not distort the measured latency.
  const headers = Array.from({ length: WRONG }, (_, index) => ({ 'sign-in-with-x': header(index) }))
  const wrong = (each: (typeof headers)[number]) => call(HOSTILE, { agent: hostile, headers: each })
  let isOver = false
  const flood = inTurn(headers, SOCKETS, wrong).finally(() => {
    isOver = true
  })
  const honest: number[] = []
  const honestOnes = Array.from({ length: HONEST_AT_ONCE }, async (_, place) => {
    for (let index = place; !isOver && index < 250 * 250; index += HONEST_AT_ONCE) {
      const startedMs = performance.now()
      const status = await call(`127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`, {})
      honest.push(performance.now() - startedMs)
      if (status !== 200) throw new Error(`an honest call was answered ${status}`)
    }
  })
  await Promise.all(honestOnes)
  const statuses = Map.groupBy(await flood, (status) => status)
  const counts = [...statuses].map(([status, all]) => `${all.length} × ${status}`).join(', ')
  const sorted = honest.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  process.stdout.write(
    `wrong sign-ins: ${counts}\nhonest calls: ${honest.length}, p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms, longest ${(sorted.at(-1) ?? 0).toFixed(1)} ms\n`,
  )
  process.exitCode = at(0.99) < P99_MAX_MS ? 0 : 1
} finally {
  await world.stop()
}

/** Well-formed sign-ins, signed for another nonce. */
async function wrongSignIn(): Promise<(nonce: number) => string> {
  await call(HOSTILE, {})
  const offered = await new Promise<string>((resolve, reject) => {
    const asked = request(`${origin}/api/stats`, { localAddress: HOSTILE }, (answer) => {
      answer.resume()
      resolve(String(answer.headers['payment-required']))
    })
    asked.on('error', reject).end()
  })
  const offer = JSON.parse(Buffer.from(offered, 'base64').toString())
  const { info } = offer.extensions['sign-in-with-x']
  const account = privateKeyToAccount(generatePrivateKey())
  const asked = { ...info, nonce: 'offered10000', chainId: 'eip155:8453', type: 'eip191' as const }
  const payload = await createSIWxPayload(asked, account, new URL(asked.uri).origin)
  return (nonce) => encodeSIWxHeader({ ...payload, nonce: `wrong${10_000 + nonce}` })
}

/** Runs a limited number at a time. */
async function inTurn<T, R>(list: readonly T[], atOnce: number, work: (each: T) => Promise<R>) {
  const done: R[] = []
  let next = 0
  const take = async () => {
    for (let at = next++; at < list.length; at = next++) {
      const each = list[at]
      if (each !== undefined) done.push(await work(each))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, take))
  return done
}

function call(
  localAddress: string,
  more: { readonly agent?: Agent; readonly headers?: Readonly<Record<string, string>> },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(`${origin}/api/stats`, { localAddress, ...more }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    })
    asked.on('error', reject).end()
  })
}
