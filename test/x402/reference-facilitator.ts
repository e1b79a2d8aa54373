import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { x402Facilitator } from '@x402/core/facilitator'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { extractDiscoveryInfo } from '@x402/extensions/bazaar'
import { createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { Mutex } from '#base/async.ts'
import { developmentWallets } from '#devnet/wallets.ts'

/** What goes wrong with one step of one payer's payment. */
export type Fault =
  | 'frozen'
  | 'slow'
  | 'cut'
  | '429'
  | '500'
  | 'HTML'
  | 'half a body'
  /** Says the opposite of what it does. */
  | 'a lie'

export interface FaultOfPayer {
  readonly step: 'verify' | 'settle'
  readonly fault: Fault
  /** Whether the step is done before it goes wrong. */
  readonly isDone: boolean
}

export interface ReferenceFacilitator {
  readonly url: string
  /** By payer, in lower case. */
  readonly faults: Map<string, FaultOfPayer>
  /** Of the last request: its headers, and what it adds to a list of services. */
  readonly seen: { headers: IncomingMessage['headers']; listed: unknown }
  readonly settled: string[]
  follow(rpcUrl: string): void
  stop(): Promise<void>
}

interface Asked {
  readonly paymentPayload: PaymentPayload
  readonly paymentRequirements: PaymentRequirements
}

/** Longer than a request of a payer waits. */
const SLOW_MS = 12_000

/**
 * The reference's facilitator as a service with a wallet of its own: the code of its packages behind
 * a plain server. Tests make it fail.
 */
export async function startFacilitator(): Promise<ReferenceFacilitator> {
  const facilitator = new x402Facilitator()
  const faults = new Map<string, FaultOfPayer>()
  const seen: ReferenceFacilitator['seen'] = { headers: {}, listed: undefined }
  const settled: string[] = []
  const server = createServer((request, response) => {
    seen.headers = request.headers
    void answer(request, response).catch(() => response.destroy())
  })
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/supported') return send(response, facilitator.getSupported())
    const step = request.url === '/verify' ? 'verify' : 'settle'
    const { paymentPayload, paymentRequirements } = await read(request)
    seen.listed = extractDiscoveryInfo(paymentPayload, paymentRequirements)
    const payer = payerOf(paymentPayload)
    const fault = faults.get(payer)
    const run = async () => {
      if (step === 'settle') settled.push(payer)
      return facilitator[step](paymentPayload, paymentRequirements)
    }
    if (fault?.step !== step) return send(response, await run())
    const done = fault.isDone ? await run() : undefined
    await fail(response, fault, done ?? LIES[step])
  }
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    ...{ url: `http://127.0.0.1:${port}`, faults, seen, settled },
    follow(rpcUrl) {
      facilitator.register('eip155:8453', new ExactEvmScheme(signerOn(rpcUrl)))
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The node's estimate fails on a chain whose blocks are free. */
const FEES = { maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 1_000_000n }

function signerOn(rpcUrl: string) {
  const { privateKey } = developmentWallets().poor
  const account = privateKeyToAccount(privateKey)
  const client = createWalletClient({
    ...{ account, transport: http(rpcUrl), pollingInterval: 100 },
    chain: base,
  }).extend(publicActions)
  const oneByOne = new Mutex()
  const writeContract = (args: object) =>
    oneByOne.run(() =>
      client.writeContract({ ...args, ...FEES } as Parameters<typeof client.writeContract>[0]),
    )
  return toFacilitatorEvmSigner({ ...client, writeContract, address: account.address } as Signer, {
    confirmationTimeoutMs: 5_000,
  })
}

type Signer = Parameters<typeof toFacilitatorEvmSigner>[0]

/** Of a step that is not done. */
const LIES = {
  verify: { isValid: true },
  settle: { success: true, transaction: `0x${'ab'.repeat(32)}`, network: 'eip155:8453' },
} as const

async function fail(
  response: ServerResponse,
  { fault, step, isDone }: FaultOfPayer,
  body: object,
): Promise<void> {
  if (fault === 'frozen') return
  if (fault === 'cut') return void response.destroy()
  if (fault === 'slow') await sleep(SLOW_MS)
  if (fault === '429' || fault === '500')
    return void response.writeHead(Number(fault), { 'Retry-After': '1' }).end('{"error":"later"}')
  if (fault === 'HTML') return void response.end('<html>down for maintenance</html>')
  if (fault === 'half a body') {
    response.writeHead(200, { 'Content-Length': '100' }).write('{"success": tr')
    return void response.destroy()
  }
  if (fault === 'a lie' && isDone) {
    const failed = { success: false, errorReason: 'unexpected', transaction: '', network: 'base' }
    return send(response, step === 'verify' ? { isValid: false } : failed)
  }
  send(response, body)
}

function send(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}

async function read(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}

function payerOf({ payload }: PaymentPayload): string {
  const { authorization } = payload as { authorization: { from: string } }
  return authorization.from.toLowerCase()
}
