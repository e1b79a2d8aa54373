import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { wrapAxiosWithPayment, x402Client as x402AxiosClient } from '@x402/axios'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import axios from 'axios'
import { encodeData, from as parseFunction } from 'ox/AbiFunction'
import type { Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { Mutex } from '#base/async.ts'
import { mine, mintUsdc, setAutomine } from '#devnet/actions.ts'
import type { ChainClient } from '#devnet/chain-client.ts'
import { developmentWallets, type Wallet } from '#devnet/wallets.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { eitherEngine } from '../long-version.ts'
import { startPostgres } from '../postgres.ts'
import { eventually, type MintedKey, mintKey, startWorld, type World } from '../world.ts'

/** The whole service with a settling wallet, on a chain that seals each transaction at once. */
export interface X402World extends World {
  readonly base: ChainClient
  stop(): Promise<void>
}

export interface X402Options {
  readonly databaseUrl?: string
  readonly historyDays?: number
  readonly environment?: Readonly<Record<string, string>>
  /** URL of a facilitator instead of a settling wallet, and what authenticates us there. */
  readonly facilitator?: string
  readonly headers?: string
  change?(file: EcosystemFile): EcosystemFile
}

/** Quotas of one call, so that the second one meets 402. */
export async function startX402World(options: X402Options = {}): Promise<X402World> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-settling-'))
  const world = await startWorld({
    ...options,
    environment: { ...settlingFiles(folder, options), ...options.environment },
    change: (file) => {
      const small = { ...withFacilitator(file, options), quotas: QUOTAS_OF_ONE }
      return options.change?.(small) ?? small
    },
  })
  const base = world.devnet.chains.base.client
  await setAutomine(base, true)
  await untilOffered(world)
  return {
    ...world,
    base,
    async stop() {
      await world.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const QUOTAS_OF_ONE = { anonymous: 1, free: 1, premium: 1 }

function settlingFiles(folder: string, { facilitator, headers = '' }: X402Options) {
  const keyFile = join(folder, 'key')
  const headersFile = join(folder, 'headers')
  writeFileSync(keyFile, `${developmentWallets().relayer.privateKey}\n`)
  writeFileSync(headersFile, headers)
  return facilitator === undefined
    ? { SEXTON_SETTLING_KEY_FILE: keyFile }
    : { SEXTON_FACILITATOR_HEADERS_FILE: headersFile }
}

function withFacilitator(file: EcosystemFile, { facilitator }: X402Options): EcosystemFile {
  const { payment } = file
  if (payment === undefined || facilitator === undefined) return file
  return { ...file, payment: { ...payment, settle: { facilitator } } }
}

/** The leader has said that payments can be settled. */
export function untilOffered({ api }: Pick<World, 'api'>): Promise<true> {
  return eventually(async () => {
    const { status } = await api.get('/api/sessions/topup')
    return status === 402 ? true : undefined
  }, SEALED_MS)
}

/**
 * Gives what starts a world on either engine, behind a proxy that names its clients. Asked for where
 * tests are declared: the PostgreSQL server ends with them.
 */
export async function proxiedWorlds() {
  const postgres = eitherEngine.includes('PostgreSQL') ? await startPostgres() : undefined
  after(() => postgres?.stop())
  return async (
    engine: 'SQLite' | 'PostgreSQL',
    { environment, ...options }: Pick<X402Options, 'change' | 'environment'> = {},
  ): Promise<X402World> => {
    const databaseUrl = engine === 'PostgreSQL' ? await postgres?.createDatabase() : undefined
    return startX402World({
      ...options,
      environment: { SEXTON_TRUSTED_PROXIES: '127.0.0.1/32', ...WIDE_GUARD, ...environment },
      ...(databaseUrl !== undefined && { databaseUrl }),
    })
  }
}

/** Many tests call from one address. */
const WIDE_GUARD = {
  SEXTON_GUARD_PER_MINUTE: '1000000,1000000,1000000',
}

/** A node gives two transactions of one account that come at once the same nonce. */
const funding = new Mutex()

/** A new wallet that holds some USDC (base units), on a chain that seals each transaction at once. */
export async function newPayer(base: ChainClient, amount: bigint): Promise<PrivateKeyAccount> {
  const account = privateKeyToAccount(generatePrivateKey())
  if (amount > 0n) await fundWallet(base, { to: account.address, amount })
  return account
}

/** Gives a wallet USDC (base units) that the next request to the service finds there. */
export async function fundWallet(
  base: ChainClient,
  input: { readonly to: Hex; readonly amount: bigint },
): Promise<void> {
  await untilSealed(base, await funding.run(() => mintUsdc(base, input)))
}

/** What `/metrics` says of payments, by the end of its name and what it counts. */
export async function readMetrics({ service }: World): Promise<ReadonlyMap<string, number>> {
  const { metricsPort } = service.served
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const found = [...text.matchAll(/^sexton_x402_(\w+)\{of="(\w+)"\} (\S+)$/gm)]
  return new Map(found.map(([, name, of, value]) => [`${name} ${of}`, Number(value)]))
}

const balanceOf = parseFunction('function balanceOf(address) view returns (uint256)')

/** USDC in base units. */
export async function heldBy({ addresses, rpc }: ChainClient, account: Hex): Promise<bigint> {
  const call = { to: addresses.usdc, data: encodeData(balanceOf, [account]) }
  return BigInt(String(await rpc.send({ method: 'eth_call', params: [call, 'latest'] })))
}

/** A node takes a transaction before it seals it, also where it seals each at once. */
export function untilSealed(base: ChainClient, txHash: Hex): Promise<Hex> {
  return eventually(async () => {
    const receipt = await base.rpc.send({ method: 'eth_getTransactionReceipt', params: [txHash] })
    return receipt === null ? undefined : txHash
  }, SEALED_MS)
}

const SEALED_MS = 50_000

type Payer = ConstructorParameters<typeof ExactEvmScheme>[0]

/** `fetch` as the stock client wraps it, with its own spending limits. */
export function payingFetch(account: Payer): typeof fetch {
  const client = new x402Client().register('eip155:8453', new ExactEvmScheme(account))
  return wrapFetchWithPayment(fetch, client) as typeof fetch
}

/** A client of version 1 alone does not look at headers of version 2, so it is shown none. */
export function olderFetch(account: PrivateKeyAccount): typeof fetch {
  const client = new x402Client().registerV1('base', new ExactEvmSchemeV1(account))
  const withoutHeader: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init)
    const headers = new Headers(answer.headers)
    headers.delete('PAYMENT-REQUIRED')
    return new Response(answer.body, { status: answer.status, headers })
  }
  return wrapFetchWithPayment(withoutHeader, client) as typeof fetch
}

/** GET as the stock client for axios does it; it rejects any answer but 2xx. */
export async function payingAxios(
  account: PrivateKeyAccount,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const client = new x402AxiosClient().register('eip155:8453', new ExactEvmScheme(account))
  const paying = wrapAxiosWithPayment(axios.create({ proxy: false, responseType: 'text' }), client)
  const { status, data, headers: received } = await paying.get(url, { headers })
  return new Response(data, { status, headers: received as Record<string, string> })
}

/** The gate reads holdings of a chain that is followed closely: the index may need a moment. */
const GATE_MS = 50_000

/** Mints a key once the gate can tell what the wallet holds; any other refusal is an error. */
export async function mintOpened(world: X402World, wallet: Wallet): Promise<MintedKey> {
  await passBlocks(world.base, 3)
  return eventually(
    () =>
      mintKey(world.api, wallet).catch((error: unknown) => {
        if (String(error).includes('gate_unavailable')) return undefined
        throw error
      }),
    GATE_MS,
  )
}

/** Has the chain pass some blocks and their time. */
export function passBlocks(base: ChainClient, blocks: number): Promise<void> {
  return mine(base, { blocks })
}
