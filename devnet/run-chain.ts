import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addresses, type ChainName, chainIds } from '#devnet/addresses.ts'
import { type Anvil, refuseTakenPort, startAnvil } from '#devnet/anvil.ts'
import { type ChainClient, openChainClient, readHead } from '#devnet/chain-client.ts'
import { fillTime } from '#devnet/fill-time.ts'
import { foundChain } from '#devnet/found-chain.ts'
import { keepSaving, type Saving } from '#devnet/keep-saving.ts'
import { type Live, startLive } from '#devnet/live.ts'
import { endOrphan, forgetPid, notePid } from '#devnet/orphans.ts'
import { saveState, unpackState } from '#devnet/saved-state.ts'
import { newWorld, readWorld, type World } from '#devnet/world.ts'

/** What a local chain is run with. */
export interface ChainOptions {
  readonly name: ChainName
  readonly port: number
  readonly dataFolder: string
  readonly historyDays: number
  readonly seed: number
  readonly live: boolean
  readonly saved: boolean
}

/** What running a chain needs from outside. */
export interface ChainDeps {
  readonly nowUnix: () => number
  readonly log: (line: string) => void
  readonly onProgress: (progress: { chain: string; done: number; total: number }) => void
}

/** A local chain that runs. */
export interface RunningChain {
  readonly client: ChainClient
  /** Stops life and mining, saves the chain if it is to be, with its newest states within the given time, and ends its node. */
  stop(statesWithinMs?: number): Promise<void>
}

/** Runs a chain: goes on from what is saved, else builds its history; ready when it reaches now. */
export async function runChain(deps: ChainDeps, options: ChainOptions): Promise<RunningChain> {
  const startUnix = deps.nowUnix()
  const files = filesOf(options)
  mkdirSync(files.cacheFolder, { recursive: true })
  if (await endOrphan(files.pid, files.cacheFolder)) {
    deps.log(`${options.name}: ended the node that a killed run had left behind`)
    await untilFree(options.port)
  }
  // Told here, so that a taken port never passes for a damaged save.
  await refuseTakenPort(options.port)
  const { anvil, client, world } = await openChain(deps, { ...options, files, startUnix })
  try {
    await client.rpc.send({ method: 'evm_setTime', params: [deps.nowUnix()] })
    const live = options.live ? await startLive(deps, world) : undefined
    const saving = options.saved
      ? keepSaving(deps, { chain: client, file: files.state })
      : undefined
    watch(deps, { name: options.name, anvil })
    return {
      client,
      stop: (statesWithinMs = 60_000) =>
        stopChain({ files, anvil, client, live, saving, statesWithinMs }),
    }
  } catch (error) {
    await anvil.stop()
    throw error
  }
}

/** The kernel closes the sockets of a killed process only when the last of its threads is gone. */
async function untilFree(port: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < portFreeWithinMs; waitedMs += 20) {
    const free = await refuseTakenPort(port).then(
      () => true,
      () => false,
    )
    if (free) return
    await sleep(20)
  }
}

// Far longer than a kernel takes; a port that is still taken then belongs to somebody else.
const portFreeWithinMs = 5000

interface Files {
  readonly state: string
  readonly unpacked: string
  readonly pid: string
  /** Holds the time of the genesis block, Unix seconds. */
  readonly genesis: string
  readonly cacheFolder: string
}

function filesOf(options: ChainOptions): Files {
  const at = (suffix: string): string => join(options.dataFolder, `${options.name}.${suffix}`)
  return {
    state: at('state.json.gz'),
    unpacked: at('state.unpacked.json'),
    pid: at('anvil.pid'),
    genesis: at('genesis'),
    cacheFolder: at('anvil-cache'),
  }
}

interface OpenChain {
  readonly anvil: Anvil
  readonly client: ChainClient
  readonly world: World
}

type OpenInput = ChainOptions & { readonly files: Files; readonly startUnix: number }

