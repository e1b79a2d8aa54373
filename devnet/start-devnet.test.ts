import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createPublicClient, http, type PublicClient, parseAbi, zeroAddress } from 'viem'
import { mine, reorg } from '#devnet/actions.ts'
import { burnAddress } from '#devnet/addresses.ts'
import { freePorts } from '#devnet/free-ports.ts'
import { type Devnet, type DevnetChain, startDevnet } from '#devnet/start-devnet.ts'

const events = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event DividendDistributed(address indexed token, uint256 amount)',
  'event DividendClaimed(address indexed account, address indexed token, uint256 amount)',
  'event GraveDug(address indexed digger, uint256 indexed graveId, uint256 amount)',
  'event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt)',
  'event Sync(uint112 reserve0, uint112 reserve1)',
])
const historyDays = 10
const folder = await mkdtemp(join(tmpdir(), 'sexton-devnet-'))
const lines: string[] = []
const common = { dataFolder: folder, historyDays, log: (line: string) => void lines.push(line) }
let devnet = await startDevnet({ ...common, ...(await freePorts()), live: false })
after(async () => {
  await devnet.stop()
  await rm(folder, { recursive: true })
})

function reader(chain: DevnetChain): PublicClient {
  return createPublicClient({ transport: http(chain.rpcUrl) })
}

const histories = new Map<DevnetChain, ReturnType<typeof readHistory>>()

/** Decoding it takes seconds, so it is done once, before anything is added. */
function historyOf(chain: DevnetChain) {
  const history = histories.get(chain) ?? readHistory(chain)
  histories.set(chain, history)
  return history
}

function readHistory(chain: DevnetChain) {
  return reader(chain).getLogs({ events, fromBlock: 0n, toBlock: 'latest' })
}

function daysOf(logs: readonly { readonly blockTimestamp?: bigint | undefined }[]): number {
  return new Set(logs.map((log) => Number(log.blockTimestamp ?? 0n) / 86_400).map(Math.floor)).size
}

for (const name of ['base', 'ethereum'] as const) {
  test(`${name} has burns of both kinds, claims, digs and prices on almost every day`, async () => {
    const chain = devnet.chains[name]
    const { grave, usdc, weth } = chain.client.addresses
    const logs = await historyOf(chain)
    const transfers = logs.filter((log) => log.eventName === 'Transfer')
    const graves = transfers.filter((log) => log.address === grave.toLowerCase())
    const burns = graves.filter((log) => log.args.to === zeroAddress)
    const buried = graves.filter((log) => log.args.to === burnAddress)
    assert.ok(daysOf(burns) >= historyDays, `burns on ${daysOf(burns)} days`)
    assert.ok(daysOf(buried) >= historyDays * 0.9, `burials on ${daysOf(buried)} days`)
    assert.ok(new Set(buried.map((log) => log.args.from)).size > 20)
    const claims = logs.filter((log) => log.eventName === 'DividendClaimed')
    const rewards = name === 'base' ? [usdc, weth, grave] : [usdc, weth]
    assert.deepEqual(new Set(claims.map((log) => log.args.token)), new Set(rewards))
    assert.ok(daysOf(claims) >= historyDays * 0.9)
    assert.ok(
      logs.filter((log) => log.eventName === 'DividendDistributed').length > historyDays * 0.4,
    )
    const digs = logs.filter((log) => log.eventName === 'GraveDug')
    assert.ok(daysOf(digs) >= historyDays * 0.9)
    assert.ok(new Set(digs.map((log) => log.args.digger)).size > historyDays)
    const answers = logs.filter((log) => log.eventName === 'AnswerUpdated')
    assert.ok(daysOf(answers) >= historyDays)
    const trades = logs.filter((log) => log.eventName === 'Sync').length
    assert.equal(trades > historyDays * 12, name === 'base')
  })
}

test('the newest 5 and 40 blocks can be replaced', async () => {
  const { client } = devnet.chains.base
  const chain = reader(devnet.chains.base)
  for (const depth of [5, 40]) {
    await mine(client, { blocks: 1 })
    const head = await chain.getBlock()
    const kept = await chain.getBlock({ blockNumber: head.number - BigInt(depth) })
    await reorg(client, { depth })
    const after = await chain.getBlock({ blockNumber: head.number })
    assert.notEqual(after.hash, head.hash)
    assert.equal((await chain.getBlock({ blockNumber: kept.number })).hash, kept.hash)
    assert.notEqual(await chain.getCode({ address: client.addresses.grave }), undefined)
  }
})

test('a second start goes on where the first stopped, and fills the time away', async () => {
  const before = await reader(devnet.chains.base).getBlock()
  const genesis = await reader(devnet.chains.base).getBlock({ blockNumber: 0n })
  await devnet.stop()
  const nowUnix = Math.floor(Date.now() / 1000) + 3 * 86_400
  devnet = await startDevnet({ ...common, ...(await freePorts()), nowUnix, live: false })
  const chain = reader(devnet.chains.base)
  assert.equal((await chain.getBlock({ blockNumber: 0n })).hash, genesis.hash)
  assert.equal((await chain.getBlock({ blockNumber: before.number })).hash, before.hash)
  const head = await chain.getBlock()
  assert.equal(Number(head.timestamp), nowUnix)
  const filled = await chain.getLogs({ events, fromBlock: before.number + 1n, toBlock: 'latest' })
  assert.ok(daysOf(filled) >= 3)
})

test('a damaged save is told and replaced by a new chain; the other chain goes on', async () => {
  const genesisOf = async (net: Devnet, name: 'base' | 'ethereum') =>
    (await reader(net.chains[name]).getBlock({ blockNumber: 0n })).hash
  const ethereumGenesis = await genesisOf(devnet, 'ethereum')
  await devnet.stop()
  await writeFile(join(folder, 'base.state.json.gz'), 'no gzip')
  devnet = await startDevnet({ ...common, ...(await freePorts()), historyDays: 1, live: true })
  assert.ok(lines.some((line) => line.startsWith('base: the saved chain cannot be read')))
  assert.equal(await genesisOf(devnet, 'ethereum'), ethereumGenesis)
})

test('a taken port is told, and the saved chains stay as they are', async () => {
  const url = new URL(devnet.chains.base.rpcUrl)
  const dataFolder = await mkdtemp(join(tmpdir(), 'sexton-devnet-'))
  await writeFile(join(dataFolder, 'base.state.json.gz'), 'kept')
  const ports = { ...(await freePorts()).ports, base: Number(url.port) }
  const start = startDevnet({ dataFolder, historyDays: 1, live: false, ports })
  await assert.rejects(start, /port \d+ of 127.0.0.1 is taken/)
  assert.equal(await readFile(join(dataFolder, 'base.state.json.gz'), 'utf8'), 'kept')
  await rm(dataFolder, { recursive: true })
})

test('live chains make blocks and people keep doing things', async () => {
  const moved = Object.values(devnet.chains).map(async (chain) => {
    const from = (await reader(chain).getBlock()).number
    const found = await poll(async () => {
      if ((await reader(chain).getBlock()).number < from + 2n) return false
      const logs = await reader(chain).getLogs({ events, fromBlock: from + 1n, toBlock: 'latest' })
      return logs.length > 0
    })
    assert.ok(found, `${chain.client.name} stands still`)
  })
  await Promise.all(moved)
})

// Ethereum has a block every 4 seconds and something to do in most of them.
async function poll(check: () => Promise<boolean>): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < 40_000; waitedMs += 250) {
    if (await check()) return true
    await sleep(250)
  }
  return false
}
