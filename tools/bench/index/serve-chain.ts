import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { readNumber } from '#test/program-options.ts'
import { readRpcRequest, startLocalServer } from '#test/rpc-server.ts'
import { sum } from '../report.ts'
import { answerRpc } from './answer-rpc.ts'
import { chainTruth } from './chain-truth.ts'
import { type ChainOptions, SyntheticChain } from './synthetic-chain.ts'

export interface ServeOptions extends ChainOptions {
  /** Milliseconds before each answer. */
  readonly latency: number
  /** Blocks of an `eth_getLogs`. */
  readonly maxRange: number
}

/** What was asked since the last look. */
export interface ServerCounts {
  /** Without those for receipts, by which payments are proven at their own pace. */
  requests: number
  inFlightMax: number
}

const options = new Command('node tools/bench/index/serve-chain.ts')
  .description('Serves a synthetic chain over JSON-RPC and prints its URL.')
  .option('--logs <count>', '', readNumber, 100_000)
  .option('--seed <number>', '', readNumber, 1)
  .option('--end-unix <seconds>', '', readNumber, Math.floor(Date.now() / 1_000))
  .option('--latency <ms>', '', readNumber, 0)
  .option('--max-range <blocks>', '', readNumber, Number.POSITIVE_INFINITY)
  .parse()
  .opts<ServeOptions>()

const chain = new SyntheticChain(options)
let counts = noCounts()
let inFlight = 0
const { url } = await startLocalServer(async (incoming, outgoing) => {
  inFlight += 1
  counts.inFlightMax = Math.max(counts.inFlightMax, inFlight)
  try {
    const answer = incoming.method === 'GET' ? lookAt(incoming.url) : await answerTo(incoming)
    const length = sum(answer.map((piece) => piece.length))
    outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': length })
    outgoing.cork()
    for (const piece of answer) outgoing.write(piece)
    outgoing.end()
  } catch (error) {
    outgoing.writeHead(400).end(String(error))
  } finally {
    inFlight -= 1
  }
})
process.stdout.write(`${url}\n`)

async function answerTo(
  incoming: Parameters<typeof readRpcRequest>[0],
): Promise<readonly Buffer[]> {
  const { calls, isBatch } = await readRpcRequest(incoming)
  if (options.latency > 0) await sleep(options.latency)
  if (!calls.some(({ method }) => /Receipt/.test(method))) counts.requests += 1
  const answers = calls.map((call) => answerRpc(chain, call, options.maxRange))
  if (!isBatch) return answers.flat()
  const pieces = answers.flatMap((each, index) => [Buffer.from(index > 0 ? ',' : '['), ...each])
  return [...pieces, Buffer.from(']')]
}

/** What the benchmark itself asks. A look at the counts begins them anew. */
function lookAt(path: string | undefined): readonly Buffer[] {
  if (path === '/truth') return [Buffer.from(JSON.stringify(chainTruth(chain)))]
  const found = counts
  counts = noCounts()
  return [Buffer.from(JSON.stringify(found))]
}

function noCounts(): ServerCounts {
  return { requests: 0, inFlightMax: 0 }
}