async function openChain(deps: ChainDeps, input: OpenInput): Promise<OpenChain> {
  try {
    if (await unpackState({ file: input.files.state, target: input.files.unpacked })) {
      return await continueChain(deps, input)
    }
  } catch (cause) {
    deps.log(`${input.name}: the saved chain cannot be read, starting anew (${String(cause)})`)
    renameSync(input.files.state, `${input.files.state}.damaged`)
  } finally {
    rmSync(input.files.unpacked, { force: true })
  }
  return beginChain(deps, input)
}

async function continueChain(deps: ChainDeps, input: OpenInput): Promise<OpenChain> {
  // anvil makes its genesis block before it loads the saved ones; with another time there would be
  // two first blocks, and which of them is shown would be chance.
  const genesisUnix = Number(readFileSync(input.files.genesis, 'utf8'))
  const node = { stateFile: input.files.unpacked, genesisUnix }
  return withNode(input, node, async (client) => {
    const world = await readWorld(client, input.seed)
    const head = await readHead(client)
    if (head.number === 0) throw new Error('it holds no block')
    await fillUntilStart(deps, input, { world, fromUnix: head.timestampUnix })
    return world
  })
}

function beginChain(deps: ChainDeps, input: OpenInput): Promise<OpenChain> {
  const genesisUnix = input.startUnix - input.historyDays * 86_400 - spareSeconds
  writeFileSync(input.files.genesis, `${genesisUnix}\n`)
  return withNode(input, { genesisUnix }, async (client) => {
    const world = newWorld(client, input.seed)
    const fromUnix = await foundChain(world, genesisUnix)
    await fillUntilStart(deps, input, { world, fromUnix })
    return world
  })
}

// The founding takes a few minutes of chain time, which do not count as history.
const spareSeconds = 600

async function withNode(
  input: OpenInput,
  node: { readonly genesisUnix: number; readonly stateFile?: string },
  prepare: (client: ChainClient) => Promise<World>,
): Promise<OpenChain> {
  const { name, port, files } = input
  const chainId = chainIds[name]
  const anvil = await startAnvil({ port, chainId, cacheFolder: files.cacheFolder, ...node })
  notePid(files.pid, anvil.pid)
  const client = openChainClient({
    name,
    chainId,
    rpcUrl: anvil.url,
    addresses: addresses[name],
  })
  try {
    return { anvil, client, world: await prepare(client) }
  } catch (error) {
    client.rpc.close()
    await anvil.stop()
    throw error
  }
}

// Up to the time of the start, not of the end: so a seed and a time fix the history to the second.
async function fillUntilStart(
  deps: ChainDeps,
  input: OpenInput,
  { world, fromUnix }: { readonly world: World; readonly fromUnix: number },
): Promise<void> {
  const chain = input.name
  await fillTime(world, {
    fromUnix,
    untilUnix: input.startUnix,
    onBlock: (done, total) => deps.onProgress({ chain, done, total }),
  })
}

function watch(deps: ChainDeps, input: { readonly name: ChainName; readonly anvil: Anvil }): void {
  input.anvil.failed.then((words) => deps.log(`${input.name}: the node ended: ${words}`))
}

async function stopChain(chain: {
  readonly files: Files
  readonly anvil: Anvil
  readonly client: ChainClient
  readonly live: Live | undefined
  readonly saving: Saving | undefined
  readonly statesWithinMs: number
}): Promise<void> {
  try {
    await chain.live?.stop()
    if (chain.saving === undefined) return
    await chain.saving.stop()
    await saveWithin(chain.client, chain.files.state, chain.statesWithinMs)
  } finally {
    chain.client.rpc.close()
    await chain.anvil.stop()
    forgetPid(chain.files.pid)
  }
}

/** Saves what a chain is at once, and its newest states too where that is quick enough. */
async function saveWithin(
  client: ChainClient,
  file: string,
  statesWithinMs: number,
): Promise<void> {
  const late = sleep(statesWithinMs, undefined, { ref: false })
  await saveState(client, { file, withStates: false })
  const whole = saveState(client, { file, withStates: true })
  whole.catch(() => undefined)
  await Promise.race([whole, late])
}
