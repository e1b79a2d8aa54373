import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type AnswerDeps, answerRpc, type RpcCall } from './answer-rpc.ts'
import { chainTruth } from './chain-truth.ts'
import { DIALECTS, type ProviderLimits, RequestRate } from './provider-limits.ts'
import { rawPlan } from './raw-plan.ts'
import { emptyCounts, resetCounts, type ServerCounts } from './server-counts.ts'
import { SyntheticChain } from './synthetic-chain.ts'

/** Providers end an answer at about 150 MB. */
const BYTES_MAX = 150_000_000

const DEFAULTS = { logs: 100_000, seed: 1, latency: 0, finalDepth: 100 }
const GZIP_LEVEL = 1

const number = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const { values } = parseArgs({
  options: {
    logs: number,
    seed: number,
    'end-unix': number,
    latency: number,
    'max-range': number,
    'max-logs': number,
    'max-bytes': number,
    dialect: number,
    'requests-per-second': number,
    'final-depth': number,
    'head-interval': number,
    port: number,
    gzip: flag,
    'no-timestamps': flag,
    'full-bloom': flag,
  },
})

await main()

async function main(): Promise<void> {
  const startedMs = performance.now()
  const chain = new SyntheticChain({
    logs: readNumber(values.logs) ?? DEFAULTS.logs,
    seed: readNumber(values.seed) ?? DEFAULTS.seed,
    endUnix: readNumber(values['end-unix']) ?? Math.floor(Date.now() / 1000),
    timestamps: values['no-timestamps'] !== true,
  })
  const counts = emptyCounts()
  const server = createServer(makeHandler(chain, counts))
  server.keepAliveTimeout = 60_000
  server.listen(readNumber(values.port) ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const url = `http://127.0.0.1:${port}`
  const seconds = (performance.now() - startedMs) / 1000
  const facts = { logs: chain.logs.count, head: chain.blocks.head, seconds }
  process.stdout.write(`${JSON.stringify({ url, ...facts })}\n`)
  const interval = readNumber(values['head-interval'])
  if (interval !== undefined)
    setInterval(() => chain.grow(Math.floor(Date.now() / 1000)), interval).unref()
}

function readNumber(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isFinite(value)) throw new TypeError(`"${text}" is no number`)
  return value
}

function readLimits(): ProviderLimits {
  const dialect = DIALECTS.find((each) => each === (values.dialect ?? 'generic'))
  if (dialect === undefined) throw new TypeError(`--dialect is one of ${DIALECTS.join(', ')}`)
  return {
    dialect,
    blocksMax: readNumber(values['max-range']),
    logsMax: readNumber(values['max-logs']),
    bytesMax: readNumber(values['max-bytes']) ?? BYTES_MAX,
  }
}

function makeHandler(chain: SyntheticChain, counts: ServerCounts) {
  const deps: AnswerDeps = {
    chain,
    bloom: values['full-bloom'] === true ? 'full' : 'right',
    bloomItems: new Map(),
    limits: readLimits(),
    finalDepth: readNumber(values['final-depth']) ?? DEFAULTS.finalDepth,
    onRefused() {
      counts.refusals += 1
    },
  }
  const perSecond = readNumber(values['requests-per-second'])
  const rate = perSecond === undefined ? undefined : new RequestRate(perSecond)
  const latencyMs = readNumber(values.latency) ?? DEFAULTS.latency
  let inFlight = 0
  return async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    if (incoming.url !== '/') {
      const value = benchAnswer(chain, counts, incoming)
      const headers = { 'content-type': 'application/json' }
      outgoing.writeHead(value === undefined ? 404 : 200, headers).end(JSON.stringify(value ?? {}))
      return
    }
    counts.httpRequests += 1
    inFlight += 1
    counts.inFlightMax = Math.max(counts.inFlightMax, inFlight)
    try {
      const body = await readBody(incoming)
      if (latencyMs > 0) await sleep(latencyMs)
      if (rate?.admits(Date.now()) === false) refuseRate(counts, outgoing)
      else await send({ deps, counts }, body, { incoming, outgoing })
    } catch (error) {
      outgoing.writeHead(400).end(String(error))
    } finally {
      inFlight -= 1
    }
  }
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}

function refuseRate(counts: ServerCounts, outgoing: ServerResponse): void {
  counts.rateLimited += 1
  const headers = { 'content-type': 'application/json', 'retry-after': '1' }
  outgoing
    .writeHead(429, headers)
    .end('{"jsonrpc":"2.0","error":{"code":-32005,"message":"Too Many Requests"},"id":null}')
}

const RECEIPTS = new Set(['eth_getBlockReceipts', 'eth_getTransactionReceipt'])

async function send(
  { deps, counts }: { readonly deps: AnswerDeps; readonly counts: ServerCounts },
  body: string,
  { incoming, outgoing }: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse },
): Promise<void> {
  const parsed: RpcCall | readonly RpcCall[] = JSON.parse(body)
  const calls = [parsed].flat() as readonly RpcCall[]
  for (const { method } of calls) counts.calls[method] = (counts.calls[method] ?? 0) + 1
  if (calls.some(({ method }) => RECEIPTS.has(method))) counts.proofRequests += 1
  const answers = calls.map((call) => answerRpc(deps, call))
  const pieces = Array.isArray(parsed) ? joinBatch(answers) : (answers[0] ?? [])
  const zipped = values.gzip === true && /gzip/.test(String(incoming.headers['accept-encoding']))
  const sent = zipped
    ? [await promisify(gzip)(Buffer.concat(pieces), { level: GZIP_LEVEL })]
    : pieces
  const length = sent.reduce((sum, piece) => sum + piece.length, 0)
  counts.bytes += length
  outgoing.writeHead(200, {
    'content-type': 'application/json',
    'content-length': length,
    ...(zipped && { 'content-encoding': 'gzip' }),
  })
  outgoing.cork()
  for (const piece of sent) outgoing.write(piece)
  outgoing.end()
}

function joinBatch(answers: readonly (readonly Buffer[])[]): readonly Buffer[] {
  const comma = Buffer.from(',')
  const pieces = answers.flatMap((answer, index) => (index === 0 ? answer : [comma, ...answer]))
  return [Buffer.from('['), ...pieces, Buffer.from(']')]
}

/** What the benchmark itself asks: counts, truth, and a raw client's plan. */
function benchAnswer(
  chain: SyntheticChain,
  counts: ServerCounts,
  asked: { readonly method?: string | undefined; readonly url?: string | undefined },
): unknown {
  const url = new URL(asked.url ?? '/', 'http://127.0.0.1')
  const read = (name: string) => readNumber(url.searchParams.get(name) ?? undefined)
  switch (`${asked.method} ${url.pathname}`) {
    case 'GET /counts':
      return counts
    case 'GET /truth':
      return chainTruth(chain)
    case 'GET /plan':
      return rawPlan(chain, { logs: read('logs'), blocks: read('blocks') })
    case 'POST /counts/reset':
      return resetCounts(counts)
    default:
      return undefined
  }
}
